"""Vocabularies: the tokens of a tokenizer as byte strings, and readers for each tokenizer library."""
