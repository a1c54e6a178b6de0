"""Which tables FROM may name next, which columns USING, and how many columns a star may stand for."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.sql.scope.relations import Relation
from stackmask.grammar.sql.scope.state import (
    MAX_DEPTH,
    Query,
    counts_of,
    listed_relations,
    own_cte,
    usable_of,
)

MOST_COLUMNS: Final = 2  # of a function in FROM


def must_read_next(query: Query) -> bool:
    """Return whether FROM must name a table before anything else: a star may leave no room for another one after it."""
    return query.reading.lacks() and (star_room(query) is not None or query.depth >= MAX_DEPTH)


def readable(query: Query) -> frozenset[str]:
    """Return the tables that FROM may name next, as they are spelled.

    One that would make a needed name ambiguous is left out, but where USING or NATURAL can make the columns one.
    """
    query.decide_before_from()
    counts = query.counts()
    once = frozenset(name for name in query.needs.columns | query.needs.strings if counts[name])
    usable = query.usable()
    star = query.has_star()
    room = star_room(query)
    needs_table = must_read_next(query)
    found = set()
    relations = listed_relations(query)
    for relation in relations.values():
        if needs_table and not relation.reads:
            continue
        both = relation.names & once
        if both and query.join.link != "natural":
            mendable = query.join.link == "join" and all(
                counts[name] == 1 and name in usable and name in relation.usable for name in both
            )
            if not mendable:
                continue
        if query.join.link == "natural" and not _joins_naturally(query, relation):
            continue
        if star and (not relation.is_whole or relation.names & query.banned):
            continue
        if room is not None and len(relation.columns) > room:
            continue
        found.add(relation.spelled)
    return frozenset(found)


def _joins_naturally(query: Query, relation: Relation) -> bool:
    counts = query.counts()
    return (
        relation.is_whole
        and all(counts[name] <= 1 for name in relation.names)
        and all(source.relation.is_whole for source in query.sources)
    )


def common_columns(query: Query) -> frozenset[str]:
    """Return the columns that USING may still name: one table to the left has them, and the last one."""
    counts, usable = counts_of(query.sources[:-1]), usable_of(query.sources[:-1])
    if query.comma:
        return frozenset()
    return frozenset(
        name for name in query.sources[-1].relation.usable if counts[name] == 1 and name in usable
    ) - set(query.join.using)


def must_use(query: Query) -> frozenset[str]:
    """Return the columns that would be ambiguous without USING."""
    counts = counts_of(query.sources[:-1])
    names = query.sources[-1].relation.names
    return frozenset(
        name for name in query.needs.columns | query.needs.strings if counts[name] and name in names
    )


def is_named(query: Query) -> bool:
    """Return whether the last table has a name that no other has, and what was needed of that name."""
    last = query.sources[-1]
    if last.named or not last.alias:
        return True
    query.decide_names()
    needed = query.needs.of_table(last.alias)
    return all(source.alias != last.alias for source in query.sources[:-1]) and (
        needed is None or needed <= last.relation.usable_names
    )


def named_tables(query: Query) -> frozenset[str]:
    """Return the tables that FROM may name next without their schema, as they are spelled."""
    join = query.join
    if join.link == "natural" and query.comma:
        return frozenset()
    if join.link == "join" and query.comma:  # USING cannot mend a name
        query = query._replace(join=join._replace(link="comma"))
    found = readable(query)
    own = own_cte(query)
    # PostgreSQL has no table that reads itself on the side of an outer join that may be missing
    is_optional = join.side == "left" or (join.link == "natural" and query.catalog.dialect.groups)
    return found - {own.spelled} if own is not None and is_optional else found


def schema_tables(query: Query, schema: str) -> frozenset[str]:
    """Return the tables of a schema that FROM may name next."""
    tables = query.catalog.schemas.get(schema, {})
    return frozenset(name for name, relation in tables.items() if _fits(query, relation))


def _fits(query: Query, relation: Relation) -> bool:
    query.decide_before_from()
    if query.join.link == "natural":
        return False
    counts = query.counts()
    room = star_room(query)
    if any(counts[name] for name in query.needs.columns & relation.names) or (
        room is not None and len(relation.columns) > room
    ):
        return False
    return not query.has_star() or (relation.is_whole and not relation.names & query.banned)


def schema_names(query: Query) -> frozenset[str]:
    """Return the schemas of which FROM may name a table next."""
    return frozenset(schema for schema in query.catalog.schemas if schema_tables(query, schema))


def may_call(query: Query) -> bool:
    """Return whether a function may stand in FROM here."""
    room = star_room(query)
    return (
        query.join.link != "natural"
        and query.join.side != "right"
        and (room is None or room >= MOST_COLUMNS)
        and not must_read_next(query)
    )


# -- a star where the number of columns is given: the tables of FROM must have just as many as are left


def star_fits(query: Query) -> bool:
    """Return whether a star may be selected here: it is the only one, and leaves no column over, where that counts."""
    if query.reading.owes and query.depth >= MAX_DEPTH:  # no query in FROM could have what no table has
        return False
    return query.expect is None or (not query.has_star() and len(query.items) < query.expect)


def list_fits(query: Query) -> bool:
    """Return whether the select list may end after the item at hand."""
    if query.expect is None:
        return True
    count = len(query.items) + 1
    return (
        count <= query.expect if query.has_star() or query.target.star is not None else count == query.expect
    )


def star_room(query: Query) -> int | None:
    """Return how many columns the next tables of FROM must have, None if that does not matter.

    FROM can always have them: a query in FROM selects as many as are left.
    """
    if query.expect is None or not query.has_star():
        return None
    selected = sum(item.star is None for item in query.items)
    there = sum(len(source.relation.columns) - len(source.merged) for source in query.sources)
    return query.expect - selected - there  # mutant: star-room
