"""Places of expressions and of what stands behind FROM: names, GROUP BY, ORDER BY, aggregates, windows."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most, tells_apart
from stackmask.grammar.sql.scope.shared.actions import KEPT, Places, entering, tells_names_apart
from stackmask.grammar.sql.scope.shared.state import Grouping, Query
from stackmask.grammar.sql.scope.sqlite.lookup import (
    said_columns,
    said_members,
    said_tables,
    use_column,
    use_member,
    use_text,
)

PLACES: Final[Places] = {}
place = entering(PLACES)
INTEGER: Final = re.compile(r"[(\s+-]*([0-9]+)[)\s]*")
LONG_INTEGER: Final = re.compile(r"[(\s+-]*[0-9]*[)\s]*")


# -- names in expressions


@place("COLUMN")
@tells_names_apart(said_columns)
def take_column(query: Query, text: bytes) -> Query | None:
    """Use a column without a qualifier."""
    name = query.catalog.read(text)
    return _named_last(use_column(query, name), name, None)


@place("QUALIFIER")
@never_forbids
@tells_names_apart(said_tables)
def take_qualifier(query: Query, text: bytes) -> Query:
    """Name the table of a column."""
    return query._replace(qualifier=query.catalog.read(text))


@place("MEMBER")
@tells_names_apart(said_members)
def take_member(query: Query, text: bytes) -> Query | None:
    """Use a column of a table."""
    name = query.catalog.read(text)
    used = use_member(query, name)
    return None if used is None else _named_last(used._replace(qualifier=None), name, query.qualifier)


@place("TEXT")
def take_text(query: Query, text: bytes) -> Query | None:
    """Use a text in double quotes, which must not be a name."""
    name = query.catalog.read(text)
    return _named_last(use_text(query, name), name, None)  # of a selected text it is the name all the same


def _named_last(query: Query | None, name: str, table: str | None) -> Query | None:
    """Return the query with the last name of what may be a column of its result; elsewhere it makes no difference."""
    if query is None or query.phase not in ("list", "bare", "values"):
        return query
    return query._replace(target=query.target._replace(column=name, column_of=table))


# -- behind FROM


@place("GROUP_G")
@reads_at_most(0)
def begin_group(query: Query, _text: bytes) -> Query | None:
    """Begin GROUP BY."""
    return None if query.recursive else query._replace(phase="group", grouping=Grouping(begun=True))


@place("HAVING_WORD")
@never_forbids
@reads_at_most(0)
def begin_having(query: Query, _text: bytes) -> Query:
    """Begin HAVING."""
    return query._replace(phase="having")


@place("ORDER_WORD")
@never_forbids
@reads_at_most(0)
def begin_order(query: Query, _text: bytes) -> Query:
    """Begin ORDER BY of a query that is no set operation."""
    query.names_of(query.items)
    return query._replace(phase="order")


def _ordinal(query: Query, text: bytes) -> int | None:
    spelled = text.decode("utf-8", "replace").strip()
    if len(text) >= KEPT:
        return -1 if LONG_INTEGER.fullmatch(spelled) else None
    found = INTEGER.fullmatch(spelled)
    if not found or spelled.count("(") != spelled.count(")"):  # a call
        return None
    return -1 if "-" in spelled else int(found[1])


def _may_be_ordinal(_query: Query, begun: bytes) -> bool:
    return LONG_INTEGER.fullmatch(begun.decode("utf-8", "replace")) is not None


@place("group_item")
@reads_at_most(KEPT)
@tells_apart(_may_be_ordinal)
def end_group_item(query: Query, text: bytes) -> Query | None:
    """End an expression of GROUP BY; a number is that of a selected column, which must compute no aggregate."""
    n = _ordinal(query, text)
    if n is None:
        return query
    if not 1 <= n <= len(query.items) or query.items[n - 1].aggregate or query.items[n - 1].window:
        return None
    return query


@place("order_item")
@reads_at_most(KEPT)
@tells_apart(_may_be_ordinal)
def end_order_item(query: Query, text: bytes) -> Query | None:
    """End an expression of ORDER BY; a number is that of a selected column."""
    n = _ordinal(query, text)
    return query if n is None or 1 <= n <= len(query.items) else None


# -- aggregates and windows


def in_an_aggregate(query: Query) -> Query:
    """Return the query with the arguments of an aggregate begun."""
    target = query.target._replace(aggregate=True)
    return query._replace(in_aggregate=query.in_aggregate + 1, aggregates=True, target=target)


def in_a_window(query: Query) -> Query:
    """Return the query with a window, or the arguments of a function with one, begun."""
    target = query.target._replace(window=True)
    return query._replace(in_window=query.in_window + 1, windows=True, target=target)


@never_forbids
@reads_at_most(0)
def begin_aggregate(query: Query, _text: bytes) -> Query:
    """Begin the arguments of an aggregate."""
    return in_an_aggregate(query)


@never_forbids
@reads_at_most(0)
def begin_ranking(query: Query, _text: bytes) -> Query:
    """Begin the arguments of a window function, which OVER follows; there is no other one in them."""
    return in_a_window(query)


@place("FILTER_OPEN")
@never_forbids
@reads_at_most(0)
def begin_filter(query: Query, _text: bytes) -> Query:
    """Begin the condition of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate + 1)


@place("AGGREGATE_CLOSE")
@never_forbids
@reads_at_most(0)
def end_aggregate(query: Query, _text: bytes) -> Query:
    """End the arguments, or the condition, of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate - 1)


@place("OVER_O")
@reads_at_most(0)
def begin_window(query: Query, _text: bytes) -> Query | None:
    """Begin a window."""
    if not may_window(query):
        return None
    return in_a_window(query)


@place("WINDOW_CLOSE", "RANKING_CLOSE")
@never_forbids
@reads_at_most(0)
def end_window(query: Query, _text: bytes) -> Query:
    """End a window, or the arguments of a window function."""
    return query._replace(in_window=query.in_window - 1)


def may_aggregate(query: Query) -> bool:
    """Return whether an aggregate may begin here."""
    if query.in_aggregate or query.recursive:
        return False
    if query.phase == "order":
        return query.aggregates or query.grouping.begun
    return query.phase in ("list", "having")


def may_window(query: Query) -> bool:
    """Return whether a window function may stand here."""
    return (
        query.phase in ("list", "order")
        and not query.in_aggregate
        and not query.in_window
        and not query.recursive
    )
