"""Vocabularies: the tokens of a tokenizer as byte strings, and how each tokenizer library is read."""
