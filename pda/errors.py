"""Errors of the automaton."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class BudgetError(StackmaskError):
    """A limit was met; names the limit, its value and, unless it is ``fixed``, the knob that raises it."""

    def __init__(self, limit: str, value: int, what: str, *, fixed: bool = False) -> None:
        self.limit = limit
        self.value = value
        advice = "this limit is fixed" if fixed else f"raise it with Limits({limit}=…)"  # mutant: advice
        super().__init__(f"{what}: more than {value:,} ({limit}); {advice}")


class CancelledError(StackmaskError):
    """A call was cancelled from another thread. The matcher is as it was before the call."""

    def __init__(self) -> None:
        super().__init__("the request was cancelled, by Matcher.cancel()")


class VocabularyError(StackmaskError):
    """A vocabulary that is unusable, or that cannot spell what a grammar needs."""


class ResolverError(StackmaskError):
    """A resolver of a dynamic rule answered what the automaton cannot follow exactly."""


class SpoiledError(StackmaskError):
    """Memory ran out in an earlier call, so the states and masks that it worked on are not used any more.

    The compiler is still usable: ``compiler.compile`` and ``compiled.matcher`` start with new states.
    """

    def __init__(self) -> None:
        super().__init__(
            "memory ran out in an earlier call, in the middle of a change to what the matchers of this compiler "
            "share; make a new matcher (compiled.matcher()), and take its text in again"
        )
