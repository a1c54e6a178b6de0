"""Source text: files, positions, diagnostics, escapes and character classes. Front ends are not used."""
