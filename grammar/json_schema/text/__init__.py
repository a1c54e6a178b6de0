"""JSON strings as expressions: how characters and strings are spelled."""
