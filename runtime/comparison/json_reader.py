"""A JSON reader, by character, that shares no code with the engine, for prefixes of JSON and continuations.

It proves that no valid text can follow, since under any schema, a text that is not a prefix of JSON has no
valid completion.
"""

from __future__ import annotations

import codecs
from typing import Final

BLANKS: Final = " \t\n\r"
# the state of a number → what each character leads to; `d`: a digit that is not zero
_NUMBER: Final = {
    "minus": {"0": "zero", "d": "whole"},
    "zero": {".": "point", "e": "e"},
    "whole": {"0": "whole", "d": "whole", ".": "point", "e": "e"},
    "point": {"0": "part", "d": "part"},
    "part": {"0": "part", "d": "part", "e": "e"},
    "e": {"0": "power", "d": "power", "+": "sign", "-": "sign"},
    "sign": {"0": "power", "d": "power"},
    "power": {"0": "power", "d": "power"},
}
_ENDS: Final = ("zero", "whole", "part", "power")
_WORDS: Final = {"t": "true", "f": "false", "n": "null"}


class JsonReader:
    """The position of a text in JSON. ``at``: ``value``, ``item`` (after ``[``), ``key``, ``name`` (after
    ``{``), ``colon``, ``after``, ``string``, ``number`` or ``word``.

    Cost: a few hundred nanoseconds for each character; memory for the open brackets.
    """

    def __init__(self) -> None:
        self.at = "value"
        self.open: list[str] = []
        self.is_key = False
        self._escape = 0  # 1 after a backslash, then hexadecimal digits still to come, plus 1
        self._number = ""
        self._word = ""

    def feed(self, text: str) -> bool:
        """Read more text. Return False, and stop, if the text is not a prefix of JSON."""
        return all(map(self._character, text))

    @property
    def is_complete(self) -> bool:
        """Return whether the text is JSON."""
        return not self.open and (self.at == "after" or (self.at == "number" and self._number in _ENDS))

    def _character(self, c: str) -> bool:
        match self.at:
            case "string":
                return self._in_string(c)
            case "number":
                return self._in_number(c)
            case "word":
                if not self._word.startswith(c):
                    return False
                self._word = self._word[1:]
                if not self._word:
                    self.at = "after"
                return True
        return c in BLANKS or self._token(c)

    def _token(self, c: str) -> bool:
        """Read a character between values that is not whitespace."""
        if self.at == "colon":
            self.at = "value"
            return c == ":"
        if self.at == "after":
            return self._after(c)
        if self.at in ("key", "name"):
            if c == '"':
                self.at, self.is_key = "string", True
                return True
            return self.at == "name" and self._close(c)
        if self.at == "item" and c == "]":
            return self._close(c)
        return self._begin(c)

    def _begin(self, c: str) -> bool:
        if c in "{[":
            self.open.append(c)
            self.at = "name" if c == "{" else "item"
        elif c == '"':
            self.at, self.is_key = "string", False
        elif c in _WORDS:
            self.at, self._word = "word", _WORDS[c][1:]
        elif c == "-" or (c.isascii() and c.isdigit()):
            self.at, self._number = "number", {"-": "minus", "0": "zero"}.get(c, "whole")
        else:
            return False
        return True

    def _after(self, c: str) -> bool:
        if c == "," and self.open:
            self.at = "key" if self.open[-1] == "{" else "value"
            return True
        return self._close(c)

    def _close(self, c: str) -> bool:
        if not self.open or {"{": "}", "[": "]"}[self.open[-1]] != c:
            return False
        self.open.pop()
        self.at = "after"
        return True

    def _in_string(self, c: str) -> bool:
        if self._escape == 1:
            if c == "u":
                self._escape = 5
                return True
            self._escape = 0
            return c in '"\\/bfnrt'
        if self._escape:
            self._escape = self._escape - 1 if self._escape > 2 else 0
            return c.isascii() and c in "0123456789abcdefABCDEF"
        if c == "\\":
            self._escape = 1
        elif c == '"':
            self.at = "colon" if self.is_key else "after"
        return c >= " "

    def _in_number(self, c: str) -> bool:
        digit = "d" if c.isascii() and c.isdigit() and c != "0" else c
        following = _NUMBER[self._number].get("e" if c == "E" else digit)
        if following is not None:
            self._number = following
            return True
        if self._number not in _ENDS:
            return False
        self.at = "after"
        return self._character(c)


def begins_json(data: bytes) -> bool:
    """Return whether bytes are a prefix of a JSON text in UTF-8."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return JsonReader().feed(text)
