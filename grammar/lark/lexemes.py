"""Rules of one terminal that end as early as possible: llguidance's `[lazy]`, `[suffix=…]` and `[stop=…]`.

Such a rule has those strings of its terminal that do not begin with a shorter one. Where several terminals
may begin, a lazy one takes precedence: strings of the others that begin with one of its strings are removed
there. So `tool* TEXT` with `tool: head …` and `head[lazy]: TEXT "<tool>"` is free text up to the first
`<tool>`, and its required continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, rebuild, referred, repeat, sequence
from stackmask.grammar.normalize.booleans import drop_empty_booleans, expand_booleans
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.source.diagnostics import GrammarError
from stackmask.grammar.source.work import spend

SOME_TEXT: Final = ir.Repeat(ir.ANY_CHAR, 1, None)
MAX_VARIANTS: Final = 10_000  # of rules, for the lazy ones that may begin where they do
_WHOLE: Final = "%whole"
_TOO_MUCH: Final = "a lazy rule takes its text even where it could not begin, after the preceding text"
_TOO_LITTLE: Final = "a lazy rule takes no text from it, nor from what follows it, where it may be empty"
_ALIKE: Final = (
    "a lazy rule takes no text from alternatives that begin like its own: write the beginning once"
)
MAX_ALIKE: Final = 10  # terminals that alternatives begin with alike, which are written before them
MAX_PAIRS: Final = 400  # of terminals that alternatives begin with; with more, they are taken to begin alike
NO_NAMES: Final[frozenset[str]] = frozenset()
# what is kept as it is; special tokens are no text
ATOMS: Final = (ir.Literal, ir.CharClass, ir.RuleRef, ir.Intersection, ir.Complement, ir.TokenTerminal)


class Lexeme(NamedTuple):
    """A rule that consists of one terminal, with its strings, laziness and maximum number of tokens."""

    strings: ir.Expr
    is_lazy: bool
    max_tokens: int | None


class LazyFacts(NamedTuple):
    """Facts about an expression: nullability, lazy rules that may begin at its start, lazy rules that may
    begin at its end.

    ``begins``: its possible first terminals. ``later``: whether lazy rules may begin after these.
    """

    nullable: bool = False
    first: frozenset[str] = NO_NAMES
    going_on: frozenset[str] = NO_NAMES
    begins: frozenset[ir.Expr] = frozenset()
    later: bool = False


class TooManyVariants(Exception):
    """The error that too many variants of rules would be written."""


def with_parts(rules: dict[str, ir.Rule], start: str, body: ir.Expr) -> ir.RuleSet:
    """Return the rules as a whole, with this body for each part in another language."""
    parts = {name for rule in rules.values() for name in referred(rule.body)} - rules.keys()
    return ir.RuleSet(rules | {name: ir.Rule(name, body) for name in parts}, start)


# recursion is as deep as the syntax tree, whose depth is limited, and as MAX_ALIKE
def factored(expr: ir.Expr, most: int = MAX_ALIKE) -> ir.Expr:
    """Return an expression with the common prefixes of its alternatives factored out."""
    spend(2)
    if inner := ir.children(expr):
        expr = rebuild(expr, tuple([factored(item, most) for item in inner]))
    if not isinstance(expr, ir.Choice) or not most:
        return expr
    groups: dict[ir.Expr, list[tuple[ir.Expr, ...]]] = {}
    for option in expr.items:
        items = option.items if isinstance(option, ir.Sequence) and option.items else (option,)
        groups.setdefault(items[0], []).append(items)
    if len(groups) == len(expr.items):
        return expr
    options: list[ir.Expr] = []
    for first, found in groups.items():
        rest = choice([sequence(items[1:]) for items in found])
        options.append(sequence([first, factored(rest, most - 1) if len(found) > 1 else rest]))
    return choice(options)


class Preference:
    """Removes from all terminals the strings that belong to lazy rules.

    ``rules``: all rules of the grammar. ``atoms``: the rules of terminals. ``skip``: the names of ignored
    terminals and of blocks.
    """

    def __init__(
        self,
        rules: dict[str, ir.Rule],
        atoms: set[str],
        skip: Collection[str],
        lexemes: Mapping[str, Lexeme],
        note: Callable[[Literal["narrowed", "relaxed"], ir.Span, str, str], None],
    ) -> None:
        self.note, self.is_dead = note, False
        self.rules, self.atoms, self.skip, self.lexemes = rules, atoms, skip, lexemes
        self.empty: dict[str, bool] = {}  # of atoms: whether they may be
        self.shared: dict[
            tuple[ir.Expr, ir.Expr], bool
        ] = {}  # of two terminals: whether they have a string in common
        self.facts: Mapping[str, LazyFacts] = {}
        self.made: dict[str, ir.Rule] = {}
        self.variants: dict[tuple[str, frozenset[str], frozenset[str]], str] = {}
        self.todo: list[tuple[str, frozenset[str], frozenset[str]]] = []
        self.rests: dict[ir.Expr, str] = {}  # of sequences, that are written as rules
        self.place = ir.Span(0, 0)

    def run(self, start: str) -> dict[str, ir.Rule]:
        """Return the rules, the start rule under its own name. Raises: TooManyVariants."""
        self.facts = solve(with_parts(self.rules, start, SOME_TEXT), LazyFacts(), self.evaluated)
        self.made = {name: rule for name, rule in self.rules.items() if name in self.atoms}
        self.variant(start, self.of(ir.RuleRef(start)).first, NO_NAMES)
        while self.todo:
            name, here, after = self.todo.pop()
            made = self.variants[name, here, after]
            rule = self.rules[name]
            self.place = rule.span or self.place
            self.made[made] = ir.Rule(made, self.written(rule.body, here, after), rule.span)
        return self.made

    def may_be_empty(self, expr: ir.Expr) -> bool:
        """Return whether a terminal is nullable."""
        spend(1)
        match expr:
            case ir.Literal(data):
                return not data
            case ir.Sequence(items) | ir.Intersection(items):
                return all(map(self.may_be_empty, items))
            case ir.Choice(items):
                return any(map(self.may_be_empty, items))
            case ir.Repeat(item, low):
                return low == 0 or self.may_be_empty(item)
            case ir.Complement(item):
                return not self.may_be_empty(item)
            case ir.RuleRef(name) if name in self.atoms:
                if name not in self.empty:
                    own = self.lexemes.get(name)
                    self.empty[name] = self.may_be_empty(own.strings if own else self.rules[name].body)
                return self.empty[name]
        # of parts in other languages, runs of chunks may be empty
        return isinstance(expr, ir.NotFollowedBy) or (
            isinstance(expr, ir.RuleRef) and expr.name.startswith("%regex.")
        )

    def evaluated(self, expr: ir.Expr, facts: Mapping[str, LazyFacts]) -> LazyFacts:
        """Return the facts of an expression, given those of the rules."""
        self.facts = facts
        return self.of(expr)

    # recursion is as deep as the syntax tree, whose depth is limited
    def of(self, expr: ir.Expr) -> LazyFacts:
        """Return the facts of an expression."""
        spend(2)
        if isinstance(expr, ir.Sequence):
            nullable, first, going_on, begins, later = True, NO_NAMES, NO_NAMES, frozenset[ir.Expr](), False
            for item in expr.items:
                found = self.of(item)
                later = later or found.later or (bool(found.first) and not nullable)
                if nullable:
                    first |= found.first
                    begins |= found.begins
                going_on = found.going_on | (going_on | found.first if found.nullable else NO_NAMES)
                nullable = nullable and found.nullable
            return LazyFacts(nullable, first, going_on, begins, later)
        if isinstance(expr, ir.Choice):
            parts = [self.of(item) for item in expr.items] or [LazyFacts()]
            sets = [frozenset[Any]().union(*column) for column in list(zip(*parts, strict=True))[1:4]]
            spend(len(sets[2]))
            is_nullable, later = any(part.nullable for part in parts), any(part.later for part in parts)
            return LazyFacts(is_nullable, sets[0], sets[1], sets[2], later)
        if isinstance(expr, ir.Repeat):
            inner = self.of(expr.item)
            if expr.max == 0:
                return LazyFacts(True)
            again = inner.first if expr.max != 1 else NO_NAMES
            going_on, later = inner.going_on | again, inner.later or bool(again)
            return LazyFacts(inner.nullable or expr.min == 0, inner.first, going_on, inner.begins, later)
        if isinstance(expr, ir.RuleRef) and expr.name in self.skip:
            return LazyFacts(True)
        if isinstance(expr, ir.RuleRef) and expr.name in self.rules and expr.name not in self.atoms:
            return self.facts.get(expr.name, LazyFacts())
        nullable = self.may_be_empty(expr)
        if (
            isinstance(expr, ir.RuleRef)
            and not nullable
            and (own := self.lexemes.get(expr.name))
            and own.is_lazy
        ):
            return LazyFacts(False, frozenset({expr.name}), NO_NAMES, frozenset({expr}))
        return LazyFacts(nullable, NO_NAMES, NO_NAMES, frozenset({expr}))

    def written(self, expr: ir.Expr, here: frozenset[str], after: frozenset[str]) -> ir.Expr:
        """Return an expression in a context.

        ``here``: the lazy rules that may begin where it begins. ``after``: those that may begin where it ends.
        """
        spend(4)
        if isinstance(expr, ir.Sequence):
            items: list[ir.Expr] = []
            parts = [self.of(item) for item in expr.items]
            follow = [after]
            then_begins, later = frozenset[ir.Expr](), False
            for part in reversed(parts):
                if part.nullable:
                    self.check_beginnings(
                        [part, LazyFacts(False, begins=then_begins, later=later)], expr.span
                    )
                later = later or part.later or bool(part.first)
                then_begins = part.begins | (then_begins if part.nullable else frozenset())
            for part in reversed(parts[1:]):
                follow.append(part.first | (follow[-1] if part.nullable else NO_NAMES))
            for at, (item, part, then) in enumerate(zip(expr.items, parts, reversed(follow), strict=True)):
                if isinstance(item, ir.RuleRef) and item.name in self.skip:
                    items.append(item)  # after which the same may begin
                    continue
                taken = part.going_on | then
                if part.nullable and not here <= taken and at + 1 < len(parts):
                    if isinstance(item, ir.Repeat) and not self.of(item.item).nullable:
                        rest = expr.items[at + 1 :]
                        some = self.written(ir.Repeat(item.item, 1, item.max, item.span), here, then)
                        options = [
                            self.rest(rest, here | then, after),
                            sequence([some, self.rest(rest, taken, after)]),
                        ]
                        return sequence([*items, choice(options)])
                    if expr.span is not None:
                        self.note("narrowed", expr.span, "lazy", _TOO_MUCH)
                items.append(self.written(item, here, then))
                here = taken | (here if part.nullable else NO_NAMES)
            return ir.Sequence(tuple(items), expr.span)
        if isinstance(expr, ir.Choice):
            self.check_beginnings([self.of(item) for item in expr.items], expr.span)
            return ir.Choice(tuple([self.written(item, here, after) for item in expr.items]), expr.span)
        if isinstance(expr, ir.Repeat):
            return self.repeated(expr, here, after)
        if isinstance(expr, ir.RuleRef) and expr.name in self.rules and expr.name not in self.atoms:
            return ir.RuleRef(self.variant(expr.name, here, after), span=expr.span)
        if isinstance(expr, ir.RuleRef) and expr.name in self.skip:
            return expr
        if isinstance(expr, ir.RuleRef) and expr.name in self.lexemes:
            return ir.RuleRef(self.lexeme(expr.name, here - {expr.name}), span=expr.span)
        if isinstance(expr, ir.RuleRef) and expr.name not in self.atoms:
            is_known = expr.name.startswith(("%json.", "%regex."))  # whether it may be empty
            if expr.span is not None and (here or (after and not is_known)):
                self.note("relaxed", expr.span, "a part in another language", _TOO_LITTLE)
            return expr  # a part in another language
        return self.without(expr, here, ir.ANY_TEXT) if isinstance(expr, ATOMS[:-1]) else expr

    def check_beginnings(self, parts: list[LazyFacts], span: ir.Span | None) -> None:
        """Report alternatives with the same prefix and lazy rules later, which take no text from the others."""
        if not any(part.later for part in parts):
            return
        found: set[ir.Expr] = set()
        for part in parts:
            spend(len(part.begins))
            if not found.isdisjoint(part.begins) or self.share_strings(found, part.begins):
                self.note("relaxed", span or self.place, "|", _ALIKE)
                return
            found |= part.begins

    def share_strings(self, some: set[ir.Expr], others: frozenset[ir.Expr]) -> bool:
        """Return whether two terminals have a common string. Cost: one intersection for each pair, cached."""
        first, second = (list(filter(self.is_terminal, exprs)) for exprs in (some, others))
        pairs = [(one, other) for one in first for other in second]
        if len(pairs) > MAX_PAIRS:
            return True
        for pair in pairs:  # all of them: sets have no order, and the work must not depend on one
            spend(1)
            if pair not in self.shared:
                self.shared[pair] = not self.is_empty(ir.Intersection(pair))
        return any(self.shared[pair] for pair in pairs)

    def is_terminal(self, expr: ir.Expr) -> bool:
        """Return whether an expression is a terminal that is not lazy: lazy ones take precedence."""
        if not isinstance(expr, ir.RuleRef):
            return isinstance(expr, ATOMS[:-1])
        return expr.name in self.atoms or (expr.name in self.lexemes and not self.lexemes[expr.name].is_lazy)

    def rest(self, items: tuple[ir.Expr, ...], here: frozenset[str], after: frozenset[str]) -> ir.Expr:
        """Return the rest of a sequence in a context."""
        rest = sequence(items)
        name = self.rests.setdefault(rest, f"%rest.{len(self.rests)}")
        if name not in self.rules:
            self.rules[name] = ir.Rule(name, rest)
            self.facts = {**self.facts, name: self.of(rest)}
        return ir.RuleRef(self.variant(name, here, after))

    def repeated(self, expr: ir.Repeat, here: frozenset[str], after: frozenset[str]) -> ir.Expr:
        item, low, high = expr.item, expr.min, expr.max
        part = self.of(item)
        again = part.first if high != 1 else NO_NAMES
        within = part.going_on | again | (here if part.nullable else NO_NAMES)
        first = self.written(item, here, again | (after if low <= 1 else NO_NAMES))
        if high is not None and high <= 1:
            return ir.Repeat(first, low, high, expr.span)
        inner = self.written(item, within, again)
        last = self.written(item, within, again | after)
        rest = self.written(item, within | after, again | after)
        if first == rest and (low <= 1 or first == inner == last):
            return ir.Repeat(first, low, high, expr.span)
        some = [first] if low <= 1 else [first, repeat(inner, low - 2, low - 2), last]
        whole = sequence([*some, repeat(rest, 0, None if high is None else high - max(low, 1))])
        return ir.Repeat(whole, 0, 1, expr.span) if low == 0 else whole

    def variant(self, name: str, here: frozenset[str], after: frozenset[str]) -> str:
        """Return the name of a rule's variant in a context, which will be written later."""
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
            body = self.body(name, others)
            if others and self.is_empty(body):
                body, self.is_dead = ir.NOTHING, True
                reason = f"`{'`, `'.join(sorted(others)[:5])}` takes its text where both may begin"
                self.note("narrowed", self.rules[name].span or self.place, name, reason)
            self.made[made] = ir.Rule(made, body, self.rules[name].span)
        return self.variants[key]

    def is_empty(self, strings: ir.Expr) -> bool:
        """Return whether a lexeme has become empty."""
        needed: dict[str, ir.Rule] = {}
        todo = [strings]
        while todo:
            found = set(referred(todo.pop())) - needed.keys()
            if not found <= self.rules.keys():  # runs of chunks, which may be empty
                return False
            for name in found:
                needed[name] = self.rules[name]
                todo.append(needed[name].body)
        other = ir.Literal(b"x")
        needed[_WHOLE] = ir.Rule(_WHOLE, ir.Choice((ir.Sequence((other, strings)), other)))
        try:
            ruleset = drop_empty_booleans(expand_booleans(ir.RuleSet(needed, _WHOLE, (), ())))
        except GrammarError:  # which the whole grammar has too, with its place
            return False
        return ruleset.rules[_WHOLE].body == other

    def body(self, name: str, others: frozenset[str] = NO_NAMES) -> ir.Expr:
        """Return the body of a lexeme without the strings that belong to others."""
        strings, is_lazy, most = self.lexemes[name]
        found = (
            self.without(strings, others | {name}, SOME_TEXT)
            if is_lazy
            else self.without(strings, others, ir.ANY_TEXT)
        )
        if most is None:
            return found
        limited: list[ir.Expr] = (
            [ir.Capture(ir.Intersection((SOME_TEXT, found)), ir.TokenLimit(most))] if most else []
        )
        options = [ir.EPSILON, *limited] if self.may_be_empty(found) else limited
        return choice(options) if options else ir.NOTHING

    def without(self, strings: ir.Expr, others: frozenset[str], rest: ir.Expr) -> ir.Expr:
        """Return strings except those that begin with one of the others and continue with ``rest``."""
        if not others:
            return strings
        begun = choice([self.lexemes[name].strings for name in sorted(others)])
        return ir.Intersection((strings, ir.Complement(ir.Sequence((begun, rest)))))
