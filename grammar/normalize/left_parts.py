"""Split an expression by what it begins with: leading calls into a set of rules, and the rest.

``split(e)`` gives (own, links) with  L(e) minus ε  =  L(own) ∪ ⋃ᵢ Aᵢ⁺·L(links[i]),  where Aᵢ⁺ is rule Aᵢ
without ε, and ``own`` neither derives ε nor can call any Aᵢ first. With no rules in the set, ``own`` is
the non-empty part of the expression.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    ByteClass,
    Capture,
    Choice,
    Complement,
    Expr,
    Intersection,
    Keyed,
    KeyTest,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    Scope,
    Sequence,
    Slot,
    Span,
)
from stackmask.grammar.ir.build import choice, is_nothing, repeat, sequence
from stackmask.grammar.normalize.nullable import ALWAYS, Ends, both, ends_expression, ends_of, first_calls
from stackmask.grammar.source.work import spend

MAX_SUFFIXES = 500_000  # parts written when nullable items stand in front of a sequence
ANY_BYTES = Repeat(ByteClass((1 << 256) - 1), 1, None)


class LeadingInCapture(Exception):
    """A leading call stands inside a capture or a scope, or behind an object key."""

    def __init__(self, span: Span | None) -> None:
        self.span = span


class LeadingBehindRestriction(Exception):
    """A leading call stands behind a follow restriction."""

    def __init__(self, span: Span | None) -> None:
        self.span = span


class SplitTooLarge(Exception):
    """What replaces a left-recursive rule would be larger than anyone can want."""


@dataclass
class Split:
    own: Expr = NOTHING
    links: dict[str, Expr] = field(default_factory=dict)

    def then(self, rest: Expr) -> Split:
        """Return what comes out when ``rest`` follows."""
        links = {name: sequence((link, rest)) for name, link in self.links.items()}
        return Split(sequence((self.own, rest)), links)

    def after(self, ends: Ends, span: Span | None) -> Split:
        """Return what comes out behind something that derives ε in these ways."""
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
    Cost: linear, but a run of n nullable items in front gives n suffixes.
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
    """Split ``item{low,high}``: the first round that is not empty, then the rest of the rounds.

    Empty rounds in front of it are free if ε is, and need no more than one copy of the restriction
    otherwise (restrictions only add up: M | M = M).
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
    """Return an expression for the language without ε; the same one where ε is not in it."""
    return split(expr, (), ends).own if ends_of(expr, ends) else expr
