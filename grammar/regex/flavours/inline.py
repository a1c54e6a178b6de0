"""The inside of ``/…/`` in the EBNF dialect: a regex always matches a whole text.

Supported are classes, groups, alternation, dot, escapes and quantifiers; lazy quantifiers have the same
strings as greedy ones. Constructs that are not regular without context (anchors, look-around,
back-references) are refused by name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar, Final, final

from stackmask.grammar import ir
from stackmask.grammar.ir import CharClass, Expr, Literal, Span
from stackmask.grammar.ir.build import rewrite
from stackmask.grammar.regex.pattern.reader import NOT_NEWLINE, Flavour, Frame, I, Reader, S, U, X
from stackmask.grammar.regex.pattern.tree import Node
from stackmask.grammar.regex.unicode.folding import DIALECT
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.escapes import SETS, read_class, read_escape

FLAGS: Final = {"i": I, "s": S, "x": X, "u": U}

_UNSUPPORTED_GROUPS = {
    "?<=": "look-behind",
    "?<!": "negative look-behind",
    "?=": "look-ahead",
    "?!": "negative look-ahead",
    "?>": "an atomic group",
    "?P=": "a back-reference",
}
_GROUP_HELP = "use `!>>`, `A - B`, `A & B` or `@top` outside of the regex instead"
_WORD_HELP = "use `!>>` for text that must not follow, as in `/[a-z]+/ !>> [A-Za-z0-9_]`"
_WHOLE_HELP = "leave it out: a regex in a grammar always matches from its beginning to its end"


@final
class InlineFlavour(Flavour):
    """Reads the regexes of grammars."""

    quantifier: ClassVar = re.compile(r"\{(?!,?\})([0-9]*)(,?)((?<=,)[0-9]*|)\}")
    class_end: ClassVar = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
    possessive: ClassVar = True
    needs_braces: ClassVar = True
    most_groups: ClassVar = 50
    where: ClassVar = " in a regex"
    too_deep_help: ClassVar = "move inner parts into rules of their own"
    name: ClassVar = re.compile(r"\(\?P?<[A-Za-z_]\w*>")
    flags: ClassVar = FLAGS
    flag_group: ClassVar = re.compile(r"\(\?(?!\))([a-zA-Z]*)(-[a-zA-Z]+)?([:)])")
    boundaries: ClassVar = ""
    controls: ClassVar = {}

    def folding(self, flags: int) -> str:
        return DIALECT

    def dot(self, flags: int) -> Ranges:
        return charclass.ANY if flags & S else NOT_NEWLINE  # mutant: dot-newline

    def anchor(self, char: str, flags: int) -> Node:
        position = self.reader.position
        self.reader.refuse(f"the anchor `{char}`", position - 1, position, _WHOLE_HELP)
        return ir.EPSILON

    def make_atomic(self, node: Node, start: int) -> Node:
        end = self.reader.position
        self.reader.refuse("a possessive quantifier", end - 1, end, "write it without the `+`")
        return node

    def name_group(self, name: re.Match[str]) -> None:
        self.reader.position = name.end()

    def wrong_flags(self, match: re.Match[str]) -> tuple[str, str]:
        if unknown := set(match[1] + (match[2] or "")[1:]) - FLAGS.keys():
            help = "the flags are i (ignore case), s (`.` matches line breaks) and x (spaced out)"
            self.reader.refuse(f"the flag `{min(unknown)}`", match.start(), match.end(), help)
        return "", ""

    def other_group(self, frame: Frame, start: int) -> str:
        refused = next((p for p in _UNSUPPORTED_GROUPS if self.reader.text.startswith(p, start + 1)), "")
        if refused:
            end = start + 1 + len(refused)
            self.reader.refuse(_UNSUPPORTED_GROUPS[refused], start, end, _GROUP_HELP)
        return refused

    def reference(self, letter: str, start: int) -> bool:
        text, after = self.reader.text, start + 2
        if not letter or letter not in "bBAZzG123456789k":
            return False
        if letter in "bBAZzG":
            what = f"the {'word boundary' if letter in 'bB' else 'anchor'} `\\{letter}`"
            help = _WORD_HELP if letter in "bB" else _WHOLE_HELP
        else:
            while letter != "k" and text[after : after + 1].isdigit():
                after += 1
            what, help = f"the back-reference `{text[start:after]}`", "use `@push(…)` and `@top` instead"
        self.reader.refuse(what, start, after, help)
        self.reader.stack[-1].item_start = -1
        return True

    def named_set(self, letter: str, flags: int) -> Ranges:
        return SETS[letter]

    def read_escape(self, letter: str, start: int, flags: int, in_class: bool) -> tuple[int | Ranges, int]:
        return read_escape(self.reader.text, start, self.reader.end, self.reader.problems)

    def read_class(self, start: int, flags: int) -> tuple[Ranges, int]:
        problems, text = self.reader.problems, self.reader.text
        match = self.class_end.match(text, start)
        if match is None:
            problems.add(
                "G008",
                "unclosed class in the regex",
                start,
                start + 1,
                label="opened here",
                help=r"write `\[`",
            )
            return (), self.reader.end
        if match[0] == "[^]":
            # JavaScript: any character; Python and Rust: the class goes on after the bracket
            problems.add(
                "G008", "`[^]` has no members", start, match.end(), help=r"write `[\s\S]`, or `[^\]]`"
            )
        if "&&" in match[0]:
            problems.add("G009", "`&&` in a class is not supported", start, match.end())
        return read_class(text, start, match.end(), problems, ignore_case=bool(flags & I)), match.end()


def character(code: int, ignore_case: bool, span: Span | None) -> Expr:
    """Return the expression of one character, in both cases if requested."""
    if ignore_case:
        ranges = charclass.fold_case([(code, code)])
        if ranges != ((code, code),):
            return CharClass(ranges, span)
    return Literal(chr(code).encode(), span)


def parse_regex(text: str, start: int, end: int, flags: str, problems: Collector) -> Expr:
    """Return the expression of the regex between two offsets of ``text``.

    ``flags``: letters of i (ignore case), s (`.` matches line breaks too), x (whitespace and `#` comments are
    ignored), u (no effect). Problems go to the collector; the expression is then a best guess.
    """
    reader = Reader(text[start:end], sum(FLAGS.get(flag, 0) for flag in set(flags)), False, InlineFlavour)
    tree = reader.read()
    for problem in reader.problems.found:
        place = problem.span or Span(0, 0)
        span = Span(place.start + start, place.end + start, problems.source)
        problems.found.append(replace(problem, span=span))
    place = Span(start, end, problems.source)
    return at_place(rewrite(tree, lambda leaf: at_place(leaf, place), True), place)


def at_place(expr: Expr, place: Span) -> Expr:
    """Return an expression with a source position."""
    match expr:
        case Literal(data):
            return Literal(data, place)
        case CharClass(ranges):
            return CharClass(ranges, place)
        case ir.Sequence(items):
            return ir.Sequence(items, place)
        case ir.Choice(items):
            return ir.Choice(items, place)
        case ir.Repeat(item, low, high):
            return ir.Repeat(item, low, high, place)
    return expr
