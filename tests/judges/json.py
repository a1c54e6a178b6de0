"""JSON by the standard library, with its three extensions (NaN, Infinity, -Infinity) refused."""

from __future__ import annotations

import json

from judges.verdict import ACCEPTED, Verdict, decoded, rejected


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def judge(data: bytes) -> Verdict:
    """Judge one RFC 8259 text; numbers are not converted, so their length does not matter."""
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    try:
        json.loads(text, parse_constant=_refuse_constant, parse_int=str, parse_float=str)
    except ValueError as error:
        return rejected(error)
    return ACCEPTED
