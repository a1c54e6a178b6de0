"""Compilers that many inputs share: making one, and its first mask, takes longer than most inputs do.

An input may then find what only earlier ones on the same compiler prepared, so these are remembered: `needed_before` says which of them matter.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

import stackmask as sm

MOST_INPUTS = 1000  # of one compiler, then it is dropped
MOST_SECONDS = 20  # for finding out which inputs must run before one that found something


class Company:
    """The compilers of a process, and the inputs that ran on them since they were made."""

    def __init__(self) -> None:
        self.compilers: dict[tuple[int, int], sm.Compiler] = {}
        self.inputs: list[bytes] = []

    def begin(self, data: bytes) -> None:
        """Take note of an input before it runs; drop all compilers where they have seen enough."""
        if len(self.inputs) >= MOST_INPUTS:
            self.drop()
        self.inputs.append(data)

    def drop(self) -> None:
        """Forget all compilers and inputs."""
        self.compilers.clear()
        self.inputs.clear()

    def compiler(self, vocabulary: sm.Vocabulary, limits: sm.Limits, cache_bytes: int) -> sm.Compiler:
        """Return the compiler of a vocabulary, which lives as long as it."""
        key = (id(vocabulary), limits.max_work)
        if key not in self.compilers:
            self.compilers[key] = sm.Compiler(vocabulary, limits=limits, cache_bytes=cache_bytes)
        return self.compilers[key]


company = Company()


def run_input(run: Callable[[bytes], None], data: bytes) -> None:
    """Run an input on the compilers that are there."""
    company.begin(data)
    run(data)


def fault_of(run: Callable[[bytes], None], data: bytes, after: Iterable[bytes] = ()) -> Exception | None:
    """Run inputs on compilers of their own, and then one more; return what that one raises."""
    company.drop()
    for other in after:
        with contextlib.suppress(Exception):  # another fault, which its own input shows
            run(other)
    try:
        run(data)
    except Exception as error:  # noqa: BLE001
        return error
    finally:
        company.drop()
    return None


def needed_before(run: Callable[[bytes], None], data: bytes) -> list[bytes] | None:
    """Return few inputs that must run before the latest one so that it raises; None if it does not again.

    Cost: runs the inputs of a compiler some ten times, as long as there is time for it.
    """
    after = company.inputs[:-1]
    end = time.monotonic() + MOST_SECONDS
    if fault_of(run, data) is not None:
        return []
    if fault_of(run, data, after) is None:
        return None
    size = max(1, len(after) // 2)
    while size and time.monotonic() < end:
        at = 0
        while at < len(after) and time.monotonic() < end:
            fewer = after[:at] + after[at + size :]
            if fault_of(run, data, fewer) is not None:
                after = fewer
            else:
                at += size
        size //= 2
    return after
