"""How much of a text a term still needs, for Cython; nothing of it is visible from Python."""
