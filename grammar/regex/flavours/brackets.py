"""Classes in brackets: plain ones (ECMA without v, Python), and nested ones with set operations (Rust, ECMA v)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stackmask.grammar.languages import classes
from stackmask.grammar.regex.unicode.folding import fold
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

if TYPE_CHECKING:
    from stackmask.grammar.regex.pattern.reader import Reader

HYPHEN: Final = 0x2D


class PlainClass:
    """Reads ``[…]`` without nesting. ``lead`` says whether a `]` in first place stands for itself (Python)."""

    def __init__(self, reader: Reader, flags: int, *, lead: bool, set_in_range: bool) -> None:
        self.reader, self.flags = reader, flags
        self.lead, self.set_in_range = lead, set_in_range

    def read(self, start: int) -> tuple[Ranges, int]:
        """Return the characters of the class at ``start`` and the offset behind it."""
        reader, text, end = self.reader, self.reader.text, self.reader.end
        position = start + 1
        negated = text.startswith("^", position)
        position += negated
        members: list[tuple[int, int]] = []  # single characters and ranges, to be folded
        known: list[tuple[int, int]] = []  # sets that an escape names
        opened = position
        while True:
            if position >= end:
                reader.problems.add(
                    "G008", "unclosed class", start, start + 1, label="opened here", help=r"write `\[`"
                )
                break
            if text[position] == "]" and not (self.lead and position == opened):
                position += 1
                break
            first = position
            low, position = self.member(position)
            if text.startswith("-", position) and position + 1 < end and text[position + 1] != "]":
                high, after = self.member(position + 1)
                if isinstance(low, int) and isinstance(high, int):
                    if high < low:
                        report_reversed(reader, first, after, low)
                    else:
                        members.append((low, high))
                    position = after
                    continue
                if not self.set_in_range:
                    reader.problems.add(
                        "G007",
                        f"`{text[first:after]}`: a set cannot begin or end a range",
                        first,
                        after,
                        help=r"write the hyphen as `\-`",
                    )
                for value in (low, high, HYPHEN):
                    add(value, members, known)
                position = after
                continue
            add(low, members, known)
        return self.result(members, known, negated), position

    def member(self, position: int) -> tuple[int | Ranges, int]:
        reader = self.reader
        if reader.text[position] == "\\":
            return reader.flavour.class_escape(position, self.flags)
        return ord(reader.text[position]), position + 1

    def result(self, members: list[tuple[int, int]], known: list[tuple[int, int]], negated: bool) -> Ranges:
        reader = self.reader
        ranges = charclass.normalize(members)
        if self.flags & 1 and ranges:
            ranges = fold(ranges, reader.flavour.folding(self.flags))
        if known:
            ranges = charclass.normalize([*ranges, *known])
        universe = classes.BYTES if reader.as_bytes else charclass.ANY
        return classes.complement(ranges, universe) if negated else ranges


def add(value: int | Ranges, members: list[tuple[int, int]], known: list[tuple[int, int]]) -> None:
    """Add one member of a class."""
    if isinstance(value, int):
        members.append((value, value))
    else:
        known.extend(value)


def report_reversed(reader: Reader, first: int, after: int, low: int) -> None:
    """Report a range whose end is before its beginning."""
    reader.problems.add(
        "G007",
        f"reversed range `{reader.text[first:after]}`",
        first,
        after,
        label=f"U+{low:04X} is after the end of the range",
    )


MAX_NESTED: Final = 50  # classes within classes
_POSIX_CLASS: Final = re.compile(r"\[:(\^?)(\w+):\]")
POSIX: Final[dict[str, Ranges]] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


class NestedClass:
    """Reads ``[…]`` with classes inside, `&&`, `--` and (Rust) `~~`, each operand a union.

    ``rust``: POSIX classes, a `]` or `-` in first place stands for itself, blanks do not count when spaced out.
    """

    def __init__(self, reader: Reader, flags: int, *, rust: bool) -> None:
        self.reader, self.flags, self.rust = reader, flags, rust
        self.operators = ("&&", "--", "~~") if rust else ("&&", "--")
        self.universe = reader.flavour.universe(flags)

    def read(self, start: int) -> tuple[Ranges, int]:
        """Return the characters of the class at ``start`` and the offset behind it."""
        return self.nested(start, 1)

    def skip(self, position: int) -> int:
        """Return the offset behind blanks and comments that do not count."""
        if not (self.rust and self.flags & 8):
            return position
        text, end = self.reader.text, self.reader.end
        while position < end and (text[position].isspace() or text[position] == "#"):
            if text[position] == "#":
                newline = text.find("\n", position)
                position = end if newline < 0 else newline
            else:
                position += 1
        return position

    # recursion is as deep as classes are nested, which MAX_NESTED limits
    def nested(self, start: int, depth: int) -> tuple[Ranges, int]:
        reader, text, end = self.reader, self.reader.text, self.reader.end
        if depth > MAX_NESTED:
            reader.problems.add("G015", f"more than {MAX_NESTED} nested classes", start, start + 1)
            return charclass.ANY, end
        position = self.skip(start + 1)
        negated = text.startswith("^", position)
        position = self.skip(position + negated)
        left: Ranges | None = None
        operator = ""
        union: list[tuple[int, int]] = []
        items = 0
        ranged = False
        if self.rust:
            while text.startswith("-", position):
                union.append((HYPHEN, HYPHEN))
                position = self.skip(position + 1)
                items += 1
            if items == 0 and text.startswith("]", position):
                union.append((0x5D, 0x5D))
                position += 1
                items += 1
        while True:
            position = self.skip(position)
            if position >= end:
                reader.problems.add(
                    "G008", "unclosed class", start, start + 1, label="opened here", help=r"write `\[`"
                )
                break
            two = text[position : position + 2]
            # Rust: a double hyphen before the closing bracket is two hyphens
            if two in self.operators:
                self.check_operand(operator or two, items, ranged, start, position)
                ranged = False
                left = self.combine(left, operator, union)
                operator, union, items = two, [], 0
                position += 2
                continue
            char = text[position]
            if char == "]":
                self.check_operand(operator, items, ranged, start, position)
                position += 1
                break
            items += 1
            if char == "[":
                posix = _POSIX_CLASS.match(text, position) if self.rust else None
                if posix and posix[2] in POSIX:
                    found = POSIX[posix[2]]
                    if self.flags & 1:
                        found = fold(found, reader.flavour.folding(self.flags))
                    union += classes.complement(found, self.universe) if posix[1] else found
                    position = posix.end()
                else:
                    found, position = self.nested(position, depth + 1)
                    union += found
                continue
            first = position
            position = self.item(position, union)
            ranged = ranged or (position - first > 2 and text[first] != "\\")
        ranges = self.combine(left, operator, union)
        return (classes.complement(ranges, self.universe) if negated else ranges), position

    def check_operand(self, operator: str, items: int, ranged: bool, start: int, position: int) -> None:
        """Report an operand that ECMA does not take: more or less than one character, set or class."""
        if operator and not self.rust and (items != 1 or ranged):
            self.reader.problems.add(
                "G007",
                f"`{operator}` stands between two characters, sets or classes",
                start,
                min(position + 1, self.reader.end),
                help="put a range, or several, into a class of its own",
            )

    def item(self, first: int, union: list[tuple[int, int]]) -> int:
        """Read one character, set or range into the union; return the offset behind it."""
        reader, text = self.reader, self.reader.text
        low, position = self.member(first)
        after = self.skip(position)
        members: list[tuple[int, int]] = []
        known: list[tuple[int, int]] = []
        if text.startswith("-", after) and not text.startswith(("--", "-]"), after):
            at = self.skip(after + 1)
            if at < reader.end and text[at] != "]":
                high, behind = self.member(at)
                if not (isinstance(low, int) and isinstance(high, int)):
                    reader.problems.add(
                        "G007",
                        f"`{text[first:behind]}`: a set cannot begin or end a range",
                        first,
                        behind,
                        help=r"write the hyphen as `\-`",
                    )
                elif high < low:
                    report_reversed(reader, first, behind, low)
                else:
                    members.append((low, high))
                low, position = (), behind
        add(low, members, known)
        ranges = charclass.normalize(members)
        if self.flags & 1 and ranges:
            ranges = fold(ranges, reader.flavour.folding(self.flags))
        union += ranges
        union += known
        return position

    def member(self, position: int) -> tuple[int | Ranges, int]:
        reader, text = self.reader, self.reader.text
        char = text[position]
        if char == "\\":
            return reader.flavour.class_escape(position, self.flags)
        if not self.rust and (char in "()/{}|-" or text[position : position + 2] in DOUBLED):
            reader.problems.add(
                "G007", f"`{char}` needs a backslash in a class with the flag v", position, position + 1
            )
        return ord(char), position + 1

    def combine(self, left: Ranges | None, operator: str, union: list[tuple[int, int]]) -> Ranges:
        """Apply a set operation to what is before and behind it."""
        right = charclass.normalize(union)
        if left is None:
            return right
        if operator == "&&":
            return classes.intersect(left, right)
        if operator == "--":
            return classes.difference(left, right)
        return classes.union(classes.difference(left, right), classes.difference(right, left))


DOUBLED: Final = frozenset(c + c for c in "&!#$%*+,.:;<=>?@^`~")
