"""Which states of an automaton allow the same tokens; for Cython alone."""
