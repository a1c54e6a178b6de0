"""Places where queries begin and end: within queries, as tables of WITH, as parts of a set operation."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.shared.actions import KEPT, NAMED, Places, entering
from stackmask.grammar.sql.scope.shared.star_width import star_room
from stackmask.grammar.sql.scope.shared.state import (
    MAX_DEPTH,
    Definition,
    Item,
    Query,
    Reading,
    Source,
    cte_shadow,
)
from stackmask.grammar.sql.scope.shared.tables import must_read_next

PLACES: Final[Places] = {}
place = entering(PLACES)


# -- queries within queries


def inner(query: Query, kind: str, expect: int | None = None) -> Query:
    """Return a query that begins within another one."""
    # the log of the query around it says nothing of its columns
    up = query if query.catalog.dialect == "sqlite" else query._replace(log=None)
    return Query(
        query.catalog,
        up,
        kind,
        query.depth + 1,
        expect=expect,
        ctes=query.ctes,
        stands_in=query.stands_in,
    )


@place("QUERY_OPEN")
@reads_at_most(0)
def open_query(query: Query, _text: bytes) -> Query | None:
    """Begin a query that gives one column."""
    return inner(query, "scalar", 1) if query.depth <= MAX_DEPTH else None


@place("EXISTS_E", "WITH_W")
@reads_at_most(0)
def check_depth(query: Query, _text: bytes) -> Query | None:
    """Begin a word behind which a query comes."""
    return query if query.depth <= MAX_DEPTH else None


@place("EXISTS_OPEN")
@never_forbids
@reads_at_most(0)
def open_exists(query: Query, _text: bytes) -> Query:
    """Begin a query of which only matters whether it gives a row."""
    return inner(query, "exists")


@place("DERIVED_OPEN")
@reads_at_most(0)
def open_derived(query: Query, _text: bytes) -> Query | None:
    """Begin a query in FROM; it must not have columns with names that are needed once and are there."""
    query.needs.decide()
    query.names_of(query.items)
    owes = must_read_next(query)
    if query.join.link == "natural" or query.depth > MAX_DEPTH - owes:
        return None
    counts = query.counts()
    banned = frozenset(name for name in query.needs.columns | query.needs.strings if counts[name])
    if query.has_star():
        banned |= query.banned
    kind = "lateral" if query.phase == "lateral" else "derived"
    return inner(query, kind, star_room(query))._replace(banned=banned, reading=Reading(owes))


@place("CTE_NAME")
def name_cte(query: Query, text: bytes) -> Query | None:
    """Name a CTE; it must not hide anything."""
    name = query.catalog.read(text)
    if name in query.visible_relations() or name in cte_shadow(query):
        return None
    return query._replace(defined=Definition(name))


@place("CTE_COLUMN")
def name_cte_column(query: Query, text: bytes) -> Query | None:
    """Name a column of a CTE."""
    name = query.catalog.read(text)
    known = query.defined.columns
    if name in known:
        return None
    return query._replace(defined=query.defined._replace(columns=(*known, name)))


@place("CTE_OPEN")
@never_forbids
@reads_at_most(0)
def open_cte(query: Query, _text: bytes) -> Query:
    """Begin the query of a CTE."""
    return inner(query, "cte", len(query.defined.columns) or None)


@place("CLOSE")
@reads_at_most(0)
def close_query(query: Query, _text: bytes) -> Query | None:
    """End a query, and hand its columns to the one around."""
    up = query.up
    if up is None:
        return None
    up = up if up.stands_in == query.stands_in else up._replace(stands_in=query.stands_in)
    head = query.head if query.head is not None else query.items
    if query.kind == "cte":
        assert up.defined.name is not None
        names = up.defined.columns or query.names_of(head)
        relation = query.catalog.result(up.defined.name, names, query.reading.done)
        return up._replace(ctes=(*up.ctes, relation), defined=Definition())
    if query.reading.done:
        up = up._replace(reading=up.reading._replace(done=True))
    if query.kind in ("derived", "lateral"):
        relation = query.catalog.result("", query.names_of(head))
        return up._replace(sources=(*up.sources, Source("", relation)), phase="from")
    if query.kind == "operand":
        items = tuple(Item(item.name, maybe=item.maybe) for item in head)
        return up._replace(items=items, expect=len(items))
    return up


# -- parts of a query


@place("SELECT_FROM")
@reads_at_most(0)
def begin_list(query: Query, _text: bytes) -> Query | None:
    """Begin a select list with FROM behind it."""
    return _begin(query, "list") if query.depth <= MAX_DEPTH else None


@place("SELECT_BARE")
@never_forbids
@reads_at_most(0)
def begin_bare(query: Query, _text: bytes) -> Query:
    """Begin a select list without FROM."""
    return _begin(query, "bare")


@place("VALUES_V")
@reads_at_most(0)
def check_values(query: Query, _text: bytes) -> Query | None:
    """Begin the word VALUES, whose rows come from no table."""
    return None if query.reading.owes else query


@place("VALUES_WORD")
@never_forbids
@reads_at_most(0)
def begin_values(query: Query, _text: bytes) -> Query:
    """Begin rows."""
    return _begin(query, "values")


def _begin(query: Query, phase: str) -> Query:
    return query.new_part()._replace(phase=phase, parts=query.parts + 1, may_recurse=query.may_recurse)


@place("SET_LETTER_U", "SET_LETTER_I", "SET_LETTER_E")
def next_part(query: Query, text: bytes) -> Query | None:
    """End a part of a set operation; nothing comes behind one that reads its own CTE."""
    if query.recursive:
        return None
    query.names_of(query.items)
    head = query.head
    if head is None:
        # the name of a column can stand for it where it means that very column: not one that USING joined to it, and
        # not one of a query around
        counts = query.counts()
        merged = frozenset[str]().union(*(source.merged for source in query.sources))
        head = tuple(
            item._replace(
                labelled=item.labelled
                or (
                    item.name is not None
                    and counts[item.name] == 1
                    and item.name not in merged
                    and (item.column is None or query.known_source(item.column[0]) is not None)
                )
            )
            for item in query.items
        )
    return query.new_part()._replace(
        head=head,
        expect=len(head),
        banned=frozenset(),
        may_recurse=query.kind == "cte" and text in (b"u", b"U"),
    )


@place("more_value")
@reads_at_most(KEPT)
def end_value(query: Query, text: bytes) -> Query | None:
    """End a value that another one follows."""
    if query.expect is not None and query.cells + 1 >= query.expect:
        return None
    return _end_value(query, text)


@place("last_value")
@reads_at_most(KEPT)
def end_values(query: Query, text: bytes) -> Query | None:
    """End the last value of a row."""
    n = query.cells + 1
    if query.expect is not None and n != query.expect:
        return None
    ended = _end_value(query, text)
    return None if ended is None else ended._replace(cells=0, expect=n)


def _end_value(query: Query, text: bytes) -> Query | None:
    """End a value. The first row names the columns: by their numbers, in SQLite also by a text in double quotes.

    PostgreSQL's places note no ``column``, so there it is the numbers.
    """
    column = query.target.column
    target = query.target._replace(column=None, column_of=None)
    ended = query._replace(cells=query.cells + 1, target=target)
    if len(query.items) != query.cells:
        return ended
    name: str | None = f"column{query.cells + 1}"
    if column is not None and NAMED.fullmatch(text.decode("utf-8", "replace")):
        if len(text) >= KEPT:
            return None
        name = column
    if name in query.banned:
        return None
    return ended._replace(items=(*query.items, Item(name)))
