"""Forced text, and the tokens that cross its end."""
