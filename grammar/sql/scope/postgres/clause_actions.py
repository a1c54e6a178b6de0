"""Places of PostgreSQL in expressions and behind FROM; what is not here is as in SQLite."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.postgres.expression_shapes import BARE, ordinal, plain_column, same_text
from stackmask.grammar.sql.scope.postgres.grouping import covered, is_ambiguous, with_grouped
from stackmask.grammar.sql.scope.postgres.lookup import identity, use_column, use_member
from stackmask.grammar.sql.scope.shared.actions import KEPT, Places, entering
from stackmask.grammar.sql.scope.shared.state import Query
from stackmask.grammar.sql.scope.sqlite.clause_actions import in_a_window, in_an_aggregate

PLACES: Final[Places] = {}
place = entering(PLACES)


def _logged(query: Query, *entry: str) -> Query:
    if query.log is None or query.phase not in ("list", "bare", "group", "order"):
        return query
    return query._replace(log=(*query.log, entry))


@place("COLUMN")
def take_column(query: Query, text: bytes) -> Query | None:
    """Use a column without a qualifier."""
    name = query.catalog.read(text)
    used = use_column(query, name)
    return None if used is None else _logged(used, "column", name)


@place("MEMBER")
def take_member(query: Query, text: bytes) -> Query | None:
    """Use a column of a table."""
    name = query.catalog.read(text)
    used = use_member(query, name)
    assert query.qualifier is not None
    return None if used is None else _logged(used, "member", query.qualifier, name)._replace(qualifier=None)


# -- behind FROM


@place("GROUP_G")
@reads_at_most(0)
def begin_group(query: Query, _text: bytes) -> Query | None:
    """Begin GROUP BY."""
    if query.recursive:
        return None
    return query._replace(phase="group", grouping=query.grouping._replace(begun=True), log=())


@place("GROUP_LABEL")
def take_group_label(query: Query, text: bytes) -> Query | None:
    """Group by a selected item, which has this name."""
    name = query.catalog.read(text)
    for n, item in enumerate(query.items):
        if item.name == name:
            query = with_grouped(query, n)
    return query


@place("group_item")
@reads_at_most(KEPT)
def end_group_item(query: Query, data: bytes) -> Query | None:
    """End an expression of GROUP BY; a number is that of a selected item, which must compute no aggregate."""
    text = data.decode("utf-8", "replace")
    n = ordinal(text, query.log)
    ended = query._replace(log=())
    if n is not None:
        if not 1 <= n <= len(query.items) or query.items[n - 1].aggregate or query.items[n - 1].window:
            return None
        return with_grouped(ended, n - 1)
    column = plain_column(text, query.log) if len(data) < KEPT else None
    if column is not None:
        own = column if column[0] else identity(query.sources, column[1])
        by = query.grouping
        return ended._replace(grouping=by._replace(columns=by.columns | {own}))
    same = same_text(text, query.log)
    if same is None:
        return ended
    by = query.grouping
    return ended._replace(grouping=by._replace(expressions=by.expressions | {same}))


@place("group_items")
@reads_at_most(0)
def end_group(query: Query, _text: bytes) -> Query | None:
    """End GROUP BY, once all that is selected is grouped by or computed of groups."""
    return query if covered(query) else None


@place("HAVING_H")
@reads_at_most(0)
def begin_having(query: Query, _text: bytes) -> Query | None:
    """Begin HAVING; without GROUP BY all rows are one group."""
    if query.recursive:
        return None
    having = query._replace(phase="having", grouping=query.grouping._replace(begun=True))
    return having if covered(having) else None


@place("ORDER_WORD")
@reads_at_most(0)
def begin_order(query: Query, _text: bytes) -> Query | None:
    """Begin ORDER BY of a query that is no set operation."""
    if query.distinct or query.recursive:
        return None
    return query._replace(phase="order", log=())


@place("ORDER_DISTINCT")
@reads_at_most(0)
def begin_chosen(query: Query, _text: bytes) -> Query | None:
    """Begin ORDER BY behind SELECT DISTINCT."""
    return query._replace(phase="order") if query.distinct and not query.recursive else None


@place("order_item")
@reads_at_most(KEPT)
def end_order_item(query: Query, data: bytes) -> Query | None:
    """End an expression of ORDER BY; a number is that of a selected item, and a name by itself rather an item's than a column's."""
    text = data.decode("utf-8", "replace")
    n = ordinal(text, query.log)
    if n is not None:
        return query._replace(log=()) if 1 <= n <= len(query.items) else None
    log = query.log
    bare = log and len(log) == 1 and log[0][0] == "column" and BARE.fullmatch(text)
    return None if bare and log and is_ambiguous(query.items, log[0][1]) else query._replace(log=())


# -- aggregates and windows: the names of functions are places too


@never_forbids
def begin_aggregate(query: Query, text: bytes) -> Query:
    """Begin the arguments of an aggregate."""
    return _logged(in_an_aggregate(query), "call", query.catalog.read(text))


@never_forbids
def begin_window_call(query: Query, text: bytes) -> Query:
    """Begin a function with a window; there is no other one in it, but aggregates may be."""
    return _logged(in_a_window(query), "call", query.catalog.read(text))
