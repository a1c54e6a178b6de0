"""Which terms hold nothing but well-formed UTF-8, for Cython; nothing of it is visible from Python."""
