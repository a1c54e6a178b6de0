"""Hold what both SQL dialects share: relations, the semantic state of a query, names and tables in scope."""
