"""Which names can be seen at a place, and what a name that is used leads to.

In PostgreSQL, other than in SQLite, ON sees only the tables that it joins, LATERAL those to the left, labels of the select
list are no columns, and after GROUP BY only what was grouped by may be used outside of aggregates.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import Undecided
from stackmask.grammar.sql.scope.expression_shapes import Use
from stackmask.grammar.sql.scope.grouping import determined
from stackmask.grammar.sql.scope.relations import Relation
from stackmask.grammar.sql.scope.state import (
    ANY,
    CLOSED,
    WITH_TABLES,
    Query,
    Source,
    counts_of,
    listed_relations,
    of_last,
    own_cte,
    replace_at,
    scopes,
    tables_seen,
    usable_once,
    visible,
)

IMPLICIT: Final = frozenset({"rowid", "oid", "_rowid_"})
NAMED_BY_ALIAS: Final = "()"  # the name of what a function gives whose column is called as its table


def identity(sources: tuple[Source, ...], name: str) -> Use:
    """Return which column a name without a qualifier is; one that a join made of two is a column of its own."""
    if any(name in source.merged for source in sources):
        return "", name
    return next(source.alias for source in sources if name in source.relation.names), name


def is_free(scope: Query) -> bool:
    """Return whether GROUP BY does not matter to which columns may be used where the query stands."""
    if not scope.catalog.dialect.groups or scope.phase not in ("having", "order") or scope.in_aggregate:
        return True
    return not (scope.grouping.begun or scope.aggregates)


def listed_columns(scope: Query) -> frozenset[str]:
    """Return the names that a table of FROM, which is still to come, may supply."""
    found = scope.catalog.columns
    own = own_cte(scope)
    ctes = scope.ctes if own is None else (*scope.ctes, own)
    return found.union(*(relation.usable_names for relation in ctes)) if ctes else found


def _candidates(scope: Query, alias: str | None) -> list[Relation]:
    """Return what a table of FROM that is to have this name may be."""
    relations = listed_relations(scope)
    if alias is not None and alias in relations:
        return [relations[alias], *(r for r in scope.catalog.qualified if r.name == alias)]
    return [*relations.values(), *scope.catalog.qualified]


def _usable_once(scope: Query) -> frozenset[str]:
    """Return the names that mean one column of a table of FROM, which may be used."""
    tables = tables_seen(scope)
    found = usable_once(tables)
    if is_free(scope):
        return found
    return frozenset(name for name in found if determined(scope, identity(tables, name)))


@of_last
def seen_columns(query: Query) -> frozenset[str]:
    """Return the names that can stand for a column without a qualifier."""
    found: set[str] = set()
    hidden: set[str] = set()
    for depth, scope in visible(query):
        if scope.phase == "list":
            found |= listed_columns(scope) - hidden
        if scope.phase not in WITH_TABLES:
            continue
        found |= _usable_once(scope) - hidden
        hidden.update(counts_of(tables_seen(scope)))
        if scope.catalog.dialect.labels:
            if depth == 0:
                found |= seen_labels(scope) - hidden
            hidden.update(item.name for item in scope.items if item.labelled and item.name is not None)
    return frozenset(found)


def seen_labels(scope: Query) -> set[str]:
    """Return the names of selected columns that expressions after FROM may use."""
    if scope.phase not in CLOSED:
        return set()
    computed = scope.phase in ("having", "order") and not scope.in_aggregate
    labels: dict[str, bool] = {}
    for item in scope.items:
        if item.labelled and item.name is not None:
            fits = not item.window or (scope.phase == "order" and computed and not scope.in_window)
            labels.setdefault(item.name, fits and (computed or not item.aggregate))  # mutant: label-aggregate
    return {name for name, fits in labels.items() if fits}


def _needing(query: Query, depth: int, scope: Query, name: str, alias: str | None = None) -> Query:
    """Return the query with a column noted that FROM of the query ``depth`` steps out must supply."""
    own = bool(scope.in_aggregate) and (scope.catalog.dialect.groups or not depth)
    if alias is None:
        needs = scope.needs.with_column(name, own)
    else:
        needs = scope.needs.with_table(alias, frozenset({name}), own)
    changed = scope._replace(needs=needs)
    if scope.catalog.dialect.groups and not scope.in_aggregate:
        loose = scope.target.loose | {(alias or "", name)}
        changed = changed._replace(target=scope.target._replace(loose=loose))
    return replace_at(query, depth, changed)


def use_column(query: Query, name: str, start: int = 0) -> Query | None:
    """Return the state after a name was used for a column, from the scope ``start`` steps out; None if it means nothing."""
    for depth, scope in visible(query):
        if depth < start:
            continue
        if name == ANY and depth:
            raise Undecided
        dialect = scope.catalog.dialect
        if scope.phase == "list" and (
            scope.catalog.new_names or name == ANY or name in listed_columns(scope)
        ):
            return _needing(query, depth, scope, name)
        if scope.phase not in WITH_TABLES:
            continue
        later = (
            scope.phase == "on" and dialect.later
        )  # a later table must not have it too, or may, but not two
        tables = tables_seen(scope)
        n = 1 if name == ANY else counts_of(tables)[name]
        if n:
            if name != ANY and name not in _usable_once(scope):
                return None
            return _needing(query, depth, scope, name) if later else query
        if dialect.labels:
            if depth == 0 and name in seen_labels(scope):
                return query
            if any(item.labelled and item.name == name for item in scope.items):
                return None
        if later:
            query = _needing(query, depth, scope, name)
    return None


def use_text(query: Query, name: str) -> Query | None:
    """Return the state after a text in double quotes, which is a column where one has that name; None if one may."""
    if name in IMPLICIT:
        return None
    for depth, scope in scopes(query):
        listed = name in scope.catalog.all_columns or any(name in relation.names for relation in scope.ctes)
        if scope.phase in ("list", "on"):
            if listed:
                return None
            query = replace_at(query, depth, scope._replace(needs=scope.needs.with_string(name)))
        if scope.phase in WITH_TABLES and (
            counts_of(tables_seen(scope))[name]
            or any(item.labelled and item.name == name for item in scope.items)
        ):
            return None
    return query


def _members(scope: Query, source: Source) -> dict[str, str]:
    usable = source.relation.usable
    if is_free(scope):
        return usable
    return {name: usable[name] for name in usable if determined(scope, (source.alias, name))}


def _seen_source(scope: Query, alias: str) -> Source | None:
    """Return the table with this name whose columns a query shows. Raises: Undecided."""
    found = next((source for source in tables_seen(scope) if source.alias == alias), None)
    if found is None or alias == ANY:
        scope.decide_names()
    return found


def seen_qualifiers(query: Query) -> tuple[frozenset[str], bool]:
    """Return the names of tables that can stand before a dot, and whether any other may, as one that FROM gives later."""
    found: set[str] = set()
    hidden: set[str] = set()
    for _, scope in visible(query):
        if scope.phase == "list":
            listed = {relation.name for relation in _candidates(scope, None) if relation.usable}
            return frozenset(found | (listed - hidden)), True
        scope.decide_names()
        for source in tables_seen(scope):
            if source.alias not in hidden and _members(scope, source):
                found.add(source.alias)
            hidden.add(source.alias)
    return frozenset(found), False


def _fitting(scope: Query, alias: str) -> list[Relation]:
    """Return the tables that may have this name in FROM, which is still to come, by what was needed of it."""
    needed = scope.needs.of_table(alias) or frozenset()
    return [relation for relation in _candidates(scope, alias) if needed <= relation.usable_names]


def seen_members(query: Query) -> dict[str, str]:
    """Return the columns, with their spelling, that can stand after the qualifier and a dot."""
    alias = query.qualifier
    assert alias is not None
    found: dict[str, str] = {}
    for _, scope in visible(query):
        if scope.phase == "list":
            for relation in _fitting(scope, alias):
                found = relation.usable | found
            continue
        source = _seen_source(scope, alias)
        if source is not None:
            return _members(scope, source) | found
    return found


def may_be_new(query: Query) -> bool:
    """Return whether the column after the qualifier and a dot may be one that only FROM makes, which is still to come."""
    assert query.qualifier is not None
    for _, scope in visible(query):
        if scope.phase == "list":
            return scope.catalog.new_names
        if _seen_source(scope, query.qualifier) is not None:
            return False
    return False


def use_member(query: Query, name: str, start: int = 0, alias: str | None = None) -> Query | None:
    """Return the state after ``alias.name``, None if it means nothing; as :func:`use_column`."""
    alias = query.qualifier if alias is None else alias
    assert alias is not None
    for depth, scope in visible(query):
        if depth < start:
            continue
        if name == ANY and depth:
            raise Undecided
        if scope.phase == "list":
            if (
                scope.catalog.new_names
                or name == ANY
                or any(name in relation.usable_names for relation in _fitting(scope, alias))
            ):
                return _needing(query, depth, scope, name, alias)
            continue
        source = _seen_source(scope, alias)
        if source is not None:
            return query if name == ANY or name in _members(scope, source) else None
        if (
            scope.phase == "on" and scope.catalog.dialect.later
        ):  # a later table may have this name, and the column
            needs = scope.needs.with_table(alias, frozenset({name}), False)
            query = replace_at(query, depth, scope._replace(needs=needs))
    return None


def leave_needs(query: Query) -> Query | None:
    """Return the state after FROM has ended: what it does not supply is looked for further out; None if it is not there.

    A name must not be supplied twice. What an aggregate computes with must be supplied here.
    """
    counts = query.counts()
    if any(counts[name] > 1 for name in query.needs.strings):
        return None
    outer: list[tuple[str | None, str]] = []
    for name in sorted(query.needs.columns - {ANY}):  # as which ON uses those that are there
        if counts[name] and name not in usable_once(query.sources):
            return None
        if not counts[name]:
            if name in query.needs.own:
                return None
            outer.append((None, name))
    for alias, columns in query.needs.qualified:
        source = query.known_source(alias)
        if source is not None:
            if not columns <= source.relation.usable_names:
                return None
        elif alias in query.needs.own_tables:
            return None
        else:
            outer += [(alias, name) for name in sorted(columns)]
    below = [depth for depth, _ in visible(query)][1:2]
    result: Query | None = query
    for table, name in outer:
        if not below or result is None:
            return None
        if table is None:
            result = use_column(result, name, below[0])
        else:
            result = use_member(result, name, below[0], table)
    return result


# -- what tells names apart in stand-ins: see `actions.py`


@of_last
def said_tables(query: Query) -> frozenset[str]:
    """Return the names before a dot that may mean something by themselves: of a table there, or to be read, or needed."""
    found: set[str] = set(query.catalog.schemas)
    scope: Query | None = query
    while scope is not None:
        found.update(source.alias for source in scope.sources)
        found.update(name for name, _ in scope.needs.qualified)
        found.update(relation.name for relation in _candidates(scope, None))
        scope = scope.up
    return frozenset(found)


def _tells_all(query: Query) -> bool:
    """Return whether it matters which column is named, as where PostgreSQL groups by it."""
    return query.catalog.dialect.groups and query.phase == "group"


@of_last
def said_columns(query: Query) -> frozenset[str] | None:
    """Return the columns without a qualifier of which something was said, or that are not of this query; None for all."""
    alike = frozenset[str]()
    said = query.needs.columns | query.needs.strings | query.banned
    if query.phase == "list":
        alike = listed_columns(query) - query.banned
    elif query.catalog.new_names or _tells_all(query):
        return None
    elif tables_seen(query):
        alike = _usable_once(query)
        if query.phase == "order" and query.catalog.dialect.groups:
            said = said.union(*({item.name or ANY} | (item.maybe or frozenset()) for item in query.items))
    return (seen_columns(query) - alike) | said


@of_last
def said_members(query: Query) -> frozenset[str] | None:
    """Return the columns of the qualifier of which something was said, or that are not of this query; None for all."""
    alias, alike = query.qualifier, frozenset[str]()
    assert alias is not None
    needed = frozenset[str]()
    if _tells_all(query):
        return None
    if query.phase == "list":
        needed = query.needs.of_table(alias) or needed
        alike = alike.union(*(relation.usable_names for relation in _fitting(query, alias)))
    elif any(source.alias == alias for source in tables_seen(query)):
        return frozenset()
    return (frozenset(seen_members(query)) - alike) | needed | query.banned


@of_last
def said_aliases(query: Query) -> frozenset[str] | None:
    """Return the names for the last table that are taken, or of which something was said; None for all."""
    if query.sources[-1].relation.name == NAMED_BY_ALIAS:
        return None
    names = {source.alias for source in query.sources[:-1]}
    names.update(name for name, _ in query.needs.qualified)
    return frozenset(names.union(item.column[0] for item in query.items if item.column is not None))
