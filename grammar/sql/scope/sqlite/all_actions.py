"""The places of ``scoped_sqlite.ebnf``: an action for each text that changes what is known (see :mod:`actions`)."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.sql.scope.shared.actions import Places
from stackmask.grammar.sql.scope.sqlite import clause_actions, from_actions, list_actions, query_actions

PLACES: Final[Places] = {
    **query_actions.PLACES,
    **list_actions.PLACES,
    **from_actions.PLACES,
    **clause_actions.PLACES,
}
