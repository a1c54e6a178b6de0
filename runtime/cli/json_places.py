"""Where a part of a JSON document stands in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def place_in_json(text: str, path: Sequence[str | int], key: str = "") -> tuple[int, int] | None:
    """Return where the value at a path begins and ends, or the name ``key`` in it; None if there is no such value.

    A value without the name is returned whole.

    ``text``: well-formed JSON. ``path``: names of members and indices of elements, from the outermost on.
    Cost: linear in the text up to the end of the value.
    Example: ``place_in_json('[1, {"a": 2}]', [1], "a")`` is ``(5, 8)``.
    """
    wanted = list(path)
    here: list[str | int] = []  # the path of the value that comes next
    start: int | None = None  # of the value at the path
    is_name = False  # the next string is the name of a member
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign == ":":
            continue
        if sign == ",":
            last = here[-1]
            if isinstance(last, int):
                here[-1] = last + 1
            else:
                is_name = True
        elif sign in "}]":
            here.pop()
            is_name = False
            if start is not None and here == wanted:
                return start, token.end()
        elif is_name:
            is_name = False
            here[-1] = str(json.loads(sign, strict=False))
            if start is not None and key and here[-1] == key and len(here) == len(wanted) + 1:
                return token.span()
        else:
            if here == wanted:
                start = token.start()
                if sign not in "{[":
                    return token.span()
            if sign == "{":
                here.append("")
                is_name = True
            elif sign == "[":
                here.append(0)
    return None
