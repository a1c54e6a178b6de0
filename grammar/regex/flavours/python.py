"""Patterns of Python's ``re`` for text and for bytes, as of Python 3.11."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import ClassVar, Final, final

from stackmask.grammar import ir
from stackmask.grammar.languages import classes
from stackmask.grammar.regex.flavours.brackets import BracketReader
from stackmask.grammar.regex.pattern.reader import NOT_NEWLINE, Flavour, Frame, I, M, Reader, S, U, X
from stackmask.grammar.regex.pattern.tree import (
    END,
    LINE_END,
    LINE_START,
    START,
    Edge,
    Look,
    Node,
    Pairs,
    node_choice,
    node_sequence,
    widths,
)
from stackmask.grammar.regex.unicode.folding import ASCII, PYTHON
from stackmask.grammar.regex.unicode.properties import category
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

FLAGS: Final = {"a": 0, "i": I, "m": M, "s": S, "u": U, "x": X}
_NO_AUTOMATON: Final = "no finite automaton can do it"
_DIGITS: Final = {"x": 2, "u": 4, "U": 8}


@cache
def unicode_word() -> Ranges:
    r"""Return the characters that `\w` matches in text: letters, numeric characters, underscore."""
    return charclass.normalize((*category("L"), *category("N"), (0x5F, 0x5F)))


@cache
def unicode_space() -> Ranges:
    r"""Return the characters that `\s` matches in text: white space, and the four ASCII separators."""
    spaces = (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
    return charclass.normalize([(9, 13), (28, 32), (0x2000, 0x200A), *((c, c) for c in spaces)])


@final
class PythonFlavour(Flavour):
    """Reads Python's patterns."""

    quantifier: ClassVar = re.compile(r"\{(?!\})([0-9]*)(,?)((?<=,)[0-9]*|)\}")
    class_end: ClassVar = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
    possessive: ClassVar = True
    groups: ClassVar = ("?:", "?=", "?!", "?<=", "?<!", "?>")
    name: ClassVar = re.compile(r"\(\?P<([^\W\d]\w*)>")
    flags: ClassVar = FLAGS
    flag_group: ClassVar = re.compile(r"\(\?(?!\))([a-zA-Z]*)(-[a-zA-Z]*)?([:)])")
    group_label: ClassVar = "expected `(?:`, `(?P<name>`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>` or flags"
    anchors: ClassVar = {"A": START, "Z": END}
    controls: ClassVar = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

    def folding(self, flags: int) -> str:
        return PYTHON if flags & U else ASCII

    def dot(self, flags: int) -> Ranges:
        return charclass.ANY if flags & S else NOT_NEWLINE

    def anchor(self, char: str, flags: int) -> Node:
        start, what = self.reader.position - 1, f"the anchor `{char}`"
        if char == "^":
            return Edge(LINE_START if flags & M else START, start, what)
        if flags & M:
            return Edge(LINE_END, start, what)
        # the end, or before a line break at the end
        newline = ir.Literal(b"\n")
        self.reader.asserted += 2
        before = ir.Sequence((newline, Edge(END, start, what)))  # type: ignore[arg-type]
        return ir.Choice((Edge(END, start, what), Look(before, True, False, start)))  # type: ignore[arg-type]

    def other_group(self, frame: Frame, start: int) -> str:
        reader, text = self.reader, self.reader.text
        close = text.find(")", start)
        after = close + 1 if close >= 0 else reader.end
        if text.startswith("?#", start + 1):
            if close < 0:
                reader.problems.add("G008", "unclosed comment", start, start + 3, label="opened here")
            reader.position = after
            return "whole"
        if text.startswith("?P=", start + 1):
            reader.refuse(f"the back-reference `{text[start:after]}`", start, after, _NO_AUTOMATON)
            return "whole"
        if text.startswith("?(", start + 1):
            reader.refuse(f"the conditional group `{text[start:after]}`", start, after)
            return "conditional"
        return ""

    def wrong_flags(self, match: re.Match[str]) -> tuple[str, str]:
        on, off = match[1], (match[2] or "")[1:]
        problem = ""
        if unknown := set(on + off) - set("aiLmsux"):
            problem = f"unknown flag `{min(unknown)}`"
        elif set(off) & set("aLu") or set(on) & set(off) or (match[2] and not off):
            problem = f"bad flags `{match[0]}`"
        elif match[3] == ")" and (match[2] or match.start() != 0):
            problem = "flags that apply from here on are only allowed at the beginning of the pattern"
        elif {"a", "u"} <= set(on) or (self.reader.as_bytes and "u" in on):
            problem = f"incompatible flags `{match[0]}`"
        if "L" in on:
            self.reader.refuse("the flag L (depends on the locale)", match.start(), match.end())
        return problem, ""

    def changed(self, flags: int, on: str, off: str) -> int:
        return super().changed(flags & ~U if "a" in on else flags, on, off)

    def set_flags(self, frame: Frame, flags: int) -> None:
        for each in self.reader.stack:
            each.flags = flags

    def special_group(self, frame: Frame, node: Node, outer: Frame) -> Node:
        if frame.kind == ">":
            return self.make_atomic(node, frame.start)
        return super().special_group(frame, node, outer)

    def make_atomic(self, node: Node, start: int) -> Node:
        try:
            result, asserts = atomic(node, self.reader.lazy, start, self.reader.as_bytes)
        except NotAtomic:
            self.reader.problems.add(
                "G009",
                "a group or quantifier that gives nothing back is not supported here",
                start,
                start + 1,
                help="its matches depend on the matching order; only simple ones can be expressed without it",
            )
            return node
        self.reader.asserted += asserts
        return result

    def boundary(self, letter: str, flags: int) -> Pairs:
        if letter == "b":
            return super().boundary(letter, flags)
        # of an empty text, the only place is no non-boundary either (3.13 and before)
        word = (self.named_set("w", flags), False)
        inside, edge = (classes.complement(word[0], self.universe(flags)), False), ((), True)
        return (word, word), (inside, inside), (inside, edge), (edge, inside)

    def read_escape(self, letter: str, start: int, flags: int, in_class: bool) -> tuple[int | Ranges, int]:
        after = start + 2
        if letter == "b" and in_class:
            return 8, after
        if letter == "x" or (letter in "uU" and not self.reader.as_bytes):
            code, after = self.reader.hexadecimal(start, after, _DIGITS[letter])
            if code > ir.MAX_CODE_POINT:
                self.reader.problems.add("G006", "beyond the last code point, U+10FFFF", start, after)
                code = -1
            return max(code, 0), after
        if letter == "N" and not self.reader.as_bytes:
            return self.named_character(start)
        if letter in "0123456789":
            return self.octal(start, in_class)
        if letter.isascii() and letter.isalpha():
            self.reader.problems.add(
                "G006",
                f"unknown escape `\\{letter}`",
                start,
                after,
                label="no such escape in Python's regexes",
            )
        return ord(letter), after

    def octal(self, start: int, in_class: bool) -> tuple[int, int]:
        """Read an octal escape, or refuse a back-reference."""
        text, first = self.reader.text, start + 1
        after = first
        while after < self.reader.end and after < first + 3 and text[after] in "01234567":
            after += 1
        digits = text[first:after]
        if digits and (digits[0] == "0" or len(digits) == 3 or in_class):
            if int(digits, 8) > 0o377:
                self.reader.problems.add("G006", "an octal escape is at most `\\377`", start, after)
            return int(digits, 8) & 0xFF, after
        after = first
        while after < self.reader.end and after < first + 2 and text[after] in "0123456789":
            after += 1
        written = text[start:after]
        if in_class:
            self.reader.problems.add("G006", f"unknown escape `{written}`", start, after)
        else:
            self.reader.refuse(f"the back-reference `{written}`", start, after, _NO_AUTOMATON)
        return 0, after

    def named_character(self, start: int) -> tuple[int, int]:
        r"""Read `\N{NAME}`."""
        close = self.reader.text.find("}", start)
        name = (
            self.reader.text[start + 3 : close]
            if self.reader.text.startswith("{", start + 2) and close >= 0
            else ""
        )
        try:
            return ord(unicodedata.lookup(name)), close + 1
        except (KeyError, TypeError):
            after = close + 1 if name else start + 2
            self.reader.problems.add("G006", f"unknown character name `{name}`", start, after)
            return 0xFFFD, after

    def named_set(self, letter: str, flags: int) -> Ranges:
        if letter == "w":
            return unicode_word() if flags & U else charclass.WORD
        if letter == "d":
            return category("Nd") if flags & U else charclass.DIGIT
        return unicode_space() if flags & U else charclass.SPACE

    def read_class(self, start: int, flags: int) -> tuple[Ranges, int]:
        return BracketReader(self.reader, flags, lead=True).read(start)


def python_reader(text: str, flags: int, as_bytes: bool) -> Reader:
    """Return a reader of a pattern of Python's ``re``."""
    return Reader(text, flags, as_bytes, PythonFlavour)


# -- Atomic groups and possessive quantifiers: what is matched first is not given back, which changes the language.
#
# Where the order of tries comes down to lookaheads the result is exact:
#
#     (?>r|s)     r, or s where r cannot be matched
#     (?>x y)     x (?>y), where x always takes the same number of characters
#     (?>x{m,n})  x as often as possible: n times, or fewer with no further x after them
#
# Everything else is refused.

MAX_OPTIONS: Final = 50  # alternatives, of which each repeats those before it


class NotAtomic(Exception):
    """The error that lookaheads cannot express the matching order of a node."""


def atomic(node: Node, lazy: dict[int, ir.Repeat], offset: int, as_bytes: bool) -> tuple[Node, bool]:
    """Return the node in a form without backtracking, and whether this needed assertions.

    ``lazy``: the lazy repetitions, by identity. A node of fixed length can end only in one place.
    Raises: NotAtomic.
    """

    def fixed_length(node: Node) -> int | None:
        least, most = widths(node, as_bytes)
        return least if least == most else None

    if fixed_length(node) is not None:
        return node, False
    match node:
        case ir.Sequence(items) if all(fixed_length(item) is not None for item in items[:-1]):
            last, asserts = atomic(items[-1], lazy, offset, as_bytes)
            return node_sequence((*items[:-1], last)), asserts
        case ir.Choice(items) if len(items) <= MAX_OPTIONS:
            options: list[Node] = []
            before: list[Node] = []
            for item in items:
                option, _ = atomic(item, lazy, offset, as_bytes)
                options.append(node_sequence((*before, option)) if before else option)
                before.append(Look(item, True, True, offset))  # mutant: atomic-order
            return node_choice(options), True
        case ir.Repeat(item, low, high):
            once = fixed_length(item)
            if id(node) in lazy:
                if once is not None:
                    return ir.Repeat(item, low, low), False
            elif once:
                last_round: Node = Look(item, True, True, offset)
                if high is None:
                    return node_sequence((node, last_round)), True
                fewer = ir.Repeat(item, low, high - 1)
                enough = node_sequence((fewer, last_round))
                return ir.Choice((ir.Repeat(item, high, high), enough)), True
            elif (low, high) == (0, 1):
                first, _ = atomic(item, lazy, offset, as_bytes)
                none = Look(item, True, True, offset)
                return node_choice((first, none)), True
    raise NotAtomic
