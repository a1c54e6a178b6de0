"""Rules composed of parts, each of which has its own rule set."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView

from stackmask.grammar.ir.build import effects_of
from stackmask.grammar.ir.expressions import Rule, RuleRef, Scope


class PartedRules(Mapping[str, Rule]):
    """The rules of a composition and of its parts. The parts' rules are renamed on demand.

    ``own``: the rules of the composition. ``parts``: the facts about each part, by the name of its start rule
    in the composition. The automaton only needs these, so that compositions share lowered parts.
    """

    __slots__ = ("_all", "_write", "own", "parts")

    def __init__(
        self, own: dict[str, Rule], parts: dict[str, PartFacts], write: Callable[[], dict[str, Rule]]
    ) -> None:
        """``write``: returns all rules under their names in the composition."""
        self.own = own
        self.parts = parts
        self._write = write
        self._all: dict[str, Rule] | None = None

    def all(self) -> dict[str, Rule]:
        """Return all rules. Cost: linear in them the first time."""
        found = self._all
        if found is None:
            found = self._all = self._write()
        return found

    def __getitem__(self, name: str) -> Rule:
        return self.all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def items(self) -> ItemsView[str, Rule]:
        """Return names with their rules."""
        return self.all().items()

    def values(self) -> ValuesView[Rule]:
        """Return the rules."""
        return self.all().values()

    def __reduce__(self) -> tuple[type[dict[str, Rule]], tuple[dict[str, Rule]]]:
        return dict, (self.all(),)


class PartFacts:
    """Facts about a rule set as a part of others, without references to the rule set.

    ``restricts``: the part restricts the following text. ``depends``: it depends on the semantic state or
    keys of an object. ``keeps_state``: it may change the semantic state. ``lowered``: the number of the
    tables, and the start rule lowered in them; None if unknown.
    """

    __slots__ = ("_meant", "depends", "keeps_state", "lowered", "restricts", "rules", "start")

    def __init__(self, rules: Mapping[str, Rule], start: str) -> None:
        self.rules = rules if type(rules) is dict else dict(rules.items())
        self.start = start
        self.restricts, self.depends, self.keeps_state = effects_of(self.rules)
        self.lowered: tuple[int, int, int, int | None, bool, bool] | None = None
        self._meant: tuple[str, RuleRef | Scope] = ("", RuleRef(start))

    def __reduce__(self) -> tuple[type[PartFacts], tuple[Mapping[str, Rule], str]]:
        return PartFacts, (self.rules, self.start)

    def meaning(self, name: str) -> RuleRef | Scope:
        """Return the expression for the part under this start-rule name: the same object on each call."""
        known = self._meant
        if known[0] != name:
            reference = RuleRef(name)
            known = self._meant = (name, Scope(reference) if self.keeps_state else reference)
        return known[1]
