"""Places of expressions and of what comes after FROM: names, GROUP BY, ORDER BY, aggregates, windows."""

from __future__ import annotations

from stackmask.grammar.ir import never_forbids, reads_at_most, tells_apart
from stackmask.grammar.sql.scope.actions import KEPT, forbids, place, sets, tells_names_apart
from stackmask.grammar.sql.scope.expression_shapes import (
    BARE,
    begins_ordinal,
    of_postgres,
    ordinal,
    plain_column,
    same_text,
)
from stackmask.grammar.sql.scope.grouping import covered, is_ambiguous, with_grouped
from stackmask.grammar.sql.scope.lookup import (
    identity,
    said_columns,
    said_members,
    said_tables,
    use_column,
    use_member,
    use_text,
)
from stackmask.grammar.sql.scope.state import Query

# -- names in expressions


def _noted(query: Query | None, *entry: str) -> Query | None:
    """Return the query with a name, or a call, of the expression noted, where that may name a column of the result."""
    if query is None:
        return None
    if query.catalog.dialect.groups:
        if query.log is None or query.phase not in ("list", "bare", "group", "order"):
            return query
        return query._replace(log=(*query.log, entry))
    if query.phase not in ("list", "bare", "values"):
        return query
    return query._replace(
        target=query.target._replace(column=entry[-1], column_of=entry[1] if len(entry) > 2 else None)
    )


@place("COLUMN")
@tells_names_apart(said_columns)
def take_column(query: Query, text: bytes) -> Query | None:
    """Use a column without a qualifier."""
    name = query.catalog.read(text)
    return _noted(use_column(query, name), "column", name)


@place("QUALIFIER", "CHOSEN_QUALIFIER", "SCHEMA_NAME")
@never_forbids
@tells_names_apart(said_tables)
def take_qualifier(query: Query, text: bytes) -> Query:
    """Name the table of a column, or the schema of a table."""
    return query._replace(qualifier=query.catalog.read(text))


@place("MEMBER")
@tells_names_apart(said_members)
def take_member(query: Query, text: bytes) -> Query | None:
    """Use a column of a table."""
    name = query.catalog.read(text)
    used = use_member(query, name)
    assert query.qualifier is not None
    return None if used is None else _noted(used._replace(qualifier=None), "member", query.qualifier, name)


@place("TEXT")
def take_text(query: Query, text: bytes) -> Query | None:
    """Use a text in double quotes, which must not be a name; of a selected text it is the name all the same."""
    name = query.catalog.read(text)
    return _noted(use_text(query, name), "column", name)


# -- after FROM


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
    for n, item in enumerate(query.known_items()):
        if item.name == name:
            query = with_grouped(query, n)
    return query


@place("group_item")
@reads_at_most(KEPT)
@tells_apart(of_postgres, begins_ordinal)
def end_group_item(query: Query, data: bytes) -> Query | None:
    """End an expression of GROUP BY; a number is that of a selected item, which must compute no aggregate."""
    n = ordinal(query, data)
    groups = query.catalog.dialect.groups
    ended = query._replace(log=())
    if n is not None:
        items = query.counted_items()
        if not 1 <= n <= len(items) or items[n - 1].aggregate or items[n - 1].window:
            return None
        return with_grouped(ended, n - 1) if groups else ended
    if not groups:
        return ended
    text = data.decode("utf-8", "replace")
    column = plain_column(text, query.log) if len(data) < KEPT else None
    by = query.grouping
    if column is not None:
        own = column if column[0] else identity(query.sources, column[1])
        return ended._replace(grouping=by._replace(columns=by.columns | {own}))
    same = same_text(text, query.log)
    if same is None:
        return ended
    return ended._replace(grouping=by._replace(expressions=by.expressions | {same}))


@forbids("group_items")
def is_not_covered(query: Query) -> bool:
    """Return whether something is selected that is neither grouped by nor computed of groups."""
    return not covered(query)


sets("HAVING_WORD", phase="having")


@place("HAVING_H")
@reads_at_most(0)
def begin_covered_having(query: Query, _text: bytes) -> Query | None:
    """Begin HAVING; without GROUP BY all rows are one group."""
    if query.recursive:
        return None
    having = query._replace(phase="having", grouping=query.grouping._replace(begun=True))
    return having if covered(having) else None


@place("ORDER_WORD", of="sqlite")
@never_forbids
@reads_at_most(0)
def begin_order(query: Query, _text: bytes) -> Query:
    """Begin ORDER BY of a query that is no set operation."""
    query.decide_labels()
    return query._replace(phase="order")


@place("ORDER_WORD", of="postgres")
@reads_at_most(0)
def begin_free_order(query: Query, _text: bytes) -> Query | None:
    """Begin ORDER BY of a query that is no set operation, and may have equal rows."""
    if query.distinct or query.recursive:
        return None
    return query._replace(phase="order", log=())


@place("ORDER_DISTINCT")
@reads_at_most(0)
def begin_chosen(query: Query, _text: bytes) -> Query | None:
    """Begin ORDER BY after SELECT DISTINCT."""
    return query._replace(phase="order") if query.distinct and not query.recursive else None


@place("order_item")
@reads_at_most(KEPT)
@tells_apart(of_postgres, begins_ordinal)
def end_order_item(query: Query, data: bytes) -> Query | None:
    """End an expression of ORDER BY; a number is that of a selected item.

    In PostgreSQL a name by itself is rather an item's than a column's.
    """
    n = ordinal(query, data)
    log = query.log
    if n is not None:
        return query._replace(log=()) if 1 <= n <= len(query.counted_items()) else None
    is_bare = (
        log and len(log) == 1 and log[0][0] == "column" and BARE.fullmatch(data.decode("utf-8", "replace"))
    )
    if is_bare and log and is_ambiguous(query.known_items(), log[0][1]):
        return None
    return query._replace(log=())


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
def begin_named_aggregate(query: Query, text: bytes) -> Query:
    """Begin the arguments of an aggregate, whose name may be that of a column of the result."""
    return _called(in_an_aggregate(query), text)


@never_forbids
@reads_at_most(0)
def begin_ranking(query: Query, _text: bytes) -> Query:
    """Begin the arguments of a window function, which OVER follows; there is no other one in them."""
    return in_a_window(query)


@never_forbids
def begin_window_call(query: Query, text: bytes) -> Query:
    """Begin a function with a window; there is no other one in it, but aggregates may be."""
    return _called(in_a_window(query), text)


def _called(query: Query, text: bytes) -> Query:
    noted = _noted(query, "call", query.catalog.read(text))
    assert noted is not None
    return noted


@place("FILTER_OPEN", "FILTER_F")
@never_forbids
@reads_at_most(0)
def begin_filter(query: Query, _text: bytes) -> Query:
    """Begin the condition of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate + 1)


@place("AGGREGATE_CLOSE", "filter_body")
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


@place("WINDOW_CLOSE", "RANKING_CLOSE", "window_body")
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
