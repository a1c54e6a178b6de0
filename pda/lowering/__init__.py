"""From normalised rules to terms. The only package of the automaton that imports `grammar.ir`."""
