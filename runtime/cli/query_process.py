"""A database in a separate process, which is killed when a limit is reached.

One step of SQLite's virtual machine can take minutes and cannot be stopped from within its process; nor can
the memory that a driver takes to receive one value be bounded.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import is_url
from stackmask.grammar.sql.schema.schema import Schema
from stackmask.grammar.sql.schema.secrets import hide, possible_secrets
from stackmask.runtime.child import Child, WorkerFault
from stackmask.runtime.cli.database import (
    ANSWER_BYTES,
    ConnectionLostError,
    Database,
    Keys,
    QueryError,
    Rows,
    too_large,
    too_much_memory,
    too_slow,
)

OPEN_SECONDS: Final = 120.0  # for connecting and reading the schema
SCHEMA_BYTES: Final = 256 << 20
GRACE_SECONDS: Final = {
    "sqlite": 0.5,
    "postgres": 5.0,
}  # after the database's own limit; a server is asked to cancel
CLOSE_SECONDS: Final = 5.0
LONGEST_CODE: Final = 6  # bytes of an answer for one that ``weight`` counts
STEP_BYTES: Final = 1 << 20  # of an answer beside its rows
DATA: Final = frozenset(
    {
        "decimal.Decimal",
        *(f"stackmask.runtime.cli.database.{name}" for name in ("Keys", "Reference", "Rows")),
        *(f"stackmask.grammar.sql.schema.schema.{name}" for name in ("Column", "Schema", "Table")),
    }
)
# that the process may take beyond what it has when it is ready to open the database
MEMORY_BYTES: Final = 1 << 30
PAGES_OF_PROCESS: Final = Path("/proc/self/statm")  # where Linux says how large a process is


def open_database(source: str | Path) -> Database:
    """Open a SQLite file or a database URL in a separate process.

    Raises: SQLError if it cannot be opened or has no tables: missing, locked, of another kind, unreachable,
        or without an installed driver. Messages show no password.
    """
    return ProcessDatabase(source)


class ProcessDatabase:
    """A database in a separate process. After a limit was reached, the next query gets a new process."""

    def __init__(self, source: str | Path) -> None:
        """Open the database and read its schema. Raises: SQLError."""
        if not sys.executable:
            raise SQLError("queries run in a process of their own, and it is not known where Python is")
        self._secrets = possible_secrets(str(source))
        worker = f"{__name__}:Asker"
        self._child = Child(worker, source, start_seconds=OPEN_SECONDS, data=DATA)
        problem = ""
        try:
            self.dialect, self.product, self.schema, self._keys = self._child.ask(
                "about", seconds=OPEN_SECONDS, most=SCHEMA_BYTES
            )
        except WorkerFault as fault:
            problem = self._opening(fault)
        if problem:
            raise SQLError(problem)

    def _opening(self, fault: WorkerFault) -> str:
        match fault.kind:
            case "hung":
                return f"the database was not open after {OPEN_SECONDS:g} s"
            case "large":
                return f"the database has a schema of more than {SCHEMA_BYTES >> 20} MiB"
            case "crashed":
                return _end_of(fault.status, "opened the database")
        return hide(fault.said, self._secrets)

    def keys(self) -> Keys:
        """Return the primary and foreign keys."""
        return self._keys

    def run(self, query: str, *, timeout: float, limit: int, size: int = ANSWER_BYTES) -> Rows:
        """Run one query; see :class:`Database`."""
        found: Rows = self._ask("run", query, timeout, limit, size, size=size)
        return found

    def plan(self, query: str, *, timeout: float) -> list[str]:
        """Return the database's plan for a query; see :class:`Database`."""
        return list(self._ask("plan", query, timeout))

    def close(self) -> None:
        """End the process."""
        self._child.end(CLOSE_SECONDS)

    def _ask(self, call: str, query: str, timeout: float, *more: int, size: int = ANSWER_BYTES) -> Any:
        """Return the answer of the process. Raises: QueryError."""
        if not timeout > 0:  # mutant: no-time
            raise QueryError(f"a query cannot take {timeout:g} s")
        child, problem = self._child, None
        try:
            if not child.is_running():
                child.end()
                child.start()
        except WorkerFault as fault:
            problem = SQLError(self._opening(fault))
        if problem is not None:
            raise problem
        most = LONGEST_CODE * size + STEP_BYTES
        try:
            return child.ask(
                call, query, timeout, *more, seconds=timeout + GRACE_SECONDS[self.dialect], most=most
            )
        except WorkerFault as fault:
            failed = fault
        match failed.kind:
            case "hung":
                raise too_slow(timeout)
            case "large":
                raise too_large(size)
            case "crashed":
                raise QueryError(_end_of(failed.status, "ran the query"))
        if failed.name != QueryError.__name__:
            self.close()
        raise QueryError(hide(failed.said, self._secrets))


def _end_of(status: int, what: str) -> str:
    """Describe how a process ended."""
    if status >= 0:
        return f"the process that {what} ended early, with status {status}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-status).name
        more = "; perhaps the memory of the machine ran out" if name == "SIGKILL" else ""
        return f"the process that {what} was ended by the signal {name}{more}"
    return f"the process that {what} was ended by the signal {-status}"


# -- In the process ----------------------------------------------------------------------------------------


def refuse_other_products(url: str) -> None:
    """Refuse the URL of an unsupported database before its driver is needed. Raises: SQLError."""
    product = url.partition(":")[0].partition("+")[0].lower()
    if product not in ("sqlite", "postgres", "postgresql"):
        raise SQLError(
            f"no database is known under {product}:// that could be read: --db takes SQLite, CSV and Parquet files, and "
            "postgresql:// URLs"
        )


def open_directly(source: str | Path) -> Database:
    """Open the same database in this process, where a failure is harmless. Raises: SQLError."""
    if is_url(source):
        refuse_other_products(str(source))
    if is_url(source) and not str(source).startswith("sqlite:"):
        from stackmask.runtime.cli.server_database import ServerDatabase

        return ServerDatabase(str(source))
    from stackmask.runtime.cli.sqlite_database import SQLiteDatabase

    if is_url(source):
        from stackmask.grammar.sql.schema.inspect_server import sqlite_path

        return SQLiteDatabase(sqlite_path(str(source)))
    return SQLiteDatabase(Path(source))


class Asker:
    """A worker with an open database. Errors other than a ``QueryError`` end the process."""

    def __init__(self, source: str | Path) -> None:
        """Open the database. Raises: SQLError."""
        from stackmask.runtime.cli.sqlite_database import limit_heap

        limit_process()
        limit_heap()
        try:
            self.database = open_directly(source)
        except MemoryError:
            raise SQLError(str(too_much_memory(MEMORY_BYTES))) from None
        except Exception as error:  # noqa: BLE001  # said in words, whatever it is
            raise SQLError(_text_of(error)) from None

    def about(self) -> tuple[str, str, Schema, Keys]:
        """Return dialect, product, schema and keys."""
        found = self.database
        return found.dialect, found.product, found.schema, found.keys()

    def run(self, query: str, timeout: float, limit: int, size: int) -> Rows:
        """Run a query; values that are not Python literals are returned as text. Raises: QueryError."""
        with _as_query_errors():
            found = self.database.run(query, timeout=timeout, limit=limit, size=size)
            return Rows(list(found.columns), [tuple(map(plain, row)) for row in found.rows], found.more)

    def plan(self, query: str, timeout: float) -> list[str]:
        """Return the plan of a query. Raises: QueryError."""
        with _as_query_errors():
            return self.database.plan(query, timeout=timeout)


@contextlib.contextmanager
def _as_query_errors() -> Iterator[None]:
    """Convert ordinary exceptions to errors of the query; others end the process."""
    try:
        yield
    except QueryError:
        raise
    except MemoryError:
        raise ConnectionLostError(str(too_much_memory(MEMORY_BYTES))) from None
    except Exception as error:  # noqa: BLE001  # a driver may raise anything
        raise ConnectionLostError(_text_of(error)) from None


def _text_of(error: Exception) -> str:
    if isinstance(error, StackmaskError):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def plain(value: Any) -> Any:
    """Return a value of a row as a Python literal or a decimal; other values become text."""
    if value is None or type(value) in (bool, int, float, str, bytes, Decimal):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return str(value)


def limit_process() -> None:
    """Bound the memory of this process where the system can, and disable core files, which would contain a password."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        pages = int(PAGES_OF_PROCESS.read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY_BYTES
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_AS, (most, hard))
