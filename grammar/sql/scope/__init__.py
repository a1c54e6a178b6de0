"""Attach to the rules of a dialect which names mean something at each place of a query."""
