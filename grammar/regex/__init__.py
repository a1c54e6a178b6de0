"""From regular expressions to expressions: the flavours of ECMA-262, Python and Rust, and the `/…/` of the
EBNF dialect.

``compile`` reads the flavours, ``flavours.inline`` the dialect's. Both are imported on demand, so that a
pattern in a schema waits only for its own reader.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["is_valid_regex", "parse_regex", "regex_expr"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "flavours.inline" if name == "parse_regex" else "compile"
    return getattr(import_module(f"{__name__}.{module}"), name)
