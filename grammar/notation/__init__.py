"""What the notations for grammars share: the tree of one file, reading its tokens, and following its imports."""
