"""Python's ``re`` patterns, of text and of bytes, as of Python 3.11."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import ClassVar, Final, final

from stackmask.grammar import ir
from stackmask.grammar.languages import classes
from stackmask.grammar.regex.flavours.atomic import NotAtomic, atomic
from stackmask.grammar.regex.flavours.brackets import PlainClass
from stackmask.grammar.regex.pattern.reader import (
    NOT_NEWLINE,
    Flavour,
    Frame,
    I,
    M,
    Reader,
    S,
    U,
    X,
)
from stackmask.grammar.regex.pattern.tree import (
    END,
    LINE_END,
    LINE_START,
    START,
    Edge,
    Look,
    Node,
    Pairs,
    word_boundary,
)
from stackmask.grammar.regex.unicode.folding import ASCII, PYTHON
from stackmask.grammar.regex.unicode.properties import category
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

FLAGS: Final = {"a": 0, "i": I, "m": M, "s": S, "u": U, "x": X}
_NAME: Final = re.compile(r"\(\?P<([^\W\d]\w*)>")
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]*)?([:)])")
_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_DIGITS: Final = {"x": 2, "u": 4, "U": 8}


@cache
def unicode_word() -> Ranges:
    r"""Return what `\w` matches in text: letters, everything numeric, and the underscore."""
    return charclass.normalize((*category("L"), *category("N"), (0x5F, 0x5F)))


@cache
def unicode_space() -> Ranges:
    r"""Return what `\s` matches in text: white space, and the four separators of ASCII."""
    spaces = (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
    return charclass.normalize([(9, 13), (28, 32), (0x2000, 0x200A), *((c, c) for c in spaces)])


_CACHES: Final[tuple[dict[tuple[str, str, int], tuple[Ranges, int]], ...]] = (
    {},
    {},
)  # of classes: of text, of bytes


@final
class PythonFlavour(Flavour):
    """Reads Python's patterns."""

    quantifier: ClassVar = re.compile(r"\{(?!\})([0-9]*)(,?)((?<=,)[0-9]*|)\}")
    class_end: ClassVar = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
    possessive: ClassVar = True

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.class_cache = _CACHES[reader.as_bytes]

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

    def word(self, flags: int) -> Ranges:
        r"""Return what `\w` matches."""
        return unicode_word() if flags & U else charclass.WORD

    def open(self) -> None:
        text, start = self.reader.text, self.reader.position
        frame = self.reader.stack[-1]
        flags, kind = frame.flags, ""
        if not text.startswith("?", start + 1):
            self.reader.position = start + 1
        elif text.startswith(("?:", "?=", "?!", "?>"), start + 1):
            kind = text[start + 2] if text[start + 2] != ":" else ""
            self.reader.position = start + 3
        elif text.startswith(("?<=", "?<!"), start + 1):
            kind = text[start + 2 : start + 4]
            self.reader.position = start + 4
        elif name := _NAME.match(text, start):
            self.reader.name_group(name)
        elif text.startswith("?#", start + 1):
            close = text.find(")", start)
            if close < 0:
                self.reader.problems.add("G008", "unclosed comment", start, start + 3, label="opened here")
            self.reader.position = close + 1 if close >= 0 else self.reader.end
            return
        elif text.startswith("?P=", start + 1) or text.startswith("?(", start + 1):
            close = text.find(")", start)
            close = close if close >= 0 else self.reader.end - 1
            written = text[start : close + 1]
            if text[start + 2] == "P":
                self.reader.refuse(
                    f"the back-reference `{written}`", start, close + 1, "no finite automaton can do it"
                )
                return
            self.reader.refuse(f"the conditional group `{written}`", start, close + 1)
            self.reader.push(Frame(start, flags))
            return
        elif (letters := _FLAGS.match(text, start)) and (letters[1] or letters[2] or letters[3] == ":"):
            flags = self.modified(letters, flags)
            self.reader.position = letters.end()
            if letters[3] == ")":
                frame.flags = flags
                for other in self.reader.stack:
                    other.flags = flags
                return
        else:
            self.reader.problems.add(
                "G008",
                "unknown kind of group",
                start,
                min(start + 3, self.reader.end),
                label="expected `(?:`, `(?P<name>`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>` or flags",
            )
            self.reader.position = start + 2
        self.reader.push(Frame(start, flags, kind))

    def modified(self, match: re.Match[str], flags: int) -> int:
        """Return the flags behind `(?i)` or inside of `(?i-s:…)`."""
        on, off = match[1], (match[2] or "")[1:]
        problem = ""
        if unknown := set(on + off) - set("aiLmsux"):
            problem = f"unknown flag `{min(unknown)}`"
        elif set(off) & set("aLu") or set(on) & set(off) or (match[2] and not off):
            problem = f"bad flags `{match[0]}`"
        elif match[3] == ")" and (match[2] or match.start() != 0):
            problem = "flags that hold from here on stand at the beginning of the pattern only"
        elif {"a", "u"} <= set(on) or (self.reader.as_bytes and "u" in on):
            problem = f"incompatible flags `{match[0]}`"
        if problem:
            self.reader.problems.add("G008", problem, match.start(), match.end())
        if "L" in on:
            self.reader.refuse("the flag L (depends on the locale)", match.start(), match.end())
        for letter in on:
            flags = flags & ~U if letter == "a" else flags | FLAGS.get(letter, 0)
        for letter in off:
            flags &= ~FLAGS.get(letter, 0)
        return flags

    def special_group(self, frame: Frame, node: Node, outer: Frame) -> Node:
        if frame.kind == ">":
            return self.make_atomic(node, frame.start)
        return super().special_group(frame, node, outer)

    def make_atomic(self, node: Node, start: int) -> Node:
        try:
            result, asserts = atomic(node, self.reader.lazy, start)
        except NotAtomic:
            self.reader.problems.add(
                "G009",
                "a group or quantifier that gives nothing back is not supported here",
                start,
                start + 1,
                help="what it matches depends on the order of tries; only simple ones can be written without it",
            )
            return node
        self.reader.asserted += asserts
        return result

    def escape(self, frame: Frame) -> None:
        text, start = self.reader.text, self.reader.position
        letter = text[start + 1 : start + 2]
        flags = frame.flags
        if letter in ("b", "B"):
            self.reader.position = start + 2
            ranges = self.word(flags)
            other = classes.complement(ranges, self.universe(flags))
            pairs: Pairs = word_boundary(ranges, other)
            if letter == "B":  # of an empty text, the only place is no non-boundary either (3.13 and before)
                word, edge = (ranges, False), ((), True)
                inside = (other, False)
                pairs = ((word, word), (inside, inside), (inside, edge), (edge, inside))
            self.reader.assertion(frame, Edge(pairs, start, f"the word boundary `\\{letter}`"), start)
            return
        if letter in ("A", "Z"):
            self.reader.position = start + 2
            self.reader.assertion(
                frame, Edge(START if letter == "A" else END, start, f"the anchor `\\{letter}`"), start
            )
            return
        value, self.reader.position = self.read_escape(start, flags, in_class=False)
        if isinstance(value, tuple):
            self.set(frame, value, start)
        else:
            self.add_code(frame, value, start)

    def add_code(self, frame: Frame, value: int, start: int) -> None:
        """Add the character of a code point; a lone surrogate is in no well-formed text."""
        if ir.SURROGATES[0] <= value <= ir.SURROGATES[1]:
            self.set(frame, (), start)
        else:
            self.reader.literal(frame, chr(value), start)

    def class_escape(self, start: int, flags: int) -> tuple[int | Ranges, int]:
        return self.read_escape(start, flags, in_class=True)

    def read_escape(self, start: int, flags: int, *, in_class: bool) -> tuple[int | Ranges, int]:
        r"""Return the code point or the set that an escape stands for, and the offset behind it."""
        text, after = self.reader.text, start + 2
        letter = text[start + 1 : after]
        if not letter:
            self.reader.problems.add(
                "G006", r"`\` escapes nothing", start, self.reader.end, help=r"write `\\` for a backslash"
            )
            return 0xFFFD, self.reader.end
        if letter in "dDwWsS":
            return self.named_set(letter, flags), after
        if letter in _ESCAPES:
            return _ESCAPES[letter], after
        if letter == "b" and in_class:
            return 8, after
        if letter == "x" or (letter in "uU" and not self.reader.as_bytes):
            code, behind = self.reader.hexadecimal(start, after, _DIGITS[letter])
            if code > ir.MAX_CODE_POINT:
                self.reader.problems.add("G006", "beyond the last code point, U+10FFFF", start, behind)
                code = -1
            return max(code, 0), behind
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
            self.reader.refuse(
                f"the back-reference `{written}`", start, after, "no finite automaton can do it"
            )
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
        r"""Return `\d \w \s` and their complements."""
        kind = letter.lower()
        if kind == "w":
            ranges = self.word(flags)
        elif kind == "d":
            ranges = category("Nd") if flags & U else charclass.DIGIT
        else:
            ranges = unicode_space() if flags & U else charclass.SPACE
        return ranges if letter.islower() else classes.complement(ranges, self.universe(flags))

    def read_class(self, start: int, flags: int) -> tuple[Ranges, int]:
        return PlainClass(self.reader, flags, lead=True, set_in_range=False).read(start)


def python_reader(text: str, flags: int, as_bytes: bool) -> Reader:
    """Return a reader of a pattern of Python's ``re``."""
    return Reader(text, flags, as_bytes, PythonFlavour)
