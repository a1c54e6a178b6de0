"""What PostgreSQL asks of a query with aggregates or GROUP BY, and which names ORDER BY and GROUP BY can mean.

Each selected item knows the columns that it uses outside of aggregates (its *loose* columns). Where rows are grouped, each
of them must be a column of GROUP BY, or the item as a whole must be one of its expressions: by number, by label, or written
the same way. Where the primary key of a table is known, grouping by it is grouping by all columns of the table.
"""

from __future__ import annotations

from stackmask.grammar.ir import Undecided
from stackmask.grammar.sql.scope.expression_shapes import Use
from stackmask.grammar.sql.scope.state import ANY, CLOSED, Item, Query, decided


def covered(query: Query) -> bool:
    """Return whether everything selected may be, as far as GROUP BY matters."""
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
    """Return whether all rows of a group have the same value of a column: it was grouped by, or the key of its table was."""
    if use in query.grouping.columns:
        return True
    source = query.source(use[0]) if use[0] else None
    if source is None or not source.relation.key:
        return False
    return all((use[0], name) in query.grouping.columns for name in source.relation.key)


def with_grouped(query: Query, n: int) -> Query:
    """Return the query after GROUP BY named a selected item by its number, from 0 on."""
    column = query.items[n].column
    by = query.grouping
    columns = by.columns if column is None else by.columns | {column}
    return query._replace(grouping=by._replace(items=by.items | {n}, columns=columns))


def order_names(query: Query) -> frozenset[str]:
    """Return the names of selected items that ORDER BY, which is no part of a set operation, can mean by themselves."""
    if query.phase not in CLOSED:
        return frozenset()
    return _names_of(query, query.known_items() if query.catalog.dialect.groups else query.items)


def result_names(query: Query) -> frozenset[str]:
    """Return the names that ORDER BY of a set operation can mean. Raises: Undecided."""
    return _names_of(query, decided(query.head or ()))


def _names_of(query: Query, items: tuple[Item, ...]) -> frozenset[str]:
    if query.catalog.dialect.groups:
        return output_names(items)
    return frozenset(item.name for item in items if item.labelled and item.name is not None)


def output_names(items: tuple[Item, ...]) -> frozenset[str]:
    """Return the names that mean one selected item, or several that are the same column."""
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
    """Return whether a name by itself may mean more than one selected item."""
    where = [n for n, item in enumerate(items) if item.name == name]
    if where:
        return not _is_one(items, name, where)
    return sum(item.maybe is None or name in item.maybe for item in items) > 1


def group_labels(query: Query) -> frozenset[str]:
    """Return the names of selected items that GROUP BY can mean: those that are no column of FROM."""
    if query.phase != "group":
        return frozenset()
    query.known_items()
    counts = query.counts()
    refused = {item.name for item in query.items if item.aggregate or item.window}
    return frozenset(n for n in output_names(query.items) if not counts[n] and n not in refused)


def chosen_names(query: Query) -> frozenset[str]:
    """Return the names that ORDER BY can mean where each row is selected once: labels, and columns that are selected."""
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
    """Return whether the name of a column by itself means this very column."""
    merged = any(column[1] in source.merged for source in query.sources)
    return (column[0] == "") == merged


def chosen_members(query: Query) -> dict[str, frozenset[str]]:
    """Return the selected columns by the table that they are of."""
    query.known_items()
    found: dict[str, frozenset[str]] = {}
    for item in query.items:
        if item.column is not None and item.column[0]:
            table, name = item.column
            source = query.source(table)
            if source is not None and name in source.relation.usable:
                found[table] = found.get(table, frozenset()) | {name}
    return found
