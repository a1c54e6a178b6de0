"""Completions: the shortest ends of texts in bytes and in tokens, and the tokens that leave enough budget."""
