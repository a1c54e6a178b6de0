"""Pause Python's collector of reference cycles where much is made and nothing is garbage."""

from __future__ import annotations

import gc
from types import TracebackType


class without_collection:
    """Keep the collector from running inside a ``with``: it would visit all that lives, and find nothing.

    It is left as it was found; what was made inside counts towards its next run.
    """

    __slots__ = ("was_enabled",)

    def __enter__(self) -> None:
        self.was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.was_enabled:
            gc.enable()
