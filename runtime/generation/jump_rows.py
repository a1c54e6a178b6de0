"""The rows of a generation with jump-forward: what each has written, and what the model has read of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from stackmask.pda.errors import BudgetError
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.result import JumpReport
from stackmask.runtime.jump_forward.jump_forward import NOTHING

if TYPE_CHECKING:
    from stackmask.runtime.matching.matcher import Matcher


class _Context(Sequence[int]):
    """The last token of a prompt, if there is one, and the tokens written; nothing is copied."""

    def __init__(self, prompt: list[int], ids: list[int]) -> None:
        self._prompt, self._ids = prompt[-1:], ids

    def __len__(self) -> int:
        return len(self._prompt) + len(self._ids)

    def __getitem__(self, i: Any) -> Any:
        return self._prompt[i] if i < len(self._prompt) else self._ids[i - len(self._prompt)]


@dataclass(slots=True)
class JumpRow:
    """One row. ``ids``: the tokens written; the first ``read`` of them are in the cache, at ``columns``.

    ``room``: how many tokens may be written in all; ``context``: how many a jump may lead to. ``whole``: the text must end
    within them, and ``strict``: also where no end can be found after a token. ``wrote``: something was written since the row was last asked to jump.
    """

    prompt: list[int]
    matcher: Matcher | None
    room: int
    context: int
    stops: tuple[int, ...]
    ids: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    done: bool = False
    wrote: bool = True
    calls: int = 0
    forced: int = 0
    taken_back: int = 0
    note: str = ""
    whole: bool = False
    strict: bool = False

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
        self.wrote = True
        self.done = token in self.stops or len(self.ids) >= self.room

    def jump(self, max_rollback: int | None) -> tuple[int, list[int]]:
        """Write what is forced now.

        Returns: how many of the first tokens are those that stood there before; the columns of the cache that are not
            valid any more.
        """
        matcher = self.matcher
        if matcher is None or self.done:
            return len(self.ids), []
        try:
            plan = matcher.plan_jump(_Context(self.prompt, self.ids), max_rollback)
        except BudgetError as error:
            # what is forced is a question that need not be answered
            self.note = str(error)
            return len(self.ids), []
        if plan.reason not in ("", NOTHING.reason):
            self.note = plan.reason
        keep = len(self.ids) - plan.rollback
        end = next((i for i, token in enumerate(plan.tokens, 1) if token in self.stops), len(plan.tokens))
        tokens = plan.tokens[: min(end, max(0, min(self.room, self.context) - keep))]
        dropped: list[int] = []
        same = len(self.ids)
        if tokens and (not plan.rollback or len(tokens) == end):
            if not self._follow(matcher, keep, tokens):
                return len(self.ids), []
            same = keep
            dropped = self.columns[keep:]
            del self.columns[keep:]
            self.ids[keep:] = tokens
            self.forced += len(tokens)
            self.taken_back += plan.rollback
        elif plan.tokens:
            self.note = "the length left is too short for the forced tokens"
        # a grammar may ask for a stop token by name
        self.done = len(self.ids) >= self.room or (same < len(self.ids) and self.ids[-1] in self.stops)
        if not self.done and self._must_stop(matcher):
            # only a stop token is left: no need to ask the model for it
            matcher.accept_token(self.stops[0])
            self.ids.append(self.stops[0])
            self.forced += 1
            self.done = True
        return same, dropped

    def _follow(self, matcher: Matcher, keep: int, tokens: Sequence[int]) -> bool:
        """Take the matcher back to the first tokens and then through others; where it was, if it meets a limit."""
        done, fits = 0, False
        matcher.rollback(len(self.ids) - keep)
        try:
            for token in tokens:
                if not matcher.accept_token(token):
                    raise GenerationError(f"a forced token is refused: {matcher.refusal}")
                done += 1
            fits = self.fits(keep + len(tokens))
            if not fits:
                self.note = "the length left is too short for the forced tokens and an end"
        except BudgetError as error:
            self.note = str(error)
        finally:
            if not fits:
                matcher.rollback(done)
                for token in self.ids[keep:]:
                    matcher.accept_token(token)
        return fits

    def fits(self, written: int) -> bool:
        """Return whether the text can still end, once so many tokens are written."""
        if not self.whole or self.matcher is None:
            return True
        from stackmask.runtime.matching.budgets import can_end_within

        fits = can_end_within(self.matcher, self.room - written)
        if fits is None and not self.strict:
            # nobody asked for a whole text in so many words: what the model wants comes first
            self.whole = False
            self.note = "no end of the text was found, so it may be cut"
            return True
        return bool(fits)

    def fits_after(self, token: int) -> bool:
        """Return whether the text can still end after one more token, which the grammar allows."""
        if not self.whole or self.matcher is None:
            return True
        self.matcher.accept_token(token)
        try:
            return self.fits(len(self.ids) + 1)
        finally:
            self.matcher.rollback(1)

    def _must_stop(self, matcher: Matcher) -> bool:
        try:
            return matcher.must_stop()
        except BudgetError as error:
            self.note = str(error)
            return False

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


@dataclass(frozen=True, slots=True)
class RowTable:
    """The rows of a batch, and how they are shown to processors and criteria."""

    rows: list[JumpRow]
    pad: int
    device: torch.device

    def lengths(self) -> list[int]:
        """Return how many tokens each row has written."""
        return [len(row.ids) for row in self.rows]

    def padded(self, lengths: Sequence[int]) -> Any:
        """Return prompts and the first tokens of each row, padded on the left."""
        width = max(lengths)
        table = [
            [self.pad] * (width - length) + row.prompt + row.ids[:length]
            for row, length in zip(self.rows, lengths, strict=True)
        ]
        return torch.tensor(table, device=self.device)
