"""A PostgreSQL database, queried in transactions that cannot write and are always rolled back."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.inspect_server import (
    DRIVER,
    connected,
    first_line,
    make_engine,
    read_connection,
)
from stackmask.runtime.cli.database import (
    ANSWER_BYTES,
    ConnectionLostError,
    Keys,
    QueryError,
    Reference,
    Rows,
    TableKey,
    fetch,
    too_slow,
)

SCHEMA_SECONDS: Final = 30  # for reading the catalogue
LONGEST_TIMEOUT: Final = 2**31 - 1  # milliseconds
NO_MEMORY: Final = (b"out of memory", b"cannot allocate memory")  # in messages of the client's library
MOST_OF_A_PLAN: Final = 100_000  # lines
GRACE_SECONDS: Final = 1.0  # after the server's own time limit, the client cancels
# shown as the server writes them: Python's own types cannot hold all of their values
AS_TEXT: Final = ("date", "time", "timetz", "timestamp", "timestamptz", "interval", "json", "jsonb")

_PRIMARY = """
SELECT n.nspname, c.relname, array_agg(a.attname::text ORDER BY k.place)
FROM pg_constraint AS o JOIN pg_class AS c ON c.oid = o.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(o.conkey) WITH ORDINALITY AS k (number, place)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE o.contype = 'p' AND n.nspname !~ '^pg_' GROUP BY n.nspname, c.relname
"""
_FOREIGN = """
SELECT n.nspname, c.relname, o.conname, array_agg(a.attname::text ORDER BY k.place), tn.nspname, t.relname
FROM pg_constraint AS o JOIN pg_class AS c ON c.oid = o.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS t ON t.oid = o.confrelid JOIN pg_namespace AS tn ON tn.oid = t.relnamespace
CROSS JOIN LATERAL unnest(o.conkey) WITH ORDINALITY AS k (number, place)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE o.contype = 'f' AND n.nspname !~ '^pg_' GROUP BY n.nspname, c.relname, o.oid, o.conname, tn.nspname, t.relname ORDER BY o.oid
"""


class ServerDatabase:
    """A connection whose transactions are read-only, by the session's default and each by itself.

    A query is the body of a cursor, sent by the protocol that takes one statement: what is not a query, a query that
    writes in a WITH, and a second statement are refused by the server before anything runs. The transaction has
    read before, so it cannot be turned into one that writes; it is rolled back in any case.
    """

    dialect = "postgres"
    product = "PostgreSQL"

    def __init__(self, url: str) -> None:
        """Connect and read the schema. Raises: SQLError."""
        engine = make_engine(url)
        if engine.dialect.name != "postgresql":
            raise SQLError(
                f"questions are answered from SQLite files and PostgreSQL; {engine.url.drivername}:// is neither"
            )
        if engine.url.drivername != DRIVER:
            raise SQLError(f"queries run with the driver psycopg alone: write {DRIVER}://, or postgresql://")
        self._open = contextlib.ExitStack()
        try:
            self._connection = self._open.enter_context(connected(engine))
            self._driver: Any = self._connection.connection.driver_connection
            self._prepare()
            self.schema = read_connection(self._connection)
            if not self.schema.tables:
                raise SQLError("the database has no tables that may be read")
            self._keys = self._read_keys()
            self._connection.rollback()
        except BaseException as error:
            self._open.close()
            import psycopg

            if isinstance(error, psycopg.Error):
                raise SQLError(f"cannot read the tables of the database: {first_line(error)}") from None
            raise

    def close(self) -> None:
        """Close the connection."""
        self._open.close()

    def keys(self) -> Keys:
        """Return the primary and foreign keys."""
        return self._keys

    def run(self, query: str, *, timeout: float, limit: int, size: int = ANSWER_BYTES) -> Rows:
        """Run one query; see :class:`Database`."""
        deadline = time.monotonic() + timeout

        def check() -> None:  # the server's limit is for each step
            if time.monotonic() > deadline:
                raise too_slow(timeout)

        with self._reading(timeout), self._driver.cursor(name="answer") as cursor:
            cursor.execute(query)
            rows, more = fetch(cursor.fetchmany, limit, size, check=check)
            columns = [column.name for column in cursor.description or ()]
        return Rows(columns, rows, more)

    def plan(self, query: str, *, timeout: float) -> list[str]:
        """Return the server's plan. A cursor body can only be a query, and cannot contain ANALYZE."""
        explained = f"EXPLAIN (FORMAT TEXT) DECLARE answer CURSOR FOR {query}"
        with self._reading(timeout), self._driver.cursor() as cursor:
            cursor.execute(explained, prepare=True)  # the protocol of one statement
            return [line for (line,) in fetch(cursor.fetchmany, MOST_OF_A_PLAN, ANSWER_BYTES)[0]]

    def _prepare(self) -> None:
        import psycopg
        from psycopg.types.string import TextLoader

        self._driver.read_only = True  # every transaction begins as READ ONLY
        for name in AS_TEXT:
            self._driver.adapters.register_loader(name, TextLoader)
        with self._driver.cursor() as cursor:
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            cursor.execute(f"SET statement_timeout = {SCHEMA_SECONDS * 1000}")
        self._driver.commit()
        with contextlib.suppress(psycopg.Error):  # PostgreSQL 14, on most systems
            self._driver.execute(
                "SET client_connection_check_interval = '1s'"
            )  # a client that is gone ends its query
            self._driver.commit()
        self._driver.rollback()

    @contextlib.contextmanager
    def _reading(self, timeout: float) -> Iterator[None]:
        """Open a transaction that can only read, for a limited time."""
        import psycopg

        watchdog = threading.Timer(min(timeout + GRACE_SECONDS, threading.TIMEOUT_MAX), self._cancel)
        watchdog.daemon = True
        watchdog.start()
        try:
            with self._driver.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                cursor.execute(f"SET LOCAL statement_timeout = {_milliseconds(timeout)}")
                cursor.execute("SELECT 1")  # from here on, the transaction cannot be made one that writes
            yield
        except QueryError:
            raise
        except psycopg.errors.QueryCanceled:
            raise too_slow(timeout) from None
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise QueryError(
                f"refused: this is more than reading the database ({first_line(error)})"
            ) from None
        except (psycopg.Error, UnicodeEncodeError, ValueError) as error:
            if self._lacks_memory(error):
                raise MemoryError from None
            if self._driver.closed:
                raise ConnectionLostError(f"PostgreSQL: {first_line(error)}") from None
            raise QueryError(f"PostgreSQL: {first_line(error)}") from None
        finally:
            watchdog.cancel()
            with contextlib.suppress(psycopg.Error):
                self._driver.rollback()

    def _lacks_memory(self, error: Exception) -> bool:
        """Return whether this process, rather than the server, ran out of memory for an answer."""
        said = self._driver.pgconn.error_message
        return getattr(error, "sqlstate", None) is None and any(words in said for words in NO_MEMORY)

    def _cancel(self) -> None:
        with contextlib.suppress(Exception):  # the connection may be gone: then there is nothing to cancel
            self._driver.cancel_safe(timeout=GRACE_SECONDS)

    def _read_keys(self) -> Keys:
        execute = self._connection.exec_driver_sql
        primary: dict[TableKey, tuple[str, ...]] = {}
        foreign: dict[TableKey, tuple[Reference, ...]] = {}
        for schema, table, columns in execute(_PRIMARY):
            primary[schema, table] = tuple(columns)
        for schema, table, _, columns, other_schema, other in execute(_FOREIGN):
            reference = Reference(tuple(columns), (other_schema, other))
            foreign[schema, table] = (*foreign.get((schema, table), ()), reference)
        return Keys(primary, foreign)


def _milliseconds(timeout: float) -> int:
    return max(1, int(min(timeout * 1000, LONGEST_TIMEOUT)))
