"""Structural tags: requests that compose the format of a text, read and turned into rules."""
