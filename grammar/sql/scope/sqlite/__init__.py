"""Resolve the names of SQLite queries: actions change the state, resolvers say which names may come."""
