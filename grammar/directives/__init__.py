"""Parts of EBNF grammars in other languages: JSON Schemas, SQL, markers, grammars given by name."""
