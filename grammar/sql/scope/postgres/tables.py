"""Which tables FROM may name next in PostgreSQL."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.star_width import star_room
from stackmask.grammar.sql.scope.shared.state import Query
from stackmask.grammar.sql.scope.shared.tables import common_columns, must_read_next, own_cte, readable

MOST_COLUMNS: Final = 2  # of a function in FROM


def natural_tables(query: Query) -> frozenset[str]:
    """Return the tables that may stand behind NATURAL JOIN."""
    return frozenset() if query.comma else readable(query) - _own(query)


def plain_tables(query: Query) -> frozenset[str]:
    """Return the tables that FROM may name next without their schema, as they are spelled."""
    if query.join.link == "natural":
        return natural_tables(query)
    found = readable(_as_sqlite(query))
    return found - _own(query) if query.join.side == "left" else found


def _own(query: Query) -> frozenset[str]:
    own = own_cte(query)
    return frozenset() if own is None else frozenset({own.spelled})


def _as_sqlite(query: Query) -> Query:
    """Return the query such that USING can only mend a name where it may stand."""
    return (
        query._replace(join=query.join._replace(link="comma"))
        if query.join.link == "join" and query.comma
        else query
    )


def schema_tables(query: Query, schema: str) -> frozenset[str]:
    """Return the tables of a schema that FROM may name next."""
    tables = query.catalog.schemas.get(schema, {})
    return frozenset(name for name, relation in tables.items() if _fits(query, relation))


def _fits(query: Query, relation: Relation) -> bool:
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


def using_columns(query: Query) -> frozenset[str]:
    """Return the columns that USING may still name."""
    return frozenset() if query.comma else common_columns(query)


def may_call(query: Query) -> bool:
    """Return whether a function may stand in FROM here."""
    room = star_room(query)
    return (
        query.join.link != "natural"
        and query.join.side != "right"
        and (room is None or room >= MOST_COLUMNS)
        and not must_read_next(query)
    )
