"""Rules that are one terminal and end as soon as they can: `[lazy]`, `[suffix=…]` and `[stop=…]` of llguidance.

Such a rule has the strings of its terminal that no shorter one of them begins. Where several terminals may begin, text that a
lazy one can end at is its: the strings of the others that one of its strings begins are left out there. So `tool* TEXT` with
`tool: head …` and `head[lazy]: TEXT "<tool>"` is free text up to the first `<tool>`, with whatever must follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir import (
    ANY_CHAR,
    ANY_TEXT,
    EPSILON,
    NOTHING,
    Capture,
    CharClass,
    Choice,
    Complement,
    Dynamic,
    Expr,
    Intersection,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    Span,
    TokenLimit,
    walk,
)
from stackmask.grammar.ir.build import choice, repeat, sequence
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.source.work import spend

SOME_TEXT: Final = Repeat(ANY_CHAR, 1, None)
MAX_VARIANTS: Final = 10_000  # of rules, for the lazy ones that may begin where they do
NO_NAMES: Final[frozenset[str]] = frozenset()
# what is kept as it is; special tokens are no text
ATOMS: Final = (ir.Literal, ir.CharClass, RuleRef, Intersection, Complement, ir.TokenTerminal)


class Lexeme(NamedTuple):
    """A rule that is one terminal: its strings, whether it ends as soon as it can, and how many tokens it takes at most."""

    strings: Expr
    is_lazy: bool
    max_tokens: int | None


class LazyFacts(NamedTuple):
    """Of an expression: whether it may be empty, which lazy rules may begin where it begins, and which where it may end."""

    nullable: bool = False
    first: frozenset[str] = NO_NAMES
    going_on: frozenset[str] = NO_NAMES


class TooManyVariants(Exception):
    """Rules that would be written too often."""


class Preference:
    """Leaves out of all terminals what belongs to lazy rules.

    ``rules``: of the grammar. ``atoms``: those of terminals, and the name of what is ignored.
    """

    def __init__(
        self, rules: dict[str, Rule], atoms: set[str], skip: str, lexemes: Mapping[str, Lexeme]
    ) -> None:
        self.rules, self.atoms, self.skip, self.lexemes = rules, atoms, skip, lexemes
        self.empty: dict[str, bool] = {}  # of atoms: whether they may be
        self.facts: Mapping[str, LazyFacts] = {}
        self.made: dict[str, Rule] = {}
        self.variants: dict[tuple[str, frozenset[str], frozenset[str]], str] = {}
        self.todo: list[tuple[str, frozenset[str], frozenset[str]]] = []
        self.rests: dict[Expr, str] = {}  # of sequences, that are written as rules
        self.narrowed: list[Span] = []

    def run(self, start: str) -> dict[str, Rule]:
        """Return the rules, the start rule under its own name. Raises: TooManyVariants."""
        parts = {
            part.name for rule in self.rules.values() for part in walk(rule.body) if isinstance(part, RuleRef)
        }
        whole = self.rules | {name: Rule(name, SOME_TEXT) for name in parts - self.rules.keys()}
        self.facts = solve(RuleSet(whole, start, (), ()), LazyFacts(), self.evaluated)
        self.made = {name: rule for name, rule in self.rules.items() if name in self.atoms}
        self.variant(start, self.of(RuleRef(start)).first, NO_NAMES)
        while self.todo:
            name, here, after = self.todo.pop()
            made = self.variants[name, here, after]
            rule = self.rules[name]
            self.made[made] = Rule(made, self.written(rule.body, here, after), rule.span)
        return self.made

    def may_be_empty(self, expr: Expr) -> bool:
        """Return whether a terminal has the empty string."""
        spend(1)
        match expr:
            case ir.Literal(data):
                return not data
            case Sequence(items) | Intersection(items):
                return all(map(self.may_be_empty, items))
            case Choice(items):
                return any(map(self.may_be_empty, items))
            case Repeat(item, low):
                return low == 0 or self.may_be_empty(item)
            case Complement(item):
                return not self.may_be_empty(item)
            case RuleRef(name) if name in self.atoms:
                if name not in self.empty:
                    own = self.lexemes.get(name)
                    self.empty[name] = self.may_be_empty(own.strings if own else self.rules[name].body)
                return self.empty[name]
        return isinstance(expr, ir.NotFollowedBy)

    def evaluated(self, expr: Expr, facts: Mapping[str, LazyFacts]) -> LazyFacts:
        """Return the facts of an expression, given those of the rules."""
        self.facts = facts
        return self.of(expr)

    # recursion is as deep as the syntax tree, whose depth is limited
    def of(self, expr: Expr) -> LazyFacts:
        """Return the facts of an expression."""
        spend(2)
        if isinstance(expr, Sequence):
            nullable, first, going_on = True, NO_NAMES, NO_NAMES
            for item in expr.items:
                found = self.of(item)
                if nullable:
                    first |= found.first
                going_on = found.going_on | (going_on | found.first if found.nullable else NO_NAMES)
                nullable = nullable and found.nullable
            return LazyFacts(nullable, first, going_on)
        if isinstance(expr, Choice):
            parts = [self.of(item) for item in expr.items]
            first = NO_NAMES.union(*(part.first for part in parts))
            return LazyFacts(
                any(p.nullable for p in parts), first, NO_NAMES.union(*(p.going_on for p in parts))
            )
        if isinstance(expr, Repeat):
            inner = self.of(expr.item)
            if expr.max == 0:
                return LazyFacts(True)
            again = inner.first if expr.max != 1 else NO_NAMES
            return LazyFacts(inner.nullable or expr.min == 0, inner.first, inner.going_on | again)
        if isinstance(expr, RuleRef) and expr.name == self.skip:
            return LazyFacts(True)
        if isinstance(expr, RuleRef) and expr.name in self.rules and expr.name not in self.atoms:
            return self.facts.get(expr.name, LazyFacts())
        nullable = self.may_be_empty(expr)
        if (
            isinstance(expr, RuleRef)
            and not nullable
            and (own := self.lexemes.get(expr.name))
            and own.is_lazy
        ):
            return LazyFacts(False, frozenset({expr.name}))
        return LazyFacts(nullable)

    def written(self, expr: Expr, here: frozenset[str], after: frozenset[str]) -> Expr:
        """Return an expression as it is at a place.

        ``here``: the lazy rules that may begin where it begins. ``after``: those that may begin where it ends.
        """
        spend(4)
        if isinstance(expr, Sequence):
            items: list[Expr] = []
            parts = [self.of(item) for item in expr.items]
            follow = [after]
            for part in reversed(parts[1:]):
                follow.append(part.first | (follow[-1] if part.nullable else NO_NAMES))
            for at, (item, part, then) in enumerate(zip(expr.items, parts, reversed(follow), strict=True)):
                if isinstance(item, RuleRef) and item.name == self.skip:
                    items.append(item)  # after which the same may begin
                    continue
                taken = part.going_on | then
                if part.nullable and not here <= taken and at + 1 < len(parts):
                    if isinstance(item, Repeat) and not self.of(item.item).nullable:
                        rest = expr.items[at + 1 :]
                        some = self.written(Repeat(item.item, 1, item.max, item.span), here, then)
                        options = [
                            self.rest(rest, here | then, after),
                            sequence([some, self.rest(rest, taken, after)]),
                        ]
                        return sequence([*items, choice(options)])
                    if expr.span is not None:
                        self.narrowed.append(expr.span)
                items.append(self.written(item, here, then))
                here = taken | (here if part.nullable else NO_NAMES)
            return Sequence(tuple(items), expr.span)
        if isinstance(expr, Choice):
            return Choice(tuple([self.written(item, here, after) for item in expr.items]), expr.span)
        if isinstance(expr, Repeat):
            return self.repeated(expr, here, after)
        if isinstance(expr, RuleRef) and expr.name in self.rules and expr.name not in self.atoms:
            return RuleRef(self.variant(expr.name, here, after), span=expr.span)
        if isinstance(expr, RuleRef) and expr.name == self.skip:
            return expr
        if isinstance(expr, RuleRef) and expr.name in self.lexemes:
            return RuleRef(self.lexeme(expr.name, here - {expr.name}), span=expr.span)
        if isinstance(expr, RuleRef) and expr.name not in self.atoms:
            return expr  # a part in another language
        return self.without(expr, here, ANY_TEXT) if isinstance(expr, ATOMS[:-1]) else expr

    def rest(self, items: tuple[Expr, ...], here: frozenset[str], after: frozenset[str]) -> Expr:
        """Return the rest of a sequence as it is at a place."""
        rest = sequence(items)
        name = self.rests.setdefault(rest, f"%rest.{len(self.rests)}")
        if name not in self.rules:
            self.rules[name] = Rule(name, rest)
            self.facts = {**self.facts, name: self.of(rest)}
        return RuleRef(self.variant(name, here, after))

    def repeated(self, expr: Repeat, here: frozenset[str], after: frozenset[str]) -> Expr:
        item, low, high = expr.item, expr.min, expr.max
        part = self.of(item)
        again = part.first if high != 1 else NO_NAMES
        within = part.going_on | again | (here if part.nullable else NO_NAMES)
        first = self.written(item, here, again | (after if low <= 1 else NO_NAMES))
        if high is not None and high <= 1:
            return Repeat(first, low, high, expr.span)
        inner = self.written(item, within, again)
        last = self.written(item, within, again | after)
        rest = self.written(item, within | after, again | after)
        if first == rest and (low <= 1 or first == inner == last):
            return Repeat(first, low, high, expr.span)
        some = [first] if low <= 1 else [first, repeat(inner, low - 2, low - 2), last]
        whole = sequence([*some, repeat(rest, 0, None if high is None else high - max(low, 1))])
        return Repeat(whole, 0, 1, expr.span) if low == 0 else whole

    def variant(self, name: str, here: frozenset[str], after: frozenset[str]) -> str:
        """Return the name of a rule as it is at a place, which is written some time."""
        key = name, here, after
        if key not in self.variants:
            self.variants[key] = self.free(name)
            self.todo.append(key)
        return self.variants[key]

    def free(self, name: str) -> str:
        if len(self.variants) > MAX_VARIANTS:
            raise TooManyVariants
        taken = {name} & self.made.keys() or name in self.variants.values()
        return f"{name}.{len(self.variants)}" if taken else name

    def lexeme(self, name: str, others: frozenset[str]) -> str:
        """Return the name of a lexeme without the strings that belong to others."""
        key = name, others, NO_NAMES
        if key not in self.variants:
            made = self.variants[key] = self.free(name) if others else name
            self.made[made] = Rule(made, self.body(name, others), self.rules[name].span)
        return self.variants[key]

    def body(self, name: str, others: frozenset[str] = NO_NAMES) -> Expr:
        """Return the body of a lexeme without the strings that belong to others."""
        strings, is_lazy, most = self.lexemes[name]
        found = (
            self.without(strings, others | {name}, SOME_TEXT)
            if is_lazy
            else self.without(strings, others, ANY_TEXT)
        )
        if most is None:
            return found
        limited: list[Expr] = [Capture(Intersection((SOME_TEXT, found)), TokenLimit(most))] if most else []
        options = [EPSILON, *limited] if self.may_be_empty(found) else limited
        return choice(options) if options else ir.NOTHING

    def without(self, strings: Expr, others: frozenset[str], rest: Expr) -> Expr:
        """Return strings but for those that begin with one of the others, and go on with ``rest``."""
        if not others:
            return strings
        begun = choice([self.lexemes[name].strings for name in sorted(others)])
        return Intersection((strings, Complement(Sequence((begun, rest)))))


# -- `%declare _INDENT _DEDENT`: blocks by the indentation of lines, as Lark's own indenters make them. --
#
# These stand between the tokens of a lexer: an ``Indenter`` looks at the blanks after each newline token, and outside of brackets
# puts `_INDENT` where there are more than before and `_DEDENT` where there are less. Here the blanks are read where they count:
# after a newline the next terminal is after those of its block, which are on the stack of texts. So each rule is written for
# whether a newline comes right before it and right after it, within a block or not, within brackets or not.

NAMES: Final = (("_INDENT", "_DEDENT"), ("INDENT", "DEDENT"))
NEWLINES: Final = ("_NEWLINE", "_NL", "NEWLINE", "NL")
MAX_COPIES: Final = 20  # of what is repeated a number of times, with newlines in it
BRACKETS: Final = {b"(": b")", b"[": b"]", b"{": b"}"}
_BLANKS: Final = CharClass(((0x09, 0x09), (0x20, 0x20)))
_ENDS_A_LINE: Final = Sequence((ANY_TEXT, Literal(b"\n")))
_IN_BRACKETS: Final = "%skip.brackets"


class LinePlace(NamedTuple):
    """Where an expression stands: whether in a block, and whether in brackets, where newlines mean nothing."""

    in_block: bool = False
    in_brackets: bool = False


class Unmatched(Exception):
    """An indent without its dedent in the same sequence, or too much that is repeated."""


class Indentation:
    """Writes rules with the blanks at the beginnings of lines. State 1 is after a newline, state 0 elsewhere."""

    def __init__(
        self, rules: dict[str, Rule], atoms: set[str], skip: str, newline: str, names: tuple[str, str]
    ) -> None:
        self.rules, self.atoms, self.skip, self.newline = rules, atoms, skip, newline
        self.indent, self.dedent = names
        self.ends: Mapping[str, tuple[int, int]] = {}
        self.known: dict[tuple[int, int], tuple[int, Expr]] = {}
        self.made: dict[str, Rule] = {}
        self.variants: dict[tuple[object, ...], str] = {}
        self.todo: list[tuple[str, Expr, int, int, LinePlace]] = []

    def run(self, start: str, begin: str) -> dict[str, Rule]:
        """Return the rules, which begin with ``begin``. Raises: Unmatched."""
        parts = {
            part.name for rule in self.rules.values() for part in walk(rule.body) if isinstance(part, RuleRef)
        }
        whole = self.rules | {name: Rule(name, EPSILON) for name in parts - self.rules.keys()}
        self.ends = solve(RuleSet(whole, start, (), ()), (0, 0), self.both)
        self.known = {}
        self.made = {name: rule for name, rule in self.rules.items() if name in self.atoms}
        lines = RuleRef(self.newline)
        skipped = [RuleRef(self.skip)] if self.skip in self.rules else []
        self.made[_IN_BRACKETS] = Rule(_IN_BRACKETS, Repeat(choice([*skipped, lines]), 0, None))
        options = [self.written(RuleRef(start), 0, state, LinePlace()) for state in (0, 1)]
        self.made[begin] = Rule(begin, choice([option for option in options if not _is_nothing(option)]))
        while self.todo:
            name, body, before, after, place = self.todo.pop()
            span = self.rules[name].span if name in self.rules else None
            self.made[name] = Rule(name, self.written(body, before, after, place), span)
        return self.made

    def both(self, expr: Expr, ends: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Return ``ends_of`` for both states, given those of the rules."""
        self.ends, self.known = ends, {}
        return self.ends_of(expr, 0), self.ends_of(expr, 1)

    # recursion is as deep as the syntax tree, whose depth is limited
    def ends_of(self, expr: Expr, state: int) -> int:
        """Return the states that an expression may end in, as bits."""
        found = self.known.get((id(expr), state))
        if found is None:
            spend(2)
            # the expression is kept, as long as its identity stands for it
            found = self.known[id(expr), state] = self._ends_of(expr, state), expr
        return found[0]

    def _ends_of(self, expr: Expr, state: int) -> int:
        if isinstance(expr, Sequence):
            states = 1 << state
            for item in expr.items:
                states = self.after(item, states)
            return states
        if isinstance(expr, Choice):
            return reduce(or_, [self.ends_of(item, state) for item in expr.items], 0)
        if isinstance(expr, Repeat):
            first = 1 << state if expr.min == 0 else self.ends_of(expr.item, state)
            return first | self.after(expr.item, first)
        name = expr.name if isinstance(expr, RuleRef) else ""
        if name == self.skip or expr == EPSILON:
            return 1 << state
        if name in (self.newline, self.indent, self.dedent):
            is_there = (state == 0) == (name == self.newline)
            return is_there << (name != self.indent)
        if name in self.rules and name not in self.atoms:
            return self.ends[name][state]
        return 1

    def after(self, expr: Expr, states: int) -> int:
        """Return the states that an expression may end in which begins in any of these."""
        return (self.ends_of(expr, 0) if states & 1 else 0) | (self.ends_of(expr, 1) if states & 2 else 0)

    def written(self, expr: Expr, before: int, after: int, place: LinePlace) -> Expr:
        """Return the texts of an expression that begin and end in these states."""
        spend(4)
        if not self.ends_of(expr, before) >> after & 1:
            return NOTHING
        if isinstance(expr, Sequence):
            return self.items(expr.items, before, after, place)
        if isinstance(expr, Choice):
            return choice([self.written(item, before, after, place) for item in expr.items])
        if isinstance(expr, Repeat):
            return self.repeated(expr, before, after, place)
        if expr == EPSILON:
            return EPSILON
        name = expr.name if isinstance(expr, RuleRef) else ""
        if name == self.skip:
            return EPSILON if before else RuleRef(_IN_BRACKETS) if place.in_brackets else expr
        if name == self.newline:
            return Intersection((expr, _ENDS_A_LINE))
        if name in (self.indent, self.dedent):
            raise Unmatched
        if name in self.rules and name not in self.atoms:
            return self.variant(
                (name, before, after, place), name, self.rules[name].body, before, after, place
            )
        return sequence([self.level(place), expr]) if before else expr

    def level(self, place: LinePlace) -> Expr:
        """Return the blanks of a line in the block that is open."""
        return Dynamic("top") if place.in_block else EPSILON

    def items(self, items: tuple[Expr, ...], before: int, after: int, place: LinePlace) -> Expr:
        if not items:
            return EPSILON
        first, rest = items[0], items[1:]
        name = first.name if isinstance(first, RuleRef) else ""
        if name == self.indent:
            at = self.matching(items)
            pushed = Capture(sequence([self.level(place), Repeat(_BLANKS, 1, None)]), "push")
            block = self.items(items[1:at], 0, 1, place._replace(in_block=True))
            inside = Scope(sequence([pushed, block]))
            return sequence([inside, self.items(items[at + 1 :], 1, after, place)])
        closing = BRACKETS.get(self.text(first))
        if closing is not None and not place.in_brackets:
            at = next((at for at, item in enumerate(items) if self.text(item) == closing), 0)
            if at:
                opened = self.written(first, before, 0, place)
                inner = self.items(items[1:at], 0, 0, place._replace(in_brackets=True))
                return sequence([opened, inner, self.items(items[at:], 0, after, place)])
        options = []
        ends = self.ends_of(first, before)
        for state in (0, 1):
            if ends >> state & 1 and self.ends_of(Sequence(rest), state) >> after & 1:
                found = self.written(first, before, state, place)
                if len(rest) < 2 or ends != 3:
                    last = self.items(rest, state, after, place)
                else:  # which would be written twice
                    last = self.variant(
                        (rest, state, after, place), "%rest", Sequence(rest), state, after, place
                    )
                options.append(sequence([found, last]))
        return choice([option for option in options if not _is_nothing(option)])

    def matching(self, items: tuple[Expr, ...]) -> int:
        """Return where the dedent of the indent at the beginning is. Raises: Unmatched."""
        depth = 0
        for at, item in enumerate(items):
            name = item.name if isinstance(item, RuleRef) else ""
            depth += (name == self.indent) - (name == self.dedent)
            if not depth:
                return at
        raise Unmatched

    def text(self, expr: Expr) -> bytes:
        """Return the text of a terminal that is one."""
        if isinstance(expr, RuleRef) and expr.name in self.atoms:
            expr = self.rules[expr.name].body
        return expr.data if isinstance(expr, Literal) else b""

    def repeated(self, expr: Repeat, before: int, after: int, place: LinePlace) -> Expr:
        item, low, high = expr.item, expr.min, expr.max
        if self.ends_of(item, 0) == 1 and before == 0:
            return Repeat(self.written(item, 0, 0, place), low, high, expr.span)
        if low > MAX_COPIES or (high or 0) > MAX_COPIES:
            raise Unmatched
        if low:
            rest = Repeat(item, low - 1, None if high is None else high - 1)
            return self.items((item, rest), before, after, place)
        options: list[Expr] = [EPSILON] if before == after else []
        if high != 0:
            again = Sequence((item, Repeat(item, 0, None if high is None else high - 1)))
            options.append(self.variant((expr, before, after, place), "%again", again, before, after, place))
        return choice(options)

    def variant(
        self, key: tuple[object, ...], name: str, body: Expr, before: int, after: int, place: LinePlace
    ) -> Expr:
        """Return a reference to a rule as it is at a place, which is written some time."""
        if key not in self.variants:
            is_first = name in self.rules and name not in self.variants.values()
            made = self.variants[key] = name if is_first else f"{name}.{len(self.variants)}"
            self.todo.append((made, body, before, after, place))
        return RuleRef(self.variants[key])


def _is_nothing(expr: Expr) -> bool:
    return expr == NOTHING or (isinstance(expr, Sequence) and NOTHING in expr.items)
