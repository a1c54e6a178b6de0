"""The matcher of one request in a server: it never raises, and an error ends only this request."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackmask.pda.errors import BudgetError
from stackmask.runtime.matching.matcher import Matcher
from stackmask.runtime.matching.step import StepMask, StepResult, step
from stackmask.runtime.serving.metrics import SLOW_SECONDS, Metrics, refusal
from stackmask.runtime.serving.requests import RequestError

AHEAD_WORK = 30_000_000  # units on masks ahead of the first token: a third of a second
logger = logging.getLogger("stackmask.serving")


class GuardedMatcher:
    """Follows the output of one request for a server.

    Tokens after the end are ignored, as servers expect. If a mask cannot be computed (a limit of the request
    is reached, it was cancelled, memory ran out), ``failure`` gives the reason, only stop tokens are allowed,
    and no token is accepted, so that the server ends the request as failed: a truncated text is not an
    answer. Failures are logged once.

    ``room``: the maximum number of tokens, with the stop token, or None: the text is completed within it, if
    a completion is found.
    ``only``: the tokens that the request itself allows, as the words of a mask, or None for all.
    ``metrics``: the counters of slow masks and failures.
    """

    def __init__(
        self,
        matcher: Matcher,
        stop_ids: Iterable[int],
        request_id: str = "",
        metrics: Metrics | None = None,
    ) -> None:
        self.matcher = matcher
        self.metrics = Metrics() if metrics is None else metrics
        self.failure: str | None = None
        self.is_of_request = False  # the failure has its cause in what was requested
        self.only: NDArray[np.uint32] | None = None
        self.room: int | None = None
        self.may_be_cut = False  # no end was found within the room
        self.stops = tuple(stop_ids)
        self._failed_at = 0  # accepted tokens when it failed
        self._request_id = request_id

    def prepare(self) -> None:
        """Compute the first mask and the masks after forced text in advance, so that no step waits for them.

        This stops after ``AHEAD_WORK``. Errors here occur again when the mask is requested.
        """
        with suppress(Exception):
            ahead = self.matcher.fork()
            until = ahead.account.left - AHEAD_WORK
            while ahead.account.left > until and ahead.prepare(ahead.account.left - until):
                forced = b"".join(ahead.find_jump_forward_bytes())
                if not forced or not ahead.accept_string(forced):
                    break

    def accept(self, token: int) -> bool:
        """Advance by a token; return False if it is not allowed. After the end, every token is ignored."""
        if self.is_terminated():
            return True
        if self.failure is not None:
            return False
        try:
            return self.matcher.accept_token(token)
        except Exception as error:  # noqa: BLE001 - nothing may reach the engine
            self.fail(error)
            return False

    def accept_all(self, tokens: Iterable[int]) -> bool:
        """Advance by tokens as far as they are allowed. Return False if any token is not allowed."""
        if self.failure is not None:
            return all(map(self.accept, tokens))
        matcher = self.matcher
        try:
            for token in tokens:  # the usual case of a step, with as few calls as there can be
                if not matcher.accept_token(token) and not matcher.is_terminated():
                    return False
        except Exception as error:  # noqa: BLE001 - nothing may reach the engine
            self.fail(error)
            return False
        return True

    def valid_prefix(self, tokens: Sequence[int]) -> list[int]:
        """Return the number of leading tokens that are allowed, up to the end of the text. The matcher does
        not advance.
        """
        if self.failure is not None or self.is_terminated():
            return []
        before = self.matcher.accept_calls
        try:
            for token in tokens:
                if not self.matcher.accept_token(token) or self.matcher.is_terminated():
                    break
        except Exception as error:  # noqa: BLE001 - nothing may reach the engine
            self.fail(error)
        count = self.matcher.accept_calls - before
        self.rollback(count)
        return list(tokens[:count])

    def rollback(self, count: int) -> None:
        """Undo the last tokens, or all if there are fewer, and a failure that occurred after them."""
        count = min(count, self.matcher.accept_calls)
        if count > 0:
            self.matcher.rollback(count)
            if self.failure is not None and self.matcher.accept_calls < self._failed_at:
                self.failure, self.is_of_request = None, False

    def fill(self, mask: Any, row: int) -> None:
        """Write the mask of the next token into a row; if this is impossible, only the stop tokens."""
        if self.failure is None:
            begun = time.perf_counter()
            try:
                target, place = (
                    (mask.row_to_write(row)[None], 0) if isinstance(mask, StepMask) else (mask, row)
                )
                if self.room is None or not self._fill_within(self.room, target, place):
                    self.matcher.fill_next_token_bitmask(target, place)
                if self.only is not None:
                    self._narrow(np.asarray(target[place]).view(np.uint32), self.only)
                if time.perf_counter() - begun > SLOW_SECONDS:
                    self.metrics.add("slow_masks")
                return
            except Exception as error:  # noqa: BLE001 - nothing may reach the engine
                self.fail(error)
        self.fill_stops(mask, row)

    def fill_tree(self, tokens: Sequence[int], parents: Sequence[int], mask: Any) -> bool:
        """Write the masks along a draft tree, as ``Matcher.fill_draft_bitmask``; return False if they cannot
        be computed.
        """
        if self.failure is None:
            try:
                self.matcher.fill_draft_bitmask(tokens, parents, mask)
                return True
            except Exception as error:  # noqa: BLE001 - nothing may reach the engine
                self.fail(error)
        return False

    def _narrow(self, words: NDArray[np.uint32], only: NDArray[np.uint32]) -> None:
        words &= only
        if not words.any() and not self.is_terminated():
            raise RequestError("allowed_token_ids of the request has no token that the grammar allows here")

    def _fill_within(self, room: int, mask: Any, row: int) -> bool:
        """Write the mask under the remaining budget. Return False if the text has none, now and from then on."""
        left = room - self.matcher.accept_calls
        if left < 1 or self.matcher.is_terminated():  # drafts may look past the last token
            return False
        from stackmask.runtime.matching.budgets import CompletionError

        try:
            self.matcher.fill_next_token_bitmask(mask, row, budget=left)
        except CompletionError as error:
            self.room, self.may_be_cut = None, True
            logger.warning("request %s may be cut at its last token: %s", self._request_id, error)
            return False
        return True

    def fill_stops(self, mask: Any, row: int) -> None:
        """Allow only stop tokens. Without stop tokens, allow all, so that the sampled one is then refused."""
        words = mask.row_to_write(row) if isinstance(mask, StepMask) else np.asarray(mask[row])
        words[:] = 0 if self.stops else -1  # mutant: fail-open
        bits = words.view(np.uint32)
        for token in self.stops:
            if token >> 5 < len(bits):
                bits[token >> 5] |= np.uint32(1 << (token & 31))

    def fail(self, error: BaseException) -> None:
        """Record why this request cannot continue."""
        self.failure = f"{type(error).__name__}: {error}"
        self._failed_at = self.matcher.accept_calls
        self.is_of_request = isinstance(error, BudgetError | RequestError)
        self.metrics.add(refusal(error))
        logger.error("request %s ends: its mask could not be computed: %s", self._request_id, self.failure)

    def is_terminated(self) -> bool:
        """Return whether the output has ended with a stop token."""
        return self.matcher.is_terminated()

    def fork(self) -> GuardedMatcher:
        """Return an independent copy in the same state."""
        made = GuardedMatcher(self.matcher.fork(), self.stops, self._request_id, self.metrics)
        made.failure, made._failed_at, made.is_of_request = self.failure, self._failed_at, self.is_of_request
        made.only, made.room, made.may_be_cut = self.only, self.room, self.may_be_cut
        return made

    def reset(self) -> None:
        """Return to the start."""
        self.failure = None
        try:
            self.matcher.reset()
        except Exception as error:  # noqa: BLE001 - nothing may reach the engine
            self.fail(error)


class Thoughts:
    """The reasoning of a request before its text. It must end early enough for the text to be completed.

    ``end``: the token that ends the reasoning; None if there is no such token, so that the length is not
    bounded. Stop tokens are forbidden throughout. A step begins with ``start_step``; then each of its rows
    inside the reasoning is restricted, in order.
    Cost: that of ``Matcher.needs_at_least``.
    """

    def __init__(self, text: GuardedMatcher, end: int | None) -> None:
        self._text = text
        self._stops = tuple(token for token in text.stops if token != end)
        self._end = -1 if end is None else end
        self._needed = -1  # tokens of the end and of the shortest text; -1: thoughts may take all
        self._left = 0
        self._is_first = False  # no row of this step is of the text
        if end is not None:
            try:
                self._needed = 1 + text.matcher.needs_at_least()
            except Exception as error:  # noqa: BLE001 - nothing may reach the engine
                logger.warning("thoughts may take all tokens of a request: %s", error)

    def start_step(self, left: int) -> None:
        """Set the number of tokens that the request may still generate."""
        self._left, self._is_first = left, True

    def restrict(self, words: NDArray[np.uint32]) -> None:
        """Restrict the mask of the next token, one row of words, and count that token."""
        if self._left <= self._needed:
            words[:] = 0
            words[self._end >> 5] = np.uint32(1 << (self._end & 31))
        else:
            forbid(words, self._stops)
        self._left -= 1

    def first_forbidden(self, draft: Sequence[int]) -> int | None:
        """Return the index of the first draft token that is forbidden in the reasoning; None if the reasoning
        ends first.
        """
        for place, token in enumerate(draft):
            if token == self._end:
                return None
            if token in self._stops or self._left - place <= self._needed:
                return place
        return None

    def begin_text(self) -> None:
        """Give the text the remaining tokens, when a row of the step is the first one after the reasoning."""
        if self._is_first and not self._text.may_be_cut:
            self._text.room = self._left + self._text.matcher.accept_calls
        self._is_first = False


def forbid(words: NDArray[np.uint32], tokens: Iterable[int]) -> None:
    """Remove tokens from a mask, one row of words."""
    for token in tokens:
        if token >> 5 < len(words):
            words[token >> 5] &= ~np.uint32(1 << (token & 31))


def fill_batch(guarded: Sequence[GuardedMatcher], mask: Any, rows: Sequence[int] | None = None) -> StepResult:
    """Write the masks of several requests in one call; errors only affect their requests.

    ``mask``: an array, a tensor or a ``StepMask``. ``rows[i]`` is the row of request i, by default i.
    """
    matchers = [
        one.matcher if one.failure is None and one.room is None and one.only is None else None
        for one in guarded
    ]
    result = step(matchers, [None] * len(matchers), mask, rows)
    if result.slow:
        guarded[0].metrics.add("slow_masks", result.slow)
    for number, error in result.errors.items():
        guarded[number].fail(error)
    for number in result.waiting:  # servers take no other answer than a mask: these come after the others
        guarded[number].fill(mask, number if rows is None else rows[number])
    if result.errors or None in matchers:
        for number, one in enumerate(guarded):
            row = number if rows is None else rows[number]
            if one.failure is not None:
                one.fill_stops(mask, row)
            elif matchers[number] is None:  # its mask is not that of the grammar alone
                one.fill(mask, row)
    return result
