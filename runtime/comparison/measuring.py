"""Follow a text with one engine in a separate process, and measure times, masks and memory."""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.child import Child, WorkerFault
from stackmask.runtime.comparison.engines import (
    FSM,
    PEERS,
    PUSHDOWN,
    WARM,
    Engine,
    Fsm,
    Pushdown,
    Unsupported,
    empty_mask,
)
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.comparison.tokenizer import Tokenizer

MEASURER: Final = "stackmask.runtime.comparison.measuring:Measurer"
COLD_PASSES: Final = 3  # from a fresh engine each; the best of each place is taken
WARM_PASSES: Final = 5
ENOUGH_S: Final = 1.0  # what took longer is not repeated

clock = time.perf_counter_ns
computing = time.process_time_ns  # what a busy machine disturbs least


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one engine. ``memory``: bytes of the finite-state mode's tables; ``process``: bytes by
    which a whole process may grow; ``seconds``: the total time.
    """

    memory: int = 512 << 20
    process: int = 4 << 30
    seconds: float = 60.0


@dataclass(slots=True)
class Column:
    """The result of one engine. Units: ms of CPU time to set up and to compile, µs for masks, bytes.

    ``refusal``: why there is nothing to measure; ``stopped_at``: the refused token of the text.
    ``first_pass``: µs of each mask at the first visit, ``again`` later on, one more than there are tokens.
    """

    name: str
    engine: str
    depth: int | None = None
    refusal: str | None = None
    setup_ms: float | None = None
    compile_ms: float | None = None
    first_pass: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    accept_us: float | None = None
    stopped_at: int | None = None
    forced_tokens: int | None = None
    states: int | None = None
    memory_bytes: int | None = None
    growth_bytes: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """The task that the engines share: a language, the tokens of a text, and the bytes of each token."""

    tokenizer: Tokenizer
    subject: Subject
    ids: Sequence[int]
    lengths: Sequence[int]
    limits: Limits


def measure(column: Column, task: Task, masks: Path) -> Column:
    """Measure one engine in a new process and return its column; the masks go to a NumPy file.

    An engine that takes too long, or too much memory, is killed, which the column reports.
    """
    limits = task.limits
    deadline = time.monotonic() + limits.seconds
    child = Child(MEASURER, column, task, str(masks), start_seconds=limits.seconds)
    try:
        for step in ("compile", "follow"):
            if column.refusal is None:
                column = child.ask(step, seconds=max(0.0, deadline - time.monotonic()))
    except WorkerFault as fault:
        column.refusal = {
            "hung": f"not ready after {limits.seconds:g} s",
            "crashed": _how_it_ended(fault.status, limits),
        }.get(fault.kind, f"failed: {fault}"[:200])
    finally:
        child.end()
    return column


def _how_it_ended(status: int, limits: Limits) -> str:
    if status < 0:  # a signal: allocation failed, or the system ended it
        return f"ended by signal {-status}, probably for want of memory (limit {limits.process >> 20} MiB)"
    return f"ended with status {status}"


class Measurer:
    """A worker for the engine of a column in a separate process; its steps return the column."""

    def __init__(self, column: Column, task: Task, masks: str) -> None:
        task.tokenizer.vocabulary._trie()  # not part of any engine
        self.column, self.task, self.masks = column, task, masks
        self.run = _Run(column, task)

    def compile(self) -> Column:
        """Compile, and follow the text for the first time."""
        return self._tried(self.run.compile)

    def follow(self) -> Column:
        """Follow the text again, and keep the masks."""
        return self._tried(lambda: np.save(self.masks, self.run.follow()))

    def _tried(self, step: Callable[[], None]) -> Column:
        column = self.column
        try:
            step()
        except (Unsupported, StackmaskError) as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            column.refusal = lines[0] if lines else type(error).__name__
        except MemoryError:
            column.refusal = f"more than {self.task.limits.process >> 20} MiB of memory"
        except Exception as error:  # noqa: BLE001  # a library that fails is a result, not the end of the comparison
            column.refusal = f"failed: {type(error).__name__}: {error}"[:200]
        return column


def make_engine(column: Column, tokenizer: Tokenizer, limits: Limits) -> Engine:
    """Return the engine of a column."""
    vocabulary = tokenizer.vocabulary
    options = {
        "memory": limits.memory,
        "depth": column.depth,
        "encode": tokenizer.encode,
        "seconds": limits.seconds,
    }
    if column.engine == PUSHDOWN:
        return Pushdown(vocabulary, options)
    if column.engine == FSM:
        return Fsm(vocabulary, options)
    kind: type[Any] = PEERS[column.engine][0]
    engine: Engine = kind(vocabulary, options)
    return engine


class _Run:
    def __init__(self, column: Column, task: Task) -> None:
        self.column, self.task = column, task
        self.mask = empty_mask(task.tokenizer.vocabulary)
        self.engine: Engine

    def make(self) -> Engine:
        return make_engine(self.column, self.task.tokenizer, self.task.limits)

    def compile(self) -> None:
        """Compile from scratch, several times if it is fast. Modules are loaded before, with another language."""
        warm = self.make()
        with suppress(Unsupported, StackmaskError):  # a small vocabulary may not spell it
            warm.compile(WARM[self.task.subject.kind])
            warm.begin()
            warm.fill(self.mask)
        del warm
        _trim()
        _limit_memory(self.task.limits.process)
        started = time.monotonic()
        setups: list[float] = []
        compiles: list[float] = []
        passes: list[list[int]] = []
        while not passes or (len(passes) < COLD_PASSES and time.monotonic() - started < ENOUGH_S):
            begin = computing()
            self.engine = self.make()
            setups.append((computing() - begin) / 1e6)
            before = None if passes else resident()
            begin = computing()
            self.engine.compile(self.task.subject)
            compiles.append((computing() - begin) / 1e6)
            passes.append(self.walk()[0])
            if before is not None:
                self.column.growth_bytes = max(0, (resident() or before) - before)
        self.column.setup_ms, self.column.compile_ms = min(setups), min(compiles)
        self.column.first_pass = [min(times) / 1e3 for times in zip(*passes, strict=True)]
        facts = self.engine.facts()
        self.column.states, self.column.memory_bytes = facts.states, facts.memory_bytes
        self.column.details = facts.details

    def walk(self) -> tuple[list[int], list[int]]:
        """Follow the text once; return the times of masks and of accepting, in ns."""
        engine = self.engine
        engine.begin()
        fills, accepts = [], []
        for at, token in enumerate(self.task.ids):
            fills.append(self.timed_fill())
            begin = clock()
            taken = engine.accept(token)
            accepts.append(clock() - begin)
            if not taken:
                self.column.stopped_at = at
                return fills, accepts
        fills.append(self.timed_fill())
        return fills, accepts

    def timed_fill(self) -> int:
        """Fill the mask; return the time in ns, without other processes."""
        computed = time.thread_time_ns()
        begin = clock()
        self.engine.fill(self.mask)
        passed = clock() - begin
        return min(passed, time.thread_time_ns() - computed)

    def follow(self) -> np.ndarray[Any, Any]:
        """Follow the text again, for the speed of known masks, the masks, and the forced text.

        Shapes: the masks, int32 (places, ceil(vocab / 32)).
        """
        started = time.monotonic()
        passes: list[list[int]] = []
        accepts: list[list[int]] = []
        while not passes or (len(passes) < WARM_PASSES and time.monotonic() - started < ENOUGH_S):
            fills, accepted = self.walk()
            passes.append(fills)
            accepts.append(accepted)
        self.column.again = [min(times) / 1e3 for times in zip(*passes, strict=True)]
        best = [min(times) / 1e3 for times in zip(*accepts, strict=True)]
        self.column.accept_us = statistics.fmean(best) if best else None

        found = []
        forced: int | None = 0
        place = known = 0  # bytes so far, and up to where text is forced
        engine = self.engine
        engine.begin()
        for at in range(len(self.column.again)):
            engine.fill(self.mask)
            found.append(self.mask[0].copy())
            if at == len(self.task.ids):
                break
            end = place + self.task.lengths[at]
            if place >= known:  # forced text that was told before need not be asked for again; it can be long
                text = engine.forced()
                forced = None if text is None else forced
                known = place + len(text or b"")
            if forced is not None and place < end <= known:
                forced += 1
            place = end
            engine.accept(self.task.ids[at])
        self.column.forced_tokens = forced
        return np.array(found)


def resident() -> int | None:
    """Return the resident memory of this process in bytes; None if the system does not report it."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None


def _trim() -> None:
    """Return free memory to the system if possible, so that growth is visible."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _limit_memory(growth: int) -> None:
    """Make allocations fail beyond the given number of further bytes, if the system supports that."""
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        size = pages * os.sysconf("SC_PAGE_SIZE") + growth
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))
