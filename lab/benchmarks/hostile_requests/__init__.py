"""Hostile requests, each of at most 64 KB: made by rule, the same at each run."""

from __future__ import annotations

from .explanations import all_explanations
from .grammars import all_grammars
from .lark import all_lark
from .mixtures import all_mixtures
from .regexes import all_regexes
from .request import LARGEST, Driver, Kind, Request
from .schemas import all_schemas
from .streams import all_streams
from .turns import all_turns


def all_requests() -> list[Request]:
    """Return all requests; names are different, and none is larger than allowed."""
    found = [
        *all_grammars(),
        *all_lark(),
        *all_regexes(),
        *all_schemas(),
        *all_streams(),
        *all_turns(),
        *all_explanations(),
        *all_mixtures(),
    ]
    too_large = [request.name for request in found if request.bytes > LARGEST]
    if too_large:
        raise ValueError(f"larger than {LARGEST} bytes: {too_large}")
    if len({request.name for request in found}) != len(found):
        raise ValueError("two requests of one name")
    return found


__all__ = ["Driver", "Kind", "Request", "all_requests"]
