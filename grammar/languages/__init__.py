"""Regular languages: automata over classes of characters or bytes, and what can be read off expressions."""
