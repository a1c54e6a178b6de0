"""Regular expressions to expressions: the inside of ``/…/``, always matching a whole text.

Classes, groups, alternation, dot, escapes and quantifiers; a lazy quantifier means the same strings as a
greedy one. What a regular language without context cannot say (anchors, look-around, back-references) is
refused by name. One pass with an explicit stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from stackmask.grammar.ir import EPSILON, CharClass, Choice, Expr, Literal, Repeat, Sequence, Span
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.escapes import read_class, read_escape

FLAGS: Final = frozenset("isxu")
MAX_GROUPS: Final = 50  # nested groups; each makes up to three levels of expressions
MAX_COUNT: Final = 1_000_000_000
NO_NEWLINE: Final = charclass.negate([(0x0A, 0x0A)])

_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]*)(,?)((?<=,)[0-9]*|)\}")
_CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_INLINE_FLAGS = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_GROUP_NAME = re.compile(r"\?P?<[A-Za-z_]\w*>")
_UNSUPPORTED_GROUPS = {
    "?<=": "look-behind",
    "?<!": "negative look-behind",
    "?=": "look-ahead",
    "?!": "negative look-ahead",
    "?>": "an atomic group",
    "?P=": "a back-reference",
}
_GROUP_HELP = "use `!>>`, `A - B`, `A & B` or `@top` outside of the regex instead"
_ANCHORS = {
    "b": "word boundary",
    "B": "word boundary",
    "A": "anchor",
    "Z": "anchor",
    "z": "anchor",
    "G": "anchor",
}
_WORD_HELP = "say what must not follow with `!>>`, as in `/[a-z]+/ !>> [A-Za-z0-9_]`"
_WHOLE_HELP = "leave it out: a regex in a grammar always matches from its beginning to its end"


@dataclass(slots=True)
class _Group:
    """An open group: its finished alternatives and the sequence being read."""

    start: int
    flags: frozenset[str]
    alternatives: list[Expr] = field(default_factory=list)
    items: list[Expr] = field(default_factory=list)
    item_start: int = -1  # of the last item, where it may be quantified


class _Reader:
    def __init__(self, text: str, start: int, end: int, flags: frozenset[str], problems: Collector) -> None:
        self.text, self.position, self.end = text, start, end
        self.problems = problems
        self.stack = [_Group(start, flags)]
        self.too_deep = False

    def read(self) -> Expr:
        text = self.text
        while self.position < self.end:
            group, char = self.stack[-1], text[self.position]
            if char == "(":
                self._open()
            elif char == ")":
                self._close()
            elif char == "|":
                self._end_alternative(group)
                self.position += 1
            elif char in "*+?{":
                self._quantify(group)
            elif char in "^$":
                self._refuse(f"the anchor `{char}`", self.position + 1, _WHOLE_HELP)
            elif "x" in group.flags and char.isspace():
                self.position += 1
            elif "x" in group.flags and char == "#":
                newline = text.find("\n", self.position, self.end)
                self.position = self.end if newline < 0 else newline + 1
            else:
                self._atom(group, char)
        while len(self.stack) > 1:
            group = self.stack.pop()
            self.problems.add(
                "G008", "unclosed group in the regex", group.start, group.start + 1, label="opened here"
            )
        return self._finish(self.stack[0], self.end)

    def _refuse(self, what: str, after: int, help: str) -> None:
        self.problems.add("G009", f"{what} is not supported in a regex", self.position, after, help=help)
        self.position = after

    def _finish(self, group: _Group, end: int) -> Expr:
        self._end_alternative(group)
        options = group.alternatives
        return options[0] if len(options) == 1 else Choice(tuple(options), self._span(group.start, end))

    def _end_alternative(self, group: _Group) -> None:
        items = group.items
        if not items:
            group.alternatives.append(EPSILON)
        elif len(items) == 1:
            group.alternatives.append(items[0])
        else:
            group.alternatives.append(Sequence(tuple(items), self._span(group.start, self.position)))
        group.items, group.item_start = [], -1

    def _span(self, start: int, end: int) -> Span:
        return Span(start, end, self.problems.source)

    def _open(self) -> None:
        text, start = self.text, self.position
        group = self.stack[-1]
        after = start + 1
        flags = group.flags
        if text.startswith("?", after):
            named = _GROUP_NAME.match(text, after, self.end)
            inline = _INLINE_FLAGS.match(text, after, self.end)
            refused = next((p for p in _UNSUPPORTED_GROUPS if text.startswith(p, after)), None)
            if named:
                after = named.end()
            elif inline and (inline[1] or inline[2] or inline[3] == ":"):
                on, off = frozenset(inline[1]), frozenset(inline[2] or "")
                if unknown := (on | off) - FLAGS:
                    flag = min(unknown)
                    self.problems.add(
                        "G009",
                        f"the regex flag `{flag}` is not supported",
                        start,
                        inline.end(),
                        help="the flags are i (ignore case), s (`.` matches line breaks) and x (spaced out)",
                    )
                flags = (flags | on) - off
                after = inline.end()
                if inline[3] == ")":
                    group.flags, group.item_start = flags, -1
                    self.position = after
                    return
            elif refused:
                self._refuse(_UNSUPPORTED_GROUPS[refused], after + len(refused), _GROUP_HELP)
                after = self.position
            else:
                self.problems.add("G008", "unknown kind of group in the regex", start, after + 1)
                after += 1
        if len(self.stack) > MAX_GROUPS and not self.too_deep:
            self.too_deep = True
            self.problems.add(
                "G015",
                f"more than {MAX_GROUPS} nested groups in a regex",
                start,
                start + 1,
                help="move inner parts into rules of their own",
            )
        self.stack.append(_Group(start, flags))
        self.position = after

    def _close(self) -> None:
        if len(self.stack) == 1:
            self.problems.add(
                "G008",
                "`)` closes nothing in the regex",
                self.position,
                self.position + 1,
                help=r"write `\)`",
            )
            self.position += 1
            return
        group = self.stack.pop()
        expr = self._finish(group, self.position)
        self.position += 1
        if self.too_deep:
            expr = EPSILON
        outer = self.stack[-1]
        outer.items.append(expr)
        outer.item_start = group.start

    def _quantify(self, group: _Group) -> None:
        text, start = self.text, self.position
        match = _QUANTIFIER.match(text, start, self.end)
        if match is None or match[0] in ("{}", "{,}"):
            self.problems.add(
                "G008", "`{` is not a repetition here", start, start + 1, help=r"write `\{` for a brace"
            )
            self.position += 1
            return
        self.position = match.end()
        if self.text.startswith("?", self.position):
            self.position += 1  # lazy: the same language
        elif self.text.startswith("+", self.position):
            self._refuse("a possessive quantifier", self.position + 1, "write it without the `+`")
        if group.item_start < 0:
            self.problems.add(
                "G008",
                f"`{match[0]}` repeats nothing",
                start,
                match.end(),
                help=f"write `\\{match[0]}` for the text",
            )
            return
        if match[0] in "*+?":
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[match[0]]
        else:
            low, high = read_bounds(match[1], match[2], match[3])
            check_bounds(low, high, start, match.end(), self.problems)
            if high is not None and high < low:
                low, high = high, low
        group.items[-1] = Repeat(group.items[-1], low, high, self._span(group.item_start, self.position))
        group.item_start = -1

    def _atom(self, group: _Group, char: str) -> None:
        text, start = self.text, self.position
        ignore_case = "i" in group.flags
        ranges: charclass.Ranges
        if char == ".":
            ranges = charclass.ANY if "s" in group.flags else NO_NEWLINE  # mutant: dot-newline
            self.position += 1
        elif char == "[":
            match = _CLASS.match(text, start, self.end)
            if match is None:
                self.problems.add(
                    "G008",
                    "unclosed class in the regex",
                    start,
                    start + 1,
                    label="opened here",
                    help=r"write `\[`",
                )
                self.position = self.end
                return
            self.position = match.end()
            if match[0] == "[^]":
                # JavaScript: any character; Python and Rust: the class goes on behind the bracket
                self.problems.add(
                    "G008", "`[^]` has no members", start, match.end(), help=r"write `[\s\S]`, or `[^\]]`"
                )
            if "&&" in match[0]:
                self.problems.add("G009", "`&&` in a class is not supported", start, match.end())
            ranges = read_class(text, start, match.end(), self.problems, ignore_case=ignore_case)
        else:
            value: int | charclass.Ranges
            if char == "\\":
                if self._refuse_escape():
                    return
                value, self.position = read_escape(text, start, self.end, self.problems)
            else:
                value = ord(char)
                self.position += 1
            if isinstance(value, int):
                group.items.append(character(value, ignore_case, self._span(start, self.position)))
                group.item_start = start
                return
            ranges = value
        group.items.append(CharClass(ranges, self._span(start, self.position)))
        group.item_start = start

    def _refuse_escape(self) -> bool:
        """Report an escape that stands for no character; True if there was one."""
        letter = self.text[self.position + 1 : self.position + 2]
        after = self.position + 2
        if letter in _ANCHORS and letter:
            help = _WORD_HELP if letter in "bB" else _WHOLE_HELP
            self._refuse(f"the {_ANCHORS[letter]} `\\{letter}`", after, help)
            return True
        if letter and letter in "123456789k":
            while letter != "k" and after < self.end and self.text[after].isdigit():
                after += 1
            self._refuse(
                f"the back-reference `{self.text[self.position : after]}`",
                after,
                "use `@push(…)` and `@top` instead",
            )
            return True
        return False


def read_bounds(low: str, comma: str, high: str) -> tuple[int, int | None]:
    """Return what the numbers of ``{m}``, ``{m,}``, ``{,n}`` or ``{m,n}`` mean."""
    least = read_number(low) if low else 0
    if not comma:
        return least, least
    return least, read_number(high) if high else None


def read_number(digits: str) -> int:
    """Return the value of decimal digits; more than twelve of them are read as one above ``MAX_COUNT``."""
    # beyond 12 digits the value does not matter: it is refused (and int() of many digits is slow)
    return int(digits) if len(digits) <= 12 else MAX_COUNT + 1


def check_bounds(low: int, high: int | None, start: int, end: int, problems: Collector) -> None:
    """Report a repetition whose bounds are reversed or too large."""
    if low > MAX_COUNT or (high is not None and high > MAX_COUNT):
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


def character(code: int, ignore_case: bool, span: Span | None) -> Expr:
    """Return the expression of one character, in both cases if asked."""
    if ignore_case:
        ranges = charclass.fold_case([(code, code)])
        if ranges != ((code, code),):
            return CharClass(ranges, span)
    return Literal(chr(code).encode(), span)


def parse_regex(text: str, start: int, end: int, flags: str, problems: Collector) -> Expr:
    """Return the expression of the regex between two offsets of ``text``.

    ``flags``: letters of i (ignore case), s (`.` matches line breaks too), x (blanks and `#` comments do not
    count), u (no effect). Problems go to the collector; the expression is then a best guess.
    """
    return _Reader(text, start, end, frozenset(flags), problems).read()
