"""Patterns of the Rust crate ``regex``: no look-around, classes with set operations, `(?-u)` for bytes.

Text patterns are those of ``regex::Regex``, where parts with `(?-u)` must not match parts of characters.
Bytes patterns are those of ``regex::bytes::Regex``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, Final, final

from stackmask.grammar import ir
from stackmask.grammar.languages import classes
from stackmask.grammar.languages.classes import byte_class, char_class
from stackmask.grammar.languages.ends import with_invalid
from stackmask.grammar.regex.flavours.brackets import BracketReader
from stackmask.grammar.regex.pattern.reader import (
    NOT_NEWLINE,
    Flavour,
    Frame,
    I,
    M,
    R,
    Reader,
    S,
    U,
    X,
)
from stackmask.grammar.regex.pattern.tree import (
    ANYTHING,
    END,
    LINE_END,
    LINE_START,
    NEWLINE,
    START,
    Edge,
    Node,
    Pairs,
    Side,
    not_word_boundary,
    word_boundary,
)
from stackmask.grammar.regex.unicode.folding import ASCII, SIMPLE, fold
from stackmask.grammar.regex.unicode.properties import UnknownProperty, category, rust_property, table_set
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

FLAGS: Final = {"i": I, "m": M, "s": S, "u": U, "x": X, "U": 0, "R": R}
_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_HALVES: Final = ("start-half", "end-half", "start", "end")
_NOT_CR_LF: Final = charclass.negate([(0x0A, 0x0A), (0x0D, 0x0D)])
_CR: Final[Ranges] = ((0x0D, 0x0D),)
_CR_LINE_START: Final[Pairs] = (
    ((NEWLINE, True), ANYTHING),
    ((_CR, False), (classes.complement(NEWLINE), True)),
)
_CR_LINE_END: Final[Pairs] = (
    (ANYTHING, (_CR, True)),
    ((classes.complement(_CR), True), (NEWLINE, False)),
)


def _of_bytes(side: Side) -> Side:
    """Return a side with only ASCII characters; bytes that are not characters count as other characters."""
    ranges, edge = side
    beyond = ranges[-1][1] == ir.MAX_CODE_POINT and side != ANYTHING
    return (with_invalid(ranges), edge) if beyond else side


@cache
def unicode_word() -> Ranges:
    r"""Return the characters that `\w` matches in Unicode mode (UTS 18, annex C)."""
    return charclass.normalize(
        (
            *table_set("bin", "Alphabetic"),
            *category("M"),
            *category("Nd"),
            *category("Pc"),
            *table_set("bin", "Join_Control"),
        )
    )


@final
class RustFlavour(Flavour):
    """Reads the patterns of Rust's ``regex``."""

    quantifier: ClassVar = re.compile(
        r"\{\s*([0-9]*)(?:(?<=[0-9])\s*|)(,?)(?:(?<=,)\s*|)((?<=[,\s])[0-9]*|)(?:(?<=[0-9])\s*|)\}"
    )
    class_end: ClassVar = re.compile(r"\[\^?\]?(?:\\.|[^\[\]\\])*\]", re.DOTALL)
    stacks_quantifiers: ClassVar = True
    quantifies_anchors: ClassVar = True
    needs_braces: ClassVar = True
    name: ClassVar = re.compile(r"\(\?P?<([^\W\d][\w.\[\]]*)>")
    flags: ClassVar = FLAGS
    flag_group: ClassVar = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z-]*)?([:)])")
    group_label: ClassVar = "expected `(?:`, `(?<name>`, `(?P<name>` or flags"
    anchors: ClassVar = {"A": START, "z": END}
    boundaries: ClassVar = "bB<>"
    controls: ClassVar = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

    def __init__(self, reader: Reader, with_bytes: bool) -> None:
        super().__init__(reader)
        self.with_bytes = with_bytes

    def folding(self, flags: int) -> str:
        return SIMPLE if flags & U else ASCII

    def universe(self, flags: int) -> Ranges:
        return charclass.ANY if flags & U else classes.BYTES

    def dot(self, flags: int) -> Ranges:
        if flags & S:
            return self.universe(flags)
        return classes.intersect(_NOT_CR_LF if flags & R else NOT_NEWLINE, self.universe(flags))

    def set(self, frame: Frame, ranges: Ranges, start: int) -> None:
        if not frame.flags & U and ranges and ranges[-1][1] > 0x7F:
            if not self.with_bytes:
                self.reader.problems.add(
                    "G008",
                    "with (?-u), this can match a piece of a character",
                    start,
                    self.reader.position,
                    help="leave out (?-u), or make it a pattern of bytes",
                )
            elif ranges[-1][1] > 0xFF:
                self.reader.problems.add(
                    "G007", "with (?-u), a class contains bytes", start, self.reader.position
                )
                ranges = ()
            frame.items.append(byte_class(ranges))
        else:
            frame.items.append(char_class(ranges))
        frame.item_start = start

    def anchor(self, char: str, flags: int) -> Node:
        if flags & M:
            crlf = (_CR_LINE_START, _CR_LINE_END) if flags & R else (LINE_START, LINE_END)
            pairs = crlf[0] if char == "^" else crlf[1]
            if self.with_bytes and flags & R:
                pairs = tuple((_of_bytes(left), _of_bytes(right)) for left, right in pairs)
        else:
            pairs = START if char == "^" else END
        return Edge(pairs, self.reader.position - 1, f"the anchor `{char}`")

    def bounds(self, match: re.Match[str]) -> tuple[int, int | None]:
        if not match[1] and not match[3]:
            self.reader.problems.add(
                "G005", f"`{match[0]}` has no numbers", match.start(), match.end(), help="for example `{2,5}`"
            )
        return super().bounds(match)

    def other_group(self, frame: Frame, start: int) -> str:
        if not self.reader.text.startswith(("?=", "?!", "?<=", "?<!"), start + 1):
            return ""
        self.reader.problems.add("G008", "Rust's regexes have no look-around", start, start + 3)
        self.reader.position = start + 3
        return "look-around"

    def wrong_flags(self, match: re.Match[str]) -> tuple[str, str]:
        both = match[1] + (match[2] or "")[1:]
        if set(both) - set(FLAGS) or len(set(both)) < len(both) or match[2] == "-" or match[0] == "(?)":
            return f"bad flags `{match[0]}`", f"expected each of {' '.join(FLAGS)} at most once"
        return "", ""

    def boundary(self, letter: str, flags: int) -> Pairs:
        text, start = self.reader.text, self.reader.position
        word = self.named_set("w", flags)
        other = classes.complement(word)
        kind = {"<": "start", ">": "end"}.get(letter, "")
        if letter == "b" and text.startswith("{", start):
            kind = next((k for k in _HALVES if text.startswith(f"{{{k}}}", start)), "")
            if kind:
                self.reader.position = start + 2 + len(kind)
        # in bytes, what is not a character is no word character; but `\B` and half a boundary with Unicode ask
        # for a character beside them
        no_word = with_invalid(other) if self.with_bytes else other
        in_word, not_in_word = (word, False), (no_word, True)
        out = (other if flags & U else no_word, True)
        if kind:
            return {
                "start": ((not_in_word, in_word),),
                "end": ((in_word, not_in_word),),
                "start-half": ((out, ANYTHING),),
                "end-half": ((ANYTHING, out),),
            }[kind]
        return word_boundary(word, no_word) if letter == "b" else not_word_boundary(word, out[0])

    def add(self, frame: Frame, value: int | Ranges, start: int) -> None:
        if (
            isinstance(value, int)
            and value > 0x7F
            and not frame.flags & U
            and self.reader.text[start + 1] == "x"
        ):
            value = ((value, value),)  # a byte
        super().add(frame, value, start)

    def read_escape(self, letter: str, start: int, flags: int, in_class: bool) -> tuple[int | Ranges, int]:
        text, after = self.reader.text, start + 2
        if letter in _DIGITS:
            if text.startswith("{", after):
                code, after = self.reader.braced_hexadecimal(start, after)
            else:
                code, after = self.reader.hexadecimal(start, after, _DIGITS[letter])
            if code > ir.MAX_CODE_POINT or ir.SURROGATES[0] <= code <= ir.SURROGATES[1]:
                self.reader.problems.add("G006", "not a Unicode scalar value", start, after)
                code = -1
            return max(code, 0), after
        if letter in "pP":
            return self.property(start, flags)
        if letter in "0123456789":
            self.reader.refuse(
                f"the back-reference `\\{letter}`", start, after, "no finite automaton can do it"
            )
            return 0, after
        if not letter.isascii() or letter.isalnum() or letter in "<>":
            self.reader.problems.add(
                "G006", f"unknown escape `\\{letter}`", start, after, label="no such escape in Rust's regexes"
            )
        return ord(letter), after

    def named_set(self, letter: str, flags: int) -> Ranges:
        if letter == "w":
            return unicode_word() if flags & U else charclass.WORD
        if letter == "d":
            return category("Nd") if flags & U else charclass.DIGIT
        return table_set("bin", "White_Space") if flags & U else charclass.SPACE

    def property(self, start: int, flags: int) -> tuple[Ranges, int]:
        r"""Read `\pL`, `\p{…}`, `\PL` or `\P{…}`."""
        text, first = self.reader.text, start + 2
        if text.startswith("{", first):
            close = text.find("}", first)
            name, after = text[first + 1 : close], close + 1
            if close < 0:
                self.reader.problems.add(
                    "G008", "unclosed `{` of a property", start, first + 1, label="opened here"
                )
                return charclass.ANY, self.reader.end
        else:
            name, after = text[first : first + 1], first + 1
        if not flags & U:
            self.reader.problems.add(
                "G008", "properties need Unicode mode, which (?-u) turns off", start, after
            )
            return (), after
        try:
            ranges = rust_property(name)
        except UnknownProperty as error:
            self.reader.problems.add(
                "G007", str(error), start, after, label="no such property", help=error.help
            )
            return charclass.ANY, after
        if flags & I:
            ranges = fold(ranges, SIMPLE)
        return (classes.complement(ranges) if text[start + 1] == "P" else ranges), after

    def read_class(self, start: int, flags: int) -> tuple[Ranges, int]:
        return BracketReader(self.reader, flags, ("&&", "--", "~~"), lead=True, rust=True).read(start)


def rust_reader(text: str, flags: int, as_bytes: bool) -> Reader:
    """Return a reader of a pattern of Rust's ``regex``.

    Even a bytes pattern consists of characters; only parts with (?-u) consist of bytes.
    """
    if as_bytes:
        text = text.encode("latin-1").decode("utf-8", "replace")
    return Reader(text, flags, False, lambda reader: RustFlavour(reader, as_bytes))
