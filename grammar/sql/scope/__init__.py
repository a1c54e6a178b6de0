"""Attach the names in scope to the rules of a dialect at each position of a query."""
