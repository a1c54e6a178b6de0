"""Pause Python's cyclic garbage collector while many objects are created that are not garbage."""

from __future__ import annotations

import gc
from types import TracebackType


class without_collection:
    """Disable the collector in a ``with`` block, where it would visit all live objects and find no garbage.

    The collector's previous state is restored; objects created inside count towards its next run.
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
