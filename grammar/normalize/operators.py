"""Pass 12: rules that call themselves at both ends, as those of operators do, become loops.

``e ::= e "+" e | "-" e | e "!" | atom`` has a reading for every way to put brackets. The automaton would follow them
all at once, and a step would cost more the longer the text is. The language has no brackets in it:

    E = A ∪ D·E ∪ E·G ∪ E·B·E      is      D* A (G ∪ B D* A)*

since both sides are the sequences of A with any D before the first and behind a B, and any G behind an A. Calls of
E inside of A, B, D and G are what they were. So are the letters in their order, with beginnings and ends of
captures among them: brackets around an operand are not letters, unless a capture or scope stands there, and
then the call is not at the end of the rule.

A rule comes here without left recursion: as A X*, where X* stands for all that may follow E within E. So a call of E
at the end of X is one at the end of the rule: X = G ∪ B·E, and what precedes the loop is A ∪ D·E.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    Choice,
    Expr,
    KeyTest,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Sequence,
    Slot,
)
from stackmask.grammar.ir.build import choice, is_nothing, repeat, sequence, with_bodies
from stackmask.grammar.normalize.graph import components, reference_graph
from stackmask.grammar.normalize.left_parts import Split, nonempty_part, union
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.normalize.nullable import Ends, ends_expression, ends_of, rule_ends
from stackmask.grammar.normalize.productive import remove_unreachable
from stackmask.grammar.source.work import spend

MAX_CYCLE = 64  # rules that call each other first, among which one is looked for that the others lead to
MAX_SIZE = 20_000  # nodes of what such rules become when they are put together
MAX_GROWTH = 8  # what a rule without its own tails may be larger than it was ...
FREE_GROWTH = 1_000  # ... or by so many nodes
MAX_DEPTH = 16  # calls at the end of a rule that are followed into each other
MAX_FOLLOWED = 4  # what is looked through behind such calls, in all: so many times the grammar ...
FREE_FOLLOWED = 100_000  # ... or so many nodes

Bodies: TypeAlias = Mapping[str, Expr]


def merge_operators(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet in which no rule A X* calls itself at the end of A or X, be it through other rules' ends.

    Cost: linear in the rules that lead to themselves; the others are passed by.
    """
    graph = reference_graph(ruleset)
    recursive = [c for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]]]
    if not recursive:
        return ruleset
    ends = rule_ends(ruleset)
    bodies = {name: rule.body for name, rule in ruleset.rules.items()}
    total = sum(facts(body).size for body in bodies.values())
    budget = [max(MAX_FOLLOWED * total, FREE_FOLLOWED)]
    changed = False
    for component in recursive:
        for name in component:
            made = _merged(name, bodies, ends, budget)
            if made is not None:
                bodies[name] = made
                changed = True
    return remove_unreachable(with_bodies(ruleset, bodies)) if changed else ruleset


def _merged(name: str, bodies: Bodies, ends: Mapping[str, Ends], budget: list[int]) -> Expr | None:
    """Return the body of a rule without calls of itself at its end, or None if it is not of this form."""
    body = bodies[name]
    ways = body.items if isinstance(body, Choice) else (body,)
    empty = [way for way in ways if _is_empty(way)]
    if len(ways) - len(empty) != 1:
        return None
    [way] = [way for way in ways if not _is_empty(way)]
    if not isinstance(way, Sequence):
        return None
    loop = way.items[-1]
    if not isinstance(loop, Repeat) or loop.min or loop.max is not None:
        return None
    start = sequence(way.items[:-1])
    if ends_of(start, ends) or ends_of(loop.item, ends):
        return None
    merged = _without_own_tails(start, loop.item, _Tails(name, bodies, ends, budget))
    if merged is None:
        return None
    made = facts(merged)
    too_large = made.size > max(MAX_GROWTH * facts(body).size, facts(body).size + FREE_GROWTH)
    # what follows a test of a key must consume something, and a loop may end
    if too_large or not made.kinds.isdisjoint({Slot, KeyTest}):
        return None
    return choice((merged, *empty))


def _is_empty(expr: Expr) -> bool:
    return isinstance(expr, NotFollowedBy) or expr == EPSILON or expr == Sequence(())


def _without_own_tails(start: Expr, link: Expr, tails: _Tails) -> Expr | None:
    """Return D* A (G ∪ B D* A)* for ``start`` = A ∪ D·E and ``link`` = G ∪ B·E; None if there is no D and no B."""
    first, before_first = tails.split(start)
    after, between = tails.split(_single_rounds(link, tails.ends))
    if is_nothing(before_first) and is_nothing(between):
        return None
    operand = sequence((repeat(before_first, 0, None), first))
    return sequence((operand, repeat(choice((after, sequence((between, operand)))), 0, None)))


def _single_rounds(link: Expr, ends: Mapping[str, Ends]) -> Expr:
    """Return what gives the same loop, with X for alternatives X⁺."""
    if isinstance(link, Choice):
        return choice(_single_rounds(item, ends) for item in link.items)
    if isinstance(link, Repeat) and link.min == 1 and link.max is None and not ends_of(link.item, ends):
        return _single_rounds(link.item, ends)
    return link


class _Tails:
    """Finds the calls of one rule that stand at the very end of an expression, or of rules that are called there."""

    def __init__(self, name: str, bodies: Bodies, ends: Mapping[str, Ends], budget: list[int]) -> None:
        self.name = name
        self.bodies = bodies
        self.ends = ends
        self.budget = budget  # nodes of other rules that may still be looked through
        self.inside: list[str] = []  # rules whose end is looked at

    def split(self, expr: Expr) -> tuple[Expr, Expr]:
        """Return (own, before) with  L(expr) = L(own) ∪ L(before)·E⁺,  where E⁺ is the rule without ε.

        Cost: linear in the expression and in the rules that are called at its end; beyond the budget they stay calls.
        """
        spend(4)
        match expr:
            case RuleRef(called, nonempty) if called == self.name:
                return NOTHING if nonempty else ends_expression(self.ends[called]), EPSILON
            case RuleRef(called) if self._may_follow(called):
                self.budget[0] -= facts(self.bodies[called]).size
                self.inside.append(called)
                own, before = self.split(self.bodies[called])
                self.inside.pop()
                return (expr, NOTHING) if is_nothing(before) else (own, before)
            case Sequence(items) if items:
                own, before = self.split(items[-1])
                if is_nothing(before):
                    return expr, NOTHING
                return sequence((*items[:-1], own)), sequence((*items[:-1], before))
            case Choice(items):
                parts = [self.split(item) for item in items]
                if all(is_nothing(before) for _, before in parts):
                    return expr, NOTHING
                return choice(own for own, _ in parts), choice(before for _, before in parts)
            case _:
                return expr, NOTHING

    def _may_follow(self, called: str) -> bool:
        return (
            self.budget[0] > 0
            and len(self.inside) < MAX_DEPTH
            and called not in self.inside
            # what follows the first calls of a cycle is a rule of its own, made after the ends are known
            and called in self.ends
            and not self.ends[called]
        )


def put_together(
    cycle: list[str], splits: Mapping[str, Split], bodies: Bodies, ends: Mapping[str, Ends]
) -> dict[str, Expr]:
    """Return the body of a rule through which a whole cycle of first calls leads, written without its other rules.

    Only where it calls itself at its end then, as ``e ::= sum | atom; sum ::= e "+" e`` does; {} otherwise. The bodies of
    the other rules call it, and may stay: its own begins with none of them.
    Cost: linear in the result for each rule that is tried, which ``MAX_SIZE`` bounds.
    """
    if not 1 < len(cycle) <= MAX_CYCLE:
        return {}
    budget = [MAX_SIZE]  # for all that are tried
    for name in cycle:
        order = _order_without(name, cycle, splits)
        spend(8 * len(cycle))
        if order is None:
            continue
        found: dict[str, Split] = {}
        sizes: dict[str, int] = {}
        for other in order:
            parts = [Split(splits[other].own)]
            sizes[other] = facts(splits[other].own).size
            spend(8 * (1 + len(splits[other].links)))
            for called, link in splits[other].links.items():
                size = facts(link).size
                if called == name:
                    parts.append(Split(NOTHING, {name: link}))
                else:
                    parts.append(found[called].then(link))
                    size += sizes[called]
                sizes[other] += size
            if sizes[other] > MAX_SIZE:
                return {}
            found[other] = union(parts)
        own = found[name].own
        link = nonempty_part(found[name].links[name], ends)
        body = sequence((own, repeat(link, 0, None)))
        if _without_own_tails(own, link, _Tails(name, bodies, ends, budget)) is not None:
            return {name: choice((body, ends_expression(ends[name])))}
    return {}


def _order_without(name: str, cycle: list[str], splits: Mapping[str, Split]) -> list[str] | None:
    """Return the rules of a cycle, each after those that it calls first; ``name`` last, and its calls left aside.

    None if there is a cycle without it.
    """
    graph = {other: [called for called in splits[other].links if called != name] for other in cycle}
    order: list[str] = []
    for component in components(graph):
        if len(component) > 1 or component[0] in graph[component[0]]:
            return None
        if component[0] != name:
            order.append(component[0])
    return [*order, name]
