"""Cut JSON out of a grammar text, before it is parsed: no regular expression tells where a value ends.

What stands behind ``%json`` and ``%choice`` becomes blanks, line breaks stay, so that all offsets are as they were.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend

_NOT_BLANK: Final = re.compile(r"[^\n]")
_BLANKS: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()


class Body(NamedTuple):
    """A JSON value in a grammar text, and where it begins."""

    value: Any
    text: str
    start: int


def cut_bodies(
    text: str, scan: re.Pattern[str], next_rule: re.Pattern[str], problems: Collector
) -> tuple[str, dict[int, Body]]:
    """Return the text with blanks for the values, and these by the offset of their ``%json`` or ``%choice``.

    ``scan``: what to look at from left to right; its group ``body`` is what a value comes after. ``next_rule``: where
    reading goes on after a value that is none.
    Cost: linear.
    """
    bodies: dict[int, Body] = {}
    pieces = []
    done = at = 0
    while match := scan.search(text, at):
        at = match.end()
        if not match["body"]:
            continue
        blanks = _BLANKS.match(text, at)
        start = blanks.end() if blanks else at
        spend(20)
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            place = error.pos if isinstance(error, json.JSONDecodeError) else start
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "it nests too deeply"
            problems.add(
                "G020",
                f"`{match['body']}` needs JSON: {reason}",
                place,
                place + 1,
                label="here",
                help='for example `%json {"type": "integer"}` or `%choice ["yes", "no"]`',
            )
            value, following = None, next_rule.search(text, start)
            end = following.start() if following else len(text)
        bodies[match.start("body")] = Body(value, text[start:end], start)
        spend((end - start) // 16)
        pieces += [text[done:start], _NOT_BLANK.sub(" ", text[start:end])]
        done = at = end
    return "".join((*pieces, text[done:])) if pieces else text, bodies
