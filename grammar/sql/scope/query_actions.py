"""Places where queries begin and end: within queries, as tables of WITH, as parts of a set operation; and the select list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most, tells_apart
from stackmask.grammar.sql.scope.actions import (
    KEPT,
    NAMED,
    TO_BE_NAMED,
    forbids,
    place,
    sets,
    tells_names_apart,
)
from stackmask.grammar.sql.scope.expression_shapes import figure, plain_column, same_text
from stackmask.grammar.sql.scope.grouping import covered
from stackmask.grammar.sql.scope.state import (
    ANY,
    MAX_DEPTH,
    NO_TARGET,
    Definition,
    Item,
    Query,
    Source,
    TableReading,
    cte_shadow,
    decided,
)
from stackmask.grammar.sql.scope.tables import list_fits, must_read_next, star_fits, star_room

AS: Final = re.compile(r"\s*\bas\s*$", re.IGNORECASE)
MAX_COLUMNS: Final = 1600  # of a select list; PostgreSQL has no more


# -- queries within queries


def inner(query: Query, kind: str, expect: int | None = None) -> Query:
    """Return a query that begins within another one."""
    # the log of the query around it says nothing of its columns
    up = query._replace(log=None) if query.catalog.dialect.groups else query
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


@forbids("EXISTS_E", "WITH_W")
def is_too_deep(query: Query) -> bool:
    """Return whether no word may begin after which a query comes."""
    return query.depth > MAX_DEPTH


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
    query.decide_before_from()
    owes = must_read_next(query)
    if query.join.link == "natural" or query.depth > MAX_DEPTH - owes:
        return None
    counts = query.counts()
    banned = frozenset(name for name in query.needs.columns | query.needs.strings if counts[name])
    if query.has_star():
        banned |= query.banned
    kind = "lateral" if query.phase == "lateral" else "derived"
    return inner(query, kind, star_room(query))._replace(banned=banned, reading=TableReading(owes))


@place("OPERAND_OPEN")
@reads_at_most(0)
def open_operand(query: Query, _text: bytes) -> Query | None:
    """Begin a part of a set operation that stands in parentheses."""
    if query.depth > MAX_DEPTH - query.reading.owes:
        return None
    part = query.new_part()._replace(with_recursive=query.with_recursive, parts=query.parts + 1)
    return inner(part, "operand", query.expect)._replace(
        banned=query.banned, reading=TableReading(query.reading.owes)
    )


@place("LATERAL_L")
@reads_at_most(0)
def check_lateral(query: Query, _text: bytes) -> Query | None:
    """Begin LATERAL: the query after it sees the tables to the left."""
    if query.join.link == "natural" or query.join.side == "right":
        return None
    if query.depth > MAX_DEPTH - must_read_next(query):
        return None
    return query._replace(phase="lateral")


sets("WITH_RECURSIVE", with_recursive=True)


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
    head = query.head if query.head is not None else query.counted_items()
    if query.kind == "cte":
        assert up.defined.name is not None
        names = up.defined.columns or [item.name for item in decided(head)]
        relation = query.catalog.result(up.defined.name, names, query.reading.done)
        return up._replace(ctes=(*up.ctes, relation), defined=Definition())
    if query.reading.done:
        up = up._replace(reading=up.reading._replace(done=True))
    if query.kind in ("derived", "lateral"):
        relation = query.catalog.result("", [item.name for item in decided(head)])
        return up._replace(sources=(*up.sources, Source("", relation)), phase="from")
    if query.kind == "operand":
        items = tuple(Item(item.name, maybe=item.maybe) for item in head)
        return up._replace(items=items, expect=len(items))
    return up


# -- parts of a query


@place("SELECT_FROM")
@reads_at_most(0)
def begin_list(query: Query, _text: bytes) -> Query | None:
    """Begin a select list with FROM after it."""
    return _begin(query, "list") if query.depth <= MAX_DEPTH else None


@place("SELECT_BARE")
@never_forbids
@reads_at_most(0)
def begin_bare(query: Query, _text: bytes) -> Query:
    """Begin a select list without FROM."""
    return _begin(query, "bare")


@forbids("VALUES_V")
def must_read(query: Query) -> bool:
    """Return whether there are no rows of VALUES, which come from no table."""
    return query.reading.owes


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
    """End a part of a set operation; nothing comes after one that reads its own CTE."""
    if query.recursive:
        return None
    head = tuple(_heading(query)) if query.head is None else query.head
    recursive = query.kind == "cte" and query.up is not None
    if recursive and query.catalog.dialect.groups:
        recursive = query.up is not None and query.up.with_recursive
    return query.new_part()._replace(
        head=head,
        expect=len(head),
        banned=frozenset(),
        may_recurse=recursive and text in (b"u", b"U"),
    )


def _heading(query: Query) -> Iterator[Item]:
    """Yield the columns of a set operation, which are named in its first part.

    In SQLite the name of a column can stand for it where it means that very column: not one that USING joined to it, and
    not one of a query around.
    """
    counts = query.counts()
    for item in query.counted_items():
        if query.catalog.dialect.groups or item.is_unknown():
            yield Item(item.name, maybe=item.maybe)
            continue
        is_own = (
            item.name is not None
            and counts[item.name] == 1
            and not any(item.name in source.merged for source in query.sources)
            and (item.column is None or query.known_source(item.column[0]) is not None)
        )
        yield item._replace(labelled=item.labelled or is_own)


@forbids("query")
def is_not_covered(query: Query) -> bool:
    """Return whether the part has aggregates, and something selected that was not grouped by."""
    return not covered(query)


@forbids("RESULT_O", "ROWS_LETTER_L", "ROWS_LETTER_O", "ROWS_LETTER_F", "RIGHT_R")
def reads_itself(query: Query) -> bool:
    """Return whether the query reads its own CTE, which much does not go with."""
    return query.recursive


sets("DISTINCT_WORD", distinct=True)


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


# -- the select list


@place("STAR")
@reads_at_most(0)
def take_star(query: Query, _text: bytes) -> Query | None:
    """Select all columns."""
    if query.phase != "list" or not star_fits(query):
        return None
    return query._replace(target=query.target._replace(star="*"))


@place("STAR_OF")
@reads_at_most(0)
def take_star_of(query: Query, _text: bytes) -> Query | None:
    """Select all columns of a table, which must be one of FROM."""
    alias = query.qualifier
    if query.phase != "list" or query.expect is not None or alias is None or not star_fits(query):
        return None
    needs = query.needs.with_table(alias, frozenset(), True)
    return query._replace(needs=needs, target=query.target._replace(star=alias))


@place("LABEL", "FREE_LABEL")
@never_forbids
@tells_names_apart(attrgetter("banned"))
def take_label(query: Query, text: bytes) -> Query:
    """Name a selected column."""
    return query._replace(target=query.target._replace(label=query.catalog.read(text)))


def _end_target(query: Query, data: bytes, phase: str) -> Query | None:
    groups = query.catalog.dialect.groups
    if query.stands_in and not query.names_matter() and (groups or len(data) < KEPT):
        item: Item | None = query.target.item(ANY)
    else:
        item = (_figured_item if groups else _named_item)(query, data.decode("utf-8", "replace"), len(data))
    if item is None or item.name in query.banned or (groups and len(query.items) >= MAX_COLUMNS):
        return None
    return query._replace(items=(*query.items, item), phase=phase, target=NO_TARGET, log=())


def _named_item(query: Query, text: str, size: int) -> Item | None:
    """Return the selected column of SQLite, named by its label, or as the column that it is nothing but."""
    target = query.target
    name = target.label
    own: tuple[str, str] | None = None
    computed = target.star is not None or target.aggregate or target.window
    if name is None and not computed and target.column is not None and NAMED.fullmatch(text):
        if size >= KEPT:  # what comes after it may compute
            return None
        name = target.column
        own = None if target.column_of is None else (target.column_of, target.column)
    if size >= KEPT and query.banned and name is None:
        return None
    return target.item(name)._replace(column=own)


def _figured_item(query: Query, text: str, size: int) -> Item | None:
    """Return the selected column of PostgreSQL, named by its label or by what its expression is."""
    target = query.target
    item = target.item(target.label)
    if target.star is not None:
        return item
    if size < KEPT:
        text = AS.sub("", text)
    item = item._replace(text=same_text(text, query.log))
    if target.label is None:
        name, guessed = figure(text, query.log)
        if guessed != frozenset():
            # a label must tell the name where it matters
            return None if query.names_matter() else item._replace(maybe=guessed)
        item = item._replace(name=name)
    return item._replace(column=plain_column(text, query.log))


def _kinds_of_text(query: Query) -> tuple[bool, bool]:
    return query.names_matter(), query.catalog.dialect.groups


def _may_be_named(kinds: tuple[bool, bool], begun: bytes) -> bool:
    """Return whether the beginning of a text may tell the name of a column, where that matters."""
    matters, is_postgres = kinds
    return matters or (
        not is_postgres and TO_BE_NAMED.fullmatch(begun.decode("utf-8", "replace")) is not None
    )


@place("more_target")
@reads_at_most(KEPT)
@tells_apart(_kinds_of_text, _may_be_named)
def end_target(query: Query, text: bytes) -> Query | None:
    """End a selected column that another one follows."""
    if query.expect is not None and len(query.items) + 1 >= query.expect:
        return None
    return _end_target(query, text, query.phase)


@place("last_target")
@reads_at_most(KEPT)
@tells_apart(_kinds_of_text, _may_be_named)
def end_targets(query: Query, text: bytes) -> Query | None:
    """End the select list; FROM comes."""
    return _end_target(query, text, "from") if list_fits(query) else None


@place("bare_target")
@reads_at_most(KEPT)
@tells_apart(_kinds_of_text, _may_be_named)
def end_bare(query: Query, text: bytes) -> Query | None:
    """End a select list without FROM."""
    if query.phase != "bare" or query.reading.lacks():
        return None
    if query.expect is not None and len(query.items) + 1 != query.expect:
        return None
    return _end_target(query, text, "bare")
