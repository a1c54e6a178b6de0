"""Regular languages: automata over classes of characters or bytes, and properties of expressions."""
