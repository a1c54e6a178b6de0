"""Places of the select list."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most, tells_apart
from stackmask.grammar.sql.scope.shared.actions import (
    KEPT,
    NAMED,
    TO_BE_NAMED,
    Places,
    entering,
    tells_names_apart,
)
from stackmask.grammar.sql.scope.shared.star_width import list_fits, star_fits
from stackmask.grammar.sql.scope.shared.state import Item, Query, Target

PLACES: Final[Places] = {}
place = entering(PLACES)


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
@tells_names_apart(lambda query: query.banned)
def take_label(query: Query, text: bytes) -> Query:
    """Name a selected column."""
    return query._replace(target=query.target._replace(label=query.catalog.read(text)))


def _end_target(query: Query, text: bytes) -> Query | None:
    spelled = text.decode("utf-8", "replace")
    target = query.target
    name, labelled = target.label, target.label is not None
    own: tuple[str, str] | None = None
    computed = target.star is not None or target.aggregate or target.window
    if name is None and not computed and target.column is not None and NAMED.fullmatch(spelled):
        if len(text) >= KEPT:  # what comes after it may compute
            return None
        name = target.column
        own = None if target.column_of is None else (target.column_of, target.column)
    if name in query.banned or (len(text) >= KEPT and query.banned and name is None):
        return None
    item = Item(name, labelled, target.aggregate, target.window, target.star, column=own)
    return query._replace(items=(*query.items, item), target=Target())


def _may_be_named(query: Query, begun: bytes) -> bool:
    """Return whether the beginning of a text may be that of a name by itself; any text may matter where names are banned."""
    return bool(query.banned) or TO_BE_NAMED.fullmatch(begun.decode("utf-8", "replace")) is not None


@place("more_target")
@reads_at_most(KEPT)
@tells_apart(_may_be_named)
def end_target(query: Query, text: bytes) -> Query | None:
    """End a selected column that another one follows."""
    if query.expect is not None and len(query.items) + 1 >= query.expect:
        return None
    return _end_target(query, text)


@place("last_target")
@reads_at_most(KEPT)
@tells_apart(_may_be_named)
def end_targets(query: Query, text: bytes) -> Query | None:
    """End the select list; FROM comes."""
    if not list_fits(query):
        return None
    ended = _end_target(query, text)
    return None if ended is None else ended._replace(phase="from")


@place("bare_target")
@reads_at_most(KEPT)
@tells_apart(_may_be_named)
def end_bare(query: Query, text: bytes) -> Query | None:
    """End a select list without FROM."""
    if query.phase != "bare" or query.reading.lacks():
        return None
    if query.expect is not None and len(query.items) + 1 != query.expect:
        return None
    return _end_target(query, text)
