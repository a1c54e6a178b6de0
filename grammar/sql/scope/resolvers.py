"""The dynamic rules of the dialects: which names may stand at a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from stackmask.grammar.ir import NOTHING, Expr, answers_at_most, depends_on
from stackmask.grammar.sql.scope.grouping import (
    chosen_members,
    chosen_names,
    group_labels,
    order_names,
    result_names,
)
from stackmask.grammar.sql.scope.lookup import may_be_new, seen_columns, seen_members, seen_qualifiers
from stackmask.grammar.sql.scope.names import Keywords, Words
from stackmask.grammar.sql.scope.state import Query
from stackmask.grammar.sql.scope.tables import (
    common_columns,
    is_named,
    must_use,
    named_tables,
    schema_names,
    schema_tables,
)

Resolver: TypeAlias = Callable[[Any], Expr]  # of a Query


def _spelled(names: Callable[[Query], frozenset[str]]) -> Callable[[Query], frozenset[str]]:
    """Return a function of the query: the names as the schema spells them."""

    def spelled(query: Query) -> frozenset[str]:
        found = names(query)
        if query.catalog.dialect.groups:  # names are as they are spelled
            return found
        known = query.catalog.spelled
        return frozenset(known.get(name, name) for name in found)

    return spelled


def _qualifiers(query: Query) -> tuple[frozenset[str], bool, bool]:
    """Return the tables that can stand before a dot, whether any other may, and whether columns may be new."""
    names, may_be_other = seen_qualifiers(query)
    return _spelled(lambda _query: names)(query), may_be_other, query.catalog.new_names


def _members(query: Query) -> frozenset[str]:
    return frozenset(seen_members(query).values())


def _of_qualifier(names: Callable[[Query, str], frozenset[str]]) -> Callable[[Query], frozenset[str]]:
    def of(query: Query) -> frozenset[str]:
        assert query.qualifier is not None
        return names(query, query.qualifier)

    return of


def _chosen_members(query: Query, table: str) -> frozenset[str]:
    return chosen_members(query).get(table, frozenset())


def resolvers(words: Words, on: Expr, using: Expr) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    def written(names: Callable[[Query], frozenset[str]], keywords: Keywords) -> Resolver:
        return depends_on(names)(lambda found: words.spelled(found, keywords))

    def numbered(names: Callable[[Query], frozenset[str]], most: Callable[[Query], int]) -> Resolver:
        return depends_on(lambda query: (names(query), most(query)))(lambda found: words.with_numbers(*found))

    def only(test: Callable[[Query], bool], expr: Expr) -> Resolver:
        return depends_on(test)(lambda fits: expr if fits else NOTHING)

    @depends_on(_qualifiers)
    def free_qualifier(found: tuple[frozenset[str], bool, bool]) -> Expr:
        if not found[1]:
            return NOTHING
        return words.new_table if found[2] else words.free

    return {
        "COLUMN": written(_spelled(seen_columns), words.column),
        "FREE_COLUMN": depends_on(_qualifiers)(
            lambda found: words.new_column if found[1] and found[2] else NOTHING
        ),
        "QUALIFIER": depends_on(_qualifiers)(lambda found: words.spelled(found[0], words.qualifier)),
        "FREE_QUALIFIER": free_qualifier,
        "MEMBER": written(_members, words.label),
        "FREE_MEMBER": only(may_be_new, words.new_member),
        "TABLE": written(named_tables, words.name),
        "SCHEMA_NAME": written(schema_names, words.qualifier),
        "SCHEMA_TABLE": written(_of_qualifier(schema_tables), words.label),
        "ON_WORD": answers_at_most(on)(only(lambda query: is_named(query) and not must_use(query), on)),
        "USING_WORD": answers_at_most(using)(
            only(lambda query: is_named(query) and bool(common_columns(query)), using)
        ),
        "USING_COLUMN": written(_spelled(common_columns), words.name),
        "ORDER_LABEL": written(_spelled(order_names), words.column),
        "GROUP_LABEL": written(group_labels, words.column),
        "RESULT_NAME": numbered(_spelled(result_names), lambda query: len(query.head or ())),
        "CHOSEN_NAME": numbered(chosen_names, lambda query: len(query.items)),
        "CHOSEN_QUALIFIER": written(lambda query: frozenset(chosen_members(query)), words.qualifier),
        "CHOSEN_MEMBER": written(_of_qualifier(_chosen_members), words.label),
    }
