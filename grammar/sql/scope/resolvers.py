"""The dynamic rules of the dialects: which names may stand at a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from stackmask.grammar.ir import NOTHING, Expr, answers_at_most
from stackmask.grammar.sql.scope.grouping import (
    chosen_members,
    chosen_names,
    group_labels,
    order_names,
    result_names,
)
from stackmask.grammar.sql.scope.lookup import may_be_new, seen_columns, seen_members, seen_qualifiers
from stackmask.grammar.sql.scope.names import Words
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


def resolvers(words: Words, on: Expr, using: Expr) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    def spelled(query: Query, names: frozenset[str]) -> frozenset[str]:
        if query.catalog.dialect.groups:  # names are as they are spelled
            return names
        known = query.catalog.spelled
        return frozenset(known.get(name, name) for name in names)

    def columns(names: Callable[[Query], frozenset[str]]) -> Resolver:
        return lambda query: words.spelled(spelled(query, names(query)), words.column)

    def free_column(query: Query) -> Expr:
        return words.new_column if query.catalog.new_names and seen_qualifiers(query)[1] else NOTHING

    def qualifier(query: Query) -> Expr:
        return words.spelled(spelled(query, seen_qualifiers(query)[0]), words.qualifier)

    def free_qualifier(query: Query) -> Expr:
        if not seen_qualifiers(query)[1]:
            return NOTHING
        return words.new_table if query.catalog.new_names else words.free

    @answers_at_most(on)
    def on_word(query: Query) -> Expr:
        return on if is_named(query) and not must_use(query) else NOTHING

    @answers_at_most(using)
    def using_word(query: Query) -> Expr:
        return using if is_named(query) and common_columns(query) else NOTHING

    def group_label(query: Query) -> Expr:
        return words.spelled(group_labels(query), words.column) if query.phase == "group" else NOTHING

    def chosen_member(query: Query) -> Expr:
        assert query.qualifier is not None
        return words.spelled(chosen_members(query).get(query.qualifier, frozenset()), words.label)

    def schema_table(query: Query) -> Expr:
        assert query.qualifier is not None
        return words.spelled(schema_tables(query, query.qualifier), words.label)

    return {
        "COLUMN": columns(seen_columns),
        "FREE_COLUMN": free_column,
        "QUALIFIER": qualifier,
        "FREE_QUALIFIER": free_qualifier,
        "MEMBER": lambda query: words.spelled(frozenset(seen_members(query).values()), words.label),
        "FREE_MEMBER": lambda query: words.new_member if may_be_new(query) else NOTHING,
        "TABLE": lambda query: words.spelled(named_tables(query), words.name),
        "SCHEMA_NAME": lambda query: words.spelled(schema_names(query), words.qualifier),
        "SCHEMA_TABLE": schema_table,
        "ON_WORD": on_word,
        "USING_WORD": using_word,
        "USING_COLUMN": lambda query: words.spelled(spelled(query, common_columns(query)), words.name),
        "ORDER_LABEL": columns(order_names),
        "GROUP_LABEL": group_label,
        "RESULT_NAME": lambda query: words.with_numbers(
            spelled(query, result_names(query)), len(query.head or ())
        ),
        "CHOSEN_NAME": lambda query: words.with_numbers(chosen_names(query), len(query.items)),
        "CHOSEN_QUALIFIER": lambda query: words.spelled(frozenset(chosen_members(query)), words.qualifier),
        "CHOSEN_MEMBER": chosen_member,
    }
