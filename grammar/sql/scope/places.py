"""The places of ``scoped_sqlite.ebnf``: an action for each text that changes what is known (see :mod:`actions`)."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.sql.scope import clause_places, from_places, list_places, query_places
from stackmask.grammar.sql.scope.actions import Places

PLACES: Final[Places] = {
    **query_places.PLACES,
    **list_places.PLACES,
    **from_places.PLACES,
    **clause_places.PLACES,
}
