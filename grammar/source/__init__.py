"""Source text: files, positions, diagnostics, escapes and character classes. Knows no front end."""
