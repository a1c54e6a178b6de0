"""The places of ``scoped_postgres.ebnf``: those of SQLite, and what PostgreSQL has of its own."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.sql.scope import postgres_clause_places, postgres_from_places, postgres_query_places
from stackmask.grammar.sql.scope.actions import Places
from stackmask.grammar.sql.scope.places import PLACES as SQLITE_PLACES

SHARED: Final = (
    "EXISTS_E", "WITH_W", "SELECT_FROM", "SELECT_BARE", "VALUES_WORD", "more_value", "last_value", "STAR", "STAR_OF",
    "link_join", "link_natural", "ON_WORD", "USING_WORD", "USING_COMMA", "USING_CLOSE",
)  # fmt: skip
PLACES: Final[Places] = {
    **{name: SQLITE_PLACES[name] for name in SHARED},
    **postgres_query_places.PLACES,
    **postgres_from_places.PLACES,
    **postgres_clause_places.PLACES,
}
