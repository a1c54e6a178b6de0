"""The interface of databases for questions, which only read, whatever a model writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Protocol

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.sql.schema.schema import Schema

ANSWER_BYTES: Final = 16 << 20  # of one answer, all of its rows together

TableKey = tuple[str | None, str]  # schema, table


class QueryError(StackmaskError):
    """A query is refused by the database, takes too long, or would do more than read."""


class ConnectionLostError(QueryError):
    """The connection was lost in a query; the next one needs a new connection."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a query. ``more``: whether there are further rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: its columns, and the table to which these refer."""

    columns: tuple[str, ...]
    table: TableKey


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of tables that a model should know."""

    primary: dict[TableKey, tuple[str, ...]] = field(default_factory=dict)
    foreign: dict[TableKey, tuple[Reference, ...]] = field(default_factory=dict)


class Database(Protocol):
    """An open database. ``dialect`` is one of ``Grammar.from_sql``, ``product`` is a name for display."""

    dialect: str
    product: str
    schema: Schema

    def keys(self) -> Keys:
        """Return the primary and foreign keys."""

    def run(self, query: str, *, timeout: float, limit: int, size: int = ANSWER_BYTES) -> Rows:
        """Run one query, read-only, and fetch up to ``limit`` rows; ``timeout`` in seconds, ``size`` in bytes.

        Raises: QueryError with the database's message, or with the limit that was reached.
        """

    def plan(self, query: str, *, timeout: float) -> list[str]:
        """Return the database's plan for a query, as lines. The query itself does not run.

        Raises: QueryError.
        """

    def close(self) -> None:
        """Close the database."""


# -- How much of an answer is taken, and what is said where a limit was met ------------------------------

MOST_AT_ONCE: Final = 1_000  # rows of one step


def weight(value: Any) -> int:
    """Return the approximate size of a value in an answer, in bytes."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes | bytearray | memoryview):
        return 2 * len(value)  # shown in hexadecimal
    if isinstance(value, Decimal):
        return 2 * len(value.as_tuple().digits)
    if isinstance(value, list | tuple):
        return 8 + sum(map(weight, value))
    if isinstance(value, dict):
        return 8 + sum(weight(item) + weight(str(key)) for key, item in value.items())
    return 8


def fetch(
    fetch_some: Callable[[int], Sequence[Sequence[Any]]],
    limit: int,
    size: int,
    *,
    check: Callable[[], object] = lambda: None,
) -> tuple[list[Sequence[Any]], bool]:
    """Fetch up to ``limit`` rows of at most ``size`` bytes in total, in steps; return whether there are more.

    ``fetch_some`` takes a number of rows. Each step requests as many rows as fit, estimated from the longest
    row so far. ``check`` is called between steps, and may raise errors.

    Raises: QueryError if the rows are larger.
    """
    rows: list[Sequence[Any]] = []
    taken, longest, step = 0, 1, 1
    while len(rows) <= limit:
        found = fetch_some(min(step, limit + 1 - len(rows)))
        for row in found[: limit - len(rows)]:
            weighs = 8 + sum(map(weight, row))
            taken, longest = taken + weighs, max(longest, weighs)
        if taken > size:
            raise too_large(size)
        rows += found
        if len(found) < step:
            break
        check()
        step = max(1, min(2 * step, MOST_AT_ONCE, (size - taken) // longest))
    return rows[:limit], len(rows) > limit


def too_large(size: int) -> QueryError:
    """Return the error for an answer that is too large."""
    return QueryError(
        f"the answer takes more than {size >> 20:,} MiB and was not read to its end; ask for fewer or shorter values, "
        f"or allow more with --max-size"
    )


def too_slow(timeout: float) -> QueryError:
    """Return the error for a query that exceeded its time limit."""
    return QueryError(
        f"the query took longer than {timeout:g} s and was stopped; ask for less, or allow more with --timeout"
    )


def too_much_memory(limit: int) -> QueryError:
    """Return the error for a query that ran out of memory."""
    return QueryError(
        f"the query needed more than {limit >> 20:,} MiB of memory and was stopped; ask for fewer or shorter values"
    )
