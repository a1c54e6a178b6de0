"""CSV by the ``csv`` module in strict mode, and by the state machine of RFC 4180, section 2."""

from __future__ import annotations

import csv
import io

from judges.verdict import ACCEPTED, Verdict, decoded, rejected


def _textdata(char: str) -> bool:
    return (" " <= char <= "~" and char not in '",') or char >= "\x80"


def _rfc4180(text: str) -> str | None:
    """Return what is wrong, or None. States: at a field's start, in a plain or quoted field, after a quote."""
    state = "start"
    position = 0
    while position < len(text):
        char = text[position]
        if state == "quoted":
            if char == '"':
                state = "closed"
            elif not (_textdata(char) or char in ",\r\n"):
                return f"{char!r} in a quoted field"
        elif state == "closed" and char == '"':
            state = "quoted"
        elif char == ",":
            state = "start"
        elif char == "\n" or text.startswith("\r\n", position):
            position += char == "\r"
            state = "start"
        elif state == "start" and char == '"':
            state = "quoted"
        elif state != "closed" and _textdata(char):
            state = "plain"
        else:
            return f"{char!r} at {position}"
        position += 1
    return "unclosed quote" if state == "quoted" else None


def judge(data: bytes) -> Verdict:
    """Judge one text: records of fields, lines ended by CRLF or LF, quotes doubled inside quotes."""
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), strict=True):
            pass
    except csv.Error as error:
        return rejected(error)
    problem = _rfc4180(text)
    return ACCEPTED if problem is None else rejected(problem)
