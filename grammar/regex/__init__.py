"""From regular expressions to expressions, in the flavours ECMA-262, Python and Rust, and `/…/` of EBNF.

``compile`` reads these flavours, ``flavours.inline`` the dialect. Both are imported on demand, so that a
pattern in a schema only waits for the reader that it needs.
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
