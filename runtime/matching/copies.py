"""Copies of matchers by ``copy.copy`` and ``copy.deepcopy``, which are forks; matchers cannot be pickled."""

from __future__ import annotations

import copyreg
from typing import Any, NoReturn

from stackmask.runtime.matching.mask_buffer import MatcherTypeError


class Fork:
    """The callable that ``copy`` uses to copy a matcher, and that ``pickle`` would have to write."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def __call__(self) -> Any:
        return self._matcher.fork()

    def __reduce__(self) -> NoReturn:
        raise MatcherTypeError(
            "a matcher cannot be pickled: it is a place among states of this process. For a copy in it use fork(); for another "
            "process pickle `matcher.compiled`, and accept the same tokens there"
        )


def fork_for_copies(kind: type) -> None:
    """Let ``copy.copy`` and ``copy.deepcopy`` fork the matchers of a class."""
    copyreg.pickle(kind, lambda matcher: (Fork(matcher), ()))
