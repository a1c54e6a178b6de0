"""The semantic state of a query, which contains the knowledge about names before a position.

A state is the innermost open query, a :class:`Query`, which refers to the enclosing one. States are immutable
and compare by value, so the automaton can store them in its configurations, share them and roll back to them.

SELECT comes before FROM. A column selected before the tables is a *need*: a name that some table must supply,
or, after a qualifier, the table that will have that name. FROM may end only when each need is met, by exactly
one table of this query or else by an enclosing query; `actions.py` defines when. A query in FROM can supply
any names, so needs that the available tables do not meet can still be satisfied: there are no dead ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from stackmask.grammar.ir import Owed, Undecided
from stackmask.grammar.sql.schema.schema import fold
from stackmask.grammar.sql.scope.relations import Catalog, Relation

MAX_DEPTH: Final = (
    8  # queries within queries; SQLite's parser has a stack of 100 entries, and a query takes several
)
NOTHING_NEEDED: Final[frozenset[str]] = frozenset()
# in stand-ins: any name of which nothing has been said. No name is written like this
ANY: Final = "\0"
SOME_NAME: Final = frozenset({ANY})
SOME_COLUMN: Final = frozenset({("", ANY)})
MOST_FORGOTTEN: Final = 1_000  # items; there may be 1,600 of them
CLOSED: Final = frozenset({"where", "group", "having", "order"})  # after FROM
WITH_TABLES: Final = CLOSED | {"on", "lateral"}  # where expressions see tables of FROM
_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")


def of_last(function: Callable[[_Asked], _Found]) -> Callable[[_Asked], _Found]:
    """Return the function with its last result cached: a mask tests hundreds of names against one query."""
    last: tuple[_Asked, _Found] | None = None

    def ask(query: _Asked) -> _Found:
        nonlocal last
        known = last
        if known is None or known[0] is not query:
            known = last = query, function(query)
        return known[1]

    return ask


class Source(NamedTuple):
    """A table in FROM. ``merged``: columns that USING or NATURAL merged with a column to the left."""

    alias: str
    relation: Relation
    named: bool = False
    merged: frozenset[str] = frozenset()


class Item(NamedTuple):
    """A selected column. ``name``: its name, if any; ``sort``: whether it can order a set operation."""

    name: str | None
    labelled: bool = False
    aggregate: bool = False
    window: bool = False
    star: str | None = None  # "*", or the table of "t.*"
    # PostgreSQL: the names it may have besides (None: any), the column that it is nothing but (in SQLite, too, if its
    # table is named), the columns that it uses outside of aggregates, and what equal expressions have in common
    maybe: frozenset[str] | None = frozenset()
    column: tuple[str, str] | None = None
    loose: frozenset[tuple[str, str]] = frozenset()
    text: Hashable = None

    def blurred(self, labels: bool) -> Item:
        """Return the item without its name. ``labels``: keep the name if it is a label."""
        if self.star is not None or (labels and self.labelled):
            return self
        loose = SOME_COLUMN if self.loose else self.loose
        return Item(ANY, self.labelled, self.aggregate, self.window, loose=loose)

    def is_unknown(self) -> bool:
        """Return whether the name, or the column of the item, is unknown."""
        return self.name == ANY or ANY in (self.column or ()) or ANY in (self.maybe or ())


class Needs(NamedTuple):
    """The requirements on the tables of FROM, before FROM names them.

    ``columns``: names that exactly one table must have. ``own``: the names among these that no enclosing
    query may supply. ``strings``: quoted strings that become names if a table has them. ``qualified``: tables
    with their required columns. ``own_tables``: the tables among these that no enclosing query may supply.
    """

    columns: frozenset[str] = NOTHING_NEEDED
    own: frozenset[str] = NOTHING_NEEDED
    strings: frozenset[str] = NOTHING_NEEDED
    qualified: tuple[tuple[str, frozenset[str]], ...] = ()
    own_tables: frozenset[str] = NOTHING_NEEDED

    def blurred(self, alias: str | None) -> Needs:
        """Return the needs reduced to their kinds, except for those of the table ``alias``."""
        if not any(self):
            return self
        qualified = tuple((name, of if name == alias else SOME_NAME) for name, of in self.qualified)
        return Needs(
            SOME_NAME if self.columns else self.columns,
            SOME_NAME if self.own else self.own,
            SOME_NAME if self.strings else self.strings,
            qualified,
            self.own_tables,
        )

    def with_column(self, name: str, own: bool = False) -> Needs:
        """Return the needs with one more column, which any table may supply."""
        return self._replace(columns=self.columns | {name}, own=self.own | {name} if own else self.own)

    def with_string(self, name: str) -> Needs:
        """Return the needs with one more quoted string."""
        return self._replace(strings=self.strings | {name})

    def with_table(self, alias: str, columns: frozenset[str], own: bool) -> Needs:
        """Return the needs with one more table and its columns."""
        tables = dict(self.qualified)
        if alias == ANY in tables:
            raise Undecided
        tables[alias] = tables.get(alias, frozenset()) | columns
        return self._replace(
            qualified=tuple(sorted(tables.items())),
            own_tables=self.own_tables | {alias} if own else self.own_tables,
        )

    def of_table(self, alias: str) -> frozenset[str] | None:
        """Return the columns required of a table that FROM has not named yet. Raises: Undecided."""
        for name, columns in self.qualified:
            if name == ANY or (name == alias and ANY in columns):
                raise Undecided
            if name == alias:
                return columns
        return None

    def decide(self) -> None:
        """Raise Undecided if an unknown name is needed."""
        if ANY in self.columns | self.strings or any(
            name == ANY or ANY in columns for name, columns in self.qualified
        ):
            raise Undecided


class Definition(NamedTuple):
    """The CTE that is being defined. ``name``: None outside definitions."""

    name: str | None = None
    columns: tuple[str, ...] = ()


class SelectTarget(NamedTuple):
    """The selected item that is being written."""

    label: str | None = None
    column: str | None = None  # the last one named
    column_of: str | None = None  # the table before it
    star: str | None = None
    aggregate: bool = False
    window: bool = False
    loose: frozenset[tuple[str, str]] = frozenset()  # PostgreSQL: its columns outside of aggregates

    def item(self, name: str | None) -> Item:
        """Return the finished item with its name."""
        return Item(name, self.label is not None, self.aggregate, self.window, self.star, loose=self.loose)

    def blurred(self) -> SelectTarget:
        """Return the column without its names."""
        if self.label is None and self.column is None and not self.loose:
            return self
        return SelectTarget(
            None if self.label is None else ANY,
            None if self.column is None else ANY,
            None,
            self.star,
            self.aggregate,
            self.window,
            SOME_COLUMN if self.loose else self.loose,
        )


NO_TARGET: Final = SelectTarget()


class Join(NamedTuple):
    """The kind of join of the next table. ``link``: "", comma, cross, join, natural; ``side``: of an outer
    join.
    """

    link: str = ""
    using: tuple[str, ...] = ()
    side: str = ""


class Grouping(NamedTuple):
    """The contents of GROUP BY: columns, items by number, and keys of equal expressions (PostgreSQL)."""

    begun: bool = False
    columns: frozenset[tuple[str, str]] = frozenset()
    items: frozenset[int] = frozenset()
    expressions: frozenset[Hashable] = frozenset()


class TableReading(NamedTuple):
    """``owes``: each part must read a table of the schema. ``done``: this part, or a query inside it, reads
    one; without ``owes``, any part so far.
    """

    owes: bool = False
    done: bool = False

    def lacks(self) -> bool:
        """Return whether the part must still read a table."""
        return self.owes and not self.done


class _Fields(NamedTuple):
    """The fields of :class:`Query`."""

    catalog: Catalog
    up: Query | None
    kind: str
    depth: int = 0
    phase: str = "start"
    expect: int | None = None  # columns that this part of a set operation must have
    ctes: tuple[Relation, ...] = ()
    defined: Definition = Definition()
    head: tuple[Item, ...] | None = None  # the columns of the first part
    parts: int = 0
    may_recurse: bool = False  # the part may read the CTE being defined
    recursive: bool = False  # and does
    banned: frozenset[str] = NOTHING_NEEDED  # names that the query in FROM must not have
    # the part being written
    items: tuple[Item, ...] = ()
    cells: int = 0  # of a row of VALUES
    target: SelectTarget = NO_TARGET
    aggregates: bool = False  # the part has an aggregate
    windows: bool = False
    grouping: Grouping = Grouping()
    needs: Needs = Needs()
    sources: tuple[Source, ...] = ()
    join: Join = Join()
    qualifier: str | None = None
    in_aggregate: int = 0
    in_window: int = 0
    reading: TableReading = TableReading()
    # PostgreSQL, see `lookup.py`
    with_recursive: bool = False
    distinct: bool = False
    comma: int = 0  # the first table after the last comma
    log: tuple[tuple[str, ...], ...] | None = ()  # the names of the expression; None with a query in it
    calling: tuple[str, ...] | None = None  # the columns of a function in FROM
    stands_in: bool = False  # ANY may be among the names
    forgot: bool = False  # there are items of which nothing is known


class Query(_Fields):
    """One open query.

    ``kind``: root, scalar (one column: also IN), exists, derived (in FROM) or cte.
    ``phase``: start, list (before FROM), bare (a select list without FROM), from, on, where, group, having, order, values.
    """

    __slots__ = ()

    def _replace(self, **changes: Any) -> Query:
        """Return the query with some fields replaced. ``_replace`` of a named tuple takes twice as long, most
        of an action's time.
        """
        fields = list(self)
        for name, value in changes.items():
            fields[PLACE_OF[name]] = value
        return tuple.__new__(Query, fields)

    def new_part(self) -> Query:
        """Return the query at the start of a new part."""
        return Query(
            self.catalog,
            self.up,
            self.kind,
            self.depth,
            ctes=self.ctes,
            defined=self.defined,
            head=self.head,
            parts=self.parts,
            banned=self.banned,
            expect=self.expect,
            reading=self.reading._replace(done=self.reading.done and not self.reading.owes),
            stands_in=self.stands_in,
        )

    def __stand_in__(self) -> Query:
        """Return the query in which names that were not mentioned are equivalent: see :data:`ANY`.

        Information that the next few words rarely need is dropped, so that positions become equal if they
        differ in nothing else.
        """
        changes: dict[str, Any] = {"stands_in": True}
        if self.up is not None and not self.up.stands_in:
            changes["up"] = self.up.__stand_in__()
        if self.head is not None:
            changes["head"] = (Item(ANY),) * len(self.head)
        if self.phase in ("list", "bare"):
            changes["needs"] = self.needs.blurred(self.qualifier)
            if not self.names_matter():
                changes["target"] = self.target.blurred()
                changes["log"] = None if self.catalog.dialect.groups else self.log
                is_open = self.expect is None and not self.has_star() and len(self.items) < MOST_FORGOTTEN
                changes["items"] = () if is_open else tuple(item.blurred(False) for item in self.items)
                changes["forgot"] = self.forgot or (is_open and bool(self.items))
        elif not self.catalog.dialect.groups or not (
            self.phase in ("group", "having", "order") or self.aggregates or self.grouping.begun
        ):
            labels = self.catalog.dialect.labels
            changes["items"] = tuple(item.blurred(labels) for item in self.items)
        return self._replace(**changes)

    def names_matter(self) -> bool:
        """Return whether a selected column may be forbidden because of its name."""
        return bool(self.banned) or (
            self.catalog.dialect.groups and self.kind in ("derived", "lateral", "cte")
        )

    def known_items(self) -> tuple[Item, ...]:
        """Return the selected columns, if their names are known. Raises: Undecided."""
        return decided(self.counted_items())

    def counted_items(self) -> tuple[Item, ...]:
        """Return the selected columns, whose names may be unknown. Raises: Undecided."""
        if self.forgot:
            raise Undecided
        return self.items

    def decide_labels(self) -> None:
        """Raise Undecided if a label is unknown."""
        if self.forgot or any(item.labelled and item.name == ANY for item in self.items):
            raise Undecided

    def decide_before_from(self) -> None:
        """Raise Undecided if the following FROM depends on unknown names."""
        if self.stands_in:
            self.needs.decide()
            self.decide_labels()

    def counts(self) -> Counter[str]:
        """Return the number of tables in FROM that have each name; merged columns count once."""
        return counts_of(self.sources)

    def usable(self) -> frozenset[str]:
        """Return the usable names of the tables in FROM."""
        return usable_of(self.sources)

    def source(self, alias: str) -> Source | None:
        """Return the table of FROM with this name. Raises: Undecided."""
        found = self.known_source(alias)
        if found is None or alias == ANY:
            self.decide_names()
        return found

    def known_source(self, alias: str) -> Source | None:
        """Return the table of FROM with this name, if it was mentioned before FROM."""
        for source in self.sources:
            if source.alias == alias:
                return source
        return None

    def decide_names(self) -> None:
        """Raise Undecided if a table of FROM has an unknown name."""
        if self.stands_in and any(source.alias == ANY for source in self.sources):
            raise Undecided

    def visible_relations(self) -> Mapping[str, Relation]:
        """Return the relations that FROM may name: tables and CTEs, which shadow tables."""
        hidden = cte_shadow(self)
        if not hidden and not self.ctes:
            return self.catalog.relations
        found = {name: relation for name, relation in self.catalog.relations.items() if name not in hidden}
        return found | {relation.name: relation for relation in self.ctes}

    def __owed__(self, begun: str | None) -> Owed:
        """Return the text that FROM and GROUP BY still need, with ``begun`` as in :func:`owed`."""
        return owed(self, begun)

    def has_star(self) -> bool:
        """Return whether a star was selected."""
        return bool(self.items) and any(item.star is not None for item in self.items)


def decided(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return items whose names are known. Raises: Undecided."""
    if any(item.is_unknown() for item in items):
        raise Undecided
    return items


PLACE_OF: Final = {name: place for place, name in enumerate(Query._fields)}
Columns: TypeAlias = tuple[tuple[Relation, frozenset[str]], ...]  # of tables, and those that were made one


@of_last
def counts_of(sources: tuple[Source, ...]) -> Counter[str]:
    """Return the number of tables that have each column name, independent of the tables' names."""
    return _counts(tuple((source.relation, source.merged) for source in sources))


@lru_cache(maxsize=4096)
def _counts(columns: Columns) -> Counter[str]:
    found: Counter[str] = Counter()
    for relation, merged in columns:
        found.update(relation.names - merged if merged else relation.names)
    return found


@of_last
def usable_of(sources: tuple[Source, ...]) -> frozenset[str]:
    """Return the usable names of some tables."""
    return _usable(tuple(source.relation for source in sources))


@lru_cache(maxsize=4096)
def _usable(relations: tuple[Relation, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(relation.usable_names for relation in relations))


@of_last
def usable_once(sources: tuple[Source, ...]) -> frozenset[str]:
    """Return the unambiguous usable names of the tables."""
    return _usable_once(tuple((source.relation, source.merged) for source in sources))


@lru_cache(maxsize=4096)
def _usable_once(columns: Columns) -> frozenset[str]:
    hidden = frozenset[str]().union(*(relation.names - relation.usable_names for relation, _ in columns))
    return frozenset(name for name, n in _counts(columns).items() if n == 1) - hidden


def cte_shadow(query: Query) -> frozenset[str]:
    """Return the names of CTEs under definition, which are not tables inside their definition."""
    names = set()
    scope: Query | None = query
    while scope is not None:
        if scope.defined.name is not None:
            names.add(scope.defined.name)
        scope = scope.up
    return frozenset(names)


def scopes(query: Query) -> Iterator[tuple[int, Query]]:
    """Yield the queries whose names are visible, innermost first, with their distance."""
    depth = 0
    current: Query | None = query
    while current is not None:
        yield depth, current
        if current.phase in current.catalog.dialect.alone:
            return
        while current is not None and current.kind == "derived":  # does not see what stands beside it
            current = current.up
            depth += 1
        if current is None or current.kind in ("cte", "root"):
            return
        current = current.up
        depth += 1


def visible(query: Query) -> Iterator[tuple[int, Query]]:
    """Yield the queries whose names an expression can use, like :func:`scopes`.

    Inside an aggregate, outer columns are excluded: it would belong to the outer query.
    """
    for depth, scope in scopes(query):
        yield depth, scope
        if scope.in_aggregate and (scope.catalog.dialect.groups or not depth):
            return


def tables_seen(scope: Query) -> tuple[Source, ...]:
    """Return the tables of FROM that are visible in the query's current phase."""
    if scope.phase in CLOSED or scope.phase == "lateral":
        return scope.sources
    return scope.sources[scope.comma :] if scope.phase == "on" else ()


def replace_at(query: Query, depth: int, change: Query) -> Query:
    """Return the innermost query with the one ``depth`` levels out replaced."""
    if depth == 0:
        return change
    assert query.up is not None
    return query._replace(up=replace_at(query.up, depth - 1, change))


def own_cte(query: Query) -> Relation | None:
    """Return the CTE under definition, if FROM may read it: once, in the last part, after UNION."""
    up = query.up
    if not query.may_recurse or query.recursive or query.aggregates or query.windows or up is None:
        return None
    assert up.defined.name is not None and query.head is not None
    columns = up.defined.columns or [item.name for item in decided(query.head)]
    return query.catalog.result(up.defined.name, columns)


@of_last
def listed_relations(scope: Query) -> Mapping[str, Relation]:
    """Return the relations that the following FROM may read."""
    relations = scope.visible_relations()
    own = own_cte(scope)
    return relations if own is None else {**relations, own.name: own}


# -- what a query still needs ---------------------------------------------------------------------------------

# It guides the search for a short end of a query. The grammar alone cannot tell that ``FROM orders`` leads nowhere where a
# column of ``customers`` was selected, nor that ``T2`` is the only name that the next table may have.
BEFORE_TABLES: Final = frozenset({"list", "from", "on"})
BEFORE_GROUPS: Final = BEFORE_TABLES | {"where", "group"}
WORD: Final = re.compile("[a-z_][a-z0-9_]*")
NOTHING: Final = Owed(0, "", False)
FIRST_TABLE: Final = len(" FROM t")  # what the grammar asks for by itself


class OwedTable(NamedTuple):
    """A missing table of FROM. ``alias``: another name that it must have, if any. ``link``: its kind of join."""

    name: str
    alias: str
    link: str

    def text(self) -> str:
        """Return the table's text in FROM."""
        return f"{self.name} {self.alias}" if self.alias else self.name


class Missing(NamedTuple):
    """The missing parts of one query.

    ``columns``: the number of missing columns after the current one. ``alias``: the name of the last table.
    ``tables``: the missing tables. ``groups``: the numbers of selected columns to be grouped.
    """

    columns: int = 0
    alias: str = ""
    tables: tuple[OwedTable, ...] = ()
    groups: tuple[str, ...] = ()

    def text(self, *, has_table: bool, has_groups: bool) -> str:
        """Return a continuation of the query between names."""
        text = ",0" * self.columns
        if self.alias:
            text += f" {self.alias}"
        for n, table in enumerate(self.tables):
            text += (table.link if n or has_table else " FROM ") + table.text()
        if self.groups:
            text += ("," if has_groups else " GROUP BY ") + ",".join(self.groups)
        return text


NONE: Final = Missing()


def owed(query: Query, begun: str | None) -> Owed:
    """Return the missing parts of a query and of the enclosing ones. ``begun``: the part of a name in FROM
    read so far, None between names.

    Cost: proportional to visible tables times needed names.
    """
    size = 0
    scope: Query | None = query
    while scope is not None:
        missing = _missing(scope)
        size += len(_text(scope, missing))
        if missing.tables and not scope.sources and scope.phase in BEFORE_TABLES:
            size -= FIRST_TABLE
        scope = scope.up
    missing = _missing(query)
    if not size and missing == NONE:
        return NOTHING
    if query.phase != "from" or begun is None:
        return Owed(size, _text(query, missing), False)
    rest = _rest_of_name(missing, begun)
    return Owed(size, "", False) if rest is None else Owed(max(size - len(begun), 0), rest, True)


def _text(scope: Query, missing: Missing) -> str:
    return missing.text(has_table=bool(scope.sources), has_groups=scope.phase == "group")


def _rest_of_name(missing: Missing, begun: str) -> str | None:
    """Return a continuation of the query within a name in FROM; None if the name is not needed."""
    if missing.alias and missing.alias.startswith((begun, fold(begun))):
        return missing.alias[len(begun) :] + missing._replace(alias="").text(has_table=True, has_groups=False)
    for table in missing.tables:
        others = tuple(other for other in missing.tables if other != table)
        for name in (table.name, _quoted(table.name)):
            if name.startswith((begun, fold(begun))):
                after = Missing(alias=table.alias, tables=others, groups=missing.groups)
                return name[len(begun) :] + after.text(has_table=True, has_groups=False)
    return None


@lru_cache(maxsize=64)  # of the states that a search meets next to each other; they keep their catalogs alive
def _missing(scope: Query) -> Missing:
    # where a table must be read, what the grammar could end without one owes as much as what it ends with FROM
    asks = scope.phase in BEFORE_TABLES or (scope.phase in ("start", "bare") and scope.reading.lacks())
    alias, tables = _missing_tables(scope) if asks else ("", ())
    groups = _missing_groups(scope) if scope.phase in BEFORE_GROUPS else ()
    return Missing(_missing_columns(scope), alias, tables, groups)


def _missing_columns(scope: Query) -> int:
    """Return the number of missing columns of a set operation's part, without the current one."""
    if scope.expect is None or scope.phase not in ("list", "bare") or scope.has_star() or scope.target.star:
        return 0
    return max(scope.expect - len(scope.items) - 1, 0)


def _missing_tables(scope: Query) -> tuple[str, tuple[OwedTable, ...]]:
    """Return a name for the last table, and the missing tables."""
    needs, columns = _unmet(scope)
    lacks = scope.reading.lacks() or not scope.sources
    if not needs and not columns and not lacks:
        return "", ()
    suppliers = _suppliers(scope)
    found: dict[str, tuple[str, Relation]] = {}
    for alias, needed in needs.items():
        fitting = [entry for entry in suppliers if needed <= entry[1].usable_names]
        own = [entry for entry in fitting if entry[1].name == alias]
        if fitting:
            found[alias] = (own or fitting)[0]
    named = _name_of_last(scope, needs, found)
    chosen = [(alias, *entry) for alias, entry in found.items() if alias != named]
    columns -= frozenset[str]().union(*(relation.usable_names for _, _, relation in chosen))
    while columns:
        best = max(suppliers, key=lambda entry: len(columns & entry[1].usable_names), default=None)
        if best is None or not columns & best[1].usable_names:
            break
        chosen.append((best[1].name, *best))
        columns -= best[1].usable_names
    if not chosen and lacks:
        chosen += [(entry[1].name, *entry) for entry in suppliers if entry[1].reads][:1]
    return written(scope.catalog, named) if named else "", _linked(scope, chosen)


def _unmet(scope: Query) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Return the tables with columns, and the unqualified columns, that are used but not supplied yet."""
    needs = {
        alias: columns
        for alias, columns in scope.needs.qualified
        if scope.source(alias) is None and not _is_outside(scope, alias)
    }
    if scope.qualifier is not None and scope.phase == "list":
        needs.setdefault(scope.qualifier, frozenset())  # before its column
    there = scope.usable()
    columns = frozenset(
        name for name in scope.needs.columns if name not in there and not _has_column(scope, name)
    )
    return needs, columns


def _suppliers(scope: Query) -> list[tuple[str, Relation]]:
    """Return the relations that FROM may name, as written, shortest first."""
    catalog = scope.catalog
    found = [(written(catalog, name), relation) for name, relation in listed_relations(scope).items()]
    for relation in catalog.qualified:
        schema = next(name for name, tables in catalog.schemas.items() if relation in tables.values())
        found.append((f"{written(catalog, schema)}.{written(catalog, relation.name)}", relation))
    return sorted(found, key=lambda entry: len(entry[0]))


def _name_of_last(
    scope: Query, needs: dict[str, frozenset[str]], found: dict[str, tuple[str, Relation]]
) -> str:
    """Return the best name for the last table of FROM, or none."""
    if not scope.sources or scope.sources[-1].named:
        return ""
    usable = scope.sources[-1].relation.usable_names
    fitting = [alias for alias in found if needs[alias] <= usable]
    return max(fitting, key=lambda alias: len(found[alias][0]), default="")


def _linked(scope: Query, chosen: list[tuple[str, str, Relation]]) -> tuple[OwedTable, ...]:
    """Return the tables with their joins; columns that must not be ambiguous are merged."""
    once = scope.needs.columns | scope.needs.strings
    names = set(scope.counts())
    tables = []
    for alias, name, relation in chosen:
        link = " NATURAL JOIN " if once & names & relation.names else ","
        tables.append(OwedTable(name, "" if relation.name == alias else written(scope.catalog, alias), link))
        names |= relation.names
    return tuple(tables)


def _missing_groups(scope: Query) -> tuple[str, ...]:
    """Return the numbers of selected items that must still be grouped, in PostgreSQL."""
    by = scope.grouping
    if not (by.begun or scope.aggregates):
        return ()
    numbers = [
        str(n + 1)
        for n, item in enumerate(scope.items)
        if not (item.loose <= by.columns or n in by.items or item.text in by.expressions)
    ]
    if scope.target.loose:
        numbers.append(str(len(scope.items) + 1))
    return tuple(numbers)


def written(catalog: Catalog, name: str) -> str:
    """Return the spelling of a name in a query: quoted if it is not a plain word, or a keyword."""
    return name if WORD.fullmatch(name) and not catalog.is_keyword(name) else _quoted(name)


def _quoted(name: str) -> str:
    return name if name.startswith('"') else '"' + name.replace('"', '""') + '"'


def _is_outside(scope: Query, alias: str) -> bool:
    """Return whether an enclosing query has a table with this name that may supply columns."""
    return alias not in scope.needs.own_tables and any(up.source(alias) is not None for up in _around(scope))


def _has_column(scope: Query, name: str) -> bool:
    """Return whether a table of an enclosing query has this column and may supply it."""
    return name not in scope.needs.own and any(name in up.usable() for up in _around(scope))


def _around(scope: Query) -> Iterator[Query]:
    """Yield the enclosing queries whose tables are visible: a query in FROM does not see its siblings."""
    current: Query | None = scope
    while current is not None:
        while current is not None and current.kind == "derived":
            current = current.up
        if current is None or current.kind in ("cte", "root"):
            return
        current = current.up
        if current is not None:
            yield current
