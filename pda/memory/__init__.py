"""Data structures, independent of grammars and vocabularies."""
