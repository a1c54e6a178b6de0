"""What a query still needs for the tables that its names are of, and for GROUP BY.

It guides the search for a short end of a query. The grammar alone cannot tell that ``FROM orders`` leads nowhere where a
column of ``customers`` was selected, nor that ``T2`` is the only name that the next table may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from stackmask.grammar.ir import Owed
from stackmask.grammar.sql.scope.relations import Catalog, Relation, fold

if TYPE_CHECKING:
    from stackmask.grammar.sql.scope.state import Query

BEFORE_TABLES: Final = frozenset({"list", "from", "on"})
BEFORE_GROUPS: Final = BEFORE_TABLES | {"where", "group"}
WORD: Final = re.compile("[a-z_][a-z0-9_]*")
NOTHING: Final = Owed(0, "", False)
FIRST_TABLE: Final = len(" FROM t")  # what the grammar asks for by itself


class Table(NamedTuple):
    """A table that FROM lacks. ``alias``: another name that it must have, or none. ``link``: what joins it."""

    name: str
    alias: str
    link: str

    def text(self) -> str:
        """Return it as FROM names it."""
        return f"{self.name} {self.alias}" if self.alias else self.name


class Missing(NamedTuple):
    """What one query still needs.

    ``columns``: how many, after the one that is being selected. ``alias``: the name of the last table. ``tables``: those
    that are not there yet. ``groups``: numbers of selected columns.
    """

    columns: int = 0
    alias: str = ""
    tables: tuple[Table, ...] = ()
    groups: tuple[str, ...] = ()

    def text(self, *, has_table: bool, has_groups: bool) -> str:
        """Return how the query may go on between names."""
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
    """Return what a query and those around it need. ``begun``: what was read of a name in FROM, None between names.

    Cost: a look at each visible table for each name that is needed.
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
    """Return how the query may go on within a name in FROM; None if the name is of nothing that it needs."""
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
    """Return how many columns a part of a set operation lacks beside the one that is being selected."""
    if scope.expect is None or scope.phase not in ("list", "bare") or scope.has_star() or scope.target.star:
        return 0
    return max(scope.expect - len(scope.items) - 1, 0)


def _missing_tables(scope: Query) -> tuple[str, tuple[Table, ...]]:
    """Return a name for the last table, and the tables that are not there yet."""
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
    """Return the names of tables that were used, with their columns, and columns alone, that no table supplies yet."""
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
    """Return what FROM may name, as it is written, the shortest first."""
    from stackmask.grammar.sql.scope.tables import (
        listed_relations,
    )  # which knows queries, as this does not

    catalog = scope.catalog
    found = [(written(catalog, name), relation) for name, relation in listed_relations(scope).items()]
    for relation in catalog.qualified:
        schema = next(name for name, tables in catalog.schemas.items() if relation in tables.values())
        found.append((f"{written(catalog, schema)}.{written(catalog, relation.name)}", relation))
    return sorted(found, key=lambda entry: len(entry[0]))


def _name_of_last(
    scope: Query, needs: dict[str, frozenset[str]], found: dict[str, tuple[str, Relation]]
) -> str:
    """Return the name that the last table of FROM is best given, or none."""
    if not scope.sources or scope.sources[-1].named:
        return ""
    usable = scope.sources[-1].relation.usable_names
    fitting = [alias for alias in found if needs[alias] <= usable]
    return max(fitting, key=lambda alias: len(found[alias][0]), default="")


def _linked(scope: Query, chosen: list[tuple[str, str, Relation]]) -> tuple[Table, ...]:
    """Return the tables with what joins them: columns that must not be ambiguous are made one."""
    once = scope.needs.columns | scope.needs.strings
    names = set(scope.counts())
    tables = []
    for alias, name, relation in chosen:
        link = " NATURAL JOIN " if once & names & relation.names else ","
        tables.append(Table(name, "" if relation.name == alias else written(scope.catalog, alias), link))
        names |= relation.names
    return tuple(tables)


def _missing_groups(scope: Query) -> tuple[str, ...]:
    """Return the numbers of selected items that rows must be grouped by, in PostgreSQL."""
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
    """Return how a query writes a name: in quotes if it is no plain word, or a keyword."""
    return name if WORD.fullmatch(name) and not catalog.is_keyword(name) else _quoted(name)


def _quoted(name: str) -> str:
    return name if name.startswith('"') else '"' + name.replace('"', '""') + '"'


def _is_outside(scope: Query, alias: str) -> bool:
    """Return whether a query around has a table of this name, and may supply it."""
    return alias not in scope.needs.own_tables and any(up.source(alias) is not None for up in _around(scope))


def _has_column(scope: Query, name: str) -> bool:
    """Return whether a table of a query around has this column, and may supply it."""
    return name not in scope.needs.own and any(name in up.usable() for up in _around(scope))


def _around(scope: Query) -> Iterator[Query]:
    """Yield the queries around whose tables can be seen: a query in FROM does not see what stands beside it."""
    current: Query | None = scope
    while current is not None:
        while current is not None and current.kind == "derived":
            current = current.up
        if current is None or current.kind in ("cte", "root"):
            return
        current = current.up
        if current is not None:
            yield current
