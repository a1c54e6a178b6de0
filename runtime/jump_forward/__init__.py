"""Forced text, as strings or as tokens."""
