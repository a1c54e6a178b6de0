"""Classes in brackets: plain ones (ECMA without v, Python), or nested with set operations (Rust, ECMA with v)."""

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
DOUBLED: Final = frozenset(c + c for c in "&!#$%*+,.:;<=>?@^`~")


class BracketReader:
    """Reads ``[…]`` with nested classes if there are operators between them, each operand a union.

    ``lead``: a leading `]` is literal. ``set_in_range``: a hyphen next to a set is literal. ``rust``: POSIX
    classes are allowed, a leading hyphen is literal, and verbose mode ignores whitespace.
    """

    def __init__(
        self,
        reader: Reader,
        flags: int,
        operators: tuple[str, ...] = (),
        *,
        lead: bool = False,
        set_in_range: bool = False,
        rust: bool = False,
    ) -> None:
        self.reader, self.flags, self.rust = reader, flags, rust
        self.operators, self.lead, self.set_in_range = operators, lead, set_in_range
        self.universe = reader.flavour.universe(flags)
        self.members: list[tuple[int, int]] = []  # of an operand: single characters and ranges, to be folded
        self.known: list[tuple[int, int]] = []  # … and sets that have a name, or are classes

    def read(self, start: int) -> tuple[Ranges, int]:
        """Return the characters of the class at ``start`` and the offset after it."""
        return self.nested(start, 1)

    def skip(self, position: int) -> int:
        """Return the offset after ignored whitespace and comments."""
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
        outer = self.members, self.known
        self.members, self.known = [], []
        position = self.skip(start + 1)
        negated = text.startswith("^", position)
        position = self.skip(position + negated)
        left: Ranges | None = None
        operator = ""
        items = 0
        ranged = False
        while self.rust and text.startswith("-", position):
            self.members.append((HYPHEN, HYPHEN))
            position = self.skip(position + 1)
            items += 1
        if self.lead and items == 0 and text.startswith("]", position):
            position = self.item(position)
            items += 1
        while True:
            position = self.skip(position)
            if position >= end:
                reader.problems.add(
                    "G008", "unclosed class", start, start + 1, label="opened here", help=r"write `\[`"
                )
                break
            # Rust: a double hyphen before the closing bracket is two hyphens
            two = text[position : position + 2]
            if two in self.operators:
                self.check_operand(operator or two, items, ranged, start, position)
                left = self.combine(left, operator)
                operator, items, ranged = two, 0, False
                position += 2
                continue
            if text[position] == "]":
                self.check_operand(operator, items, ranged, start, position)
                position += 1
                break
            items += 1
            if text[position] == "[" and self.operators:
                posix = _POSIX_CLASS.match(text, position) if self.rust else None
                if posix and posix[2] in POSIX:
                    found = self.folded(POSIX[posix[2]])
                    self.known += classes.complement(found, self.universe) if posix[1] else found
                    position = posix.end()
                else:
                    found, position = self.nested(position, depth + 1)
                    self.known += found
                continue
            first = position
            position = self.item(position)
            ranged = ranged or (position - first > 2 and text[first] != "\\")
        ranges = self.combine(left, operator)
        self.members, self.known = outer
        return (classes.complement(ranges, self.universe) if negated else ranges), position

    def check_operand(self, operator: str, items: int, ranged: bool, start: int, position: int) -> None:
        """Report an operand that ECMA does not allow, which is not one character, set or class."""
        if operator and not self.rust and (items != 1 or ranged):
            self.reader.problems.add(
                "G007",
                f"`{operator}` is only allowed between two characters, sets or classes",
                start,
                min(position + 1, self.reader.end),
                help="put a range, or several, into a class of its own",
            )

    def item(self, first: int) -> int:
        """Read one character, set or range; return the offset after it."""
        text = self.reader.text
        low, position = self.member(first)
        after = self.skip(position)
        if text.startswith("-", after) and not (self.operators and text.startswith("--", after)):
            at = self.skip(after + 1)
            if at < self.reader.end and text[at] != "]":
                high, position = self.member(at)
                if isinstance(low, int) and isinstance(high, int):
                    self.range(low, high, first, position)
                    return position
                if not self.set_in_range:
                    self.reader.problems.add(
                        "G007",
                        f"`{text[first:position]}`: a set cannot begin or end a range",
                        first,
                        position,
                        help=r"write the hyphen as `\-`",
                    )
                self.add(high)
                self.add(HYPHEN)
        self.add(low)
        return position

    def range(self, low: int, high: int, first: int, after: int) -> None:
        """Add a range of characters."""
        if low <= high:
            self.members.append((low, high))
            return
        self.reader.problems.add(
            "G007",
            f"reversed range `{self.reader.text[first:after]}`",
            first,
            after,
            label=f"U+{low:04X} is after the end of the range",
        )

    def add(self, value: int | Ranges) -> None:
        """Add one character, or a set."""
        if isinstance(value, int):
            self.members.append((value, value))
        else:
            self.known.extend(value)

    def member(self, position: int) -> tuple[int | Ranges, int]:
        reader, text = self.reader, self.reader.text
        char = text[position]
        if char == "\\":
            return reader.flavour.class_escape(position, self.flags)
        if (
            self.operators
            and not self.rust
            and (char in "()/{}|-" or text[position : position + 2] in DOUBLED)
        ):
            reader.problems.add(
                "G007", f"`{char}` needs a backslash in a class with the flag v", position, position + 1
            )
        return ord(char), position + 1

    def folded(self, ranges: Ranges) -> Ranges:
        return fold(ranges, self.reader.flavour.folding(self.flags)) if self.flags & 1 and ranges else ranges

    def combine(self, left: Ranges | None, operator: str) -> Ranges:
        """Apply a set operation to the previous operand and the one that was read."""
        right = self.folded(charclass.normalize(self.members))
        if self.known:
            right = charclass.normalize([*right, *self.known])
        self.members, self.known = [], []
        if left is None:
            return right
        if operator == "&&":
            return classes.intersect(left, right)
        if operator == "--":
            return classes.difference(left, right)
        return classes.union(classes.difference(left, right), classes.difference(right, left))
