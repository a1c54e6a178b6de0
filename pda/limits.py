"""Limits: every growth of the automaton has a named limit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from stackmask.grammar.source.options import ArgumentError, explains_options


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on the work and memory of one request; reaching one raises :class:`BudgetError`.

    A request is a matcher with its forks, and the compilation of its grammar. Results of earlier requests are
    free.

    max_memory: bytes of permanent states that the request adds: terms, semantic states, configurations,
    frames, rules. Each accepted token gives back 1,024 bytes. Masks are not counted, since they can be
    dropped.
    max_terms: local states and their subterms (about 40 bytes each).
    max_configurations: configurations of one family of matchers, and of all mask walks together.
    max_members: parallel parses of the text so far (ambiguity) in one configuration.
    max_semantic_states: values of captures and stacks, one per captured byte while a capture is open.
    max_explored: terms visited for one emptiness check (`&`, `!`).
    max_work: units of work of one request, about 10 ns each: reading its grammar, compiling it and computing
    all its masks. Cached results are free, and each accepted token gives back 100,000 units (1 ms). One call
    may use three quarters of them. Units are independent of the machine and its load.
    max_fill_work: units of work that one step spends on masks that are not ready; None for no bound. A row
    that needs more waits without blocking the step: see ``StepResult.waiting``.
    max_input_bytes: size of each source text of a grammar, checked before it is read. The largest published
    schemas have 0.5 MB, and the names of a database with 10,000 tables 1 to 3 MB.
    max_seconds: an additional wall-clock limit for one call, checked after every millisecond of work.
    """

    max_memory: int = 256 << 20
    """Bytes of states that a request adds; 256 MiB."""

    max_terms: int = 20_000_000
    """Local states and their subterms that a request adds, about 40 bytes each."""

    max_configurations: int = 50_000_000
    """Configurations of one family of matchers, and of all mask walks together."""

    max_members: int = 200_000
    """Parallel parses of the text so far in one configuration."""

    max_semantic_states: int = 2_000_000
    """Values of captures and stacks, one per captured byte while a capture is open."""

    max_explored: int = 200_000  # mutant: wide-search
    """Terms visited by one emptiness check (`&`, `!`)."""

    max_work: int = 300_000_000
    """Units of work of one request, about 10 ns each: 3 seconds."""

    max_fill_work: int | None = None
    """Units of work that one step spends on masks that are not cached; rows that need more wait."""

    max_input_bytes: int = 4 << 20
    """Bytes of each source text of a grammar; 4 MiB."""

    max_seconds: float = 60.0
    """Wall-clock seconds of one call."""

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
    """Check the argument ``limits`` of a call. Raises: ArgumentError for other types than Limits and None."""
    if limits is not None and not isinstance(limits, Limits):
        raise ArgumentError(f"`limits` is a Limits, not {type(limits).__name__}: write Limits(max_work=…)")
