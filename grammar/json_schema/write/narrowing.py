"""Parts of expressions replaced by narrower ones, in rules and in what their resolvers return."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.ir.build import rebuild, with_bodies
from stackmask.grammar.json_schema.write.indentation import OfDepth
from stackmask.grammar.source.work import spend

MAX_KEPT: Final = 16_384  # words and classes of characters whose narrower ones are remembered
MAX_LETTERS: Final = 66  # of a word that is remembered, quotes included

Narrower: TypeAlias = Callable[[ir.Expr], ir.Expr | None]
"""Returns what is written in place of an expression; None to look into it."""


def with_narrower(rules: ir.RuleSet, narrowers: tuple[Narrower, ...], *, resolved: bool) -> ir.RuleSet:
    """Return the rules with every part replaced that a narrower has something for, but what is under a complement.

    The first one that has something counts. A sequence in place of another one is looked into. ``resolved``: also what
    resolvers return, whenever they do.
    Cost: linear in the expressions, which are visited once per object; no recursion. Words are remembered.
    """
    narrowing = _Narrowing(narrowers, resolved)
    done: dict[int, ir.Expr] = {}
    return with_bodies(
        rules, {name: narrowing.narrowed(rule.body, done) for name, rule in rules.rules.items()}
    )


class _Narrowed:
    """A resolver: what another one returns, made narrower."""

    __slots__ = ("narrowing", "resolver")

    def __init__(self, resolver: Callable[[Hashable], ir.Expr], narrowing: _Narrowing) -> None:
        self.resolver = resolver
        self.narrowing = narrowing

    def __call__(self, state: Hashable) -> ir.Expr:
        return self.narrowing.narrowed(self.resolver(state), {})


class _Narrowing:
    """One way to make expressions narrower, and the resolvers of one grammar that were wrapped for it."""

    def __init__(self, narrowers: tuple[Narrower, ...], resolved: bool) -> None:
        self.narrowers = narrowers
        self.kept = _kept_words(narrowers)
        self.resolved = resolved
        self.wrapped: dict[int, ir.Expr] = {}

    def narrowed(self, expr: ir.Expr, done: dict[int, ir.Expr]) -> ir.Expr:
        """Return the expression with narrower parts; ``done`` is what was visited before, by address."""
        kept = self.kept
        made: list[ir.Expr] = []  # what has an address in `done` must live
        stack: list[tuple[ir.Expr, ir.Expr | None]] = [(expr, None)]  # and what is rebuilt in its place
        while stack:
            current, inside = stack.pop()
            if id(current) in done:
                continue
            if inside is not None:
                items = ir.children(inside)
                narrower = rebuild(inside, tuple([done[id(item)] for item in items]))
                if isinstance(current, ir.Sequence) and _is_word(current):
                    narrower = _joined(narrower)
                    self.keep(current, narrower)
                done[id(current)] = narrower
                continue
            known = kept.get(id(current))
            if known is not None:
                done[id(current)] = known[1]
                continue
            spend(1)
            found = self.in_place_of(current)
            if found is not None and not isinstance(found, ir.Sequence):
                done[id(current)] = found
                if isinstance(current, ir.Choice):
                    self.keep(current, found)
                continue
            if found is not None:
                made.append(found)
            inside = current if found is None else found
            items = () if isinstance(inside, ir.Complement) else ir.children(inside)
            if items:
                stack.append((current, inside))
                stack.extend([(item, None) for item in items])
            else:
                done[id(current)] = self.dynamic(inside) if isinstance(inside, ir.Dynamic) else inside
        return done[id(expr)]

    def in_place_of(self, expr: ir.Expr) -> ir.Expr | None:
        """Return what is written in place of an expression; None to look into it."""
        for narrower in self.narrowers:
            found = narrower(expr)
            if found is not None:
                return found
        return None

    def keep(self, expr: ir.Expr, narrower: ir.Expr) -> None:
        """Remember what is written in place of an expression, which lives on with it."""
        if len(self.kept) >= MAX_KEPT:
            self.kept.clear()
        self.kept[id(expr)] = (expr, narrower)

    def dynamic(self, expr: ir.Dynamic) -> ir.Expr:
        """Return a dynamic rule whose resolver returns what is narrower; one for each resolver."""
        resolver = expr.resolver
        if not self.resolved or isinstance(resolver, str | OfDepth):
            return expr
        found = self.wrapped.get(id(resolver))
        if found is None:
            found = self.wrapped[id(resolver)] = ir.Dynamic(_Narrowed(resolver, self))
        return found


@lru_cache(8)
def _kept_words(narrowers: tuple[Narrower, ...]) -> dict[int, tuple[ir.Expr, ir.Expr]]:
    """Return what was narrowed before: by address, the expression and what is written in its place."""
    return {}


def _is_word(sequence: ir.Sequence) -> bool:
    """Tell whether a sequence is of characters alone, in all their spellings, and not many."""
    items = sequence.items
    return len(items) <= MAX_LETTERS and all(
        isinstance(item, ir.Literal)
        or (isinstance(item, ir.Choice) and all(isinstance(word, ir.Literal) for word in item.items))
        for item in items
    )


def _joined(word: ir.Expr) -> ir.Expr:
    """Return one literal for a sequence of them."""
    items = ir.children(word)
    if not items or not all(isinstance(item, ir.Literal) for item in items):
        return word
    return ir.Literal(b"".join([item.data for item in items if isinstance(item, ir.Literal)]))
