"""Which names can be seen at a place, and what a name that is used leads to."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import Undecided
from stackmask.grammar.sql.scope.shared.relations import Relation
from stackmask.grammar.sql.scope.shared.state import ANY, Query, of_last, replace_at, scopes
from stackmask.grammar.sql.scope.shared.tables import listed_relations, own_cte

CLOSED: Final = frozenset({"where", "group", "having", "order"})
WITH_TABLES: Final = CLOSED | {"on", "from"}
IMPLICIT: Final = frozenset({"rowid", "oid", "_rowid_"})


def seen_columns(query: Query) -> frozenset[str]:
    """Return the names that can stand for a column without a qualifier."""
    found: set[str] = set()
    hidden: set[str] = set()
    for depth, scope in scopes(query):
        if scope.phase == "list":
            found |= listed_columns(scope) - hidden
        elif scope.phase in WITH_TABLES:
            counts = scope.counts()
            usable = scope.usable()
            found.update(
                name for name, n in counts.items() if n == 1 and name in usable and name not in hidden
            )
            hidden.update(counts)
            if depth == 0:
                found.update(name for name in seen_labels(scope) if name not in hidden)
            hidden.update(item.name for item in scope.items if item.labelled and item.name is not None)
        if depth == 0 and query.in_aggregate:
            break
    return frozenset(found)


def listed_columns(scope: Query) -> frozenset[str]:
    """Return the names that a table of FROM, which is still to come, may supply."""
    found = scope.catalog.columns
    own = own_cte(scope)
    ctes = scope.ctes if own is None else (*scope.ctes, own)
    return found.union(*(relation.usable_names for relation in ctes)) if ctes else found


def seen_labels(scope: Query) -> set[str]:
    """Return the names of selected columns that expressions behind FROM may use."""
    if scope.phase not in CLOSED:
        return set()
    computed = scope.phase in ("having", "order") and not scope.in_aggregate
    labels: dict[str, bool] = {}
    for item in scope.items:
        if item.labelled and item.name is not None:
            fits = not item.window or (scope.phase == "order" and computed and not scope.in_window)
            labels.setdefault(item.name, fits and (computed or not item.aggregate))  # mutant: label-aggregate
    return {name for name, fits in labels.items() if fits}


def use_column(query: Query, name: str, start: int = 0) -> Query | None:
    """Return the state after a name was used for a column, from the scope ``start`` steps out; None if it means nothing."""
    hidden = False
    for depth, scope in scopes(query):
        if depth < start:
            continue
        if name == ANY and depth:
            raise Undecided
        if scope.phase == "list":
            if scope.catalog.new_names or name == ANY or name in listed_columns(scope):
                needs = scope.needs.with_column(name, own=depth == 0 and bool(query.in_aggregate))
                return replace_at(query, depth, scope._replace(needs=needs))
        elif scope.phase in WITH_TABLES:
            n = 1 if name == ANY else scope.counts()[name]
            if n:
                if n > 1 or (name != ANY and name not in scope.usable()):
                    return None
                if scope.phase in ("on", "from"):  # a later table must not have it too
                    return replace_at(query, depth, scope._replace(needs=scope.needs.with_column(name)))
                return query
            if depth == 0 and name in seen_labels(scope):
                return query
            hidden = any(item.labelled and item.name == name for item in scope.items)
            if scope.phase in ("on", "from"):  # a later table may have it, but not two
                query = replace_at(query, depth, scope._replace(needs=scope.needs.with_column(name)))
        if hidden or (depth == 0 and query.in_aggregate):
            return None
    return None


def use_text(query: Query, name: str) -> Query | None:
    """Return the state after a text in double quotes, which is a column where one has that name; None if one may."""
    if name in IMPLICIT:
        return None
    for depth, scope in scopes(query):
        if scope.phase == "list":
            if name in scope.catalog.all_columns or any(name in relation.names for relation in scope.ctes):
                return None
            query = replace_at(query, depth, scope._replace(needs=scope.needs.with_string(name)))
        elif scope.phase in WITH_TABLES:
            if scope.counts()[name] or any(item.labelled and item.name == name for item in scope.items):
                return None
            if scope.phase in ("on", "from"):
                if name in scope.catalog.all_columns or any(
                    name in relation.names for relation in scope.ctes
                ):
                    return None
                query = replace_at(query, depth, scope._replace(needs=scope.needs.with_string(name)))
    return query


def seen_qualifiers(query: Query) -> tuple[frozenset[str], bool]:
    """Return the names of tables that can stand before a dot, and whether any other may, as one that FROM gives later."""
    found: set[str] = set()
    hidden: set[str] = set()
    for depth, scope in scopes(query):
        if scope.phase == "list":
            if scope.catalog.columns:
                return frozenset(found | set(listed_relations(scope))), True
        elif scope.phase in WITH_TABLES:
            scope.decide_names()
            for source in scope.sources:
                if source.relation.usable and source.alias not in hidden:
                    found.add(source.alias)
                hidden.add(source.alias)
        if depth == 0 and query.in_aggregate:
            break
    return frozenset(found), False


def seen_members(query: Query) -> dict[str, str]:
    """Return the columns, with their spelling, that can stand behind the qualifier and a dot."""
    alias = query.qualifier
    assert alias is not None
    found: dict[str, str] = {}
    for depth, scope in scopes(query):
        if scope.phase == "list":
            needed = scope.needs.of_table(alias) or frozenset()
            for relation in _candidates(scope, alias):
                if needed <= relation.usable_names:
                    for name, spelled in relation.usable.items():
                        found.setdefault(name, spelled)
        elif scope.phase in WITH_TABLES:
            source = scope.source(alias)
            if source is not None:
                for name, spelled in source.relation.usable.items():
                    found.setdefault(name, spelled)
                break
        if depth == 0 and query.in_aggregate:
            break
    return found


@of_last
def said_tables(query: Query) -> frozenset[str]:
    """Return the names before a dot that may mean something by themselves: of a table there, or to be read, or needed."""
    found: set[str] = set()
    scope: Query | None = query
    while scope is not None:
        found.update(source.alias for source in scope.sources)
        found.update(name for name, _ in scope.needs.qualified)
        found.update(listed_relations(scope))
        scope = scope.up
    return frozenset(found)


@of_last
def said_columns(query: Query) -> frozenset[str] | None:
    """Return the columns without a qualifier of which something was said, or that are not of this query; None for all."""
    if query.phase == "list":
        alike = listed_columns(query) - query.banned
    elif query.catalog.new_names:
        return None
    elif query.phase in WITH_TABLES:
        usable = query.usable()
        alike = frozenset(name for name, n in query.counts().items() if n == 1 and name in usable)
    else:
        alike = frozenset()
    return (seen_columns(query) - alike) | query.needs.columns | query.needs.strings | query.banned


@of_last
def said_members(query: Query) -> frozenset[str]:
    """Return the columns of the qualifier of which something was said, or that are not of this query."""
    alias, alike = query.qualifier, frozenset[str]()
    assert alias is not None
    needed = frozenset[str]()
    if query.phase == "list":
        needed = query.needs.of_table(alias) or needed
        fitting = (r.usable_names for r in _candidates(query, alias) if needed <= r.usable_names)
        alike = frozenset[str]().union(*fitting)
    elif query.phase in WITH_TABLES and query.known_source(alias) is not None:
        return frozenset()
    return (frozenset(seen_members(query)) - alike) | needed | query.banned


def may_be_new(query: Query) -> bool:
    """Return whether the column behind the qualifier and a dot may be one that only FROM makes, which is still to come."""
    assert query.qualifier is not None
    for depth, scope in scopes(query):
        if scope.phase == "list":
            return scope.catalog.new_names
        if scope.phase in WITH_TABLES and scope.source(query.qualifier) is not None:
            return False
        if depth == 0 and query.in_aggregate:
            return False
    return False


def _candidates(scope: Query, alias: str) -> list[Relation]:
    """Return what a table of FROM that is to have this name may be."""
    relations = listed_relations(scope)
    if alias in relations:
        return [relations[alias]]
    return list(relations.values())


def use_member(query: Query, name: str, start: int = 0, alias: str | None = None) -> Query | None:
    """Return the state after ``alias.name``, None if it means nothing; as :func:`use_column`."""
    alias = query.qualifier if alias is None else alias
    assert alias is not None
    for depth, scope in scopes(query):
        if depth < start:
            continue
        if name == ANY and depth:
            raise Undecided
        if scope.phase == "list":
            needed = (scope.needs.of_table(alias) or frozenset()) | {name}
            if (
                scope.catalog.new_names
                or name == ANY
                or any(needed <= relation.usable_names for relation in _candidates(scope, alias))
            ):
                own = depth == 0 and bool(query.in_aggregate)
                needs = scope.needs.with_table(alias, frozenset({name}), own)
                return replace_at(query, depth, scope._replace(needs=needs))
        elif scope.phase in WITH_TABLES:
            source = scope.source(alias)
            if source is not None:
                return query if name == ANY or name in source.relation.usable else None
            if scope.phase in ("on", "from"):  # a later table may have this name, and then the column
                needs = scope.needs.with_table(alias, frozenset({name}), False)
                query = replace_at(query, depth, scope._replace(needs=needs))
        if depth == 0 and query.in_aggregate:
            return None
    return None


def leave_needs(query: Query) -> Query | None:
    """Return the state after FROM has ended: what it does not supply is looked for further out; None if it is not there.

    A name must not be supplied twice. What an aggregate computes with must be supplied here.
    """
    counts = query.counts()
    usable = query.usable()
    if any(counts[name] > 1 for name in query.needs.strings):
        return None
    outer: list[str] = []
    for name in sorted(query.needs.columns - {ANY}):  # as which ON uses those that are there
        if counts[name] > 1 or (counts[name] and name not in usable):
            return None
        if not counts[name]:
            if name in query.needs.own:
                return None
            outer.append(name)
    far: list[tuple[str, str]] = []
    for alias, columns in query.needs.qualified:
        source = query.known_source(alias)
        if source is not None:
            if not columns <= source.relation.usable_names:
                return None
        elif alias in query.needs.own_tables:
            return None
        else:
            far += [(alias, name) for name in sorted(columns)]
    result: Query | None = query
    for name in outer:
        result = None if result is None else _from_outside(result, name, None)
    for alias, name in far:
        result = None if result is None else _from_outside(result, name, alias)
    return result


def _from_outside(query: Query, name: str, alias: str | None) -> Query | None:
    below = [depth for depth, _ in scopes(query)][1:]
    if not below:
        return None
    plain = query._replace(in_aggregate=0)
    found = use_column(plain, name, below[0]) if alias is None else use_member(plain, name, below[0], alias)
    return None if found is None else found._replace(in_aggregate=query.in_aggregate)
