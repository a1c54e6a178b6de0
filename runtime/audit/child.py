"""A worker in a process of its own, so that an engine that crashes or hangs ends neither the audit nor the others."""

from __future__ import annotations

import multiprocessing as mp
import os
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

from stackmask.runtime.audit.workers import make_worker

START_S: Final = 120.0  # to load a vocabulary and the libraries
MAX_SAID: Final = 300


class WorkerFault(Exception):
    """A worker did not answer. ``kind``: ``raised``, ``crashed`` or ``hung``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Asked(Protocol):
    """A worker, here or in another process."""

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault."""

    def close(self) -> None:
        """End the worker."""


class Here:
    """A worker in this process: for engines that are trusted not to hang, and for tests."""

    def __init__(self, kind: str, *arguments: Any) -> None:
        self.worker = make_worker(kind, arguments)

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault for whatever it raises."""
        try:
            return getattr(self.worker, call)(*arguments)
        except Exception as error:  # noqa: BLE001  # an engine's error is a result
            raise WorkerFault("raised", _said(error)) from None

    def close(self) -> None:
        """Nothing is to be ended."""


class Child:
    """A worker in a process that is started when first asked, and again after it was ended.

    ``seconds``: that one call may take; then the process is killed. Not safe for use from several threads.
    """

    def __init__(self, kind: str, *arguments: Any, seconds: float = 30.0) -> None:
        self.kind, self.arguments, self.seconds = kind, arguments, seconds
        self._process: Any = None
        self._pipe: Connection | None = None

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault if it raises, crashes or takes too long."""
        if self._pipe is None:
            self._start()
        pipe = self._pipe
        assert pipe is not None
        try:
            pipe.send((call, arguments))
            return self._answer(self.seconds)
        except (EOFError, OSError):
            status = self._end()
            raise WorkerFault("crashed", f"its process ended with status {status}") from None

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.kind, self.arguments), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self._answer(START_S)
        except EOFError:
            status = self._end()
            raise WorkerFault("crashed", f"its process ended with status {status} when it started") from None
        except WorkerFault:
            self._end()
            raise

    def _answer(self, seconds: float) -> Any:
        pipe = self._pipe
        assert pipe is not None
        if not pipe.poll(seconds):
            self._end()
            raise WorkerFault("hung", f"no answer after {seconds:g} s")
        is_answer, value = pipe.recv()
        if is_answer:
            return value
        raise WorkerFault("raised", value)

    def _end(self) -> int | None:
        """Kill the process and return its status."""
        process, self._process = self._process, None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if process is None:
            return None
        process.join(0.2)
        if process.exitcode is None:
            process.kill()
            process.join()
        status: int | None = process.exitcode
        process.close()
        return status

    def close(self) -> None:
        """End the process."""
        self._end()


def _serve(pipe: Connection, kind: str, arguments: tuple[Any, ...]) -> None:
    """Answer calls until the other end is closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)  # what libraries print is not for users
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        worker = make_worker(kind, arguments)
    except BaseException as error:  # noqa: BLE001  # pyo3's panics are no Exception
        pipe.send((False, _said(error)))
        return
    pipe.send((True, None))
    while True:
        try:
            call, given = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, getattr(worker, call)(*given))
        except BaseException as error:  # noqa: BLE001  # an engine's error is a result
            answer = (False, _said(error))
        pipe.send(answer)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_SAID]
