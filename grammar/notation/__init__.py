"""What the notations for grammars share: the tree of one file, and following its imports."""
