"""What a query still needs for the tables that its names are of, and for GROUP BY.

It guides the search for a short end of a query. The grammar alone cannot tell that ``FROM orders`` leads nowhere where a
column of ``customers`` was selected, nor that ``T2`` is the only name that the next table may have.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from stackmask.grammar.ir import Owed
from stackmask.grammar.sql.scope.shared.relations import fold

if TYPE_CHECKING:
    from stackmask.grammar.sql.scope.shared.relations import Relation
    from stackmask.grammar.sql.scope.shared.state import Query

BEFORE_TABLES: Final = frozenset({"list", "from", "on"})
BEFORE_GROUPS: Final = BEFORE_TABLES | {"where", "group"}
NOTHING: Final = Owed(0, "", False)


class Missing(NamedTuple):
    """What one query still needs.

    ``columns``: how many, after the one that is being selected. ``alias``: the name of the last table. ``tables``: those
    that are not there yet, with their names. ``groups``: numbers of selected columns.
    """

    columns: int = 0
    alias: str = ""
    tables: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def text(self, scope: Query) -> str:
        """Return how the query may go on, between names."""
        text = ",0" * self.columns
        if self.alias:
            text += f" {self.alias}"
        if self.tables:
            text += ("," if scope.sources else " FROM ") + ",".join(self.tables)
        if self.groups:
            text += ("," if scope.phase == "group" else " GROUP BY ") + ",".join(self.groups)
        return text


NONE: Final = Missing()


def owed(query: Query, begun: str | None) -> Owed:
    """Return what a query and those around it need. ``begun``: what was read of a name in FROM, None between names.

    Cost: a look at each visible table for each name that is needed, once for a state.
    """
    count, missing = _owed(query)
    if not count and missing == NONE:
        return NOTHING
    if query.phase != "from" or begun is None:
        return Owed(count, missing.text(query), False)
    begun = fold(begun)
    for name in (missing.alias, *missing.tables):
        if name and name.startswith(begun):
            others = tuple(table for table in missing.tables if table != name)
            rest = "".join(f",{table}" for table in others) + Missing(groups=missing.groups).text(query)
            return Owed(max(count - len(begun), 0), name[len(begun) :] + rest, True)
    return Owed(count, "", False)


@lru_cache(maxsize=4096)  # a state is asked for each text that is read in it
def _owed(query: Query) -> tuple[int, Missing]:
    """Return the bytes that the grammar does not ask for by itself, of all queries, and what the innermost needs."""
    count = 0
    scope: Query | None = query
    while scope is not None:
        missing = _missing(scope)
        count += len(missing.text(scope).encode())
        if missing.tables and not scope.sources:
            count -= len(" FROM t")  # the grammar asks for it by itself
        scope = scope.up
    return count, _missing(query)


def _missing(scope: Query) -> Missing:
    alias, tables = _missing_tables(scope) if scope.phase in BEFORE_TABLES else ("", ())
    groups = _missing_groups(scope) if scope.phase in BEFORE_GROUPS else ()
    return Missing(_missing_columns(scope), alias, tables, groups)


def _missing_columns(scope: Query) -> int:
    """Return how many columns a part of a set operation lacks beside the one that is being selected."""
    if scope.expect is None or scope.phase not in ("list", "bare") or scope.has_star() or scope.target.star:
        return 0
    return max(scope.expect - len(scope.items) - 1, 0)


def _missing_tables(scope: Query) -> tuple[str, tuple[str, ...]]:
    """Return a name for the last table, and the tables that are not there yet."""
    needs = {
        alias: columns
        for alias, columns in scope.needs.qualified
        if scope.source(alias) is None and not _is_outside(scope, alias)
    }
    if scope.qualifier is not None and scope.phase == "list":
        needs.setdefault(scope.qualifier, frozenset())  # before its column
    there = scope.usable()
    columns = {name for name in scope.needs.columns if name not in there and not _has_column(scope, name)}
    if not needs and not columns and scope.sources:
        return "", ()
    relations = sorted(scope.visible_relations().values(), key=lambda relation: len(relation.name))
    found = {}
    for alias, needed in needs.items():
        relation = _supplier(relations, needed, alias)
        if relation is not None:
            found[alias] = relation.name if relation.name == alias else f"{relation.name} {alias}"
            columns -= relation.usable_names
    last = scope.sources[-1] if scope.sources and not scope.sources[-1].named else None
    fitting = [alias for alias in found if last is not None and needs[alias] <= last.relation.usable_names]
    named = max(fitting, key=lambda alias: len(found[alias]), default="")
    tables = [table for alias, table in found.items() if alias != named]
    while columns and relations:
        relation = max(relations, key=lambda relation: len(columns & relation.usable_names))
        if not columns & relation.usable_names:
            break
        tables.append(relation.name)
        columns -= relation.usable_names
    if not tables and not scope.sources and relations:
        tables.append(relations[0].name)
    return named, tuple(tables)


def _supplier(relations: list[Relation], columns: frozenset[str], alias: str = "") -> Relation | None:
    """Return the shortest of some tables, in order of their lengths, with these columns; the one called ``alias`` if it may be."""
    fitting = [relation for relation in relations if columns <= relation.usable_names]
    return next((r for r in fitting if r.name == alias), fitting[0] if fitting else None)


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


def _is_outside(scope: Query, alias: str) -> bool:
    """Tell whether a query around has a table of this name, and may supply it."""
    return alias not in scope.needs.own_tables and any(up.source(alias) is not None for up in _around(scope))


def _has_column(scope: Query, name: str) -> bool:
    """Tell whether a table of a query around has this column, and may supply it."""
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
