"""Places of PostgreSQL where queries begin and end, and of the select list; what is not here is as in SQLite."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.postgres.expression_shapes import figure, plain_column, same_text
from stackmask.grammar.sql.scope.postgres.grouping import covered
from stackmask.grammar.sql.scope.shared.actions import KEPT, Places, entering
from stackmask.grammar.sql.scope.shared.star_width import list_fits
from stackmask.grammar.sql.scope.shared.state import MAX_DEPTH, Item, Query, Reading, Target
from stackmask.grammar.sql.scope.shared.tables import must_read_next
from stackmask.grammar.sql.scope.sqlite.query_actions import inner

PLACES: Final[Places] = {}
place = entering(PLACES)
AS: Final = re.compile(r"\s*\bas\s*$", re.IGNORECASE)
MAX_COLUMNS: Final = 1600  # of a select list; PostgreSQL has no more


@place("OPERAND_OPEN")
@reads_at_most(0)
def open_operand(query: Query, _text: bytes) -> Query | None:
    """Begin a part of a set operation that stands in parentheses."""
    if query.depth > MAX_DEPTH - query.reading.owes:
        return None
    part = query.new_part()._replace(with_recursive=query.with_recursive, parts=query.parts + 1)
    return inner(part, "operand", query.expect)._replace(
        banned=query.banned, reading=Reading(query.reading.owes)
    )


@place("LATERAL_L")
@reads_at_most(0)
def check_lateral(query: Query, _text: bytes) -> Query | None:
    """Begin LATERAL: the query behind it sees the tables to the left."""
    if query.join.link == "natural" or query.join.side == "right":
        return None
    if query.depth > MAX_DEPTH - must_read_next(query):
        return None
    return query._replace(phase="lateral")


@place("WITH_RECURSIVE")
@never_forbids
@reads_at_most(0)
def begin_recursive(query: Query, _text: bytes) -> Query:
    """Let tables of WITH read themselves."""
    return query._replace(with_recursive=True)


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
