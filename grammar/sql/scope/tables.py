"""Which tables FROM may name next, and which columns USING."""

from __future__ import annotations

from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.star_width import star_room
from stackmask.grammar.sql.scope.shared.state import MAX_DEPTH, Query, counts_of, usable_of


def own_cte(query: Query) -> Relation | None:
    """Return the CTE being defined, where FROM may read it: once, in the last part, behind UNION."""
    up = query.up
    if not query.may_recurse or query.recursive or query.aggregates or query.windows or up is None:
        return None
    assert up.defined.name is not None and query.head is not None
    return query.catalog.result(up.defined.name, up.defined.columns or [item.name for item in query.head])


def listed_relations(scope: Query) -> dict[str, Relation]:
    """Return what FROM, which is still to come, may read from."""
    relations = scope.visible_relations()
    own = own_cte(scope)
    if own is not None:
        relations[own.name] = own
    return relations


def must_read_next(query: Query) -> bool:
    """Return whether FROM must name a table before anything else: a star may leave no room for another one after it."""
    return query.reading.lacks() and (star_room(query) is not None or query.depth >= MAX_DEPTH)


def readable(query: Query) -> frozenset[str]:
    """Return the tables that FROM may name next, as they are spelled.

    One that would make a needed name ambiguous is left out, but where USING or NATURAL can make the columns one.
    """
    query.needs.decide()
    query.names_of(query.items)
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
