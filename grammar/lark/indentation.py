"""`%declare _INDENT _DEDENT`: blocks defined by the indentation of lines, as for Lark's own indenters.

In Lark, the lexer creates these tokens: an ``Indenter`` compares the whitespace after each newline token, and
outside brackets inserts `_INDENT` if it is longer than before and `_DEDENT` if it is shorter. Here the
grammar reads the whitespace: after a newline, the next terminal follows the indentation of its block, which
is on the stack of strings. So each rule is written in variants: with or without a newline right before it and
right after it, inside a block or not, inside brackets or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import or_
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, sequence
from stackmask.grammar.lark.lexemes import with_parts
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.source.work import spend

NAMES: Final = (("_INDENT", "_DEDENT"), ("INDENT", "DEDENT"))
NEWLINES: Final = ("_NEWLINE", "_NL", "NEWLINE", "NL")
MAX_COPIES: Final = 20  # of what is repeated a number of times, with newlines in it
BRACKETS: Final = {b"(": b")", b"[": b"]", b"{": b"}"}
_BLANK: Final = ir.CharClass(((0x09, 0x09), (0x20, 0x20)))
_SOME_BLANKS: Final = ir.Repeat(_BLANK, 1, None)
_NO_BLANK_FIRST: Final = ir.Complement(ir.Sequence((_BLANK, ir.ANY_TEXT)))
_ENDS_A_LINE: Final = ir.Sequence((ir.ANY_TEXT, ir.Literal(b"\n")))
_IN_BRACKETS: Final = "%skip.brackets"
_FIRST: Final = "%skip.first"  # what is ignored after the blanks of a line


class LinePlace(NamedTuple):
    """The context of an expression: whether it is in a block, and in brackets, where newlines are ignored."""

    in_block: bool = False
    in_brackets: bool = False


class Unmatched(Exception):
    """A construct that indentation cannot express, as a message and a remedy."""


class Run(NamedTuple):
    """Items of a sequence. For each item and the end: the states that lead to the end, and its closing bracket."""

    items: tuple[ir.Expr, ...]
    reached: list[int]
    closing: list[int]


class Indentation:
    """Adds the indentation of lines to rules. State 1 is after a newline, state 0 elsewhere."""

    def __init__(
        self, rules: dict[str, ir.Rule], atoms: set[str], skip: str, newline: str, names: tuple[str, str]
    ) -> None:
        self.rules, self.atoms, self.skip, self.newline = rules, atoms, skip, newline
        self.indent, self.dedent = names
        self.unmatched = Unmatched(
            f"`{names[0]}` and `{names[1]}` are in one sequence, with the items between them",
            f"for example `{newline} {names[0]} stmt+ {names[1]}`",
        )
        self.ends: Mapping[str, tuple[int, int]] = {}
        self.known: dict[tuple[int, int], tuple[int, ir.Expr]] = {}
        self.made: dict[str, ir.Rule] = {}
        self.variants: dict[tuple[object, ...], str] = {}
        self.runs: dict[tuple[int, int, int, int], tuple[tuple[ir.Expr, ...], Run]] = {}
        self.todo: list[tuple[str, str, Callable[[], ir.Expr]]] = []
        self.first: set[str] = set()  # the rules that have a variant
        self.open: list[ir.Expr] = []  # brackets that close in another sequence

    def run(self, start: str, begin: str) -> dict[str, ir.Rule]:
        """Return the rules, which begin with ``begin``. Raises: Unmatched."""
        self.ends = solve(with_parts(self.rules, start, ir.EPSILON), (0, 0), self.both)
        if self.newline in self.rules and not any(
            isinstance(part, ir.RuleRef | ir.CharClass | ir.Complement)
            or (isinstance(part, ir.Literal) and b"\n" in part.data)
            for part in ir.walk(self.rules[self.newline].body)
        ):
            raise Unmatched(f"`{self.newline}` has no line break", f"for example `{self.newline}: /\\n[ ]*/`")
        self.known = {}
        self.made = {name: rule for name, rule in self.rules.items() if name in self.atoms}
        lines = ir.RuleRef(self.newline)
        skipped = [ir.RuleRef(self.skip)] if self.skip in self.rules else []
        self.made[_IN_BRACKETS] = ir.Rule(_IN_BRACKETS, ir.Repeat(choice([*skipped, lines]), 0, None))
        if skipped:
            self.made[_FIRST] = ir.Rule(_FIRST, ir.Intersection((*skipped, _NO_BLANK_FIRST)))
        options = [self.written(ir.RuleRef(start), 0, state, LinePlace()) for state in (0, 1)]
        options[1] = sequence([options[1], self.level(LinePlace())])
        if all(map(_is_nothing, options)):
            message = f"no text has a line break before each `{self.dedent}`"
            raise Unmatched(message, f"end the last line of each block with `{self.newline}`")
        self.made[begin] = ir.Rule(begin, choice([option for option in options if not _is_nothing(option)]))
        while self.todo:
            made, name, write = self.todo.pop()
            self.made[made] = ir.Rule(made, write(), self.rules[name].span if name in self.rules else None)
        return self.made

    def both(self, expr: ir.Expr, ends: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Return ``ends_of`` for both states, given those of the rules."""
        self.ends, self.known = ends, {}
        return self.ends_of(expr, 0), self.ends_of(expr, 1)

    # recursion is as deep as the syntax tree, whose depth is limited
    def ends_of(self, expr: ir.Expr, state: int) -> int:
        """Return the possible end states of an expression, as bits."""
        found = self.known.get((id(expr), state))
        if found is None:
            spend(2)
            # the expression is kept, as long as its identity stands for it
            found = self.known[id(expr), state] = self._ends_of(expr, state), expr
        return found[0]

    def _ends_of(self, expr: ir.Expr, state: int) -> int:
        if isinstance(expr, ir.Sequence):
            states = 1 << state
            for item in expr.items:
                states = self.after(item, states)
            return states
        if isinstance(expr, ir.Choice):
            return reduce(or_, [self.ends_of(item, state) for item in expr.items], 0)
        if isinstance(expr, ir.Repeat):
            first = 1 << state if expr.min == 0 else self.ends_of(expr.item, state)
            return first | self.after(expr.item, first)
        name = _name(expr)
        if name == self.skip or expr == ir.EPSILON:
            return 1 << state
        if name in (self.newline, self.indent, self.dedent):
            is_there = state == 1 or name == self.newline
            return is_there << (name != self.indent)
        if name in self.rules and name not in self.atoms:
            return self.ends[name][state]
        return 1

    def after(self, expr: ir.Expr, states: int) -> int:
        """Return the possible end states of an expression that begins in any of these states."""
        return (self.ends_of(expr, 0) if states & 1 else 0) | (self.ends_of(expr, 1) if states & 2 else 0)

    def written(self, expr: ir.Expr, before: int, after: int, place: LinePlace) -> ir.Expr:
        """Return the strings of an expression that begin and end in these states."""
        spend(4)
        if not self.ends_of(expr, before) >> after & 1:
            return ir.NOTHING
        if isinstance(expr, ir.Sequence):
            return self.items(self.run_of(expr.items, 0, len(expr.items), after), 0, before, place)
        if isinstance(expr, ir.Choice):
            return choice([self.written(item, before, after, place) for item in expr.items])
        if isinstance(expr, ir.Repeat):
            return self.repeated(expr, before, after, place)
        if expr == ir.EPSILON:
            return ir.EPSILON
        name = _name(expr)
        if name == self.skip:
            return ir.EPSILON if before else ir.RuleRef(_IN_BRACKETS) if place.in_brackets else expr
        if name in (self.indent, self.dedent):
            raise self.unmatched
        if name in self.rules and name not in self.atoms:
            write = partial(self.written, self.rules[name].body, before, after, place)
            return self.variant((name, before, after, place), name, write)
        if name == self.newline:
            expr = ir.NOTHING if place.in_brackets else ir.Intersection((expr, _ENDS_A_LINE))
        elif place.in_brackets and self.skip not in self.rules:
            expr = sequence([expr, ir.RuleRef(_IN_BRACKETS)])
        elif not place.in_brackets and self.text(expr) in BRACKETS:
            self.open.append(expr)
        return sequence([self.level(place), expr]) if before else expr

    def level(self, place: LinePlace) -> ir.Expr:
        """Return the blanks of a line in the open block, with ignored text."""
        blanks = ir.Dynamic("top") if place.in_block else ir.EPSILON
        return sequence([blanks, ir.RuleRef(_FIRST)]) if _FIRST in self.made else blanks

    def run_of(self, items: tuple[ir.Expr, ...], low: int, high: int, after: int) -> Run:
        """Return some items of a sequence that end in this state. Cost: linear, once."""
        key = id(items), low, high, after
        if key not in self.runs:
            part = items[low:high]
            reached, closing = [1 << after], [0]
            last: dict[bytes | None, int] = {}
            for at in range(len(part) - 1, -1, -1):
                states = [1 << state for state in (0, 1) if self.ends_of(part[at], state) & reached[-1]]
                reached.append(sum(states))
                text = self.text(part[at])
                closing.append(last.get(BRACKETS.get(text), 0))
                last[text] = at
            self.runs[key] = items, Run(part, reached[::-1], closing[::-1])
        return self.runs[key][1]

    def items(self, run: Run, at: int, before: int, place: LinePlace) -> ir.Expr:
        """Return the items from an index on; the continuation of one with both end states becomes a rule if
        it is long.
        """
        items, written = run.items, list[ir.Expr]()
        while at < len(items):
            spend(2)
            if not run.reached[at] >> before & 1:
                return ir.NOTHING
            first, close = items[at], run.closing[at]
            if _name(first) == self.indent:
                close = self.matching(items, at)
                blanks = ir.Sequence((ir.Dynamic("top"), _SOME_BLANKS)) if place.in_block else _SOME_BLANKS
                pushed = [ir.Capture(blanks, "push"), *([ir.RuleRef(_FIRST)] if _FIRST in self.made else [])]
                block = self.run_of(items, at + 1, close, 1)
                inside = self.items(block, 0, 0, place._replace(in_block=True))
                written.append(ir.Scope(sequence([*pushed, inside])))
                at, before = close + 1, 1
                continue
            if close and not place.in_brackets:
                opened = [self.level(place)] * before + [first]
                if self.skip not in self.rules:
                    opened.append(ir.RuleRef(_IN_BRACKETS))
                inner = self.run_of(items, at + 1, close, 0)
                written += [*opened, self.items(inner, 0, 0, place._replace(in_brackets=True))]
                at, before = close, 0
                continue
            ends = self.ends_of(first, before) & run.reached[at + 1]
            at += 1
            # what would be written twice
            is_shared = 3 in (self.ends_of(first, 0), self.ends_of(first, 1)) and len(items) - at > 1
            if ends != 3 and not is_shared:
                written.append(self.written(first, before, ends >> 1, place))
                before = ends >> 1
                continue
            options = []
            for state in (0, 1):
                found = self.written(first, before, state, place) if ends >> state & 1 else ir.NOTHING
                if not _is_nothing(found):
                    write = partial(self.items, run, at, state, place)
                    rest = self.variant((id(run), at, state, place), "%rest", write) if is_shared else write()
                    options.append(sequence([found, rest]))
            written.append(choice([option for option in options if not _is_nothing(option)]))
            break
        return ir.NOTHING if ir.NOTHING in written else sequence(written)

    def matching(self, items: tuple[ir.Expr, ...], begin: int) -> int:
        """Return the position of the dedent for an indent. Raises: Unmatched."""
        depth = 0
        for at in range(begin, len(items)):
            spend(1)
            name = _name(items[at])
            depth += (name == self.indent) - (name == self.dedent)
            if not depth:
                return at
            if depth > MAX_COPIES:
                message = f"more than {MAX_COPIES} nested blocks in one sequence"
                raise Unmatched(message, "give the inner ones a rule of their own")
        raise self.unmatched

    def text(self, expr: ir.Expr) -> bytes:
        """Return the text of a terminal."""
        if (name := _name(expr)) in self.atoms:
            expr = self.rules[name].body
        elif isinstance(expr, ir.Intersection):  # without what is lazy
            expr = expr.items[0]
        return expr.data if isinstance(expr, ir.Literal) else b""

    def repeated(self, expr: ir.Repeat, before: int, after: int, place: LinePlace) -> ir.Expr:
        item, low, high = expr.item, expr.min, expr.max
        if self.ends_of(item, 0) == 1 and before == 0:
            return ir.Repeat(self.written(item, 0, 0, place), low, high, expr.span)
        if low > MAX_COPIES or (high or 0) > MAX_COPIES:
            message = f"text with newlines is repeated more than {MAX_COPIES} times"
            raise Unmatched(message, "repeat it any number of times, `*` or `+`")
        if low:
            rest = ir.Repeat(item, low - 1, None if high is None else high - 1)
            return self.items(self.run_of((item, rest), 0, 2, after), 0, before, place)
        options: list[ir.Expr] = [ir.EPSILON] if before == after else []
        if high != 0:
            again = ir.Sequence((item, ir.Repeat(item, 0, None if high is None else high - 1)))
            write = partial(self.written, again, before, after, place)
            options.append(self.variant((expr, before, after, place), "%again", write))
        return choice(options)

    def variant(self, key: tuple[object, ...], name: str, write: Callable[[], ir.Expr]) -> ir.Expr:
        """Return a reference to the variant of a rule in a context, which is written later."""
        if key not in self.variants:
            is_first = name in self.rules and name not in self.first
            self.first.add(name)
            made = self.variants[key] = name if is_first else f"{name}.{len(self.variants)}"
            self.todo.append((made, name, write))
        return ir.RuleRef(self.variants[key])


def _name(expr: ir.Expr) -> str:
    """Return the name of a rule or terminal, possibly without its lazy strings; else None."""
    if isinstance(expr, ir.Intersection):
        expr = expr.items[0]
    return expr.name if isinstance(expr, ir.RuleRef) else ""


def _is_nothing(expr: ir.Expr) -> bool:
    return expr == ir.NOTHING or (isinstance(expr, ir.Sequence) and ir.NOTHING in expr.items)
