"""Actions and resolvers of PostgreSQL: which names are in scope at each place of a query."""
