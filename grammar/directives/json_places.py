"""Where a part of a JSON value stands in its text: what is wrong with a schema is said there."""

from __future__ import annotations

import json
import re
from typing import Final

from stackmask.grammar.source.work import spend

_TOKEN: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[{}\[\],:]|[^\s{}\[\],:\"]+")


def path_of(pointer: str, keyword: str) -> list[str] | None:
    """Return the names on the way to a keyword; None if the pointer leads to another document."""
    if not pointer.startswith("#"):
        return None
    names = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")[1:]]
    return [*names, keyword] if keyword else names


def place_of(text: str, path: list[str]) -> tuple[int, int]:
    """Return where the value at the end of a path begins, with its first token; or that of the deepest part there is.

    ``text``: JSON. Of names that come twice the last one counts, as for Python.
    Cost: linear.
    """
    best = (0, 1)
    reached = 0
    keys: list[
        str | int
    ] = []  # of the open objects and arrays: the name, or the number, of what is read there
    matching = 0  # how many of them are as the path says
    is_name = False
    for match in _TOKEN.finditer(text):
        spend(1)
        token = match[0]
        if token in "}]":
            keys.pop()
            matching = min(matching, len(keys))
        elif token == ",":
            last = keys[-1]
            matching = min(matching, len(keys) - 1)
            is_name = isinstance(last, str)
            if isinstance(last, int):
                keys[-1] = last + 1
                matching += matching == len(keys) - 1 and _is_next(keys, path)
        elif token == ":":
            is_name = False
        elif is_name:
            keys[-1] = json.loads(token)
            matching = min(matching, len(keys) - 1)
            matching += matching == len(keys) - 1 and _is_next(keys, path)
        else:
            if matching == len(keys) >= reached:
                reached = matching
                best = match.span()
            if token in "{[":
                is_name = token == "{"
                keys.append("" if is_name else 0)
                matching += not is_name and matching == len(keys) - 1 and _is_next(keys, path)
    return best


def _is_next(keys: list[str | int], path: list[str]) -> bool:
    depth = len(keys)
    return depth <= len(path) and str(keys[-1]) == path[depth - 1]
