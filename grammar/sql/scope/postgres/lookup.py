"""Which names PostgreSQL sees at a place, and what a name that is used leads to.

Other than in SQLite, ON sees only the tables that it joins, LATERAL those to the left, labels of the select list are no
columns, and behind GROUP BY only what was grouped by may be used outside of aggregates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from stackmask.grammar.sql.scope.postgres.expression_shapes import Use
from stackmask.grammar.sql.scope.postgres.grouping import determined
from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.state import Query, Source, counts_of, replace_at
from stackmask.grammar.sql.scope.shared.tables import listed_relations

CLOSED: Final = frozenset({"where", "group", "having", "order"})


def tables_seen(scope: Query) -> tuple[Source, ...]:
    """Return the tables of FROM whose columns a query shows where it stands."""
    if scope.phase in CLOSED or scope.phase == "lateral":
        return scope.sources
    return scope.sources[scope.comma :] if scope.phase == "on" else ()


def _visible(query: Query) -> Iterator[tuple[int, Query]]:
    """Yield the queries whose names can be seen, innermost first, with how many steps out each stands."""
    depth = 0
    scope: Query | None = query
    while scope is not None:
        yield depth, scope
        # an aggregate of columns further out would be one of the query there; GROUP BY reads a name rather as a label
        if scope.in_aggregate or scope.phase == "group":
            return
        while scope is not None and scope.kind == "derived":  # does not see what stands beside it
            scope, depth = scope.up, depth + 1
        if scope is None or scope.kind in ("cte", "root"):
            return
        scope, depth = scope.up, depth + 1


def identity(sources: tuple[Source, ...], name: str) -> Use:
    """Return which column a name without a qualifier is; one that a join made of two is a column of its own."""
    if any(name in source.merged for source in sources):
        return "", name
    return next(source.alias for source in sources if name in source.relation.names), name


def is_grouped(scope: Query, use: Use) -> bool:
    """Return whether a column may be used where the query stands, as far as GROUP BY matters."""
    if scope.phase not in ("having", "order") or scope.in_aggregate:
        return True
    return not (scope.grouping.begun or scope.aggregates) or determined(scope, use)


def listed_columns(scope: Query) -> frozenset[str]:
    """Return the names that a table of FROM, which is still to come, may supply."""
    return frozenset[str]().union(
        scope.catalog.columns, *(relation.usable_names for relation in _candidates(scope, None)[1])
    )


def _candidates(scope: Query, alias: str | None) -> tuple[bool, list[Relation]]:
    """Return whether a table has this name, and what a table of FROM that is to have it may be."""
    relations = listed_relations(scope)
    if alias is not None and alias in relations:
        return True, [relations[alias], *(r for r in scope.catalog.qualified if r.name == alias)]
    return False, [*relations.values(), *scope.catalog.qualified]


def seen_columns(query: Query) -> frozenset[str]:
    """Return the names that can stand for a column without a qualifier."""
    found: set[str] = set()
    hidden: set[str] = set()
    for _, scope in _visible(query):
        if scope.phase == "list":
            found |= listed_columns(scope) - hidden
            continue
        tables = tables_seen(scope)
        for name, count in counts_of(tables).items():
            if name in hidden:
                continue
            hidden.add(name)
            if count == 1 and _usable(tables, name) and is_grouped(scope, identity(tables, name)):
                found.add(name)
    return frozenset(found)


def _usable(tables: tuple[Source, ...], name: str) -> bool:
    """Return whether each table that has a column of this name lets it be used."""
    return all(name in table.relation.usable for table in tables if name in table.relation.names)


def _with_loose(scope: Query, use: Use) -> Query:
    """Return the query with a column that the selected item uses, unless an aggregate computes with it."""
    if scope.in_aggregate:
        return scope
    return scope._replace(target=scope.target._replace(loose=scope.target.loose | {use}))


def use_column(query: Query, name: str, start: int = 0) -> Query | None:
    """Return the state after a name was used for a column, from the scope ``start`` steps out; None if it means nothing."""
    for depth, scope in _visible(query):
        if depth < start:
            continue
        if scope.phase == "list":
            if scope.catalog.new_names or name in listed_columns(scope):
                needs = scope.needs.with_column(name, own=bool(scope.in_aggregate))
                changed = _with_loose(scope._replace(needs=needs), ("", name))
                return replace_at(query, depth, changed)
            continue
        tables = tables_seen(scope)
        count = counts_of(tables)[name]
        if count:
            fits = count == 1 and _usable(tables, name)
            return query if fits and is_grouped(scope, identity(tables, name)) else None
    return None


def seen_qualifiers(query: Query) -> tuple[frozenset[str], bool]:
    """Return the names of tables that can stand before a dot, and whether any other may, as one that FROM gives later."""
    found: set[str] = set()
    hidden: set[str] = set()
    for _, scope in _visible(query):
        if scope.phase == "list":
            listed = {r.name for r in _candidates(scope, None)[1] if r.usable}
            return frozenset(found | (listed - hidden)), True
        for source in tables_seen(scope):
            if source.alias not in hidden and _members(scope, source):
                found.add(source.alias)
            hidden.add(source.alias)
    return frozenset(found), False


def _members(scope: Query, source: Source) -> dict[str, str]:
    usable = source.relation.usable
    return {name: usable[name] for name in usable if is_grouped(scope, (source.alias, name))}


def seen_members(query: Query) -> dict[str, str]:
    """Return the columns, with their spelling, that can stand behind the qualifier and a dot."""
    alias = query.qualifier
    assert alias is not None
    found: dict[str, str] = {}
    for _, scope in _visible(query):
        if scope.phase == "list":
            needed = scope.needs.of_table(alias) or frozenset()
            for relation in _candidates(scope, alias)[1]:
                if needed <= relation.usable_names:
                    for name, spelled in relation.usable.items():
                        found.setdefault(name, spelled)
            continue
        for source in tables_seen(scope):
            if source.alias == alias:
                return _members(scope, source) | found
    return found


def may_be_new(query: Query) -> bool:
    """Return whether the column behind the qualifier and a dot may be one that only FROM makes, which is still to come."""
    for _, scope in _visible(query):
        if scope.phase == "list":
            return scope.catalog.new_names
        if any(source.alias == query.qualifier for source in tables_seen(scope)):
            return False
    return False


def use_member(query: Query, name: str, start: int = 0, alias: str | None = None) -> Query | None:
    """Return the state after ``alias.name``, None if it means nothing; as :func:`use_column`."""
    alias = query.qualifier if alias is None else alias
    assert alias is not None
    for depth, scope in _visible(query):
        if depth < start:
            continue
        if scope.phase == "list":
            needed = (scope.needs.of_table(alias) or frozenset()) | {name}
            if scope.catalog.new_names or any(
                needed <= relation.usable_names for relation in _candidates(scope, alias)[1]
            ):
                needs = scope.needs.with_table(alias, frozenset({name}), bool(scope.in_aggregate))
                changed = _with_loose(scope._replace(needs=needs), (alias, name))
                return replace_at(query, depth, changed)
            continue
        for source in tables_seen(scope):
            if source.alias == alias:
                fits = name in source.relation.usable and is_grouped(scope, (alias, name))
                return query if fits else None
    return None


def leave_needs(query: Query) -> Query | None:
    """Return the state after FROM has ended: what it does not supply is looked for further out; None if it is not there.

    A name must not be supplied twice. What an aggregate computes with must be supplied here.
    """
    counts: Counter[str] = query.counts()
    below = [depth for depth, _ in _visible(query)][1:2]
    result: Query | None = query
    for name in sorted(query.needs.columns):
        if counts[name] > 1 or (counts[name] and not _usable(query.sources, name)):
            return None
        if not counts[name]:
            if name in query.needs.own or not below or result is None:
                return None
            result = use_column(result, name, below[0])
    for alias, columns in query.needs.qualified:
        source = query.source(alias)
        if source is not None:
            if not columns <= source.relation.usable_names:
                return None
            continue
        for name in sorted(columns):
            if alias in query.needs.own_tables or not below or result is None:
                return None
            result = use_member(result, name, below[0], alias)
        if alias in query.needs.own_tables:
            return None
    return result
