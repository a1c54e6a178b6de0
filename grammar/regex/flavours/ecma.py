"""ECMA-262 patterns as in browsers: with the `u` grammar where it is valid, and Annex B otherwise.

Without the flag `u` or `v`, `\\p{…}` and `\\u{…}` have the meaning of `u` (as JSON Schema's suite requires),
and identity escapes and lone brackets the meaning of Annex B. With the flag, the strict grammar applies.
Matching is by code points, never by UTF-16 units.
"""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, Final, final

from stackmask.grammar.languages import classes
from stackmask.grammar.regex.flavours.brackets import BracketReader
from stackmask.grammar.regex.pattern.reader import HEX, Flavour, Frame, I, M, Reader, S, U
from stackmask.grammar.regex.pattern.tree import (
    END,
    LINE_END,
    LINE_START,
    START,
    Edge,
    Node,
    Pairs,
)
from stackmask.grammar.regex.unicode.folding import ASCII, SIMPLE, UPPER, fold
from stackmask.grammar.regex.unicode.properties import UnknownProperty, ecma_property
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

V: Final = 64  # the flag v: set operations in classes
A: Final = 128  # the flag a: letters of ASCII alone ignore case, as in XGrammar
FLAGS: Final = {"a": A, "i": I, "m": M, "s": S, "u": U, "v": U | V, "d": 0, "g": 0}
# WhiteSpace and LineTerminator
_WHITE: Final = (0x20, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
SPACE: Final = charclass.normalize([(0x09, 0x0D), (0x2000, 0x200A), *((code, code) for code in _WHITE)])
LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
DOT: Final = charclass.negate(LINE_ENDS)
_LINE_START: Final[Pairs] = tuple(((LINE_ENDS, True), right) for (_, right) in LINE_START)
_LINE_END: Final[Pairs] = tuple((left, (LINE_ENDS, True)) for (left, _) in LINE_END)
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_NAME: Final = re.compile(r"\(\?<((?:[^\W\d]|\$)[\w$\u200c\u200d]*)>")
_GROUPS: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|(\((?!\?)|\(\?<(?![=!]))", re.DOTALL)
_PYTHON_FLAGS: Final = re.compile(r"\?([aimsux]+)\)")
_OCTAL: Final = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")


@cache
def _word_folded() -> Ranges:
    return fold(charclass.WORD, SIMPLE)  # reads a table


@final
class EcmaFlavour(Flavour):
    """Reads ECMA-262 patterns."""

    quantifier: ClassVar = re.compile(r"\{([0-9]+)(,?)((?<=,)[0-9]*|)\}")
    class_end: ClassVar = re.compile(r"\[(?:\\.|[^\]\\])*\]", re.DOTALL)
    repeats_names: ClassVar = True
    groups: ClassVar = ("?:", "?=", "?!", "?<=", "?<!")
    name: ClassVar = _NAME
    flags: ClassVar = {"i": I, "m": M, "s": S}
    flag_group: ClassVar = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]*)?(:)")
    group_label: ClassVar = "expected `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!` or `(?<name>`"
    controls: ClassVar = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}

    def __init__(self, reader: Reader, flags: int) -> None:
        super().__init__(reader)
        self.strict = bool(flags & U)
        self.sets = bool(flags & V)
        self.variant = self.strict + self.sets
        self.count: int | None = None  # of groups, counted where a back-reference is

    def folding(self, flags: int) -> str:
        return ASCII if self.reader.as_bytes or flags & A else SIMPLE if flags & U else UPPER

    def dot(self, flags: int) -> Ranges:
        return charclass.ANY if flags & S else DOT

    def anchor(self, char: str, flags: int) -> Node:
        whole, line = (START, _LINE_START) if char == "^" else (END, _LINE_END)
        return Edge(line if flags & M else whole, self.reader.position - 1, f"the anchor `{char}`")

    def quantify(self, frame: Frame, match: re.Match[str] | None) -> None:
        start = frame.item_start
        super().quantify(frame, match)
        if match and not self.strict and self.reader.text.startswith("{", self.reader.position):
            frame.item_start = start  # `a{2}{3}`: browsers refuse it, but it can mean one thing only

    def not_quantifier(self, frame: Frame) -> None:
        if self.strict:
            self.stray_bracket(frame, "{")
        else:
            super().not_quantifier(frame)

    def stray_bracket(self, frame: Frame, char: str) -> None:
        if self.strict:
            self.reader.problems.add(
                "G008",
                f"`{char}` stands alone",
                self.reader.position,
                self.reader.position + 1,
                help=f"with the flag u, write `\\{char}`",
            )
        super().stray_bracket(frame, char)

    def wrong_flags(self, match: re.Match[str]) -> tuple[str, str]:
        both = match[1] + (match[2] or "")[1:]
        if not both or len(set(both)) < len(both) or not set(both) <= set("ims"):
            return f"`{match[0]}` are no modifiers", "expected each of i, m and s at most once"
        return "", ""

    def group_help(self, start: int) -> str:
        """Return advice on a group that only Python supports; empty if Python does not support it either."""
        if self.reader.text.startswith("?P", start + 1):
            return 'this is a group of Python: pass flavor="python"'
        flags = _PYTHON_FLAGS.match(self.reader.text, start + 1)
        return (
            f'give flags for the whole pattern beside it: flags="{flags[1]}", or flavor="python"'
            if flags
            else ""
        )

    def special_group(self, frame: Frame, node: Node, outer: Frame) -> Node:
        if "<" in frame.kind or self.strict:
            outer.item_start = -1  # only Annex B repeats an assertion, and a lookahead at that
        return super().special_group(frame, node, outer)

    def reference(self, letter: str, start: int) -> bool:
        """Refuse `\\1` and `\\k<name>` if such a group exists; otherwise they need not be references."""
        reader, text = self.reader, self.reader.text
        if letter and letter in "123456789":
            after = start + 2
            while after < reader.end and text[after] in "0123456789":
                after += 1
            if self.count is None:
                self.count = sum(1 for match in _GROUPS.finditer(text) if match[1])
            exists = after - start < 7 and int(text[start + 1 : after]) <= self.count
            if not exists and not self.strict:
                return False
        elif letter == "k" and (self.strict or _NAME.search(text)):
            after = text.find(">", start) + 1
            if not text.startswith("<", start + 2) or not after:
                reader.problems.add(
                    "G006", "`\\k` needs a name", start, start + 2, help="for example `\\k<name>`"
                )
                reader.position = start + 2
                return True
            exists = f"(?{text[start + 2 : after]}" in text
        else:
            return False
        written = text[start:after]
        if exists:
            reader.refuse(f"the back-reference `{written}`", start, after, "no finite automaton can do it")
        else:
            reader.problems.add("G008", f"`{written}` refers to no group", start, after)
            reader.position = after
        return True

    def read_escape(self, letter: str, start: int, flags: int, in_class: bool) -> tuple[int | Ranges, int]:
        text, after = self.reader.text, start + 2
        if letter == "x":
            digits = text[after : after + 2]
            if len(digits) == 2 and HEX.issuperset(digits):
                return int(digits, 16), after + 2
            return self.identity(start, "needs two hexadecimal digits")
        if letter == "u":
            return self.unicode_escape(start)
        if letter in "pP" and (text.startswith("{", after) or self.strict):
            return self.property(start, flags)
        if letter == "c":
            control = text[after : after + 1]
            more = "0123456789_" if in_class and not self.strict else ""
            if control and ((control.isascii() and control.isalpha()) or control in more):
                return ord(control) % 32, after + 1
            if not self.strict:
                return 0x5C, start + 1  # Annex B: the backslash stands for itself
            return self.identity(start, "needs a letter")
        if letter == "b" and in_class:
            return 0x08, after
        if letter in "0123456789":
            return self.octal(start)
        if letter == "q" and in_class and self.sets and text.startswith("{", after):
            return self.strings(start, flags)
        in_sets = in_class and (letter == "-" or (self.sets and letter in "&!#%,:;<=>@`~"))
        if in_sets or not self.strict or letter in _SYNTAX:
            return ord(letter), after
        return self.identity(start, "is not an escape with the flag u")

    def strings(self, start: int, flags: int) -> tuple[Ranges, int]:
        r"""Read `\q{a|b}`; only single characters are supported as members of a class."""
        close = self.reader.text.find("}", start)
        close = close if close >= 0 else self.reader.end
        words = self.reader.text[start + 3 : close].split("|")
        if any(len(word) != 1 or word == "\\" for word in words):
            self.reader.problems.add(
                "G009",
                "a class with strings of other than one character is not supported",
                start,
                close + 1,
                help="write them as alternatives: `(?:ab|[c])`",
            )
            return (), close + 1
        ranges = charclass.normalize((ord(word), ord(word)) for word in words)
        return (fold(ranges, self.folding(flags)) if flags & I else ranges), close + 1

    def identity(self, start: int, why: str) -> tuple[int, int]:
        """Return the escaped character itself, which the strict grammar refuses."""
        letter = self.reader.text[start + 1]
        if self.strict:
            self.reader.problems.add("G006", f"`\\{letter}` {why}", start, start + 2, label="no such escape")
        return ord(letter), start + 2

    def octal(self, start: int) -> tuple[int, int]:
        r"""Read `\0`, or an octal escape of Annex B."""
        match = _OCTAL.match(self.reader.text, start + 1)
        following = self.reader.text[start + 2 : start + 3]
        if self.reader.text[start + 1] == "0" and not (following and following in "0123456789"):
            return 0, start + 2
        if self.strict:
            self.reader.problems.add(
                "G006",
                "octal escapes are not allowed with the flag u",
                start,
                start + 2,
                help=r"write `\xHH`",
            )
            return 0xFFFD, start + 2
        if match is None:  # \8 and \9
            return ord(self.reader.text[start + 1]), start + 2
        return int(match[0], 8), match.end()

    def unicode_escape(self, start: int) -> tuple[int, int]:
        r"""Read `\uHHHH`, a surrogate pair of two of them, or `\u{H…}`."""
        text, first = self.reader.text, start + 2
        if text.startswith("{", first):
            close = text.find("}", first)
            if self.strict or (close > first + 1 and HEX.issuperset(text[first + 1 : close])):
                value, after = self.reader.braced_hexadecimal(start, first)
                return max(value, 0), after
            return self.identity(start, "")
        digits = text[first : first + 4]
        if len(digits) < 4 or not HEX.issuperset(digits):
            return self.identity(start, "needs four hexadecimal digits")
        high, after = int(digits, 16), first + 4
        if 0xD800 <= high < 0xDC00 and text.startswith("\\u", after):
            digits = text[after + 2 : after + 6]
            if len(digits) == 4 and HEX.issuperset(digits) and 0xDC00 <= int(digits, 16) < 0xE000:
                return 0x10000 + ((high - 0xD800) << 10) + int(digits, 16) - 0xDC00, after + 6
        return high, after

    def named_set(self, letter: str, flags: int) -> Ranges:
        if letter == "s":
            return classes.intersect(SPACE, self.universe(flags))
        if letter == "w" and flags & I and flags & U:
            return _word_folded()  # two more letters equal ASCII ones
        return charclass.WORD if letter == "w" else charclass.DIGIT

    def property(self, start: int, flags: int) -> tuple[Ranges, int]:
        r"""Read `\p{…}` or `\P{…}`."""
        text = self.reader.text
        close = text.find("}", start)
        if not text.startswith("{", start + 2) or close < 0:
            self.reader.problems.add(
                "G007",
                f"`{text[start : start + 2]}` needs a property in braces",
                start,
                start + 2,
                help=r"for example `\p{L}` or `\p{Script=Greek}`",
            )
            return charclass.ANY, start + 2
        try:
            ranges = ecma_property(text[start + 3 : close])
        except UnknownProperty as error:
            self.reader.problems.add(
                "G007", str(error), start, close + 1, label="no such property", help=error.help
            )
            ranges = charclass.ANY
        negated = text[start + 1] == "P"
        if negated and not (self.sets and flags & I):
            ranges = classes.complement(ranges)
        if flags & I:
            ranges = fold(ranges, self.folding(flags))
            if negated and self.sets:  # v folds before it negates, u after
                ranges = classes.complement(ranges)
        return ranges, close + 1

    def read_class(self, start: int, flags: int) -> tuple[Ranges, int]:
        if self.sets:
            return BracketReader(self.reader, flags, ("&&", "--")).read(start)
        return BracketReader(self.reader, flags, set_in_range=not self.strict).read(start)


def ecma_reader(text: str, flags: int, as_bytes: bool) -> Reader:
    """Return a reader of an ECMA-262 pattern."""
    return Reader(text, flags, as_bytes, lambda reader: EcmaFlavour(reader, flags))
