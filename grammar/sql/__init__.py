"""SQL queries as grammars: the rules of a dialect (``grammars/sqlite.ebnf``, ``postgres.ebnf``), narrowed as asked."""
