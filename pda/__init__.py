"""The automaton: terms and derivatives, configurations, the vocabulary trie, masks."""
