"""Counts and times of a server, as the text that Prometheus reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Metrics:
    """Sums of what happened; safe for use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, float] = {}

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a sum; ``name`` may have labels, as Prometheus writes them."""
        with self._lock:
            self._sums[name] = self._sums.get(name, 0) + amount

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the seconds of a block to ``<name>_seconds_sum``, and 1 to its count."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(f"{name}_seconds_sum", time.perf_counter() - begin)
            self.add(f"{name}_seconds_count")

    def text(self) -> str:
        """Return all sums, a line each."""
        with self._lock:
            return "".join(f"stackmask_{name} {value:.9g}\n" for name, value in sorted(self._sums.items()))
