"""Places of FROM: tables, their names, and how they are joined."""

from __future__ import annotations

from typing import Any

from stackmask.grammar.ir import Undecided, never_forbids, reads_at_most
from stackmask.grammar.sql.scope.actions import Action, forbids, place, sets, tells_names_apart
from stackmask.grammar.sql.scope.expression_shapes import Use
from stackmask.grammar.sql.scope.lookup import NAMED_BY_ALIAS, identity, leave_needs, said_aliases
from stackmask.grammar.sql.scope.relations import Relation
from stackmask.grammar.sql.scope.state import ANY, Item, Join, Needs, Query, Source, of_last, own_cte
from stackmask.grammar.sql.scope.tables import (
    common_columns,
    is_named,
    must_use,
    named_tables,
    star_room,
)


@place("LINK_COMMA")
@never_forbids
@reads_at_most(0)
def link_comma(query: Query, _text: bytes) -> Query:
    """Join by a comma; in PostgreSQL ON of what follows does not see what stands before it."""
    return query._replace(join=Join("comma"), comma=0 if query.catalog.dialect.later else len(query.sources))


def _links(name: str, **changes: Any) -> None:
    @place(name)
    @never_forbids
    @reads_at_most(0)
    def link(query: Query, _text: bytes) -> Query:
        return query._replace(join=query.join._replace(**changes))


_links("link_join", link="join")
_links("link_cross", link="cross")
_links("link_natural", link="natural")
_links("LEFT_WORD", side="left")
_links("RIGHT_WORD", side="right")


@forbids("NATURAL_N")
def has_no_table(query: Query) -> bool:
    """Return whether there is no table to join by the columns that both sides have."""
    return not named_tables(query._replace(join=query.join._replace(link="natural")))


@place("TABLE")
def take_table(query: Query, text: bytes) -> Query | None:
    """Read from a table."""
    name = query.catalog.read(text)
    relation = own_cte(query)
    recursive = relation is not None and relation.name == name
    if relation is None or not recursive:
        relation = query.visible_relations().get(name)
    if relation is None:
        return None
    return joined(query._replace(recursive=query.recursive or recursive), name, relation)


@place("SCHEMA_TABLE")
def take_schema_table(query: Query, text: bytes) -> Query | None:
    """Read from a table of a schema."""
    assert query.qualifier is not None
    name = query.catalog.read(text)
    relation = query.catalog.schemas[query.qualifier].get(name)
    return None if relation is None else joined(query._replace(qualifier=None), name, relation)


def joined(query: Query, name: str, relation: Relation) -> Query:
    """Return the query with a table more in FROM."""
    merged = relation.names & frozenset(query.counts()) if query.join.link == "natural" else frozenset[str]()
    return query._replace(
        sources=(*query.sources, Source(name, relation, False, merged)),
        reading=query.reading._replace(done=query.reading.done or relation.reads),
    )


@place("ALIAS", "FREE_ALIAS")
@tells_names_apart(said_aliases)
def take_alias(query: Query, text: bytes) -> Query | None:
    """Name the last table; the name must not be taken, and the table must have what was needed of that name."""
    alias = query.catalog.read(text)
    *others, last = query.sources
    relation = last.relation
    for source in others:
        if source.alias == ANY:
            raise Undecided
        if source.alias == alias:
            return None
    if relation.name == NAMED_BY_ALIAS:
        if alias in query.needs.columns and query.counts()[alias]:
            return None
        relation = Relation.of_columns("", (alias,))
    needed = query.needs.of_table(alias)
    if needed is not None and not needed <= relation.usable_names:
        return None
    return query._replace(sources=(*others, Source(alias, relation, True, last.merged)))


@of_last
def end_joined(query: Query) -> Query | None:
    """Check the last table, with its name and condition."""
    last = query.sources[-1]
    if not is_named(query):
        return None
    if query.join.link == "natural":
        merged = last.merged
    else:
        merged = frozenset(query.join.using)
        last = last._replace(merged=merged)
    ended = query._replace(
        phase="from",
        sources=(*query.sources[:-1], last),
        join=query.join._replace(link="", using=(), side=""),
        qualifier=None,
    )
    counts = ended.counts()
    if any(counts[name] > 1 for name in query.needs.columns | query.needs.strings):
        return None
    return ended


@place("more_source", "more_piece")
@reads_at_most(0)
def end_source(query: Query, _text: bytes) -> Query | None:
    """End a table that another one follows."""
    ended = end_joined(query)
    return None if ended is None or star_room(ended) == 0 else ended


@place("last_source", "last_piece")
@reads_at_most(0)
def end_from(query: Query, _text: bytes) -> Query | None:
    """End FROM: every need is met."""
    ended = end_joined(query)
    if ended is None or star_room(ended) or ended.reading.lacks():
        return None
    ended = leave_needs(ended._replace(phase="where", log=()))
    if ended is None:
        return None
    items = tuple(_resolved(ended))
    if ended.banned and any(item.name in ended.banned for item in items):
        return None
    return ended._replace(items=items, needs=Needs())


def _resolved(query: Query) -> list[Item]:
    """Return the items with columns for stars; in PostgreSQL with the tables of their columns, without those from further out."""
    groups = query.catalog.dialect.groups
    counts = query.counts()

    def own(use: Use) -> Use | None:
        if ANY in use:
            return use
        if use[0]:
            return use if query.source(use[0]) is not None else None
        return identity(query.sources, use[1]) if counts[use[1]] else None

    found: list[Item] = []
    for item in query.items:
        if item.star is None:
            if groups:
                loose = frozenset(use for use in map(own, item.loose) if use is not None)
                item = item._replace(loose=loose, column=None if item.column is None else own(item.column))
            found.append(item)
            continue
        for source in query.sources:
            if item.star not in ("*", source.alias):
                continue
            for name in source.relation.columns:
                if item.star == "*" and name in source.merged:
                    continue
                merged = item.star == "*" and any(name in other.merged for other in query.sources)
                use = ("" if merged else source.alias, name or "")
                found.append(Item(name, column=use, loose=frozenset({use})) if groups else Item(name))
    return found


sets("ON_WORD", phase="on")


sets("USING_WORD")


@place("USING_COLUMN")
@never_forbids
def take_using(query: Query, text: bytes) -> Query:
    """Join by a column."""
    return query._replace(join=query.join._replace(using=(*query.join.using, query.catalog.read(text))))


@forbids("USING_COMMA")
def has_no_more_columns(query: Query) -> bool:
    """Return whether USING can name no further column."""
    return not common_columns(query)


@forbids("USING_CLOSE")
def lacks_columns(query: Query) -> bool:
    """Return whether a column would be ambiguous that USING does not name yet."""
    return not must_use(query) <= set(query.join.using)


def begin_table_call(columns: tuple[str, ...]) -> Action:
    """Return the action of a function's name in FROM; ``columns`` of its rows, () where its alias names the only one."""

    def begin(query: Query, _text: bytes) -> Query:
        return query._replace(phase="lateral", calling=columns)

    return begin


@place("TABLE_CALL_CLOSE")
@never_forbids
@reads_at_most(0)
def end_table_call(query: Query, _text: bytes) -> Query:
    """End the arguments of a function in FROM."""
    columns = query.calling or ()
    relation = Relation.of_columns("" if columns else NAMED_BY_ALIAS, columns)
    return query._replace(phase="from", calling=None, sources=(*query.sources, Source("", relation)))
