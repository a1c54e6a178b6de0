"""Structural tags: requests that compose the format of a text, which are converted to rules."""
