"""Resolve the names of PostgreSQL queries, over those actions of SQLite that mean the same."""
