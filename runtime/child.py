"""Workers in separate processes, so that a crash, a hang or excessive memory use there does no harm here.

A worker is an object whose methods are called by name. Its process is spawned, not forked, since models run
threads, and ends with its parent process, even during a call. Requests and answers are length-prefixed
pickles.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Collection
from typing import Any, BinaryIO, Final, cast

LENGTH_BYTES: Final = 8
START_SECONDS: Final = 120.0  # to load libraries and a vocabulary, or to connect to a database
MAX_SAID: Final = 300
PROGRAM: Final = """\
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from stackmask.runtime.child import main
main()
"""


class WorkerFault(Exception):
    """A worker did not answer.

    ``kind``: ``raised``, ``crashed``, ``hung``, or ``large`` for an answer of too many bytes. ``name``, ``said``: the class
    and the message of what it raised; ``status``: of its process, where that has ended.
    """

    def __init__(self, kind: str, name: str = "", said: str = "", status: int = 0) -> None:
        super().__init__(f"{name}: {' '.join(said.split())}"[:MAX_SAID] if name else said)
        self.kind, self.name, self.said, self.status = kind, name, said, status


class Child:
    """A worker in a process that is started by the first call, and restarted by the next call after it has ended.

    ``worker``: ``module:factory``, called with ``arguments`` in the process. ``seconds``: the time limit of a
    call, and ``start_seconds`` of the start; then the process is killed. ``data``: the classes, as
    ``module.name``, that answers may contain besides Python literals; without it any, which is only safe if
    the process runs trusted code. Not safe for use from several threads.
    """

    def __init__(
        self,
        worker: str,
        *arguments: Any,
        seconds: float = 30.0,
        start_seconds: float = START_SECONDS,
        data: Collection[str] | None = None,
    ) -> None:
        self.seconds, self.start_seconds = seconds, start_seconds
        self.process: subprocess.Popen[bytes] | None = None
        self._first = (worker, arguments)
        self._data = data
        self._timed_out = False

    def ask(self, call: str, *arguments: Any, seconds: float | None = None, most: int = sys.maxsize) -> Any:
        """Call a method of the worker and return its answer of at most ``most`` bytes.

        Raises: WorkerFault; the process is only kept if the worker itself raised.
        """
        if self.process is None:
            self.start()
        return self._answer((call, arguments), self.seconds if seconds is None else seconds, most)

    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start the process. Raises: WorkerFault."""
        # nothing of the arguments is on the command line; what libraries print goes nowhere
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a terminal's Ctrl-C is for this process alone
        )
        weakref.finalize(self, _kill, self.process)
        with contextlib.suppress(OSError):  # it is gone: reading says so
            pickle.dump(sys.path, cast(BinaryIO, self.process.stdin))
        try:
            self._answer(self._first, self.start_seconds, sys.maxsize)
        except WorkerFault:
            self.end()
            raise

    def _answer(self, request: Any, seconds: float, most: int) -> Any:
        process = cast("subprocess.Popen[bytes]", self.process)
        self._timed_out = False
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._time_out)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(OSError):
                write_frame(cast(BinaryIO, process.stdin), pickle.dumps(request))
            is_answer, value = self._unpickled(read_frame(cast(BinaryIO, process.stdout), most))
        except OverflowError:
            raise WorkerFault("large", status=self.end()) from None
        except Exception:  # noqa: BLE001  # whatever a process writes that fails
            status = self.end()
            if self._timed_out:
                raise WorkerFault("hung", said=f"no answer after {seconds:g} s") from None
            raise WorkerFault(
                "crashed", said=f"its process ended with status {status}", status=status
            ) from None
        except BaseException:  # Ctrl-C
            self.end()
            raise
        finally:
            timer.cancel()
        if is_answer:
            return value
        raise WorkerFault("raised", *value)

    def _unpickled(self, answer: bytes) -> Any:
        return pickle.loads(answer) if self._data is None else read_data(answer, self._data)

    def _time_out(self) -> None:
        self._timed_out = True
        if self.process is not None:
            self.process.kill()

    def end(self, seconds: float = 0) -> int:
        """End the process, by force after some seconds; return its status, 0 if there is none."""
        process, self.process = self.process, None
        if process is None:
            return 0
        with contextlib.suppress(OSError):
            cast(BinaryIO, process.stdin).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds or 0.2)  # how it ends by itself
        own = process.poll()
        _kill(process)
        cast(BinaryIO, process.stdout).close()
        return process.returncode if own is None else own


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


class _DataOnly(pickle.Unpickler):
    """Unpickles only values of named classes, so that no code is run, even if the process was compromised."""

    def __init__(self, answer: bytes, allowed: Collection[str]) -> None:
        super().__init__(io.BytesIO(answer))
        self.allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in self.allowed:  # mutant: any-class
            raise pickle.UnpicklingError(f"an answer has a {module}.{name}")
        return super().find_class(module, name)


def read_data(answer: bytes, allowed: Collection[str]) -> Any:
    """Unpickle Python literals and values of named classes. Raises: UnpicklingError for others."""
    return _DataOnly(answer, allowed).load()


def write_frame(pipe: BinaryIO, message: bytes) -> None:
    """Write one message."""
    pipe.write(len(message).to_bytes(LENGTH_BYTES, "big"))
    pipe.write(message)
    pipe.flush()


def read_frame(pipe: BinaryIO, most: int) -> bytes:
    """Read one message. Raises: EOFError if the pipe ends first; OverflowError for more than ``most`` bytes."""
    header = pipe.read(LENGTH_BYTES)
    size = int.from_bytes(header, "big")
    if len(header) == LENGTH_BYTES and size > most:
        raise OverflowError(size)
    message = pipe.read(size) if len(header) == LENGTH_BYTES else b""
    if len(header) < LENGTH_BYTES or len(message) < size:
        raise EOFError
    return message


# -- In the process ----------------------------------------------------------------------------------------


def main() -> None:
    """Serve on the standard pipes; printed output is discarded."""
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the starting process is interrupted, and ends this one
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    waiting = _requests(sys.stdin.buffer)
    worker = _answered(answers, lambda: _made(*waiting.get()), show=False)
    while worker is not None:
        call, arguments = waiting.get()
        _answered(answers, lambda: getattr(worker, call)(*arguments))  # noqa: B023
    os._exit(0)  # threads of a library do not hold it up


def _made(worker: str, arguments: tuple[Any, ...]) -> Any:
    module, _, factory = worker.partition(":")
    return getattr(importlib.import_module(module), factory)(*arguments)


def _requests(pipe: BinaryIO) -> queue.SimpleQueue[Any]:
    """Read requests in a thread; the end of the pipe ends the process, even during a call."""
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                found.put(pickle.loads(read_frame(pipe, sys.maxsize)))
        finally:
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return found


def _answered(answers: BinaryIO, call: Callable[[], Any], *, show: bool = True) -> Any:
    """Send the result or the exception of a call; return it, or None."""
    value = None
    try:
        value = call()
        answer = pickle.dumps((True, value if show else None))
    except BaseException as error:  # noqa: BLE001  # pyo3's panics are no Exception
        answer = pickle.dumps((False, (type(error).__name__, str(error))))
    write_frame(answers, answer)
    return value
