"""Front ends: text to rules over expressions, and the passes that make them ready for the automaton."""
