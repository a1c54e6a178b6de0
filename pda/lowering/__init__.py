"""Normalised rules to terms. The only room of the automaton that reads `grammar.ir`."""
