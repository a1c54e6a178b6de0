"""Parts of EBNF grammars in other languages: JSON Schemas, SQL, markers, and named grammars."""
