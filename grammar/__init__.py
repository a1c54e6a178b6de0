"""Front ends: convert text or a schema to rules over expressions, and prepare these for the automaton."""
