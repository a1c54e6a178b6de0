"""Parts of a grammar in the EBNF dialect that are not EBNF: JSON Schemas, SQL, markers, grammars given by name."""
