"""Slow, independent judges of the engine; nothing here imports more of the package than ``grammar.ir``."""
