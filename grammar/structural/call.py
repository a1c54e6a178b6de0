"""A tag that a program made: a text, rules, and a text. What it means is remembered with what it calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from stackmask.grammar.compose.markers import Markers
from stackmask.grammar.ir import EPSILON, Expr, RuleSet
from stackmask.grammar.ir.build import sequence
from stackmask.grammar.source.work import spend

MAX_KEPT: Final = 32  # vocabularies, triggers and spellings for which it is remembered

Kept: TypeAlias = dict[tuple[frozenset[str], str, str, str], tuple[str, Expr, Expr, Expr, Expr]]
"""By the special tokens, the texts and the trigger: what the trigger takes of the first text, what is written before
and after the rules, what these were, and the whole."""


class Call:
    """A call of one tool, between two texts.

    ``name``: of its rules; ``rules``: what makes them for a vocabulary. ``kept``: what is known of calls of this tool.
    """

    __slots__ = ("begin", "end", "kept", "name", "rules")

    def __init__(
        self, begin: str, name: str, rules: Callable[[Markers], RuleSet], end: str, kept: Kept
    ) -> None:
        self.begin = begin
        self.name = name
        self.rules = rules
        self.end = end
        self.kept = kept

    def after(self, trigger: str, markers: Markers, inner: Expr) -> tuple[str, Expr]:
        """Return the part of ``begin`` that the trigger takes, and what follows it; ``inner``: what the rules mean.

        The same object for the same arguments, so that what is known of it stays known.
        """
        spend(8)
        key = (markers.names, self.begin, self.end, trigger)
        known = self.kept.get(key)
        if known is None:
            size = markers.begin_with(self.begin, trigger) if trigger else 0
            taken = self.begin[:size]
            before = markers.expr(self.begin[size:])
            behind = markers.expr(self.end) if self.end else EPSILON
        elif known[3] is inner:
            return known[0], known[4]
        else:
            taken, before, behind = known[:3]
        whole = sequence((before, inner, behind))
        if len(self.kept) >= MAX_KEPT:
            self.kept.clear()
        self.kept[key] = (taken, before, behind, inner, whole)
        return taken, whole
