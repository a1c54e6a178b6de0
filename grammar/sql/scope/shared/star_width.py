"""A star where the number of columns is given: the tables of FROM must have just as many as are left."""

from __future__ import annotations

from stackmask.grammar.sql.scope.shared.state import MAX_DEPTH, Query


def star_fits(query: Query) -> bool:
    """Return whether a star may be selected here: it is the only one, and leaves no column over, where that counts."""
    if query.reading.owes and query.depth >= MAX_DEPTH:  # no query in FROM could have what no table has
        return False
    return query.expect is None or (not query.has_star() and len(query.items) < query.expect)


def list_fits(query: Query) -> bool:
    """Return whether the select list may end behind the item at hand."""
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
