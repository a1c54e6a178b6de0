"""Budgets: every growth of the automaton has a named limit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from stackmask.grammar.source.options import ArgumentError, explains_options


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds for what one request may do and keep; meeting one raises :class:`BudgetError`, not a hang.

    A request is a matcher with its forks, and the compile of its grammar. What others have made before is free.

    max_memory: bytes of states that the request adds to what stays: terms, semantic states, configurations, frames, rules.
        Each accepted token gives 1,024 of them back. Masks are not counted: they can be dropped.
    max_terms: local states and the terms that they are made of (about 40 bytes each).
    max_configurations: configurations of one family of matchers, and of all mask walks together.
    max_members: parallel readings of the text so far (ambiguity) in one configuration.
    max_semantic_states: values of captures and stacks, one per captured byte while a capture is open.
    max_explored: terms visited to decide one question of emptiness (`&`, `!`).
    max_work: units of work of one request, about 10 ns each: reading its grammar, compiling it and all its masks. Work that
        was done before for anybody is free, and each accepted token gives back 100,000 units (1 ms). One call may
        use three quarters. The same on every machine and at any load.
    max_fill_work: units of work that one step spends on masks that are not ready; None for no bound. A row that needs more
        waits, and the step does not: see ``StepResult.waiting``.
    max_input_bytes: size of each text that a grammar is read from, looked at before anything is read. The largest
        schemas that people publish have 0.5 MB, and the names of a database of 10,000 tables 1 to 3 MB.
    max_seconds: time of one call on the clock, on top of it; checked with every millisecond of work.
    """

    max_memory: int = 256 << 20
    """Bytes of states that a request adds to what stays; 256 MiB."""

    max_terms: int = 20_000_000
    """Local states and the terms that they are made of, about 40 bytes each."""

    max_configurations: int = 50_000_000
    """Configurations of one family of matchers, and of all mask walks together."""

    max_members: int = 200_000
    """Parallel readings of the text so far in one configuration."""

    max_semantic_states: int = 2_000_000
    """Values of captures and stacks, one per captured byte while a capture is open."""

    max_explored: int = 200_000  # mutant: wide-search
    """Terms visited to decide one question of emptiness (`&`, `!`)."""

    max_work: int = 300_000_000
    """Units of work of one request, about 10 ns each: 3 seconds."""

    max_fill_work: int | None = None
    """Units of work that one step spends on masks that are not ready; rows that need more wait."""

    max_input_bytes: int = 4 << 20
    """Bytes of each text that a grammar is read from; 4 MiB."""

    max_seconds: float = 60.0
    """Seconds of one call, on the clock."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name == "max_fill_work":
                continue
            kinds = int | float if field.name == "max_seconds" else int
            if isinstance(value, bool) or not isinstance(value, kinds) or not value > 0:
                what = "seconds" if field.name == "max_seconds" else "a whole number"
                raise ArgumentError(f"`{field.name}` is {value!r:.60}: a limit is {what}, more than 0")


setattr(Limits, "__init__", explains_options()(Limits.__init__))  # noqa: B010  # which mypy takes for another type
DEFAULT_LIMITS: Final = Limits()


def check_limits(limits: object) -> None:
    """Check the argument ``limits`` of a call. Raises: ArgumentError if it is neither a Limits nor None."""
    if limits is not None and not isinstance(limits, Limits):
        raise ArgumentError(f"`limits` is a Limits, not {type(limits).__name__}: write Limits(max_work=…)")
