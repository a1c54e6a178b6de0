"""The places of ``scoped_postgres.ebnf``: those of SQLite, and what PostgreSQL has of its own."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.sql.scope.postgres import clause_actions, from_actions, query_actions
from stackmask.grammar.sql.scope.shared.actions import Places
from stackmask.grammar.sql.scope.sqlite.all_actions import PLACES as SQLITE_PLACES

SHARED: Final = (
    "EXISTS_E", "WITH_W", "SELECT_FROM", "SELECT_BARE", "VALUES_V", "VALUES_WORD", "more_value", "last_value", "STAR", "STAR_OF",
    "link_join", "link_natural", "ON_WORD", "USING_WORD", "USING_COMMA", "USING_CLOSE",
    "QUERY_OPEN", "EXISTS_OPEN", "DERIVED_OPEN", "CTE_NAME", "CTE_COLUMN", "CTE_OPEN", "CLOSE", "LABEL", "FREE_LABEL", "QUALIFIER",
    "TABLE", "USING_COLUMN", "more_source", "more_piece",
)  # fmt: skip
PLACES: Final[Places] = {
    **{name: SQLITE_PLACES[name] for name in SHARED},
    "CHOSEN_QUALIFIER": SQLITE_PLACES["QUALIFIER"],
    "SCHEMA_NAME": SQLITE_PLACES["QUALIFIER"],
    "FILTER_F": SQLITE_PLACES["FILTER_OPEN"],
    "filter_body": SQLITE_PLACES["AGGREGATE_CLOSE"],
    "window_body": SQLITE_PLACES["WINDOW_CLOSE"],
    **query_actions.PLACES,
    **from_actions.PLACES,
    **clause_actions.PLACES,
}
