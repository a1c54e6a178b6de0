"""The automaton: terms and derivatives, configurations, the trie of the vocabulary, masks."""
