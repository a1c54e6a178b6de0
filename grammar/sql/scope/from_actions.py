"""Places of FROM: tables, their names, and how they are joined."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import Undecided, never_forbids, reads_at_most
from stackmask.grammar.sql.scope.shared.actions import Places, entering, tells_names_apart
from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.star_width import star_room
from stackmask.grammar.sql.scope.shared.state import ANY, Item, Needs, Query, Source, of_last
from stackmask.grammar.sql.scope.shared.tables import common_columns, is_named, must_use, own_cte, readable
from stackmask.grammar.sql.scope.sqlite.lookup import leave_needs

PLACES: Final[Places] = {}
place = entering(PLACES)


@place("LINK_COMMA")
@never_forbids
@reads_at_most(0)
def link_comma(query: Query, _text: bytes) -> Query:
    """Join by a comma."""
    return query._replace(join=query.join._replace(link="comma", using=()))


@place("link_join")
@never_forbids
@reads_at_most(0)
def link_join(query: Query, _text: bytes) -> Query:
    """Join with a condition."""
    return query._replace(join=query.join._replace(link="join", using=()))


@place("NATURAL_N")
@reads_at_most(0)
def check_natural(query: Query, _text: bytes) -> Query | None:
    """Begin NATURAL, if there is a table to join like that."""
    return query if readable(query._replace(join=query.join._replace(link="natural"))) else None


@place("link_natural")
@never_forbids
@reads_at_most(0)
def link_natural(query: Query, _text: bytes) -> Query:
    """Join by the columns that both sides have."""
    return query._replace(join=query.join._replace(link="natural", using=()))


@place("TABLE")
def take_table(query: Query, text: bytes) -> Query | None:
    """Read from a table."""
    name = query.catalog.read(text)
    relation = own_cte(query)
    recursive = relation is not None and relation.name == name
    if relation is None or not recursive:
        relation = query.visible_relations().get(name)
    if relation is None:
        return None
    return joined(query._replace(recursive=query.recursive or recursive), name, relation)


def joined(query: Query, name: str, relation: Relation) -> Query:
    """Return the query with a table more in FROM."""
    merged = relation.names & frozenset(query.counts()) if query.join.link == "natural" else frozenset[str]()
    return query._replace(
        sources=(*query.sources, Source(name, relation, False, merged)),
        reading=query.reading._replace(done=query.reading.done or relation.reads),
    )


@of_last
def said_aliases(query: Query) -> frozenset[str]:
    """Return the names for the last table that are taken, or of which something was said."""
    names = {source.alias for source in query.sources[:-1]}
    names.update(name for name, _ in query.needs.qualified)
    return frozenset(names.union(item.column[0] for item in query.items if item.column is not None))


@place("ALIAS", "FREE_ALIAS")
@tells_names_apart(said_aliases)
def take_alias(query: Query, text: bytes) -> Query | None:
    """Name the last table; the name must not be taken, and the table must have what was needed of that name."""
    alias = query.catalog.read(text)
    *others, last = query.sources
    for source in others:
        if source.alias == ANY:
            raise Undecided
        if source.alias == alias:
            return None
    needed = query.needs.of_table(alias)
    if needed is not None and not needed <= last.relation.usable_names:
        return None
    return query._replace(sources=(*others, Source(alias, last.relation, True, last.merged)))


@of_last
def end_joined(query: Query) -> Query | None:
    """Check the last table, with its name and condition."""
    last = query.sources[-1]
    if not is_named(query):
        return None
    if query.join.link == "natural":
        merged = last.merged
    else:
        merged = frozenset(query.join.using)
        last = last._replace(merged=merged)
    ended = query._replace(
        phase="from",
        sources=(*query.sources[:-1], last),
        join=query.join._replace(link="", using=(), side=""),
        qualifier=None,
    )
    counts = ended.counts()
    if any(counts[name] > 1 for name in query.needs.columns | query.needs.strings):
        return None
    return ended


@place("more_source", "more_piece")
@reads_at_most(0)
def end_source(query: Query, _text: bytes) -> Query | None:
    """End a table that another one follows."""
    ended = end_joined(query)
    return None if ended is None or star_room(ended) == 0 else ended


@place("last_source", "last_piece")
@reads_at_most(0)
def end_from(query: Query, _text: bytes) -> Query | None:
    """End FROM: every need is met."""
    ended = end_joined(query)
    if ended is None or star_room(ended) or ended.reading.lacks():
        return None
    ended = leave_needs(ended._replace(phase="where"))
    if ended is None:
        return None
    items = tuple(_expanded(ended)) if ended.has_star() else ended.items
    if ended.banned and any(item.name in ended.banned for item in items):
        return None
    return ended._replace(items=items, needs=Needs())


def _expanded(query: Query) -> list[Item]:
    found: list[Item] = []
    for item in query.items:
        if item.star is None:
            found.append(item)
            continue
        for source in query.sources:
            if item.star in ("*", source.alias):
                hidden = source.merged if item.star == "*" else frozenset()
                found += [
                    Item(name) for name in source.relation.columns if name is None or name not in hidden
                ]
    return found


@place("ON_WORD")
@never_forbids
@reads_at_most(0)
def begin_on(query: Query, _text: bytes) -> Query:
    """Begin the condition of a join."""
    return query._replace(phase="on")


@place("USING_WORD")
@never_forbids
@reads_at_most(0)
def begin_using(query: Query, _text: bytes) -> Query:
    """Begin the columns of USING."""
    return query


@place("USING_COLUMN")
@never_forbids
def take_using(query: Query, text: bytes) -> Query:
    """Join by a column."""
    return query._replace(join=query.join._replace(using=(*query.join.using, query.catalog.read(text))))


@place("USING_COMMA")
@reads_at_most(0)
def go_on_using(query: Query, _text: bytes) -> Query | None:
    """Go on to another column of USING, if there is one."""
    return query if common_columns(query) else None


@place("USING_CLOSE")
@reads_at_most(0)
def close_using(query: Query, _text: bytes) -> Query | None:
    """End USING, once all columns that would be ambiguous are in it."""
    return query if must_use(query) <= set(query.join.using) else None
