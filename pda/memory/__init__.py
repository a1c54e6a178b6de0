"""Data structures that are independent of grammars and vocabularies."""
