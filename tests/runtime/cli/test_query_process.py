"""The process that asks the database: its limits, how it ends, and what others see of it."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.runtime import child as child_process
from stackmask.runtime.child import PROGRAM
from stackmask.runtime.cli.database import QueryError
from stackmask.runtime.cli.query_process import MEMORY_BYTES, ProcessDatabase, open_database, open_directly
from stackmask.runtime.cli.sqlite_database import HEAP_BYTES, LONGEST_VALUE

GUARD = 600  # seconds: against a hang only
# one step of SQLite's machine, which looks at no clock: hours
ONE_STEP = "SELECT instr(printf('%16000000d', 1), printf('%8000000d', 2)) FROM t"
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals")


class NoTimer:
    """A timer that is never due."""

    daemon = False

    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        self.seconds, self.action = seconds, action

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        pass


class DueTimer(NoTimer):
    """A timer that is due at once."""

    def start(self) -> None:
        self.action()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(200)])
        connection.commit()
    return path


@pytest.fixture
def database(file: Path) -> Iterator[Any]:
    found = open_database(file)
    yield found
    found.close()


def is_running(process: int) -> bool:
    """Say whether a process that is no child of this one is there and not dead already."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another process."""
    given_up = threading.Event()
    for _ in range(GUARD * 10):
        if condition():
            return
        given_up.wait(0.1)
    raise AssertionError("it did not happen")


# limits --------------------------------------------------------------------------------------------


def test_a_step_that_looks_at_no_clock_is_ended(database: Any) -> None:
    with pytest.raises(QueryError, match=r"longer than 0\.1 s and was stopped; .*--timeout"):
        database.run(ONE_STEP, timeout=0.1, limit=1)
    assert database.run("SELECT count(*) FROM t", timeout=GUARD, limit=1).rows == [(200,)]  # by a new process


def test_the_process_is_killed_when_the_timer_is_due(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[NoTimer] = []

    def make(seconds: float, action: Callable[[], None]) -> NoTimer:
        made.append((DueTimer if len(made) == 2 else NoTimer)(seconds, action))
        return made[-1]

    monkeypatch.setattr(threading, "Timer", make)
    database = ProcessDatabase(file)
    process = database._child.process
    assert process is not None
    with pytest.raises(QueryError, match="longer than 7 s"):
        database.run("SELECT 1", timeout=7, limit=1)
    assert 7 < made[2].seconds < 8 and process.returncode is not None
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]
    database.close()


def test_opening_has_a_time_limit_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Timer", DueTimer)
    with pytest.raises(SQLError, match="not open after 120 s"):
        ProcessDatabase(file)


def test_values_are_not_longer_than_they_may_be(database: Any) -> None:
    # SQLite's printf answers NULL where its text would be too long
    query = "SELECT instr(printf('%49000000d', 1), printf('%20000000d', 2)) FROM t LIMIT 1"
    assert database.run(query, timeout=GUARD, limit=1).rows == [(None,)]
    with pytest.raises(QueryError, match="no value may be longer than 16 MiB; ask for a part of it"):
        database.run(f"SELECT zeroblob({LONGEST_VALUE + 1})", timeout=GUARD, limit=1)


@pytest.mark.parametrize("query", ["SELECT printf('%9999999d', 1) FROM t", "SELECT zeroblob(1000000) FROM t"])
def test_answers_are_not_larger_than_they_may_be(database: Any, query: str) -> None:
    with pytest.raises(QueryError, match=r"takes more than 16 MiB .*--max-size"):
        database.run(query, timeout=GUARD, limit=100)
    assert len(database.run(query, timeout=GUARD, limit=1).rows) == 1
    assert len(database.run(query, timeout=GUARD, limit=3, size=64 << 20).rows) == 3


@pytest.mark.campaign
def test_memory_has_a_limit(database: Any) -> None:
    sorted_texts = "SELECT a.a FROM t a, t b ORDER BY printf('%1000000d', a.a + b.a)"
    with pytest.raises(QueryError, match=f"more than {HEAP_BYTES >> 20} MiB of memory"):
        database.run(sorted_texts, timeout=GUARD, limit=1)
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]


@pytest.mark.skipif(sys.platform != "linux", reason="where the system bounds the address space")
def test_the_memory_of_the_process_has_a_limit() -> None:
    code = (
        "from stackmask.runtime.cli.query_process import limit_process\n"
        "limit_process()\n"
        f"kept = bytearray({MEMORY_BYTES // 2})\n"
        "try:\n"
        f"    more = bytearray({MEMORY_BYTES})\n"
        "except MemoryError:\n"
        "    print('bounded')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=GUARD
    )
    assert done.stdout == "bounded\n"


# ends ----------------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGSEGV, "the signal SIGSEGV"),
        (signal.SIGKILL, "SIGKILL; perhaps the memory of the machine ran out"),
    ],
)
def test_a_process_that_dies_is_an_error_for_people(
    file: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, words: str
) -> None:
    database: Any = None

    class Killing(NoTimer):
        def start(self) -> None:
            if database is not None and database.dies:
                database.dies = False
                os.kill(self.action.__self__.process.pid, number)  # type: ignore[attr-defined]

    monkeypatch.setattr(threading, "Timer", Killing)
    opened: Any = ProcessDatabase(file)
    opened.dies = True
    database = opened
    with pytest.raises(QueryError, match=words):
        database.run(ONE_STEP, timeout=GUARD, limit=1)
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]
    database.close()


def test_a_process_that_ended_between_queries_is_replaced(database: Any) -> None:
    database._child.process.kill()
    database._child.process.wait()
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]


def test_a_process_that_cannot_begin(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "PROGRAM", "raise SystemExit(7)")
    with pytest.raises(SQLError, match="ended early, with status 7"):
        open_database(file)
    monkeypatch.setattr(child_process, "PROGRAM", "print('what no frame is, and what is long enough')")
    with pytest.raises(SQLError):
        open_database(file)


@pytest.mark.campaign
@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_the_process_ends_with_the_command_line(file: Path, number: signal.Signals) -> None:
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from stackmask.runtime.cli.query_process import open_database\n"
        "database = open_database(sys.argv[1])\n"
        "print(database._child.process.pid, flush=True)\n"
        f"database.run({ONE_STEP!r}, timeout={GUARD}, limit=1)\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    child = int(program.stdout.readline())
    assert is_running(child)
    program.send_signal(number)
    _, err = program.communicate(timeout=GUARD)
    assert program.returncode != 0 and ("KeyboardInterrupt" in err) == (number == signal.SIGINT)
    wait_until(lambda: not is_running(child))


def test_closing_twice_and_bad_times(database: Any) -> None:
    for timeout in (0, -1, float("nan")):
        with pytest.raises(QueryError, match="cannot take"):
            database.run("SELECT 1", timeout=timeout, limit=1)
    assert database.run("SELECT 1", timeout=float("inf"), limit=1).rows == [(1,)]
    database.close()
    database.close()


# what others see ------------------------------------------------------------------------------------


def test_nobody_sees_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    started: list[tuple[Any, Any]] = []
    popen = subprocess.Popen

    def record(command: Any, **options: Any) -> Any:
        started.append((command, options))
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", record)
    with pytest.raises(SQLError, match="Connection refused") as found:
        open_database("postgresql://u:S3cr3t@127.0.0.1:1/d")
    assert "S3cr3t" not in str(found.value) and found.value.__cause__ is found.value.__context__ is None
    ((command, options),) = started
    assert command == [sys.executable, "-I", "-c", PROGRAM] and "env" not in options
    assert "S3cr3t" not in str(started)
    assert options["stderr"] == subprocess.DEVNULL  # drivers print what servers say


def test_the_process_sees_the_same_database(file: Path, database: Any) -> None:
    direct = open_directly(file)
    assert (direct.schema, direct.keys(), direct.dialect, direct.product) == (
        database.schema,
        database.keys(),
        database.dialect,
        database.product,
    )
    query = "SELECT a, a / 3.0, x'ff', NULL, char(0, 27, 55296) FROM t"
    assert database.run(query, timeout=GUARD, limit=99) == direct.run(query, timeout=GUARD, limit=99)
    assert database.plan(query, timeout=GUARD) == direct.plan(query, timeout=GUARD)
    direct.close()


def test_sqlite_needs_no_database_library(file: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['sqlalchemy'] = sys.modules['psycopg'] = sys.modules['sqlglot'] = None\n"
        "sys.modules['torch'] = None\n"
        "import stackmask.runtime.cli.query_process\n"
        "from stackmask.runtime.cli.query_process import open_directly\n"
        "print(open_directly(sys.argv[1]).run('SELECT 1', timeout=600, limit=1).rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True, timeout=GUARD
    )
    assert done.stdout == "[(1,)]\n"
