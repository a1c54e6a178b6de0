"""Characters to escape in output, which a terminal interprets or which change the text direction."""

from __future__ import annotations

import re
from typing import Final

# C0 (but newline and tab), DEL, C1, the controls of direction, separators of lines and paragraphs, surrogates, and
# the format characters that Unicode deprecates
_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff]"
)


def escaped(character: str) -> str:
    """Return one character as Python writes it in a string: ``\\x1b``, ``\\u202e``."""
    return character.encode("unicode_escape").decode("ascii")


def visible(text: str) -> str:
    """Return a text with escaped control characters, except for newlines and tabs.

    Cost: linear; a text without such characters is returned unchanged.
    """
    return _OBEYED.sub(lambda found: escaped(found[0]), text)


def visible_in_json(text: str) -> str:
    """Return JSON in which the same characters are JSON escapes. They only occur in strings, or as whitespace."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
