"""A database that is asked by a process of its own, which is killed when a limit is met.

One step of SQLite's machine can take minutes, and nothing inside of its process stops it; neither does anything bound
what a driver takes to receive one value. The process is spawned, not forked: models run threads.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.secrets import hide, possible_secrets
from stackmask.runtime.cli.database import ANSWER_BYTES, Keys, QueryError, Rows, too_large, too_slow
from stackmask.runtime.cli.frames import (
    LONGEST_CODE,
    STEP_BYTES,
    FrameError,
    OversizeError,
    read_frame,
    unpacked,
    unpacked_schema,
    write_frame,
)

OPEN_SECONDS: Final = 120.0  # for connecting and reading the schema
SCHEMA_BYTES: Final = 256 << 20
GRACE_SECONDS: Final = {
    "sqlite": 0.5,
    "postgres": 5.0,
}  # after the database's own limit; a server is asked to cancel
CLOSE_SECONDS: Final = 5.0
PROGRAM: Final = """\
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from stackmask.runtime.cli.query_child import main
main()
"""


class Timer(Protocol):
    """What ``threading.Timer`` is, as far as it is used."""

    daemon: bool

    def start(self) -> None:
        """Begin to wait."""

    def cancel(self) -> None:
        """Stop waiting."""


class _Ended(Exception):
    """The process is gone; ``timed_out`` if its time was over."""

    def __init__(self, status: int, *, timed_out: bool) -> None:
        super().__init__(status)
        self.status, self.timed_out = status, timed_out


class _Child:
    """A running process and its pipes. Invariant: a process that is not answering is killed before anyone sees why."""

    def __init__(self, make_timer: Callable[[float, Callable[[], None]], Timer]) -> None:
        self._make_timer = make_timer
        self._timed_out = False
        # nothing of the database is on the command line; what drivers print goes nowhere
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a terminal's Ctrl-C is for the command line alone
        )
        self._is_new = True
        self._input, self._output = cast(BinaryIO, self.process.stdin), cast(BinaryIO, self.process.stdout)

    def ask(self, request: dict[str, Any], seconds: float, most: int) -> list[dict[str, Any]]:
        """Send a request and return the frames of the answer, up to ``most`` bytes. Whatever fails kills the process.

        Raises: _Ended, OversizeError.
        """
        timer = self._make_timer(min(seconds, threading.TIMEOUT_MAX), self._time_out)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(OSError):  # it is gone: reading says so
                if self._is_new:
                    self._is_new = False
                    self._input.write(json.dumps(sys.path).encode("ascii") + b"\n")
                write_frame(self._input, request)
            frames: list[dict[str, Any]] = []
            while not frames or "rows" in frames[-1]:
                frame = read_frame(self._output, most)
                if frame is None:
                    raise FrameError("the process is gone")
                most -= frame[1]
                frames.append(frame[0])
            return frames
        except OversizeError:
            self.end()
            raise
        except (FrameError, OSError, UnicodeError, json.JSONDecodeError):
            status = self.end()
            raise _Ended(status, timed_out=self._timed_out) from None
        except BaseException:  # Ctrl-C
            self.end()
            raise
        finally:
            timer.cancel()

    def is_running(self) -> bool:
        """Say whether the process is there."""
        return self.process.poll() is None

    def _time_out(self) -> None:
        self._timed_out = True
        self.process.kill()

    def end(self, seconds: float = 0) -> int:
        """End the process, by force after some seconds; return its status."""
        with contextlib.suppress(OSError):
            self._input.close()
        if seconds:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        own = self.process.poll()  # how it ended by itself
        self.process.kill()
        status = self.process.wait()
        self._output.close()
        return status if own is None else own


class ProcessDatabase:
    """A database in a process of its own. After a limit was met there is a new process for the next query."""

    def __init__(
        self,
        source: str | Path,
        *,
        make_timer: Callable[[float, Callable[[], None]], Timer] = threading.Timer,
    ) -> None:
        """Open the database and read its schema. Raises: SQLError."""
        self._source = source
        self._secrets = possible_secrets(str(source))
        self._make_timer = make_timer
        self._child: _Child | None = None
        found = self._open(with_schema=True)
        self.dialect: str = found["dialect"]
        self.product: str = found["product"]
        self.schema, self._keys = unpacked_schema(found["schema"])

    def keys(self) -> Keys:
        """Return the primary and foreign keys."""
        return self._keys

    def run(self, query: str, *, timeout: float, limit: int, size: int = ANSWER_BYTES) -> Rows:
        """Run one query; see :class:`Database`."""
        request = {"query": query, "plan": False, "timeout": timeout, "limit": limit, "size": size}
        *steps, end = self._ask(request, timeout, size)
        rows = [tuple(map(unpacked, row)) for step in steps for row in step["rows"]]
        return Rows(end["columns"], rows, end["more"])

    def plan(self, query: str, *, timeout: float) -> list[str]:
        """Return how the database would run a query; see :class:`Database`."""
        request = {"query": query, "plan": True, "timeout": timeout}
        (frame,) = self._ask(request, timeout, ANSWER_BYTES)
        return list(frame["plan"])

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.end(CLOSE_SECONDS)

    def _ask(self, request: dict[str, Any], timeout: float, size: int) -> list[dict[str, Any]]:
        """Return the frames of an answer. Raises: QueryError."""
        if not timeout > 0:
            raise QueryError(f"a query cannot take {timeout:g} s")
        if self._child is None or not self._child.is_running():
            self.close()
            self._open(with_schema=False)
        child, self._child = cast(_Child, self._child), None
        seconds = timeout + GRACE_SECONDS[self.dialect]
        problem = None
        frames: list[dict[str, Any]] = []
        try:
            frames = child.ask(request, seconds, LONGEST_CODE * size + STEP_BYTES)
        except OversizeError:
            problem = too_large(size)
        except _Ended as ended:
            problem = (
                too_slow(timeout) if ended.timed_out else QueryError(_end_of(ended.status, "ran the query"))
            )
        if problem is not None:
            raise problem
        self._child = child
        if "error" in frames[-1]:
            if frames[-1].get("last"):
                self.close()
            raise QueryError(hide(frames[-1]["text"], self._secrets))
        return frames

    def _open(self, *, with_schema: bool) -> dict[str, Any]:
        """Start a process that has opened the database. Raises: SQLError."""
        if not sys.executable:
            raise SQLError("queries run in a process of their own, and it is not known where Python is")
        is_path = isinstance(self._source, Path)
        request = {"source": str(self._source), "is_path": is_path, "schema": with_schema}
        child = _Child(self._make_timer)
        problem = ""
        frame: dict[str, Any] = {}
        try:
            *_, frame = child.ask(request, OPEN_SECONDS, SCHEMA_BYTES)
        except OversizeError:
            problem = f"the database has a schema of more than {SCHEMA_BYTES >> 20} MiB"
        except _Ended as ended:
            problem = _end_of(ended.status, "opened the database")
            if ended.timed_out:
                problem = f"the database was not open after {OPEN_SECONDS:g} s"
        if "error" in frame:
            child.end(CLOSE_SECONDS)
            problem = hide(frame["text"], self._secrets)
        if problem:
            raise SQLError(problem)
        self._child = child
        return frame


def _end_of(status: int, what: str) -> str:
    """Say in words how a process ended."""
    if status >= 0:
        return f"the process that {what} ended early, with status {status}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-status).name
        more = "; perhaps the memory of the machine ran out" if name == "SIGKILL" else ""
        return f"the process that {what} was ended by the signal {name}{more}"
    return f"the process that {what} was ended by the signal {-status}"
