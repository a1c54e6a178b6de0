"""The tables and columns of a database, read from DDL, a SQLite file or a server."""
