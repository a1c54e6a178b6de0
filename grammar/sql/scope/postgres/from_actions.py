"""Places of PostgreSQL in FROM; what is not here is as in SQLite."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.postgres.lookup import identity, leave_needs
from stackmask.grammar.sql.scope.postgres.tables import natural_tables
from stackmask.grammar.sql.scope.shared.actions import Action, Places, entering
from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.star_width import star_room
from stackmask.grammar.sql.scope.shared.state import Item, Join, Needs, Query, Source
from stackmask.grammar.sql.scope.sqlite.from_actions import end_joined, joined

PLACES: Final[Places] = {}
place = entering(PLACES)
NAMED_BY_ALIAS: Final = "()"  # the name of what a function gives whose column is called as its table


@place("LINK_COMMA")
@never_forbids
@reads_at_most(0)
def link_comma(query: Query, _text: bytes) -> Query:
    """Join by a comma: ON of what follows does not see what stands before it."""
    return query._replace(join=Join("comma"), comma=len(query.sources))


@place("link_cross")
@never_forbids
@reads_at_most(0)
def link_cross(query: Query, _text: bytes) -> Query:
    """Join without a condition."""
    return query._replace(join=query.join._replace(link="cross", using=()))


@place("LEFT_WORD")
@never_forbids
@reads_at_most(0)
def join_left(query: Query, _text: bytes) -> Query:
    """Keep the rows of the left side."""
    return query._replace(join=query.join._replace(side="left"))


@place("RIGHT_WORD")
@never_forbids
@reads_at_most(0)
def join_right(query: Query, _text: bytes) -> Query:
    """Keep the rows of the right side."""
    return query._replace(join=query.join._replace(side="right"))


@place("NATURAL_N")
@reads_at_most(0)
def check_natural(query: Query, _text: bytes) -> Query | None:
    """Begin NATURAL, if there is a table to join like that, also behind LEFT."""
    joined = query._replace(join=query.join._replace(link="natural", side="left"))
    return query if natural_tables(joined) else None


@place("SCHEMA_TABLE")
def take_schema_table(query: Query, text: bytes) -> Query | None:
    """Read from a table of a schema."""
    assert query.qualifier is not None
    name = query.catalog.read(text)
    relation = query.catalog.schemas[query.qualifier].get(name)
    return None if relation is None else joined(query._replace(qualifier=None), name, relation)


@place("ALIAS", "FREE_ALIAS")
def take_alias(query: Query, text: bytes) -> Query | None:
    """Name the last table; the name must not be taken, and the table must have what was needed of that name."""
    alias = query.catalog.read(text)
    last = query.sources[-1]
    if any(source.alias == alias for source in query.sources[:-1]):
        return None
    relation = last.relation
    if relation.name == NAMED_BY_ALIAS:
        if alias in query.needs.columns and query.counts()[alias]:
            return None
        relation = Relation.of_columns("", (alias,))
    needed = query.needs.of_table(alias)
    if needed is not None and not needed <= relation.usable_names:
        return None
    named = last._replace(alias=alias, named=True, relation=relation)
    return query._replace(sources=(*query.sources[:-1], named))


@place("last_source", "last_piece")
@reads_at_most(0)
def end_from(query: Query, _text: bytes) -> Query | None:
    """End FROM: every need is met."""
    ended = end_joined(query)
    ended = (
        None
        if ended is None or star_room(ended) or ended.reading.lacks()
        else leave_needs(ended._replace(phase="where", log=()))
    )
    if ended is None:
        return None
    items = tuple(_resolved(ended))
    if ended.banned and {item.name for item in items} & ended.banned:
        return None
    return ended._replace(items=items, needs=Needs())


def _resolved(query: Query) -> list[Item]:
    """Return the items with the tables of their columns, columns for stars, and without columns from further out."""
    counts = query.counts()

    def own(use: tuple[str, str]) -> tuple[str, str] | None:
        if use[0]:
            return use if query.source(use[0]) is not None else None
        return identity(query.sources, use[1]) if counts[use[1]] else None

    found: list[Item] = []
    for item in query.items:
        if item.star is None:
            loose = frozenset(use for use in map(own, item.loose) if use is not None)
            column = None if item.column is None else own(item.column)
            found.append(item._replace(loose=loose, column=column))
            continue
        for source in query.sources:
            if item.star not in ("*", source.alias):
                continue
            for name in source.relation.columns:
                if item.star == "*" and name in source.merged:
                    continue
                merged = item.star == "*" and any(name in other.merged for other in query.sources)
                use = ("" if merged else source.alias, name or "")
                found.append(Item(name, column=use, loose=frozenset({use})))
    return found


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
