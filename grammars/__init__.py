"""The bundled grammars, as package data: ``json.ebnf``, ``sql.ebnf`` and others."""
