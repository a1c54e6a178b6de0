"""The reader shared by the flavours, for groups, alternation, sequences and quantifiers: one pass with an
explicit stack.

The flavour defines escapes, classes, dots, anchors and kinds of groups. Reading continues after a problem, so
that all problems are reported at once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, Final, final

from stackmask.grammar import ir
from stackmask.grammar.languages import classes
from stackmask.grammar.languages.classes import byte_class, char_class
from stackmask.grammar.regex.pattern.tree import (
    Edge,
    Look,
    Node,
    Pairs,
    node_choice,
    node_repeat,
    node_sequence,
    not_word_boundary,
    takes_nothing,
    word_boundary,
)
from stackmask.grammar.regex.unicode.folding import folded
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import measured, spend, spend_units

MAX_COUNT: Final = 1_000_000_000

I, M, S, X, U, R = 1, 2, 4, 8, 16, 32  # ignore case, multi-line, dot-all, spaced out, Unicode, CRLF

NOT_NEWLINE: Final = charclass.negate([(0x0A, 0x0A)])
PLAIN: Final = re.compile(r"[^\\\[\](){}.*+?|^$]+")
PLAIN_SPACED: Final = re.compile(r"[^\\\[\](){}.*+?|^$\s#]+")


@lru_cache(classes.MAX_CACHED)
def variants(char: str, folding: str) -> Ranges | None:
    """Return the characters that equal a character case-insensitively; None if there are no others."""
    code = ord(char)
    ranges = folded(((code, code),), folding)
    return None if ranges == ((code, code),) else ranges


_CLASSES: Final[dict[object, tuple[Ranges, int]]] = {}  # that were read, with the units of work that it took


class Frame:
    """An open group, with its finished alternatives, the current sequence, and the flags in force."""

    __slots__ = ("alternatives", "flags", "item_start", "items", "kind", "start")

    def __init__(self, start: int, flags: int, kind: str = "") -> None:
        self.start, self.flags, self.kind = start, flags, kind
        self.alternatives: list[Node] = []
        self.items: list[Node | str] = []
        self.item_start = -1  # of the last item, where it may be quantified


class Flavour(ABC):
    """One flavour's escapes, classes, dots, anchors and kinds of groups, for one reader."""

    quantifier: ClassVar[re.Pattern[str]]
    class_end: ClassVar[re.Pattern[str]]  # a class without nested ones, whole
    stacks_quantifiers: ClassVar[bool] = False  # `a**`
    possessive: ClassVar[bool] = False
    repeats_names: ClassVar[bool] = False  # `(?<x>a)|(?<x>b)`
    quantifies_anchors: ClassVar[bool] = False
    needs_braces: ClassVar[bool] = False  # a brace that begins no quantifier is an error
    most_groups: ClassVar[int] = 100  # nested groups; each makes up to three levels of expressions
    too_deep_help: ClassVar[str] = ""
    where: ClassVar[str] = ""  # in messages about what is not supported
    # groups: what is more than parentheses (`(?:` is not), the beginning with a name, or with flags
    groups: ClassVar[tuple[str, ...]] = ("?:",)
    name: ClassVar[re.Pattern[str]]
    flags: ClassVar[dict[str, int]]
    flag_group: ClassVar[re.Pattern[str]]  # its groups: the letters on, those off, and what ends it
    group_label: ClassVar[str] = ""
    # escapes: anchors by letter, word boundaries, characters
    anchors: ClassVar[dict[str, Pairs]] = {}
    boundaries: ClassVar[str] = "bB"
    controls: ClassVar[dict[str, int]]

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.variant = int(reader.as_bytes)  # what is refused or read differently

    @abstractmethod
    def read_class(self, start: int, flags: int) -> tuple[Ranges, int]:
        """Read the class at ``start``; return its characters and the offset after it."""

    @abstractmethod
    def read_escape(self, letter: str, start: int, flags: int, in_class: bool) -> tuple[int | Ranges, int]:
        """Read an escape other than the common ones; return its code point or set, and the offset after it."""

    @abstractmethod
    def dot(self, flags: int) -> Ranges:
        """Return the characters that `.` matches."""

    @abstractmethod
    def anchor(self, char: str, flags: int) -> Node:
        """Return the assertion for `^` or `$`."""

    @abstractmethod
    def folding(self, flags: int) -> str:
        """Return the name of the case folding that is in force."""

    @abstractmethod
    def named_set(self, letter: str, flags: int) -> Ranges:
        r"""Return the set of characters of `\d`, `\w` or `\s`."""

    def universe(self, flags: int) -> Ranges:
        """Return all characters, of which a negated class is the complement."""
        return classes.BYTES if self.reader.as_bytes else charclass.ANY

    def escape(self, frame: Frame) -> None:
        """Read the escape at the position, outside a class."""
        reader, start = self.reader, self.reader.position
        letter = reader.text[start + 1 : start + 2]
        if letter and letter in self.boundaries:
            reader.position = start + 2
            pairs, what = self.boundary(letter, frame.flags), "word boundary"
        elif letter in self.anchors:
            reader.position = start + 2
            pairs, what = self.anchors[letter], "anchor"
        elif not self.reference(letter, start):
            value, reader.position = self.class_escape(start, frame.flags, in_class=False)
            self.add(frame, value, start)
            return
        else:
            return
        reader.assertion(frame, Edge(pairs, start, f"the {what} `\\{letter}`"), start)

    def boundary(self, letter: str, flags: int) -> Pairs:
        """Return the assertion for a word boundary, and skip the rest of its syntax."""
        word = self.named_set("w", flags)
        other = classes.complement(word, self.universe(flags))
        return word_boundary(word, other) if letter == "b" else not_word_boundary(word, other)

    def reference(self, letter: str, start: int) -> bool:
        """Report a reference to a group, and return whether it is one."""
        return False

    def add(self, frame: Frame, value: int | Ranges, start: int) -> None:
        """Add the node for an escape."""
        if isinstance(value, tuple):
            self.set(frame, value, start)
        elif ir.SURROGATES[0] <= value <= ir.SURROGATES[1]:
            self.set(frame, (), start)  # half a character is in no well-formed text
        else:
            self.reader.literal(frame, chr(value), start)

    def class_escape(self, start: int, flags: int, in_class: bool = True) -> tuple[int | Ranges, int]:
        """Read the escape at ``start``; return its code point or set, and the offset after it."""
        letter, after = self.reader.text[start + 1 : start + 2], start + 2
        if not letter:
            self.reader.problems.add(
                "G006", r"`\` escapes nothing", start, self.reader.end, help=r"write `\\` for a backslash"
            )
            return 0xFFFD, self.reader.end
        if letter in "dwsDWS":
            ranges = self.named_set(letter.lower(), flags)
            return (ranges if letter.islower() else classes.complement(ranges, self.universe(flags))), after
        if letter in self.controls:
            return self.controls[letter], after
        return self.read_escape(letter, start, flags, in_class)

    def open(self) -> None:
        """Read the beginning of a group."""
        reader, text, start = self.reader, self.reader.text, self.reader.position
        frame = reader.stack[-1]
        flags, kind = frame.flags, ""
        if not text.startswith("?", start + 1):
            reader.position = start + 1
        elif prefix := next((each for each in self.groups if text.startswith(each, start + 1)), ""):
            kind = prefix[1:] if prefix != "?:" else ""
            reader.position = start + 1 + len(prefix)
        elif name := self.name.match(text, start):
            self.name_group(name)
        elif letters := self.flag_group.match(text, start):
            problem, label = self.wrong_flags(letters)
            if problem:
                reader.problems.add("G008", problem, start, letters.end(), label=label)
            flags = self.changed(flags, letters[1], (letters[2] or "")[1:])
            reader.position = letters.end()
            if letters[3] == ")":
                self.set_flags(frame, flags)
                return
        elif other := self.other_group(frame, start):
            if other == "whole":
                return
        else:
            end = min(start + 3, reader.end)
            help = self.group_help(start)
            reader.problems.add(
                "G008", "unknown kind of group", start, end, label=self.group_label, help=help
            )
            reader.position = start + 2
        reader.push(Frame(start, flags, kind))

    def name_group(self, name: re.Match[str]) -> None:
        """Record the name of a group."""
        self.reader.name_group(name)

    def changed(self, flags: int, on: str, off: str) -> int:
        """Return flags with some letters switched on and some off; invalid letters are ignored."""
        for letter in on:
            flags |= self.flags.get(letter, 0)
        for letter in off:
            flags &= ~self.flags.get(letter, 0)
        return flags

    def wrong_flags(self, match: re.Match[str]) -> tuple[str, str]:
        """Return the problem of a group of flags, and the expected form; empty without a problem."""
        return "", ""

    def set_flags(self, frame: Frame, flags: int) -> None:
        """Set the flags from here on."""
        frame.flags, frame.item_start = flags, -1

    def other_group(self, frame: Frame, start: int) -> str:
        """Read another kind of group, or only its beginning; return None if there is none."""
        return ""

    def group_help(self, start: int) -> str:
        """Return advice on an unknown kind of group."""
        return ""

    def not_quantifier(self, frame: Frame) -> None:
        """Read a brace that does not begin a quantifier."""
        start = self.reader.position
        self.reader.position += 1
        if not self.needs_braces:
            self.reader.literal(frame, "{", start)
            return
        self.reader.problems.add(
            "G008",
            "`{` is not a repetition here",
            start,
            start + 1,
            label="expected `{m}`, `{m,}` or `{m,n}`",
            help=r"write `\{` for a brace",
        )

    def stray_bracket(self, frame: Frame, char: str) -> None:
        """Read an unmatched closing bracket or brace."""
        self.reader.literal(frame, char, self.reader.position)
        self.reader.position += 1

    def bounds(self, match: re.Match[str]) -> tuple[int, int | None]:
        """Return the bounds of a braced quantifier."""
        return read_bounds(match[1], match[2], match[3])

    def special_group(self, frame: Frame, node: Node, outer: Frame) -> Node:
        """Return the node for a group with a special meaning."""
        self.reader.asserted += 1
        return Look(node, "<" not in frame.kind, "!" in frame.kind, frame.start)

    def make_atomic(self, node: Node, start: int) -> Node:
        """Return a node without backtracking; only called in flavours with possessive repetitions."""
        return node

    def set(self, frame: Frame, ranges: Ranges, start: int) -> None:
        """Add one character of a set."""
        self.reader.add_set(frame, ranges, start)

    def quantify(self, frame: Frame, match: re.Match[str] | None) -> None:
        """Read a quantifier and apply it to the last item."""
        self.reader.quantify(frame, match)


@final
class Reader:
    """Reads one pattern of a flavour; ``read`` returns its tree."""

    def __init__(self, text: str, flags: int, as_bytes: bool, flavour: Callable[[Reader], Flavour]) -> None:
        self.text, self.end, self.as_bytes = text, len(text), as_bytes
        self.position = 0
        self.problems = Collector()
        self.stack = [Frame(0, flags)]
        self.asserted = 0  # assertions read so far
        self.lazy: dict[int, ir.Repeat] = {}  # lazy repetitions by identity
        self.too_deep = False
        self.names: dict[str, list[dict[Frame, int]]] = {}  # of groups -> the alternatives they stand in
        self.flavour = flavour(self)

    def name_group(self, name: re.Match[str]) -> None:
        """Read the name of a group. A name may be used once, or once in each alternative."""
        place = {frame: len(frame.alternatives) for frame in self.stack}
        before = self.names.setdefault(name[1], [])
        for other in before:
            apart = any(other.get(frame, number) != number for frame, number in place.items())
            if not (self.flavour.repeats_names and apart):
                problem = f"there is a group named `{name[1]}` already"
                self.problems.add("G008", problem, name.start(1), name.end(1))
                break
        before.append(place)
        self.position = name.end()

    def read(self) -> Node:
        """Return the tree of the pattern; if there are problems, an approximation."""
        text, end = self.text, self.end
        stack, flavour = self.stack, self.flavour
        spend(2 * end)
        while self.position < end:
            frame, start = stack[-1], self.position
            plain = (PLAIN_SPACED if frame.flags & X else PLAIN).match(text, start)
            if plain:
                self.run(frame, plain[0])
                continue
            char = text[start]
            if char == "\\":
                flavour.escape(frame)
            elif char == "[":
                self.bracket(frame)
            elif char == "(":
                flavour.open()
            elif char == ")":
                self.close()
            elif char in "*+?":
                flavour.quantify(frame, None)
            elif char == "{":
                match = flavour.quantifier.match(text, start)
                if match:
                    flavour.quantify(frame, match)
                else:
                    flavour.not_quantifier(frame)
            elif char == ".":
                self.position += 1
                flavour.set(frame, flavour.dot(frame.flags), start)
            elif char == "|":
                self.end_alternative(frame)
                self.position += 1
            elif char in "^$":
                self.position += 1
                self.assertion(frame, flavour.anchor(char, frame.flags), start)
            elif char in "]}":
                flavour.stray_bracket(frame, char)
            elif char == "#":  # spaced out
                newline = text.find("\n", start)
                self.position = end if newline < 0 else newline + 1
            else:
                self.position += 1
        while len(stack) > 1:
            frame = stack.pop()
            self.problems.add(
                "G008",
                "unclosed group",
                frame.start,
                frame.start + 1,
                label="opened here",
                help=r"add a `)`, or write `\(` for the text",
            )
        return self.finish(stack[0])

    def run(self, frame: Frame, plain: str) -> None:
        """Add a run of literal characters; only the last one can be quantified."""
        start = self.position
        self.position = start + len(plain)
        folding = self.flavour.folding(frame.flags) if frame.flags & I else ""
        if not folding:
            if len(plain) > 1 and self.text[self.position : self.position + 1] in ("*", "+", "?", "{"):
                frame.items.append(plain[:-1])
                plain = plain[-1]
            frame.items.append(plain)
        else:
            spend(2 * len(plain))
            for char in plain:
                ranges = variants(char, folding)
                frame.items.append(char if ranges is None else self.one_of(ranges))
        frame.item_start = self.position - 1

    def literal(self, frame: Frame, char: str, start: int) -> None:
        """Add one character."""
        ranges = variants(char, self.flavour.folding(frame.flags)) if frame.flags & I else None
        frame.items.append(char if ranges is None else self.one_of(ranges))
        frame.item_start = start

    def add_set(self, frame: Frame, ranges: Ranges, start: int) -> None:
        """Add one character of a set."""
        frame.items.append(self.one_of(ranges))
        frame.item_start = start

    def one_of(self, ranges: Ranges) -> ir.Expr:
        """Return the expression of a set."""
        return byte_class(classes.intersect(ranges, classes.BYTES)) if self.as_bytes else char_class(ranges)

    def text_of(self, characters: str) -> ir.Expr:
        """Return the expression of literal characters."""
        try:
            return ir.Literal(characters.encode("latin-1" if self.as_bytes else "utf-8"))
        except UnicodeEncodeError:
            return char_class(())  # half a character is in no well-formed text

    def assertion(self, frame: Frame, node: Node, start: int) -> None:
        """Add an assertion."""
        self.asserted += 1
        frame.items.append(node)
        frame.item_start = start if self.flavour.quantifies_anchors else -1

    def bracket(self, frame: Frame) -> None:
        """Read a class, or reuse an equal one that was read before."""
        text, start, flags = self.text, self.position, frame.flags
        flavour = self.flavour
        match = flavour.class_end.match(text, start)
        key: object = None
        if match:
            folding = flavour.folding(flags) if flags & I else ""
            key = match[0], type(flavour), flavour.variant, folding, flags & (U | X)
        known = _CLASSES.get(key)
        if known is not None and match:
            self.position = match.end()
            spend_units(known[1])
            flavour.set(frame, known[0], start)
            return
        count = len(self.problems.found)
        (ranges, self.position), units = measured(lambda: flavour.read_class(start, flags))
        if match and match.end() == self.position and len(self.problems.found) == count:
            if len(_CLASSES) >= classes.MAX_CACHED:
                _CLASSES.clear()
            _CLASSES[key] = ranges, units
        flavour.set(frame, ranges, start)

    def push(self, frame: Frame) -> None:
        """Enter a group."""
        if len(self.stack) > self.flavour.most_groups and not self.too_deep:
            self.too_deep = True
            problem = f"more than {self.flavour.most_groups} nested groups"
            self.problems.add("G015", problem, frame.start, frame.start + 1, help=self.flavour.too_deep_help)
        self.stack.append(frame)

    def close(self) -> None:
        """Leave a group."""
        if len(self.stack) == 1:
            self.problems.add(
                "G008",
                "`)` closes nothing",
                self.position,
                self.position + 1,
                help=r"write `\)` for the text",
            )
            self.position += 1
            return
        frame = self.stack.pop()
        node = self.finish(frame)
        self.position += 1
        outer = self.stack[-1]
        outer.item_start = frame.start
        if self.too_deep:
            node = ir.EPSILON
        if frame.kind:
            node = self.flavour.special_group(frame, node, outer)
        outer.items.append(node)

    def finish(self, frame: Frame) -> Node:
        """Return the alternatives of a group."""
        self.end_alternative(frame)
        options = frame.alternatives
        return options[0] if len(options) == 1 else node_choice(options)

    def end_alternative(self, frame: Frame) -> None:
        """Finish the current sequence; adjacent characters become one literal."""
        merged: list[Node] = []
        plain = ""
        for item in frame.items:
            if isinstance(item, str):
                plain += item
                continue
            if plain:
                merged.append(self.text_of(plain))
                plain = ""
            if type(item) is ir.Sequence:
                merged.extend(item.items)
            else:
                merged.append(item)
        if plain:
            merged.append(self.text_of(plain))
        frame.alternatives.append(
            merged[0] if len(merged) == 1 else node_sequence(merged) if merged else ir.EPSILON
        )
        frame.items, frame.item_start = [], -1

    def quantify(self, frame: Frame, match: re.Match[str] | None) -> None:
        """Read a quantifier and apply it to the last item."""
        text, start = self.text, self.position
        if match is None:
            char = text[start]
            low, high = _SIGNS[char]
            self.position = start + 1
        else:
            low, high = self.flavour.bounds(match)
            self.position = match.end()
        lazy = possessive = False
        following = text[self.position : self.position + 1]
        if following == "?":
            self.position += 1
            lazy = True
        elif following == "+" and self.flavour.possessive:
            self.position += 1
            possessive = True
        written = text[start : self.position]
        if frame.item_start < 0:
            self.nothing_to_repeat(frame, written, start)
            return
        if check_bounds(low, high, start, self.position, self.problems):
            low, high = (0, None) if max(low, high or 0) > MAX_COUNT else (high or 0, low)
        item = frame.items[-1]
        if isinstance(item, str):
            item = self.text_of(item)
        result: Node
        if isinstance(item, Edge | Look) or (self.asserted and takes_nothing(item)):
            result = ir.EPSILON if low == 0 else item  # holding once is holding always
        else:
            result = repeat = node_repeat(item, low, high)
            if lazy:
                self.lazy[id(repeat)] = repeat
            elif possessive:
                result = self.flavour.make_atomic(repeat, start)
        frame.items[-1] = result
        if not self.flavour.stacks_quantifiers:
            frame.item_start = -1

    def nothing_to_repeat(self, frame: Frame, written: str, start: int) -> None:
        """Report a quantifier without an item."""
        again = self.position > 1 and frame.items and not isinstance(frame.items[-1], Edge | Look)
        self.problems.add(
            "G008",
            f"`{written}` repeats nothing",
            start,
            self.position,
            label="a repetition cannot be repeated" if again else "expected something to repeat before it",
            help="put the first one into a group: `(?:…)`" if again else f"write `\\{written}` for the text",
        )

    def refuse(self, what: str, start: int, end: int, help: str = "") -> None:
        """Report a construct that finite automata, or this flavour, cannot support."""
        self.problems.add("G009", f"{what} is not supported{self.flavour.where}", start, end, help=help)
        self.position = end

    def hexadecimal(self, start: int, first: int, digits: int) -> tuple[int, int]:
        """Read exactly the given number of hexadecimal digits at ``first``; return -1 after reporting missing ones."""
        value = self.text[first : first + digits]
        if len(value) == digits and HEX.issuperset(value):
            return int(value, 16), first + digits
        self.problems.add(
            "G006",
            f"`{self.text[start:first]}` needs {digits} hexadecimal digits",
            start,
            min(first + len(value), self.end),
            label="digits missing",
        )
        return -1, first

    def braced_hexadecimal(self, start: int, brace: int) -> tuple[int, int]:
        """Read ``{H…}`` at ``brace``; return -1 after reporting a problem."""
        close = self.text.find("}", brace)
        value = self.text[brace + 1 : close] if close >= 0 else ""
        if not value or not HEX.issuperset(value):
            self.problems.add(
                "G006",
                f"`{self.text[start : brace + 1]}` needs hexadecimal digits and `}}`",
                start,
                brace + 1,
                label="digits missing",
            )
            return -1, brace + 1
        code = int(value, 16) if len(value) < 32 else ir.MAX_CODE_POINT + 1
        if code > ir.MAX_CODE_POINT:
            self.problems.add("G006", "beyond the last code point, U+10FFFF", start, close + 1)
            return -1, close + 1
        return code, close + 1


HEX: Final = frozenset("0123456789abcdefABCDEF")
_SIGNS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def read_bounds(low: str, comma: str, high: str) -> tuple[int, int | None]:
    """Return the bounds of ``{m}``, ``{m,}``, ``{,n}`` or ``{m,n}``."""
    least = read_number(low) if low else 0  # mutant: least-bound
    if not comma:
        return least, least
    return least, read_number(high) if high else None


def check_bounds(low: int, high: int | None, start: int, end: int, problems: Collector) -> bool:
    """Report a repetition whose bounds are reversed or too large, and return whether it is valid."""
    if max(low, high or 0) > MAX_COUNT:
        problems.add("G005", f"a repetition count is at most {MAX_COUNT:,}", start, end, label="too large")
    elif high is not None and high < low:
        problems.add(
            "G005",
            f"the repetition ends at {high} before it begins at {low}",
            start,
            end,
            label="reversed bounds",
            help=f"did you mean `{{{high},{low}}}`?",
        )
    else:
        return False
    return True


def read_number(digits: str) -> int:
    """Return the value of decimal digits; more than twelve digits are read as ``MAX_COUNT + 1``."""
    # beyond 12 digits the value does not matter: it is refused (and int() of many digits is slow)
    return int(digits) if len(digits) <= 12 else MAX_COUNT + 1
