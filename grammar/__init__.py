"""Front ends: from text or a schema to rules over expressions, and the passes that prepare them for the automaton."""
