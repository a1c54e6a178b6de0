"""Terms as text, for Cython; nothing of it is visible from Python."""
