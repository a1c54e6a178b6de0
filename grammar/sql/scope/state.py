"""The semantic state of a query: what is known at a place of the names before it.

A state is the innermost open query, a :class:`Query`, which knows the one that it stands in. All of it is immutable and
compares by value, so the automaton can keep it in its configurations, go back to it and share it.

SELECT comes before FROM. A column selected before there are tables is a *need*: of a name that some table must supply, or,
after a qualifier, of the table that will have that name. FROM may end only where each need is met, by exactly one
table of this query or else by a query around it; `from_actions.py` says when. A query in FROM can supply any names, so
a query whose needs the tables at hand do not meet can still be completed: what is allowed never leads to a dead end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from stackmask.grammar.ir import Owed, Undecided
from stackmask.grammar.sql.scope.owed import owed
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
    """Return the function, whose last answer is remembered: a mask asks of one query about hundreds of names."""
    last: tuple[_Asked, _Found] | None = None

    def ask(query: _Asked) -> _Found:
        nonlocal last
        known = last
        if known is None or known[0] is not query:
            known = last = query, function(query)
        return known[1]

    return ask


class Source(NamedTuple):
    """A table in FROM. ``merged``: columns that USING or NATURAL made one with a column to the left."""

    alias: str
    relation: Relation
    named: bool = False
    merged: frozenset[str] = frozenset()


class Item(NamedTuple):
    """A selected column. ``name``: its name, if it has one; ``sort``: whether a set operation can be ordered by it."""

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
        """Return the item without its name. ``labels``: but for that of a label."""
        if self.star is not None or (labels and self.labelled):
            return self
        loose = SOME_COLUMN if self.loose else self.loose
        return Item(ANY, self.labelled, self.aggregate, self.window, loose=loose)

    def is_unknown(self) -> bool:
        """Return whether the name, or the column that the item is, is not known."""
        return self.name == ANY or ANY in (self.column or ()) or ANY in (self.maybe or ())


class Needs(NamedTuple):
    """What is asked of the tables of FROM before FROM names them.

    ``columns``: names that exactly one table must have. ``own``: of these, those that no query around may supply.
    ``strings``: quoted strings that are names, should a table have them. ``qualified``: tables, and the columns asked
    of them. ``own_tables``: of these, those that no query around may supply.
    """

    columns: frozenset[str] = NOTHING_NEEDED
    own: frozenset[str] = NOTHING_NEEDED
    strings: frozenset[str] = NOTHING_NEEDED
    qualified: tuple[tuple[str, frozenset[str]], ...] = ()
    own_tables: frozenset[str] = NOTHING_NEEDED

    def blurred(self, alias: str | None) -> Needs:
        """Return the needs of which is known what kinds there are, and those of the table ``alias``."""
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
        """Return the needs with one more column of some table."""
        return self._replace(columns=self.columns | {name}, own=self.own | {name} if own else self.own)

    def with_string(self, name: str) -> Needs:
        """Return the needs with one more quoted string."""
        return self._replace(strings=self.strings | {name})

    def with_table(self, alias: str, columns: frozenset[str], own: bool) -> Needs:
        """Return the needs with columns of one table."""
        tables = dict(self.qualified)
        if alias == ANY in tables:
            raise Undecided
        tables[alias] = tables.get(alias, frozenset()) | columns
        return self._replace(
            qualified=tuple(sorted(tables.items())),
            own_tables=self.own_tables | {alias} if own else self.own_tables,
        )

    def of_table(self, alias: str) -> frozenset[str] | None:
        """Return the columns needed of a table that FROM has not named yet. Raises: Undecided."""
        for name, columns in self.qualified:
            if name == ANY or (name == alias and ANY in columns):
                raise Undecided
            if name == alias:
                return columns
        return None

    def decide(self) -> None:
        """Raise Undecided if something is needed by a name that is not known."""
        if ANY in self.columns | self.strings or any(
            name == ANY or ANY in columns for name, columns in self.qualified
        ):
            raise Undecided


class Definition(NamedTuple):
    """The CTE that is being defined; ``name`` is None outside of definitions."""

    name: str | None = None
    columns: tuple[str, ...] = ()


class Target(NamedTuple):
    """The selected column that is being written."""

    label: str | None = None
    column: str | None = None  # the last one named
    column_of: str | None = None  # the table before it
    star: str | None = None
    aggregate: bool = False
    window: bool = False
    loose: frozenset[tuple[str, str]] = frozenset()  # PostgreSQL: its columns outside of aggregates

    def item(self, name: str | None) -> Item:
        """Return the column once it is written, with its name."""
        return Item(name, self.label is not None, self.aggregate, self.window, self.star, loose=self.loose)

    def blurred(self) -> Target:
        """Return the column without its names."""
        if self.label is None and self.column is None and not self.loose:
            return self
        return Target(
            None if self.label is None else ANY,
            None if self.column is None else ANY,
            None,
            self.star,
            self.aggregate,
            self.window,
            SOME_COLUMN if self.loose else self.loose,
        )


NO_TARGET: Final = Target()


class Join(NamedTuple):
    """How the next table is joined. ``link``: "", comma, cross, join, natural; ``side``: of an outer join."""

    link: str = ""
    using: tuple[str, ...] = ()
    side: str = ""


class Grouping(NamedTuple):
    """What rows are grouped by: columns, items by number, and what equal expressions have in common (PostgreSQL)."""

    begun: bool = False
    columns: frozenset[tuple[str, str]] = frozenset()
    items: frozenset[int] = frozenset()
    expressions: frozenset[Hashable] = frozenset()


class Reading(NamedTuple):
    """``owes``: each part must read a table of the schema. ``done``: the part does, or a query within it; else any part."""

    owes: bool = False
    done: bool = False

    def lacks(self) -> bool:
        """Return whether the part must read a table, and does not yet."""
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
    target: Target = NO_TARGET
    aggregates: bool = False  # the part has an aggregate
    windows: bool = False
    grouping: Grouping = Grouping()
    needs: Needs = Needs()
    sources: tuple[Source, ...] = ()
    join: Join = Join()
    qualifier: str | None = None
    in_aggregate: int = 0
    in_window: int = 0
    reading: Reading = Reading()
    # PostgreSQL, see `grouping.py`
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
        """Return the query with other values of some fields. A named tuple takes twice as long: most of an action."""
        fields = list(self)
        for name, value in changes.items():
            fields[PLACE_OF[name]] = value
        return tuple.__new__(Query, fields)

    def new_part(self) -> Query:
        """Return the query with a new part begun."""
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
        """Return the query in which names are one of which nothing has been said: see :data:`ANY`.

        What the next few words seldom ask for is forgotten: so places that differ in it alone are one.
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
        """Return whether a selected column may be forbidden for its name."""
        return bool(self.banned) or (
            self.catalog.dialect.groups and self.kind in ("derived", "lateral", "cte")
        )

    def known_items(self) -> tuple[Item, ...]:
        """Return the selected columns, whose names are known. Raises: Undecided."""
        return decided(self.counted_items())

    def counted_items(self) -> tuple[Item, ...]:
        """Return the selected columns, of which the names need not be known. Raises: Undecided."""
        if self.forgot:
            raise Undecided
        return self.items

    def decide_labels(self) -> None:
        """Raise Undecided if a label is not known."""
        if self.forgot or any(item.labelled and item.name == ANY for item in self.items):
            raise Undecided

    def decide_before_from(self) -> None:
        """Raise Undecided if FROM, which comes, depends on names that are not known."""
        if self.stands_in:
            self.needs.decide()
            self.decide_labels()

    def counts(self) -> Counter[str]:
        """Return how many tables of FROM have each name; columns made one count once."""
        return counts_of(self.sources)

    def usable(self) -> frozenset[str]:
        """Return the names that some table of FROM lets be used."""
        return usable_of(self.sources)

    def source(self, alias: str) -> Source | None:
        """Return the table of FROM with this name. Raises: Undecided."""
        found = self.known_source(alias)
        if found is None or alias == ANY:
            self.decide_names()
        return found

    def known_source(self, alias: str) -> Source | None:
        """Return the table of FROM with this name, of which something was said before FROM."""
        for source in self.sources:
            if source.alias == alias:
                return source
        return None

    def decide_names(self) -> None:
        """Raise Undecided if a table of FROM has a name that is not known."""
        if self.stands_in and any(source.alias == ANY for source in self.sources):
            raise Undecided

    def visible_relations(self) -> Mapping[str, Relation]:
        """Return what FROM may name: tables and CTEs, which hide tables."""
        hidden = cte_shadow(self)
        if not hidden and not self.ctes:
            return self.catalog.relations
        found = {name: relation for name, relation in self.catalog.relations.items() if name not in hidden}
        return found | {relation.name: relation for relation in self.ctes}

    def __owed__(self, begun: str | None) -> Owed:
        """Return what FROM and GROUP BY still need, where a name was begun: see `owed.py`."""
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
    """Return how many of the tables have each name. It does not depend on what they are called."""
    return _counts(tuple((source.relation, source.merged) for source in sources))


@lru_cache(maxsize=4096)
def _counts(columns: Columns) -> Counter[str]:
    found: Counter[str] = Counter()
    for relation, merged in columns:
        found.update(relation.names - merged if merged else relation.names)
    return found


@of_last
def usable_of(sources: tuple[Source, ...]) -> frozenset[str]:
    """Return the names that some of the tables let be used."""
    return _usable(tuple(source.relation for source in sources))


@lru_cache(maxsize=4096)
def _usable(relations: tuple[Relation, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(relation.usable_names for relation in relations))


@of_last
def usable_once(sources: tuple[Source, ...]) -> frozenset[str]:
    """Return the names that one column of the tables has, which may be used."""
    return _usable_once(tuple((source.relation, source.merged) for source in sources))


@lru_cache(maxsize=4096)
def _usable_once(columns: Columns) -> frozenset[str]:
    hidden = frozenset[str]().union(*(relation.names - relation.usable_names for relation, _ in columns))
    return frozenset(name for name, n in _counts(columns).items() if n == 1) - hidden


def cte_shadow(query: Query) -> frozenset[str]:
    """Return the names of CTEs being defined, which are no tables inside of themselves."""
    names = set()
    scope: Query | None = query
    while scope is not None:
        if scope.defined.name is not None:
            names.add(scope.defined.name)
        scope = scope.up
    return frozenset(names)


def scopes(query: Query) -> Iterator[tuple[int, Query]]:
    """Yield the queries whose names can be seen, innermost first, with how many steps out each stands."""
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
    """Yield the queries whose names an expression can use, as :func:`scopes` does.

    An aggregate of columns further out would be one of the query there.
    """
    for depth, scope in scopes(query):
        yield depth, scope
        if scope.in_aggregate and (scope.catalog.dialect.groups or not depth):
            return


def tables_seen(scope: Query) -> tuple[Source, ...]:
    """Return the tables of FROM whose columns a query shows where it stands."""
    if scope.phase in CLOSED or scope.phase == "lateral":
        return scope.sources
    return scope.sources[scope.comma :] if scope.phase == "on" else ()


def replace_at(query: Query, depth: int, change: Query) -> Query:
    """Return the innermost query with the one that stands ``depth`` steps out replaced."""
    if depth == 0:
        return change
    assert query.up is not None
    return query._replace(up=replace_at(query.up, depth - 1, change))
