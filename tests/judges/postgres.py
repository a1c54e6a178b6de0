"""PostgreSQL's own parser: a server is asked to run the statement in a transaction that has failed already.

There the server parses the whole text, and then says "current transaction is aborted": names are never looked up,
and nothing runs. Statements other than queries are accepted too.
"""

from __future__ import annotations

import atexit
import contextlib
import re
from functools import cache
from typing import Any

import pytest
from support.postgres_server import NoServer, Server, postgres_server

from judges.verdict import ACCEPTED, Verdict, decoded, rejected

ABORTED = "25P02"  # in_failed_sql_transaction
OLD = re.compile(r"in FROM must have an alias")  # what servers before 16 ask for, after parsing


def judge(data: bytes) -> Verdict:
    """Judge one statement; skips the test that asks where no server can be started."""
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    if "\0" in text:
        return rejected("null character")
    try:
        connection = _connection()
    except NoServer as error:
        pytest.skip(str(error))
    import psycopg

    if connection.info.transaction_status != psycopg.pq.TransactionStatus.INERROR:
        with contextlib.suppress(psycopg.Error):
            connection.execute("SELECT 1/0")
    try:
        connection.execute(text.encode(), None, prepare=True)  # what is prepared must be one statement
    except psycopg.Error as error:
        if error.sqlstate == ABORTED:
            return ACCEPTED
        message = str(error).partition("\n")[0]
        return Verdict(True, message, "limit") if OLD.search(message) else rejected(message)
    return rejected("no statement, or one that ends the transaction")


@cache
def running_server() -> Server:
    """Return a server that runs until Python ends.

    Raises: NoServer.
    """
    stack = contextlib.ExitStack()
    server = stack.enter_context(postgres_server())
    atexit.register(stack.close)
    return server


@cache
def _connection() -> Any:
    try:
        import psycopg
    except ImportError:
        raise NoServer("psycopg is not installed (pip install 'stackmask[sql]')") from None
    connection = psycopg.connect(running_server().conninfo)
    atexit.register(connection.close)  # before the server stops: the last that is registered comes first
    return connection
