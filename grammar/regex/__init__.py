"""Regular expressions to expressions: the flavours of ECMA-262, Python and Rust, and the `/…/` of the EBNF dialect."""

from __future__ import annotations

from stackmask.grammar.regex.compile import is_valid_regex, regex_expr
from stackmask.grammar.regex.inline_regex import (
    FLAGS,
    MAX_COUNT,
    character,
    check_bounds,
    parse_regex,
    read_bounds,
    read_number,
)

__all__ = [
    "FLAGS",
    "MAX_COUNT",
    "character",
    "check_bounds",
    "is_valid_regex",
    "parse_regex",
    "read_bounds",
    "read_number",
    "regex_expr",
]
