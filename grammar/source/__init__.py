"""Source text: files, positions, diagnostics, escapes and character classes. Independent of front ends."""
