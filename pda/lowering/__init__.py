"""From normalised rules to terms. No other package of the automaton imports `grammar.ir`."""
