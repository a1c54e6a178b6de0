"""Counters of a server, as text or as Prometheus metrics."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

SLOW_SECONDS: Final = 0.001
logger = logging.getLogger("stackmask.serving")
_PUBLISHING: Final = threading.Lock()
# of a backend in a server of others
HELP: Final = {
    "compiles": "Grammars compiled for requests",
    "compile_seconds": "Seconds spent on compiling grammars, and on their first masks",
    "mask_seconds": "Seconds of steps spent on masks",
    "slow_masks": "Masks that took more than a millisecond: first visits of a state",
    "draft_errors": "Requests whose drafts were ended by an error; their outputs do not depend on it",
    "refusals": "Requests that were refused or ended, by the limit that they met (none: for another reason)",
}


class Metrics:
    """Counters, which several threads may use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, float] = {}

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a counter; ``name`` may have labels, in the syntax of Prometheus."""
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
        """Return all counters, one per line."""
        with self._lock:
            return "".join(f"stackmask_{name} {value:.9g}\n" for name, value in sorted(self._sums.items()))

    def take(self) -> dict[str, float]:
        """Return the counts since the last call."""
        with self._lock:
            taken, self._sums = self._sums, {}
        return taken


DRAFTS: Final = Metrics()  # of drafts; vLLM shows it where they are made in the process of its scheduler


def refusal(error: object) -> str:
    """Return the name of the counter of requests that ended with this error."""
    return f"refusals:{getattr(error, 'limit', 'none')}"


def publish(sums: Mapping[str, float]) -> None:
    """Add counts, with the names in HELP, to the counters ``stackmask:…`` of this process's Prometheus client.

    An error of the client, such as a full disk, is logged, and requests continue.
    """
    try:
        for key, amount in sums.items():
            name, _, limit = key.partition(":")
            with _PUBLISHING:  # a second counter of one name is an error
                counter = _counter(name)
            (counter.labels(limit=limit or "none") if name == "refusals" else counter).inc(amount)
    except Exception:
        logger.exception("counters are not published")


@cache  # once in a process; servers say by a variable of the environment how its values are kept, before they start
def _counter(name: str) -> Any:
    from prometheus_client import Counter

    return Counter(f"stackmask:{name}", HELP[name], ["limit"] if name == "refusals" else [])
