"""One walk of the vocabulary trie over an unknown stack, and the shortcuts that keep it short."""
