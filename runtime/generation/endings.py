"""Whether generated texts end whole: what ``finish`` means for each row."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from stackmask.pda.errors import BudgetError
from stackmask.runtime.generation.errors import GenerationError

Finish: TypeAlias = Literal["whole", "cut"] | None
"""How texts end where ``max_new_tokens`` is reached. None: whole, where that is possible."""


def check_finish(finish: Any) -> None:
    """Refuse what ``finish`` cannot be."""
    if finish not in (None, "whole", "cut"):
        raise GenerationError(f'finish is {finish!r}, not "whole", "cut" or None')


def check_room(max_new_tokens: Any) -> None:
    """Refuse what is no number of tokens. None: there is no limit."""
    if max_new_tokens is None:
        return
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 1:
        raise GenerationError(
            f"max_new_tokens is {max_new_tokens!r}: give the number of tokens that a text may have, 1 or more"
        )


def ends_whole(matcher: Any, room: int, finish: Finish) -> bool:
    """Tell whether the text of a matcher at its start is to end within ``room`` tokens, stop token included.

    Raises: GenerationError if that is asked for, and cannot be.
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
