"""Normalised rules to terms. The only package of the automaton that reads `grammar.ir`."""
