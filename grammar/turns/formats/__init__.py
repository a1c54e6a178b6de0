"""Structural tags: requests that say which formats a text is made of, read and turned into rules."""
