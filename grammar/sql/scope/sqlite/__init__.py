"""Actions and resolvers of SQLite: which names are in scope at each place of a query."""
