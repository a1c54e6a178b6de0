"""Forced text: what must come next, as a string or as tokens."""
