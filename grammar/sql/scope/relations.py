"""The relations that a query reads: tables of the schema, CTEs and queries in FROM, each with its column names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.schema import Schema, Table, fold

MAX_NAME: Final = 63  # bytes; PostgreSQL cuts longer names off
QUOTES: Final = {'"': '"', "`": "`", "[": "]", "'": "'"}


def read_name(data: bytes) -> str:
    """Return the folded name for a name in a SQLite text, quoted or not."""
    text = data.decode()
    if text[:1] in QUOTES:
        end = QUOTES[text[0]]
        return fold(text[1:-1].replace(end + end, end))
    return fold(text)


def read_postgres_name(data: bytes) -> str:
    """Return the name for a name in a PostgreSQL text, as in the catalogue."""
    text = data.decode()
    name = text[1:-1].replace('""', '"') if text[:1] == '"' else fold(text)
    data = name.encode()
    return name if len(data) <= MAX_NAME else data[:MAX_NAME].decode("utf-8", "ignore")


class Relation:
    """A name with columns. Relations with equal fields are equal, as semantic states require.

    ``columns``: folded names in order, None for a column that cannot be named. ``usable``: the columns that a
    query may name, folded, with their spelling. ``key``: the usable columns of the primary key, if known.
    ``is_whole``: every column may be used, so ``*`` is allowed. ``reads``: the relation is a table of the
    schema, or a query that reads one.
    """

    __slots__ = ("__dict__", "_hash", "columns", "key", "name", "reads", "spelled", "usable")

    def __init__(
        self,
        name: str,
        columns: tuple[str | None, ...],
        usable: Mapping[str, str],
        spelled: str,
        key: frozenset[str] = frozenset(),
        reads: bool = True,
    ) -> None:
        self.key = key
        self.reads = reads
        self.name = name
        self.columns = columns
        self.usable = dict(usable)
        self.spelled = spelled
        self._hash = hash((name, columns, tuple(self.usable.items()), key, reads))

    @classmethod
    def of_query(cls, name: str, columns: Iterable[str | None], reads: bool = False) -> Relation:
        """Return the result of a query, in which only the first column with a name can be named."""
        found: list[str | None] = []
        usable: dict[str, str] = {}
        for column in columns:
            known = None if column is None else fold(column)
            if known is None or known in usable:
                found.append(None)
            else:
                found.append(known)
                usable[known] = column or ""
        return cls(fold(name), tuple(found), usable, name, reads=reads)

    @classmethod
    def of_columns(cls, name: str, columns: Iterable[str | None], reads: bool = False) -> Relation:
        """Return the result of a PostgreSQL query, in which columns with the same name cannot be named."""
        found = tuple(columns)
        usable = {column: column for column in found if column is not None and found.count(column) == 1}
        return cls(name, found, usable, name, reads=reads)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Relation)
            and self._hash == other._hash
            and self.name == other.name
            and self.columns == other.columns
            and self.usable == other.usable
            and self.key == other.key
            and self.reads == other.reads
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """All names, including those that may not be used."""
        return frozenset(column for column in self.columns if column is not None)

    @cached_property
    def usable_names(self) -> frozenset[str]:
        """The names that may be used."""
        return frozenset(self.usable)

    @cached_property
    def is_whole(self) -> bool:
        """Return whether every column that has a name may be used."""
        return self.names == self.usable_names


def _never(_name: str) -> bool:
    return False


class DialectRules(NamedTuple):
    """The rules for scopes that differ by dialect.

    ``read``: converts a text to a name. ``result``: creates the relation of a query. ``labels``: expressions
    after FROM may name selected columns. ``later``: ON sees all tables, including those of later joins.
    ``alone``: phases that do not see enclosing queries. ``groups``: selected items must be grouped, and
    result names are derived from expressions.
    """

    name: str
    read: Callable[[bytes], str]
    result: Callable[..., Relation]
    labels: bool
    later: bool
    groups: bool
    alone: frozenset[str]


DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        DialectRules(
            "sqlite", read_name, Relation.of_query, True, True, False, frozenset({"group", "order"})
        ),
        DialectRules(
            "postgres", read_postgres_name, Relation.of_columns, False, False, True, frozenset({"group"})
        ),
    )
}


class Catalog:
    """The tables that a query may use. Distinct catalogs are different values, even with equal contents.

    ``relations``: relations for names without a schema. ``schemas``: all relations with a schema, by schema.
    ``new_names``: SELECT may name tables and columns that only FROM defines. ``is_keyword``: returns whether
    a folded name must be quoted.
    """

    def __init__(
        self,
        relations: Iterable[Relation],
        dialect: str,
        schemas: Mapping[str, Mapping[str, Relation]] | None = None,
        new_names: bool = False,
    ) -> None:
        self.new_names = new_names
        self.dialect = DIALECTS[dialect]
        self.read, self.result = self.dialect.read, self.dialect.result
        self.is_keyword: Callable[[str], bool] = _never
        self.relations = {relation.name: relation for relation in relations}
        self.schemas = {name: dict(tables) for name, tables in (schemas or {}).items()}
        listed = set(self.relations.values())
        self.qualified = tuple(
            relation
            for tables in self.schemas.values()
            for relation in tables.values()
            if relation not in listed
        )
        everything = (*self.relations.values(), *self.qualified)
        self.columns: frozenset[str] = frozenset[str]().union(*(r.usable_names for r in everything))
        self.all_columns: frozenset[str] = frozenset[str]().union(*(r.names for r in everything))
        self.spelled: dict[str, str] = {}
        for relation in everything:
            self.spelled.setdefault(relation.name, relation.spelled)
            for name, spelled in relation.usable.items():
                self.spelled.setdefault(name, spelled)


Found: TypeAlias = dict[str, tuple[str | None, bool, Relation]]  # schema, whether its name is enough, table


def read_catalog(
    schema: Schema,
    dialect: str,
    tables: Iterable[str] | None,
    columns: Mapping[str, Iterable[str]] | None,
    new_names: bool = False,
) -> Catalog:
    """Return the tables of a schema, restricted. Tables without a unique name are called ``schema.table``.

    Raises: SQLError if a selected table or column does not exist, or if nothing is left.
    """
    same = fold if dialect == "sqlite" else _as_written
    found = _tables(schema, same)
    if tables is not None:
        if isinstance(tables, str | bytes):
            raise SQLError(f"tables: {tables!r:.60} is not a list of names")
        wanted = {_known(name, found, "tables", "table", same) for name in tables}
        found = {name: entry for name, entry in found.items() if name in wanted}
    if columns is not None:
        if not isinstance(columns, Mapping):
            raise SQLError(f"columns: {columns!r:.60} is not a mapping of tables to lists of columns")
        for table_name, listed in columns.items():
            key = _known(table_name, found, "columns", "table", same)
            where, visible, relation = found[key]
            if isinstance(listed, str | bytes):
                raise SQLError(f"columns: {listed!r:.60} is not a list of names")
            kept = {
                _known(name, relation.usable, f"columns of {table_name}", "column", same) for name in listed
            }
            if not kept:
                del found[key]
                continue
            usable = {name: spelled for name, spelled in relation.usable.items() if name in kept}
            found[key] = (
                where,
                visible,
                Relation(relation.name, relation.columns, usable, relation.spelled, relation.key),
            )
    if not found:
        raise SQLError("schema: no table with columns is left to read from")
    schemas: dict[str, dict[str, Relation]] = {}
    for where, _, relation in found.values():
        if where is not None:
            schemas.setdefault(where, {})[relation.name] = relation
    return Catalog(
        [relation for _, visible, relation in found.values() if visible], dialect, schemas, new_names
    )


def _tables(schema: Schema, same: Callable[[str], str]) -> Found:
    found: Found = {}
    order = {name: n for n, name in enumerate(schema.default_schemas)}
    rest = len(order)

    def rank(table: Table) -> int:
        return -1 if table.schema is None else order.get(table.schema, rest)

    for table in sorted(schema.tables, key=rank):
        if not table.columns:
            continue
        name = same(table.name)
        names = tuple(same(column.name) for column in table.columns)
        usable = {same(column.name): column.name for column in table.columns}
        relation = Relation(name, names, usable, table.name, frozenset(map(same, table.key)))
        visible = name not in found and (rank(table) < rest or not order)
        where = None if table.schema is None else same(table.schema)
        found[name if visible else f"{where}.{name}"] = where, visible, relation
    return found


def _as_written(name: str) -> str:
    return name


def _known(
    name: object, known: Mapping[str, object], argument: str, kind: str, same: Callable[[str], str]
) -> str:
    if isinstance(name, str):
        for spelled in (same(name), fold(name)):
            if spelled in known:
                return spelled
    listed = ", ".join(sorted(known)[:8])
    raise SQLError(
        f"{argument}: there is no {kind} {name!r:.60}; there are {listed}{', …' if len(known) > 8 else ''}"
    )
