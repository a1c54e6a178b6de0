"""Grammars of SQL queries: the rules of a dialect (``grammars/sqlite.ebnf``, ``postgres.ebnf``), restricted
as requested.
"""
