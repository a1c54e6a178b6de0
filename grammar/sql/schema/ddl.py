"""Read tables from CREATE statements: SQLite's are run in memory, PostgreSQL's are parsed."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from stackmask.grammar.sql.schema.ddl_postgres import read_postgres
from stackmask.grammar.sql.schema.errors import SQLError, ddl_error
from stackmask.grammar.sql.schema.inspect_sqlite import read_connection
from stackmask.grammar.sql.schema.schema import Schema

MAX_DDL: Final = 20_000_000  # characters
MAX_SECONDS: Final = 30.0  # for running statements: a dump may also insert rows
MAX_SCANNED: Final = (
    2_000_000_000  # characters: a `;` inside of a quote has SQLite look at its statement again
)
MAX_TRIES: Final = 1_000  # places that are tried as the one that an error is about
STEPS_BETWEEN_CHECKS: Final = 10_000  # virtual machine steps of SQLite; about a millisecond

_NEAR: Final = 'near "'
_SYNTAX: Final = '": syntax error'
_UNFINISHED: Final = "incomplete input"
_UNKNOWN_CHAR: Final = 'unrecognized token: "'


def read_ddl(text: str, dialect: str) -> Schema:
    """Return the tables that the statements of a text create in the named dialect.

    Raises: SQLError with line, column and an excerpt if a statement cannot be read.
    """
    if len(text) > MAX_DDL:
        raise SQLError(f"the DDL has {len(text):,} characters; at most {MAX_DDL:,} are read")
    if "\0" in text:
        raise ddl_error(text, text.index("\0"), 1, "a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ddl_error(text, error.start, 1, "no Unicode character") from None
    if dialect == "sqlite":
        return _read_sqlite(text)
    return read_postgres(text)


def _read_sqlite(text: str) -> Schema:
    """Run the statements in an isolated in-memory database, and inspect it."""
    deadline = time.monotonic() + MAX_SECONDS
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.set_authorizer(_allow)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_CHECKS)
        for start, statement in split_statements(text):
            try:
                connection.execute(statement)
            except sqlite3.Error as error:
                place, length = _locate(statement, str(error))
                raise ddl_error(text, start + place, length, _plain(str(error))) from None
        connection.set_authorizer(None)
        return read_connection(connection)


def _allow(action: int, first: str | None, *_: str | None) -> int:
    """Restrict statements to the in-memory database. A dump's settings (PRAGMA) are ignored."""
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_IGNORE
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def split_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, statement) as SQLite's shell splits them: at each `;` that ends a statement or a trigger."""
    start = scanned = 0
    at = text.find(";")
    while at >= 0 and scanned < MAX_SCANNED:
        scanned += at + 1 - start
        if sqlite3.complete_statement(text[start : at + 1]):
            yield _stripped(start, text[start : at + 1])
            start = at + 1
        at = text.find(";", at + 1)
    offset, rest = _stripped(start, text[start:])
    if rest:
        yield offset, rest


def _stripped(start: int, statement: str) -> tuple[int, str]:
    return start + len(statement) - len(statement.lstrip()), statement.strip()


def _plain(message: str) -> str:
    """Return SQLite's message in words that fit a text with several statements."""
    if _UNFINISHED in message:
        return "the statement is not finished"
    if message == "interrupted":
        return f"the statements took longer than {MAX_SECONDS:g} s"
    if message in ("not authorized", "authorization denied"):
        return "only statements about this one database are run"
    return message


def _locate(statement: str, message: str) -> tuple[int, int]:
    """Return the position of SQLite's error in a statement, and its length; (0, 1) if unknown.

    SQLite names the offending word, not its position. It reads from left to right, so the position is the
    first one where the text up to and including the word gives the same error.
    """
    if _UNFINISHED in message:
        return len(statement.rstrip()), 1
    if message.startswith(_NEAR) and message.endswith(_SYNTAX):
        word = message[len(_NEAR) : -len(_SYNTAX)]
    elif message.startswith(_UNKNOWN_CHAR):
        word = message[len(_UNKNOWN_CHAR) : -1]
    else:
        return 0, len(statement.split(None, 1)[0]) if statement.split() else 1
    with closing(sqlite3.connect(":memory:")) as empty:
        at = statement.find(word)
        for _ in range(MAX_TRIES):
            if not word or at < 0:
                break
            try:
                empty.execute("EXPLAIN " + statement[: at + len(word)])
            except sqlite3.Error as error:
                if str(error) == message:
                    return at, len(word)
            at = statement.find(word, at + 1)
    return 0, 1
