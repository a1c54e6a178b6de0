"""Forced text, as a string or as tokens."""
