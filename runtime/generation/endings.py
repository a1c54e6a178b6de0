"""Check whether generated texts end complete, which is the meaning of ``finish`` for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from stackmask.pda.errors import BudgetError
from stackmask.runtime.generation.errors import GenerationError

Finish: TypeAlias = Literal["whole", "cut"] | None
"""The ends of texts that reach ``max_new_tokens``. None: "whole" if possible."""


def check_finish(finish: Any) -> None:
    """Raise an error for an invalid ``finish``."""
    if finish not in (None, "whole", "cut"):
        raise GenerationError(f'finish is {finish!r}, not "whole", "cut" or None')


def check_room(max_new_tokens: Any) -> None:
    """Raise an error for an invalid number of tokens. None means no limit."""
    if max_new_tokens is None:
        return
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 1:
        raise GenerationError(
            f"max_new_tokens is {max_new_tokens!r}: give the number of tokens that a text may have, 1 or more"
        )


def check_wrap_up(wrap_up: Any) -> None:
    """Raise an error for an invalid share of the tokens. None means no report."""
    if wrap_up is None:
        return
    if isinstance(wrap_up, bool) or not isinstance(wrap_up, int | float) or not 0 < wrap_up <= 1:
        raise GenerationError(f"wrap_up is {wrap_up!r}: give a share of max_new_tokens, above 0 and up to 1")


def watched_tokens(wrap_up: float | None, max_new_tokens: int | None) -> int | None:
    """Return the watched budget in tokens, or None if there is none."""
    return None if wrap_up is None or max_new_tokens is None else int(wrap_up * max_new_tokens)


def is_closing(matcher: Any, left: int) -> bool:
    """Return whether the shortest completion of a text takes all remaining tokens, or more.

    False if no completion was found. Cost: that of ``Matcher.needs_at_least``.
    """
    if left < 1:
        return not matcher.is_terminated()
    from stackmask.runtime.matching.budgets import can_end_within

    try:
        return can_end_within(matcher, left - 1) is False
    except BudgetError:
        return False


def closing_place(matcher: Any, tokens: Sequence[int], watched: int) -> int | None:
    """Return the number of tokens after which the rest of a budget only completes the text, or None.

    ``matcher``: at the start of the text; it is advanced through the text. Cost: that of ``is_closing`` for
    each token.
    """
    for place in range(len(tokens) + 1):
        if is_closing(matcher, watched - place):
            return place
        if place == len(tokens) or not matcher.accept_token(tokens[place]):
            break
    return None


def ends_whole(matcher: Any, room: int, finish: Finish) -> bool:
    """Return whether the text of a new matcher must end within ``room`` tokens, including the stop token.

    Raises: GenerationError if that is required but impossible.
    """
    from stackmask.runtime.matching.budgets import CompletionError
    from stackmask.runtime.matching.mask_buffer import MatcherError

    if finish == "cut" or matcher is None:
        return False
    try:
        needed = matcher.needs_at_least()
    except (CompletionError, BudgetError, MatcherError) as error:
        reason = str(error)
    else:
        if needed <= room:
            return True
        reason = f"the shortest text takes {needed} tokens, stop token included, but there is room for {room}"
    if finish == "whole":
        raise GenerationError(f'finish="whole" cannot be kept: {reason}')
    return False
