"""Places of the select list."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.shared.actions import KEPT, NAMED, Places, entering
from stackmask.grammar.sql.scope.shared.relations import read_name
from stackmask.grammar.sql.scope.shared.star_width import list_fits, star_fits
from stackmask.grammar.sql.scope.shared.state import Item, Query

PLACES: Final[Places] = {}
place = entering(PLACES)


@place("STAR")
@reads_at_most(0)
def take_star(query: Query, _text: bytes) -> Query | None:
    """Select all columns."""
    if query.phase != "list" or not star_fits(query):
        return None
    return query._replace(star="*")


@place("STAR_OF")
@reads_at_most(0)
def take_star_of(query: Query, _text: bytes) -> Query | None:
    """Select all columns of a table, which must be one of FROM."""
    alias = query.qualifier
    if query.phase != "list" or query.expect is not None or alias is None:
        return None
    return query.with_need(alias, frozenset(), True)._replace(star=alias)


@place("LABEL", "FREE_LABEL")
@never_forbids
def take_label(query: Query, text: bytes) -> Query:
    """Name a selected column."""
    return query._replace(label=read_name(text.decode()))


def _end_target(query: Query, text: bytes) -> Query | None:
    spelled = text.decode("utf-8", "replace")
    name, labelled = query.label, query.label is not None
    own: tuple[str, str] | None = None
    computed = query.star is not None or query.item_aggregate or query.item_window
    if name is None and not computed and query.column is not None and NAMED.fullmatch(spelled):
        if len(text) >= KEPT:  # what comes behind may compute
            return None
        name = query.column
        own = None if query.column_of is None else (query.column_of, query.column)
    if name in query.banned or (len(text) >= KEPT and query.banned and name is None):
        return None
    item = Item(name, labelled, query.item_aggregate, query.item_window, query.star, column=own)
    return query._replace(
        items=(*query.items, item),
        label=None,
        column=None,
        column_of=None,
        star=None,
        item_aggregate=False,
        item_window=False,
    )


@place("more_target")
@reads_at_most(KEPT)
def end_target(query: Query, text: bytes) -> Query | None:
    """End a selected column that another one follows."""
    if query.expect is not None and len(query.items) + 1 >= query.expect:
        return None
    return _end_target(query, text)


@place("last_target")
@reads_at_most(KEPT)
def end_targets(query: Query, text: bytes) -> Query | None:
    """End the select list; FROM comes."""
    if not list_fits(query):
        return None
    ended = _end_target(query, text)
    return None if ended is None else ended._replace(phase="from", column=None, column_of=None)


@place("bare_target")
@reads_at_most(KEPT)
def end_bare(query: Query, text: bytes) -> Query | None:
    """End a select list without FROM."""
    if query.phase != "bare" or (query.expect is not None and len(query.items) + 1 != query.expect):
        return None
    return _end_target(query, text)
