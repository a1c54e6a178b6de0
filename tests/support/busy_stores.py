"""Stores that another thread works in meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import stackmask as sm


@contextmanager
def at_work(compiled: sm.CompiledGrammar) -> Iterator[None]:
    """Have another thread work in the store of a grammar."""
    lock = compiled._automaton.store.lock
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with lock:
            entered.set()
            leave.wait(600)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(600)
    try:
        yield
    finally:
        leave.set()
        thread.join()
