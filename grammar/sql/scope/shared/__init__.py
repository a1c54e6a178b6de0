"""What both SQL dialects share: relations, the semantic state, names and tables in scope."""
