"""The rows of a generation with jump-forward: what each has written, and what the model has read of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stackmask.pda.errors import BudgetError
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.result import JumpReport

if TYPE_CHECKING:
    from stackmask.runtime.matcher import Matcher


@dataclass(slots=True)
class JumpRow:
    """One row. ``ids``: the tokens written; the first ``read`` of them are in the cache, at ``columns``.

    ``room``: how many tokens may be written in all; ``context``: how many a jump may lead to.
    """

    prompt: list[int]
    matcher: Matcher | None
    room: int
    context: int
    stops: tuple[int, ...]
    ids: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    done: bool = False
    calls: int = 0
    forced: int = 0
    taken_back: int = 0
    note: str = ""

    @property
    def pending(self) -> Sequence[int]:
        """The tokens that the model has not read."""
        return self.ids[len(self.columns) :]

    @property
    def is_live(self) -> bool:
        """Whether the grammar has a say in the next token."""
        return self.matcher is not None and not self.matcher.is_terminated()

    def write(self, token: int) -> None:
        """Take a token that the model has chosen."""
        if self.matcher is not None and not self.matcher.accept_token(token):
            raise GenerationError(f"the token chosen is refused: {self.matcher.refusal}")
        self.ids.append(token)
        self.done = token in self.stops or len(self.ids) >= self.room

    def jump(self, max_rollback: int | None) -> list[int]:
        """Write what is forced now; return the columns of the cache that are not valid any more."""
        matcher = self.matcher
        if matcher is None or self.done:
            return []
        context = [*self.prompt[-1:], *self.ids]
        try:
            plan = matcher.plan_jump(context, max_rollback)
        except BudgetError as error:
            # what is forced is a question that need not be answered
            self.note = str(error)
            return []
        if plan.reason and "nothing" not in plan.reason:
            self.note = plan.reason
        keep = len(self.ids) - plan.rollback
        tokens = plan.tokens[: max(0, min(self.room, self.context) - keep)]
        dropped: list[int] = []
        if tokens and (not plan.rollback or len(tokens) == len(plan.tokens)):
            matcher.rollback(plan.rollback)
            dropped = self.columns[keep:]
            del self.ids[keep:], self.columns[keep:]
            for token in tokens:
                if not matcher.accept_token(token):
                    raise GenerationError(f"a forced token is refused: {matcher.refusal}")
            self.ids += tokens
            self.forced += len(tokens)
            self.taken_back += plan.rollback
        elif plan.tokens:
            self.note = "the length left is too short for the forced tokens"
        self.done = len(self.ids) >= self.room
        if not self.done and matcher.must_stop():
            # only a stop token is left: no need to ask the model for it
            matcher.accept_token(self.stops[0])
            self.ids.append(self.stops[0])
            self.forced += 1
            self.done = True
        return dropped

    def cut(self, length: int) -> None:
        """End the row after its first tokens."""
        surplus = len(self.ids) - length
        self.forced -= min(surplus, self.forced)
        del self.ids[length:], self.columns[length:]
        self.done = True

    def report(self, mode: str, note: str) -> JumpReport:
        return JumpReport(
            mode=mode,
            model_calls=self.calls,
            avoided_calls=len(self.ids) - self.calls,
            forced_tokens=self.forced,
            taken_back=self.taken_back,
            note=note or self.note,
        )
