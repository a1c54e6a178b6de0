"""The errors of a request that meets a limit, or is cancelled."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class BudgetError(StackmaskError):
    """A limit was met; names the limit, its value and, unless it is ``fixed``, the knob that raises it, or ``advice``."""

    def __init__(
        self, limit: str, value: float, what: str, *, fixed: bool = False, advice: str | None = None
    ) -> None:
        self.limit = limit
        self.value = value
        if advice is None:
            advice = "this limit is fixed" if fixed else f"raise it with Limits({limit}=…)"  # mutant: advice
        super().__init__(f"{what}: more than {value:,} ({limit}); {advice}")


class CancelledError(StackmaskError):
    """A call was cancelled from another thread. The matcher is as it was before the call."""

    def __init__(self) -> None:
        super().__init__("the request was cancelled, by Matcher.cancel() or the event given to compile()")
