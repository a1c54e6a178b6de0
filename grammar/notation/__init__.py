"""Code shared by the notations for grammars: the syntax tree of a file, and its imports."""
