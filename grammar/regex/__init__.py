"""From regular expressions to expressions, in the flavours ECMA-262, Python and Rust, and `/…/` of EBNF.

``compile`` reads these flavours, ``flavours.inline`` the dialect. Both are imported on demand, so that a
pattern in a schema only waits for the reader that it needs.
"""
