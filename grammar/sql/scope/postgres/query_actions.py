"""Places of PostgreSQL where queries begin and end, and of the select list; what is not here is as in SQLite."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.postgres.expression_shapes import figure, plain_column, same_text
from stackmask.grammar.sql.scope.postgres.grouping import covered
from stackmask.grammar.sql.scope.postgres.names import read_name
from stackmask.grammar.sql.scope.shared.actions import KEPT, Places, entering
from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.star_width import list_fits, star_room
from stackmask.grammar.sql.scope.shared.state import (
    MAX_DEPTH,
    Definition,
    Item,
    Query,
    Reading,
    Source,
    Target,
    cte_shadow,
)
from stackmask.grammar.sql.scope.shared.tables import must_read_next

PLACES: Final[Places] = {}
place = entering(PLACES)
AS: Final = re.compile(r"\s*\bas\s*$", re.IGNORECASE)
MAX_COLUMNS: Final = 1600  # of a select list; PostgreSQL has no more


def _inner(query: Query, kind: str, expect: int | None = None) -> Query:
    up = query._replace(log=None)
    return Query(query.catalog, up, kind, query.depth + 1, expect=expect, ctes=query.ctes)


@place("QUERY_OPEN")
@reads_at_most(0)
def open_query(query: Query, _text: bytes) -> Query | None:
    """Begin a query that gives one column."""
    return _inner(query, "scalar", 1) if query.depth <= MAX_DEPTH else None


@place("OPERAND_OPEN")
@reads_at_most(0)
def open_operand(query: Query, _text: bytes) -> Query | None:
    """Begin a part of a set operation that stands in parentheses."""
    if query.depth > MAX_DEPTH - query.reading.owes:
        return None
    part = query.new_part()._replace(with_recursive=query.with_recursive, parts=query.parts + 1)
    return _inner(part, "operand", query.expect)._replace(
        banned=query.banned, reading=Reading(query.reading.owes)
    )


@place("EXISTS_OPEN")
@never_forbids
@reads_at_most(0)
def open_exists(query: Query, _text: bytes) -> Query:
    """Begin a query of which only matters whether it gives a row."""
    return _inner(query, "exists")


@place("LATERAL_L")
@reads_at_most(0)
def check_lateral(query: Query, _text: bytes) -> Query | None:
    """Begin LATERAL: the query behind it sees the tables to the left."""
    if query.join.link == "natural" or query.join.side == "right":
        return None
    if query.depth > MAX_DEPTH - must_read_next(query):
        return None
    return query._replace(phase="lateral")


@place("DERIVED_OPEN")
@reads_at_most(0)
def open_derived(query: Query, _text: bytes) -> Query | None:
    """Begin a query in FROM; it must not have columns with names that are needed once and are there."""
    owes = must_read_next(query)
    if query.join.link == "natural" or query.depth > MAX_DEPTH - owes:
        return None
    counts = query.counts()
    banned = frozenset(name for name in query.needs.columns if counts[name])
    if query.has_star():
        banned |= query.banned
    kind = "lateral" if query.phase == "lateral" else "derived"
    return _inner(query, kind, star_room(query))._replace(banned=banned, reading=Reading(owes))


@place("WITH_RECURSIVE")
@never_forbids
@reads_at_most(0)
def begin_recursive(query: Query, _text: bytes) -> Query:
    """Let tables of WITH read themselves."""
    return query._replace(with_recursive=True)


@place("CTE_NAME")
def name_cte(query: Query, text: bytes) -> Query | None:
    """Name a CTE; it must not hide anything."""
    name = read_name(text)
    if name in query.visible_relations() or name in cte_shadow(query):
        return None
    return query._replace(defined=Definition(name))


@place("CTE_COLUMN")
def name_cte_column(query: Query, text: bytes) -> Query | None:
    """Name a column of a CTE."""
    name = read_name(text)
    known = query.defined.columns
    if name in known:
        return None
    return query._replace(defined=query.defined._replace(columns=(*known, name)))


@place("CTE_OPEN")
@never_forbids
@reads_at_most(0)
def open_cte(query: Query, _text: bytes) -> Query:
    """Begin the query of a CTE."""
    return _inner(query, "cte", len(query.defined.columns) or None)


@place("CLOSE")
@reads_at_most(0)
def close_query(query: Query, _text: bytes) -> Query | None:
    """End a query, and hand its columns to the one around."""
    up = query.up
    if up is None:
        return None
    head = query.head if query.head is not None else query.items
    if query.kind == "cte":
        assert up.defined.name is not None
        names = up.defined.columns or [item.name for item in head]
        relation = Relation.of_columns(up.defined.name, names, query.reading.done)
        return up._replace(ctes=(*up.ctes, relation), defined=Definition())
    if query.reading.done:
        up = up._replace(reading=up.reading._replace(done=True))
    if query.kind in ("derived", "lateral"):
        relation = Relation.of_columns("", [item.name for item in head])
        return up._replace(sources=(*up.sources, Source("", relation)), phase="from")
    if query.kind == "operand":
        items = tuple(Item(item.name, maybe=item.maybe) for item in head)
        return up._replace(items=items, expect=len(items))
    return up


# -- parts of a set operation


@place("SET_LETTER_U", "SET_LETTER_I", "SET_LETTER_E")
def next_part(query: Query, text: bytes) -> Query | None:
    """End a part of a set operation; nothing comes behind one that reads its own CTE."""
    if query.recursive:
        return None
    head = query.head
    if head is None:
        head = tuple(Item(item.name, maybe=item.maybe) for item in query.items)
    recursive = query.kind == "cte" and query.up is not None and query.up.with_recursive
    return query.new_part()._replace(
        head=head,
        expect=len(head),
        banned=frozenset(),
        may_recurse=recursive and text in (b"u", b"U"),
    )


@place("query")
@reads_at_most(0)
def end_part(query: Query, _text: bytes) -> Query | None:
    """End a part: with aggregates nothing is selected that was not grouped by."""
    return query if covered(query) else None


@place("RESULT_O", "ROWS_LETTER_L", "ROWS_LETTER_O", "ROWS_LETTER_F", "RIGHT_R")
@reads_at_most(0)
def check_not_recursive(query: Query, _text: bytes) -> Query | None:
    """Begin what does not go with a query that reads its own CTE."""
    return None if query.recursive else query


@place("DISTINCT_WORD")
@never_forbids
@reads_at_most(0)
def begin_distinct(query: Query, _text: bytes) -> Query:
    """Select each row once."""
    return query._replace(distinct=True)


# -- the select list


@place("LABEL", "FREE_LABEL")
@never_forbids
def take_label(query: Query, text: bytes) -> Query:
    """Name a selected column."""
    return query._replace(target=query.target._replace(label=read_name(text)))


def _end_target(query: Query, data: bytes, phase: str) -> Query | None:
    text = data.decode("utf-8", "replace")
    target = query.target
    column, name, maybe = None, target.label, frozenset[str]()
    same = None
    if target.star is None:
        if len(data) < KEPT:
            text = AS.sub("", text)
        column = plain_column(text, query.log)
        same = same_text(text, query.log)
        if name is None:
            found = figure(text, query.log)
            name, guessed = found
            if guessed != frozenset():
                if query.kind in ("derived", "lateral", "cte") or query.banned:
                    return None  # a label must tell the name
                return _with_item(query, Item(None, maybe=guessed, loose=target.loose, text=same), phase)
    if name is not None and name in query.banned:
        return None
    labelled = target.label is not None
    item = Item(
        name, labelled, target.aggregate, target.window, target.star, maybe, column, target.loose, same
    )
    return _with_item(query, item, phase)


def _with_item(query: Query, item: Item, phase: str) -> Query | None:
    if len(query.items) >= MAX_COLUMNS:
        return None
    item = item._replace(aggregate=query.target.aggregate, window=query.target.window)
    return query._replace(
        items=(*query.items, item),
        phase=phase,
        target=Target(),
        log=(),
    )


@place("more_target")
@reads_at_most(KEPT)
def end_target(query: Query, text: bytes) -> Query | None:
    """End a selected column that another one follows."""
    if query.expect is not None and len(query.items) + 1 >= query.expect:
        return None
    return _end_target(query, text, query.phase)


@place("last_target")
@reads_at_most(KEPT)
def end_targets(query: Query, text: bytes) -> Query | None:
    """End the select list; FROM comes."""
    return _end_target(query, text, "from") if list_fits(query) else None


@place("bare_target")
@reads_at_most(KEPT)
def end_bare(query: Query, text: bytes) -> Query | None:
    """End a select list without FROM."""
    if query.phase != "bare" or query.reading.lacks():
        return None
    if query.expect is not None and len(query.items) + 1 != query.expect:
        return None
    return _end_target(query, text, "bare")
