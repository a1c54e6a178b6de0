"""Count work instead of timing it: the same on every machine, whatever else runs there."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls_of(run: Callable[[], object]) -> int:
    """Return how many functions ``run`` calls, Python's and builtin ones; calls within extensions do not count."""
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    # what other tests left would be counted where it is let go of
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(before)
        if was_enabled:
            gc.enable()
    return count
