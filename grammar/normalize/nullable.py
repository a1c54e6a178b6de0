"""The rules that derive the empty string, perhaps under follow restrictions, and the first calls of rules.

The *ends* of an expression are the ways to derive ε. Each is a mask of bytes that may not come next (0: ε
without a restriction). Only minimal masks are kept, so ``{0}`` is plain nullability and the empty set is "not
nullable". Tests of object keys have no width and no ends: their continuation always consumes a byte (``keys``
checks this, and that their own sequence does), so the whole does not depend on these tests. But the
continuation can be called before a byte is consumed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    ByteClass,
    Capture,
    Choice,
    Complement,
    Dynamic,
    Expr,
    Intersection,
    Keyed,
    KeyTest,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    Slot,
    Span,
    children,
)
from stackmask.grammar.ir.build import choice, is_nothing, repeat, sequence
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.source.work import spend

Ends: TypeAlias = frozenset[int]

NEVER: Ends = frozenset()
ALWAYS: Ends = frozenset({0})


def minimal(masks: set[int]) -> Ends:
    """Return the masks that no other mask implies."""
    if 0 in masks:
        return ALWAYS
    if len(masks) > 4:
        spend(len(masks) ** 2 // 4)
    return frozenset(m for m in masks if not any(o != m and o & m == o for o in masks))  # mutant: minimal


def both(left: Ends, right: Ends) -> Ends:
    """Return the ways to satisfy one end of each side at the same position."""
    if left == ALWAYS or not right:
        return right
    spend(len(left) * len(right) // 4)
    return minimal({a | b for a in left for b in right})


def ends_of(expr: Expr, ends: Mapping[str, Ends]) -> Ends:
    """Return the ends of an expression, given the ends of the rules."""
    match expr:
        case Literal(data):
            return NEVER if data else ALWAYS
        case NotFollowedBy(mask):
            return frozenset({mask})
        case RuleRef(name, nonempty):
            return NEVER if nonempty else ends[name]
        case Sequence(items):
            spend(len(items) // 2)
            result = ALWAYS
            for item in items:
                result = both(result, ends_of(item, ends))
                if not result:
                    break
            return result
        case Choice(items):
            spend(len(items) // 2)
            return minimal({mask for item in items for mask in ends_of(item, ends)})
        case Repeat(item, low):
            # m empty rounds are no more than one: M | M = M, and unlike masks only add up
            return ALWAYS if low == 0 else ends_of(item, ends)
        case Intersection(items):
            return ALWAYS if all(ends_of(item, ends) for item in items) else NEVER
        case Complement(item):
            return NEVER if ends_of(item, ends) else ALWAYS
        case Scope(item) | Keyed(item):
            return ends_of(item, ends)
        case Capture() | Dynamic():
            return NEVER
        case _:
            return NEVER


def rule_ends(ruleset: RuleSet) -> dict[str, Ends]:
    """Return the ends of every rule (operands of `!` must not have references)."""
    return solve(ruleset, NEVER, ends_of)


def ends_expression(ends: Ends) -> Expr:
    """Return the zero-width expression for these ends."""
    return choice(NotFollowedBy(mask) if mask else EPSILON for mask in sorted(ends))


def nullable_rules(ruleset: RuleSet) -> set[str]:
    """Return the rules that derive the empty string, possibly only under a follow restriction."""
    return {name for name, ends in rule_ends(ruleset).items() if ends}


def first_calls(expr: Expr, ends: Mapping[str, Ends]) -> dict[str, RuleRef]:
    """Return the references that an expression can call before it has consumed a byte."""
    found: dict[str, RuleRef] = {}
    stack = [expr]
    while stack:
        spend(1)
        match stack.pop():
            case RuleRef(name) as ref:
                found.setdefault(name, ref)
            case Sequence(items):
                leading = []
                for item in items:
                    leading.append(item)
                    if not ends_of(item, ends) and not isinstance(item, Slot | KeyTest):
                        break
                stack.extend(reversed(leading))
            case Repeat(_, _, 0):
                pass
            case Intersection() | Complement():
                pass
            case other:
                stack.extend(reversed(children(other)))
    return found


def left_calls(ruleset: RuleSet) -> dict[str, set[str]]:
    """Return for each rule the rules that it can call before it has consumed a byte."""
    ends = rule_ends(ruleset)
    return {name: set(first_calls(rule.body, ends)) for name, rule in ruleset.rules.items()}


# -- Split an expression by what it begins with: leading calls into a set of rules, and the rest. --------
#
# ``split(e)`` gives (own, links) with  L(e) minus ε  =  L(own) ∪ ⋃ᵢ Aᵢ⁺·L(links[i]),  where Aᵢ⁺ is rule Aᵢ
# without ε, and ``own`` neither derives ε nor can call any Aᵢ first. With no rules in the set, ``own`` is
# the non-empty part of the expression.

MAX_SUFFIXES = 500_000  # parts written when nullable items stand in front of a sequence
ANY_BYTES = Repeat(ByteClass((1 << 256) - 1), 1, None)


class LeadingInCapture(Exception):
    """A leading call is inside a capture or a scope, or after an object key."""

    def __init__(self, span: Span | None) -> None:
        self.span = span


class LeadingBehindRestriction(Exception):
    """A leading call comes after a follow restriction."""

    def __init__(self, span: Span | None) -> None:
        self.span = span


class SplitTooLarge(Exception):
    """The replacement of a left-recursive rule would be too large."""


@dataclass
class Split:
    own: Expr = NOTHING
    links: dict[str, Expr] = field(default_factory=dict)

    def then(self, rest: Expr) -> Split:
        """Return the parts followed by ``rest``."""
        links = {name: sequence((link, rest)) for name, link in self.links.items()}
        return Split(sequence((self.own, rest)), links)

    def after(self, ends: Ends, span: Span | None) -> Split:
        """Return the parts after an expression that derives ε in these ways."""
        if ends == ALWAYS:
            return self
        if self.links:
            raise LeadingBehindRestriction(span)
        return Split(sequence((ends_expression(ends), self.own)))


def union(parts: list[Split]) -> Split:
    links: dict[str, list[Expr]] = {}
    for part in parts:
        for name, link in part.links.items():
            links.setdefault(name, []).append(link)
    merged = {name: alternatives(found) for name, found in links.items()}
    return Split(choice(part.own for part in parts), merged)


def alternatives(items: list[Expr]) -> Expr:
    return items[0] if len(items) == 1 else choice(items)


def split(expr: Expr, names: Collection[str], ends: Mapping[str, Ends]) -> Split:
    """Split an expression by its leading calls to the rules ``names``.

    Raises: LeadingInCapture, LeadingBehindRestriction, SplitTooLarge.
    Cost: linear, but n leading nullable items give n suffixes.
    """
    match expr:
        case Literal(data):
            return Split(expr if data else NOTHING)
        case NotFollowedBy():
            return Split()
        case RuleRef(name, nonempty, span):
            if name in names:
                return Split(NOTHING, {name: EPSILON})
            return Split(RuleRef(name, nonempty or bool(ends[name]), span))
        case Sequence(items):
            parts = []
            before = ALWAYS
            for i, item in enumerate(items):
                if i * len(items) > MAX_SUFFIXES:
                    raise SplitTooLarge
                if isinstance(item, Slot | KeyTest):
                    # what follows consumes something, so this is not nullable, and stays as it is
                    rest = sequence(items[i:])
                    if not first_calls(rest, ends).keys().isdisjoint(names):
                        raise LeadingInCapture(item.span)
                    parts.append(Split(rest).after(before, item.span))
                    break
                spend(4 + len(items) - i)
                rest = sequence(items[i + 1 :])
                parts.append(split(item, names, ends).then(rest).after(before, item.span))
                before = both(before, ends_of(item, ends))
                if not before:
                    break
            return union(parts)
        case Choice(items):
            return union([split(item, names, ends) for item in items])
        case Repeat(item, low, high):
            return _split_repeat(item, low, high, names, ends)
        case Intersection(items, span):
            return Split(Intersection((*items, ANY_BYTES), span) if ends_of(expr, ends) else expr)
        case Complement(item, span):
            return Split(Complement(choice((item, EPSILON)), span) if ends_of(expr, ends) else expr)
        case Scope(item, span):
            inner = split(item, names, ends)
            if inner.links:
                raise LeadingInCapture(span)
            return Split(NOTHING if is_nothing(inner.own) else Scope(inner.own, span))
        case Keyed(item, spec, span):
            inner = split(item, names, ends)
            if inner.links:
                raise LeadingInCapture(span)
            return Split(NOTHING if is_nothing(inner.own) else Keyed(inner.own, spec, span))
        case Capture(item, _, span):
            if not first_calls(item, ends).keys().isdisjoint(names):
                raise LeadingInCapture(span)
            return Split(expr)
        case _:
            return Split(expr)


def _split_repeat(
    item: Expr, low: int, high: int | None, names: Collection[str], ends: Mapping[str, Ends]
) -> Split:
    """Split ``item{low,high}`` into the first non-empty round and the remaining rounds.

    Empty rounds before this round cost nothing if ε is unrestricted, and otherwise need only one copy of the
    restriction (restrictions are idempotent: M | M = M).
    """
    first = split(item, names, ends)
    empty = ends_of(item, ends)

    def rounds_after(skipped: int, least: int) -> Expr:
        return repeat(item, max(least, 0), None if high is None else high - skipped)

    if high == 0:
        return Split()
    if empty == ALWAYS:
        return first.then(rounds_after(1, 0))
    parts = [first.then(rounds_after(1, low - 1))]
    if empty and low >= 2:
        parts.append(first.then(rounds_after(2, 0)).after(empty, item.span))
    return union(parts)


def nonempty_part(expr: Expr, ends: Mapping[str, Ends]) -> Expr:
    """Return an expression for the language without ε; the same object if ε is not in it."""
    return split(expr, (), ends).own if ends_of(expr, ends) else expr
