"""Data structures. They know neither grammars nor vocabularies."""
