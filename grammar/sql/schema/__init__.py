"""Read the tables and columns of a database from DDL, a SQLite file or a server, and say what is wrong with arguments.

Knows nothing of queries.
"""
