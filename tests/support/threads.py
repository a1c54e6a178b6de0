"""Work of several threads, and of a forked process, whose errors are those of the test."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_threads(work: Callable[[int], object], count: int = 4) -> None:
    """Call ``work`` with 0, 1, … in threads of their own. Raises: what one of them raised."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def fork(work: Callable[[], None]) -> int:
    """Return the status of a forked process: 0 after ``work``, 1 if it raised something."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is what is tested
        child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)
