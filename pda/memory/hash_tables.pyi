"""Hash tables for Cython; nothing of them is visible from Python."""
