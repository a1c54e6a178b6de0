"""Escapes of other flavours that a pattern of ECMA-262 takes for letters: allowed, and rarely meant."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ir import Span
from stackmask.grammar.source.diagnostics import Diagnostic

_ESCAPES: Final = re.compile(r"\\([AZzGhQE])|\\[^AZzGhQE]", re.DOTALL)
_CURES: Final = {
    "A": 'leave it out: the whole text is the match; or pass flavor="python"',
    "Z": 'leave it out: the whole text is the match; or pass flavor="python"',
    "z": 'leave it out: the whole text is the match; or pass flavor="rust"',
    "h": "write `[ \\t]`",
}
MAX_WARNINGS: Final = 50


def regex_warnings(pattern: str, flavor: str, flags: str) -> list[Diagnostic]:
    """Return the warnings of a pattern without errors. Cost: linear."""
    if flavor != "ecma" or "u" in flags or "v" in flags:  # then such escapes are errors
        return []
    found: list[Diagnostic] = []
    for match in _ESCAPES.finditer(pattern):
        letter = match[1]
        if letter and len(found) < MAX_WARNINGS:
            cure = _CURES.get(letter, f"write `{letter}` for the letter")
            span = Span(match.start(), match.end(), 0)
            message = f"`\\{letter}` is the letter {letter} in this flavour"
            found.append(Diagnostic("G210", message, span, "", cure, "warning"))
    return found
