"""Represent source text: files, positions, diagnostics, escapes and character classes. Knows no front end."""
