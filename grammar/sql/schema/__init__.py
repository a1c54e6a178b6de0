"""Read the tables and columns of a database from DDL, a SQLite file or a server, and check arguments.

This room is independent of queries.
"""
