"""Calls of tools, which a program made: each a text, rules, and a text. What they mean is remembered with the tools."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from stackmask.grammar.compose.markers import Markers
from stackmask.grammar.compose.merge import Merger, Place
from stackmask.grammar.ir import Expr, RuleSet
from stackmask.grammar.ir.build import sequence
from stackmask.grammar.source.work import spend

MAX_KEPT: Final = 32  # vocabularies, triggers and spellings for which it is remembered

Spelling: TypeAlias = tuple[str, str, str]
"""What is written before the name of a tool, after it, and after the arguments."""


class KeptCalls(NamedTuple):
    """What the calls of one tool mean: what the trigger takes of each, and what follows that; and the place of its rules."""

    calls: list[tuple[str, Expr]]
    place: Place


Kept: TypeAlias = dict[Hashable, KeptCalls]


class Calls:
    """Calls of tools, each in some spellings.

    ``tools``: have a ``name``, and ``kept_calls`` for what is known of their calls. ``rules``: what makes the rules of a
    tool's arguments for a vocabulary; ``task``: what these depend on beside the vocabulary.
    """

    __slots__ = ("rules", "spellings", "task", "tools")

    def __init__(
        self,
        tools: Sequence[Any],
        spellings: tuple[Spelling, ...],
        rules: Callable[[Any, Markers], RuleSet],
        task: Hashable,
    ) -> None:
        self.tools = tools
        self.spellings = spellings
        self.rules = rules
        self.task = task

    def after(
        self, triggers: tuple[str, ...], markers: Markers, merger: Merger
    ) -> Iterator[list[tuple[str, Expr]]]:
        """Yield, for each tool, the part of its calls that a trigger takes, and what follows it, the same object each time.

        ``triggers``: in ascending order, of which none begins another one. Raises: ValueError if a call begins with none.
        """
        spend(8 * len(self.tools) * len(self.spellings))
        key = (markers.names, triggers, self.spellings, self.task)
        ends = [markers.expr(end) for _, _, end in self.spellings]
        for tool in self.tools:
            kept = tool.kept_calls.get(key)
            if kept is None or not merger.add_again(kept.place):
                place = merger.place(self.rules(tool, markers), tool.name)
                kept = KeptCalls(self._read(tool.name, place.meaning, triggers, markers, ends), place)
                if len(tool.kept_calls) >= MAX_KEPT:
                    tool.kept_calls.clear()
                tool.kept_calls[key] = kept
            yield kept.calls

    def _read(
        self, name: str, inner: Expr, triggers: tuple[str, ...], markers: Markers, ends: list[Expr]
    ) -> list[tuple[str, Expr]]:
        """Return what the calls of one tool mean. ``inner``: what its arguments mean."""
        calls = []
        for (before, after, _), end in zip(self.spellings, ends, strict=True):
            begin = before + name + after
            # no trigger begins another one, so only the last one before can begin this
            trigger = triggers[max(0, bisect_right(triggers, begin) - 1)]
            if not begin.startswith(trigger):
                raise ValueError(begin)
            size = markers.begin_with(begin, trigger) if trigger else 0
            calls.append((begin[:size], sequence((markers.expr(begin[size:]), inner, end))))
        return calls
