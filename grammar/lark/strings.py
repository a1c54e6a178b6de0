"""What Lark's strings mean: their escapes, and what a backslash is that begins none."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ir import MAX_CODE_POINT, SURROGATES
from stackmask.grammar.source.diagnostics import Collector

_ESCAPE: Final = re.compile(
    r"\\(?:([ntrf\\\"])|x([0-9A-Fa-f]{0,2})|u([0-9A-Fa-f]{0,4})|U([0-9A-Fa-f]{0,8})|)"
)
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "\\": "\\", '"': '"'}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_string(text: str, start: int, end: int, problems: Collector) -> tuple[str, list[int]]:
    r"""Return what the inside of a string means, and the offsets of backslashes that begin no escape.

    The escapes are ``\n \t \r \f \\ \" \xHH \uHHHH \UHHHHHHHH``; any other backslash stands for itself.
    Cost: linear.
    """
    written = text[start:end]
    if "\\" not in written:
        return written, []
    plain: list[int] = []

    def meaning(match: re.Match[str]) -> str:
        if match[1]:
            return _PLAIN[match[1]]
        place = start + match.start()
        for group, digits in ((2, 2), (3, 4), (4, 8)):
            if match[group] is None:
                continue
            value = int(match[group], 16) if len(match[group]) == digits else -1
            if 0 <= value <= MAX_CODE_POINT and not SURROGATES[0] <= value <= SURROGATES[1]:
                return chr(value)
            letter = written[match.start() + 1]
            problem = (
                f"`\\{letter}` needs {digits} hexadecimal digits" if value < 0 else "this is no character"
            )
            problems.add("G006", problem, place, start + match.end(), help=r"write `\\` for a backslash")
            return "\N{REPLACEMENT CHARACTER}"
        plain.append(place)
        return "\\"

    return _ESCAPE.sub(meaning, written), plain


def without_surrogates(text: str, problems: Collector) -> str:
    """Return a text without halves of characters, which are reported."""
    for bad in _SURROGATE.finditer(text):
        problems.add("G006", "half of a surrogate pair is not a character", bad.start(), bad.end())
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
