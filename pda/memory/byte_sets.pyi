"""Sets of small numbers, for Cython; nothing of it is visible from Python."""
