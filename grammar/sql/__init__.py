"""Make grammars of SQL queries: the rules of a dialect (``grammars/sqlite.ebnf``, ``postgres.ebnf``), narrowed as asked."""
