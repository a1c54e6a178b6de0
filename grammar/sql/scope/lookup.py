"""The names visible at a position, and the resolution of names.

In PostgreSQL, unlike in SQLite, ON sees only the tables that it joins, LATERAL those to its left, labels of
the select list are not columns, and after GROUP BY only grouped columns may be used outside aggregates.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from stackmask.grammar.ir import Undecided
from stackmask.grammar.sql.scope.relations import Relation
from stackmask.grammar.sql.scope.state import (
    ANY,
    CLOSED,
    MAX_DEPTH,
    WITH_TABLES,
    Item,
    Query,
    Source,
    counts_of,
    decided,
    listed_relations,
    of_last,
    own_cte,
    replace_at,
    scopes,
    tables_seen,
    usable_of,
    usable_once,
    visible,
)

IMPLICIT: Final = frozenset({"rowid", "oid", "_rowid_"})
NAMED_BY_ALIAS: Final = "()"  # the name of what a function gives whose column is called as its table


def identity(sources: tuple[Source, ...], name: str) -> Use:
    """Return the column for an unqualified name; a merged column of a join is a separate column."""
    if any(name in source.merged for source in sources):
        return "", name
    return next(source.alias for source in sources if name in source.relation.names), name


def is_free(scope: Query) -> bool:
    """Return whether GROUP BY does not restrict the columns in this phase of the query."""
    if not scope.catalog.dialect.groups or scope.phase not in ("having", "order") or scope.in_aggregate:
        return True
    return not (scope.grouping.begun or scope.aggregates)


def listed_columns(scope: Query) -> frozenset[str]:
    """Return the names that a table of the following FROM may supply."""
    found = scope.catalog.columns
    own = own_cte(scope)
    ctes = scope.ctes if own is None else (*scope.ctes, own)
    return found.union(*(relation.usable_names for relation in ctes)) if ctes else found


def _candidates(scope: Query, alias: str | None) -> list[Relation]:
    """Return the tables that may have this name in FROM."""
    relations = listed_relations(scope)
    if alias is not None and alias in relations:
        return [relations[alias], *(r for r in scope.catalog.qualified if r.name == alias)]
    return [*relations.values(), *scope.catalog.qualified]


def _usable_once(scope: Query) -> frozenset[str]:
    """Return the unambiguous usable names of the tables in FROM."""
    tables = tables_seen(scope)
    found = usable_once(tables)
    if is_free(scope):
        return found
    return frozenset(name for name in found if determined(scope, identity(tables, name)))


@of_last
def seen_columns(query: Query) -> frozenset[str]:
    """Return the names that can be used for a column without a qualifier."""
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
    """Return the labels that expressions after FROM may use."""
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
    """Return the query with a record that FROM of the query ``depth`` levels out must supply a column."""
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
    """Return the state after a use of a column, from ``start`` levels out; None if the name is unknown."""
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
    """Return the state after a text in double quotes, a column if one has this name; None if one may have it."""
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
    """Return the visible table with this name. Raises: Undecided."""
    found = next((source for source in tables_seen(scope) if source.alias == alias), None)
    if found is None or alias == ANY:
        scope.decide_names()
    return found


def seen_qualifiers(query: Query) -> tuple[frozenset[str], bool]:
    """Return the table names allowed before a dot, and whether others are, as names that FROM may define."""
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
    """Return the tables that may have this name in the following FROM, given the columns needed."""
    needed = scope.needs.of_table(alias) or frozenset()
    return [relation for relation in _candidates(scope, alias) if needed <= relation.usable_names]


def seen_members(query: Query) -> dict[str, str]:
    """Return the columns, with their spelling, that are allowed after the qualifier and a dot."""
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
    """Return whether the following FROM may define the column after the qualifier and a dot."""
    assert query.qualifier is not None
    for _, scope in visible(query):
        if scope.phase == "list":
            return scope.catalog.new_names
        if _seen_source(scope, query.qualifier) is not None:
            return False
    return False


def use_member(query: Query, name: str, start: int = 0, alias: str | None = None) -> Query | None:
    """Return the state after ``alias.name``, None if the name is unknown; like :func:`use_column`."""
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
    """Return the state after FROM, with unmet needs passed to enclosing queries; None if they cannot be met.

    A name must not be supplied twice. Columns within an aggregate must be supplied here.
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
    """Return the names with a meaning of their own before a dot: those of tables existing, readable, or needed."""
    found: set[str] = set(query.catalog.schemas)
    scope: Query | None = query
    while scope is not None:
        found.update(source.alias for source in scope.sources)
        found.update(name for name, _ in scope.needs.qualified)
        found.update(relation.name for relation in _candidates(scope, None))
        scope = scope.up
    return frozenset(found)


def _tells_all(query: Query) -> bool:
    """Return whether the identity of the column matters, as when PostgreSQL groups by it."""
    return query.catalog.dialect.groups and query.phase == "group"


@of_last
def said_columns(query: Query) -> frozenset[str] | None:
    """Return the unqualified columns that were mentioned or belong to another query; None for all."""
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
    """Return the qualifier's columns that were mentioned, or belong to another query; None for all."""
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
    """Return the names that are taken for the last table, or were mentioned; None for all."""
    if query.sources[-1].relation.name == NAMED_BY_ALIAS:
        return None
    names = {source.alias for source in query.sources[:-1]}
    names.update(name for name, _ in query.needs.qualified)
    return frozenset(names.union(item.column[0] for item in query.items if item.column is not None))


# -- What PostgreSQL asks of a query with aggregates or GROUP BY, and which names ORDER BY and GROUP BY can mean.
#
# Each selected item knows the columns that it uses outside of aggregates (its *loose* columns). Where rows are grouped, each
# of them must be a column of GROUP BY, or the item as a whole must be one of its expressions: by number, by label, or written
# the same way. Where the primary key of a table is known, grouping by it is grouping by all columns of the table.


def covered(query: Query) -> bool:
    """Return whether all selected items satisfy GROUP BY."""
    if not (query.grouping.begun or query.aggregates):
        return True
    if query.stands_in and (query.forgot or any(ANY in use for item in query.items for use in item.loose)):
        raise Undecided
    return all(
        all(determined(query, use) for use in item.loose)  # mutant: grouped
        or n in query.grouping.items
        or (item.text is not None and item.text in query.grouping.expressions)
        for n, item in enumerate(query.items)
    )


def determined(query: Query, use: Use) -> bool:
    """Return whether a column has one value in each group, since it or its table's key is grouped."""
    if use in query.grouping.columns:
        return True
    source = query.source(use[0]) if use[0] else None
    if source is None or not source.relation.key:
        return False
    return all((use[0], name) in query.grouping.columns for name in source.relation.key)


def with_grouped(query: Query, n: int) -> Query:
    """Return the query after GROUP BY referred to a selected item by its number, from 0."""
    column = query.items[n].column
    by = query.grouping
    columns = by.columns if column is None else by.columns | {column}
    return query._replace(grouping=by._replace(items=by.items | {n}, columns=columns))


def order_names(query: Query) -> frozenset[str]:
    """Return the names of selected items that ORDER BY can use by themselves, outside set operations."""
    if query.phase not in CLOSED:
        return frozenset()
    return _names_of(query, query.known_items() if query.catalog.dialect.groups else query.items)


def result_names(query: Query) -> frozenset[str]:
    """Return the names that ORDER BY of a set operation can use. Raises: Undecided."""
    return _names_of(query, decided(query.head or ()))


def _names_of(query: Query, items: tuple[Item, ...]) -> frozenset[str]:
    if query.catalog.dialect.groups:
        return output_names(items)
    return frozenset(item.name for item in items if item.labelled and item.name is not None)


def output_names(items: tuple[Item, ...]) -> frozenset[str]:
    """Return the names that refer to one selected item, or to several that are all the same column."""
    by_name: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        if item.name is not None:
            by_name.setdefault(item.name, []).append(n)
    return frozenset(name for name, where in by_name.items() if _is_one(items, name, where))


def _is_one(items: tuple[Item, ...], name: str, where: list[int]) -> bool:
    columns: set[Use | None] = {items[n].column for n in where}
    if len(where) > 1 and (len(columns) > 1 or None in columns):
        return False
    return not any(item.maybe is None or name in item.maybe for item in items)


def is_ambiguous(items: tuple[Item, ...], name: str) -> bool:
    """Return whether a single name may refer to more than one selected item."""
    where = [n for n, item in enumerate(items) if item.name == name]
    if where:
        return not _is_one(items, name, where)
    return sum(item.maybe is None or name in item.maybe for item in items) > 1


def group_labels(query: Query) -> frozenset[str]:
    """Return the names of selected items that GROUP BY can use: those that are not columns of FROM."""
    if query.phase != "group":
        return frozenset()
    query.known_items()
    counts = query.counts()
    refused = {item.name for item in query.items if item.aggregate or item.window}
    return frozenset(n for n in output_names(query.items) if not counts[n] and n not in refused)


def chosen_names(query: Query) -> frozenset[str]:
    """Return the names that ORDER BY can use after SELECT DISTINCT: labels, and selected columns."""
    query.known_items()
    counts = query.counts()
    named = {item.name for item in query.items}
    columns = {
        item.column[1]
        for item in query.items
        if item.column is not None and counts[item.column[1]] == 1 and _plain(query, item.column)
    }
    return output_names(query.items) | {n for n in columns - named if not is_ambiguous(query.items, n)}


def _plain(query: Query, column: Use) -> bool:
    """Return whether an unqualified column name refers to exactly this column."""
    merged = any(column[1] in source.merged for source in query.sources)
    return (column[0] == "") == merged


def chosen_members(query: Query) -> dict[str, frozenset[str]]:
    """Return the selected columns by table."""
    query.known_items()
    found: dict[str, frozenset[str]] = {}
    for item in query.items:
        if item.column is not None and item.column[0]:
            table, name = item.column
            source = query.source(table)
            if source is not None and name in source.relation.usable:
                found[table] = found.get(table, frozenset()) | {name}
    return found


# -- Which tables FROM may name next, which columns USING, and how many columns a star may stand for. ----

MOST_COLUMNS: Final = 2  # of a function in FROM


def must_read_next(query: Query) -> bool:
    """Return whether FROM must name a table first, because a star may leave no room for a later one."""
    return query.reading.lacks() and (star_room(query) is not None or query.depth >= MAX_DEPTH)


def readable(query: Query) -> frozenset[str]:
    """Return the tables that FROM may name next, as spelled.

    This excludes tables that would make a needed name ambiguous, unless USING or NATURAL can merge columns.
    """
    query.decide_before_from()
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
    """Return the columns that USING may still name: those of both the last table and one to its left."""
    counts, usable = counts_of(query.sources[:-1]), usable_of(query.sources[:-1])
    if query.comma:
        return frozenset()
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
    """Return whether the last table has a unique name, and has the columns needed under this name."""
    last = query.sources[-1]
    if last.named or not last.alias:
        return True
    query.decide_names()
    needed = query.needs.of_table(last.alias)
    return all(source.alias != last.alias for source in query.sources[:-1]) and (
        needed is None or needed <= last.relation.usable_names
    )


def named_tables(query: Query) -> frozenset[str]:
    """Return the tables that FROM may name next without a schema, as spelled."""
    join = query.join
    if join.link == "natural" and query.comma:
        return frozenset()
    if join.link == "join" and query.comma:  # USING cannot mend a name
        query = query._replace(join=join._replace(link="comma"))
    found = readable(query)
    own = own_cte(query)
    # PostgreSQL has no table that reads itself on the side of an outer join that may be missing
    is_optional = join.side == "left" or (join.link == "natural" and query.catalog.dialect.groups)
    return found - {own.spelled} if own is not None and is_optional else found


def schema_tables(query: Query, schema: str) -> frozenset[str]:
    """Return the tables of a schema that FROM may name next."""
    tables = query.catalog.schemas.get(schema, {})
    return frozenset(name for name, relation in tables.items() if _fits(query, relation))


def _fits(query: Query, relation: Relation) -> bool:
    query.decide_before_from()
    if query.join.link == "natural":
        return False
    counts = query.counts()
    room = star_room(query)
    if any(counts[name] for name in query.needs.columns & relation.names) or (
        room is not None and len(relation.columns) > room
    ):
        return False
    return not query.has_star() or (relation.is_whole and not relation.names & query.banned)


def schema_names(query: Query) -> frozenset[str]:
    """Return the schemas whose tables FROM may name next."""
    return frozenset(schema for schema in query.catalog.schemas if schema_tables(query, schema))


def may_call(query: Query) -> bool:
    """Return whether a function is allowed in FROM here."""
    room = star_room(query)
    return (
        query.join.link != "natural"
        and query.join.side != "right"
        and (room is None or room >= MOST_COLUMNS)
        and not must_read_next(query)
    )


# -- a star where the number of columns is given: the tables of FROM must have just as many as are left


def star_fits(query: Query) -> bool:
    """Return whether a star may be selected: it is the only one, and adds no excess columns, if they matter."""
    if query.reading.owes and query.depth >= MAX_DEPTH:  # no query in FROM could have what no table has
        return False
    return query.expect is None or (not query.has_star() and len(query.items) < query.expect)


def list_fits(query: Query) -> bool:
    """Return whether the select list may end after the current item."""
    if query.expect is None:
        return True
    count = len(query.items) + 1
    return (
        count <= query.expect if query.has_star() or query.target.star is not None else count == query.expect
    )


def star_room(query: Query) -> int | None:
    """Return the number of columns that the next tables of FROM must have, None if it is irrelevant.

    FROM can always provide them, since a query in FROM can select any number.
    """
    if query.expect is None or not query.has_star():
        return None
    selected = sum(item.star is None for item in query.items)
    there = sum(len(source.relation.columns) - len(source.merged) for source in query.sources)
    return query.expect - selected - there  # mutant: star-room


# -- What can be told of an expression from its text: the name that PostgreSQL gives its column, and whether it is a constant.
#
# Of an expression there is the text without the names in it (at most :data:`KEPT` bytes), and its *log*: the names by
# themselves, in order. Both together say which expression it is, where no sign can belong to two operands.

# bytes of an expression, without the names in it, which show whether it is a name or a number
KEPT: Final = 200
# ("column", name), ("member", table, name) or ("call", name); None where a query stands within the expression
Log: TypeAlias = tuple[tuple[str, ...], ...] | None
Use: TypeAlias = tuple[str, str]  # a table of FROM and a column; "" for no table, or for a column of several

BARE: Final = re.compile(r"[(\s]*[)\s]*")
MEMBER: Final = re.compile(r"[(\s]*\.[)\s]*")
CONSTANT: Final = re.compile(
    r"[(\s]*(?:[+-]?\s*[0-9.][0-9.eE+-]*|(?:[eEnNuUbBxX]&?)?'.*'|\$\$.*|null|true|false)[)\s]*",
    re.IGNORECASE | re.DOTALL,
)
INTEGER: Final = re.compile(r"[(\s]*([0-9]+)[)\s]*")
SIGNED_INTEGER: Final = re.compile(r"[(\s+-]*([0-9]+)[)\s]*")
LONG_INTEGER: Final = re.compile(r"[(\s+-]*[0-9]*[)\s]*")
STRINGS: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\$\$.*?\$\$", re.DOTALL)
BLANKS: Final = re.compile(r"\s+")
BESIDE_SIGNS: Final = re.compile(r" ?([(),]) ?")
SIGN: Final = re.compile(r"(?:^|[-+*/%<>=~!@#&|^?,(\[:])\s*[-+]")
OPERATORS: Final = re.compile(
    r"[-+*/%<>=~!@#&|^?]|\b(?:and|or|not|is|isnull|notnull|in|like|ilike|between|any|some|all)\b",
    re.IGNORECASE,
)
NO_NAME: Final = re.compile(r"\s*(?:[0-9.][0-9.eE]*|null|true|false)?\s*", re.IGNORECASE)
TAIL: Final = re.compile(
    r"\s*(?:ilter\s*)?(?:over\s*)?", re.IGNORECASE
)  # what has actions is not in the text
CALL: Final = re.compile(r"\s*([a-z_][a-z0-9_$]*)\s*\(\)\s*", re.IGNORECASE)
NAMED_OTHERWISE: Final = frozenset(
    {"cast", "trim", "case", "exists", "array", "interval", "date", "in", "any", "not"}
)
BY_ITSELF: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)
OTHER_NAMES: Final = frozenset(
    {
        "case",
        "btrim",
        "ltrim",
        "rtrim",
        "timezone",
        "exists",
        "array",
        "int2",
        "int4",
        "int8",
        "float4",
        "float8",
    }
    | {
        "bool",
        "bpchar",
        "varchar",
        "numeric",
        "timestamptz",
        "timetz",
        "timestamp",
        "time",
        "interval",
        "date",
    }
)


class Figure(NamedTuple):
    """The name of a column: ``name``, None if it cannot be written; else one in ``maybe``, None for any."""

    name: str | None
    maybe: frozenset[str] | None = frozenset()


def figure(text: str, log: Log) -> Figure:
    """Return PostgreSQL's name for the column of an unlabelled expression.

    Source: FigureColname of PostgreSQL's parser: the last part of a column's or function's name, also inside
    casts and parentheses; operators have none.
    """
    if log is None or len(text) >= KEPT:
        return Figure(None, None)
    column = plain_column(text, log)
    if column is not None:
        return Figure(column[1])
    flat = _flat(text)
    if flat is None:
        return Figure(None, None)
    if not log and NO_NAME.fullmatch(flat):
        return Figure(None)
    if OPERATORS.search(flat.replace("::", "")) and not re.search(r"\b(?:case|at)\b", flat, re.IGNORECASE):
        return Figure(None)
    inner = text.lstrip()[
        1:
    ].lstrip()  # a second "(" there may be of the call, and the first of a larger expression
    if (
        log
        and log[0][0] == "call"
        and inner[:1] != "("
        and flat.startswith("()")
        and TAIL.fullmatch(flat[2:])
    ):
        return Figure(log[0][1])
    call = CALL.fullmatch(flat)
    if call and call[1].lower() not in NAMED_OTHERWISE:
        return Figure(call[1].lower())
    if flat.strip().lower() in BY_ITSELF:
        return Figure(flat.strip().lower())
    words = frozenset(re.findall(r"[a-z_][a-z0-9_$]*", text.lower()))
    return Figure(None, words | OTHER_NAMES | {entry[-1] for entry in log})


def plain_column(text: str, log: Log) -> Use | None:
    """Return the column if an expression is only a column."""
    if not log or len(log) != 1 or text.count("(") != text.count(")"):
        return None
    entry = log[0]
    if entry[0] == "column" and BARE.fullmatch(text):
        return "", entry[1]
    if entry[0] == "member" and MEMBER.fullmatch(text):
        return entry[1], entry[2]
    return None


def same_text(text: str, log: Log) -> tuple[str, Log] | None:
    """Return a key that only equal expressions share; None if no key can be determined."""
    if log is None or len(text) >= KEPT or SIGN.search(STRINGS.sub("''", text)):
        return None
    parts: list[str] = []
    end = 0
    for string in STRINGS.finditer(
        text
    ):  # what stands between them is read without regard to case and blanks
        parts += [_without_case(text[end : string.start()]), string[0]]
        end = string.end()
    return "".join([*parts, _without_case(text[end:])]).strip(), log


def _without_case(text: str) -> str:
    return BESIDE_SIGNS.sub(r"\1", BLANKS.sub(" ", text.lower()))


def ordinal(query: Query, data: bytes) -> int | None:
    """Return the column number in GROUP BY or ORDER BY, -1 if it is invalid, None if there is no number.

    PostgreSQL reads no signs, and refuses other constants.
    """
    text = data.decode("utf-8", "replace")
    if not query.catalog.dialect.groups:
        if len(data) >= KEPT:
            return -1 if LONG_INTEGER.fullmatch(text.strip()) else None
        found = SIGNED_INTEGER.fullmatch(text.strip())
        if not found or text.count("(") != text.count(")"):  # a call
            return None
        return -1 if "-" in text else int(found[1])
    if query.log is None or query.log:
        return None
    if len(text) >= KEPT:
        return -1
    found = INTEGER.fullmatch(text.strip())
    if found:
        return int(found[1])
    return -1 if CONSTANT.fullmatch(text.strip()) else None


def of_postgres(query: Query) -> bool:
    """Return whether expressions must be classified by their whole text."""
    return query.catalog.dialect.groups


def begins_ordinal(is_postgres: bool, begun: bytes) -> bool:
    """Return whether an expression may be a number, or its text has effects for another reason."""
    return is_postgres or LONG_INTEGER.fullmatch(begun.decode("utf-8", "replace")) is not None


def _flat(text: str) -> str | None:
    """Return the text without parentheses, brackets and quotes; None if it is incomplete."""
    text = STRINGS.sub("0", text)
    found: list[str] = []
    depth = 0
    for char in text:
        if char in "([":
            depth += 1
        if depth == 0 or (depth == 1 and char in "()" and not (char == "(" and found[-1:] == ["("])):
            found.append(char)
        if char in ")]":
            depth -= 1
            if depth < 0:
                return None
    return None if depth or "'" in text else "".join(found).lstrip()
