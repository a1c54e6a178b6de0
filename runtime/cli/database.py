"""Databases that questions are asked of: what each of them offers. Whatever a model writes, it only reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.sql.schema.schema import Schema

ANSWER_BYTES: Final = 16 << 20  # of one answer, all of its rows together

TableKey = tuple[str | None, str]  # schema, table


class QueryError(StackmaskError):
    """A query that the database refuses, that takes too long, or that would do more than read."""


class ConnectionLostError(QueryError):
    """The connection ended in a query; the next one needs another connection."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query. ``more``: there are rows beyond those here."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: its columns, and the table they refer to."""

    columns: tuple[str, ...]
    table: TableKey


@dataclass(frozen=True, slots=True)
class Keys:
    """What a model should know about tables beyond their columns."""

    primary: dict[TableKey, tuple[str, ...]] = field(default_factory=dict)
    foreign: dict[TableKey, tuple[Reference, ...]] = field(default_factory=dict)


class Database(Protocol):
    """An open database. ``dialect`` is one of ``Grammar.from_sql``, ``product`` is for people."""

    dialect: str
    product: str
    schema: Schema

    def keys(self) -> Keys:
        """Return the primary and foreign keys."""

    def run(self, query: str, *, timeout: float, limit: int, size: int = ANSWER_BYTES) -> Rows:
        """Run one query, read-only, and fetch up to ``limit`` rows; ``timeout`` in seconds, ``size`` in bytes.

        Raises: QueryError, in the database's own words, or with the limit that was met.
        """

    def plan(self, query: str, *, timeout: float) -> list[str]:
        """Return how the database would run a query, line by line. The query itself does not run.

        Raises: QueryError.
        """

    def close(self) -> None:
        """Let go of the database."""
