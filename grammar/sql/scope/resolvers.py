"""The dynamic rules of ``scoped_sqlite.ebnf``: which names may stand at a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from stackmask.grammar.ir import NOTHING, Choice, Expr, answers_at_most
from stackmask.grammar.sql.scope.shared.names import Words, spellings
from stackmask.grammar.sql.scope.shared.state import Query
from stackmask.grammar.sql.scope.shared.tables import common_columns, is_named, must_use, readable
from stackmask.grammar.sql.scope.sqlite.lookup import (
    CLOSED,
    may_be_new,
    seen_columns,
    seen_members,
    seen_qualifiers,
)

Resolver: TypeAlias = Callable[[Any], Expr]  # of a Query


def resolvers(words: Words, on: Expr, using: Expr) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    def spelled(query: Query, names: frozenset[str]) -> frozenset[str]:
        known = query.catalog.spelled
        return frozenset(known.get(name, name) for name in names)

    def column(query: Query) -> Expr:
        return spellings(spelled(query, seen_columns(query)), words.no_column)

    def free_column(query: Query) -> Expr:
        return words.new if query.catalog.new_names and seen_qualifiers(query)[1] else NOTHING

    def qualifier(query: Query) -> Expr:
        return spellings(spelled(query, seen_qualifiers(query)[0]), words.no_column)

    def free_qualifier(query: Query) -> Expr:
        if not seen_qualifiers(query)[1]:
            return NOTHING
        return words.new if query.catalog.new_names else words.free

    def member(query: Query) -> Expr:
        return spellings(frozenset(seen_members(query).values()), words.reserved)

    def free_member(query: Query) -> Expr:
        return words.new if may_be_new(query) else NOTHING

    def table(query: Query) -> Expr:
        return spellings(readable(query), words.reserved)

    @answers_at_most(on)
    def on_word(query: Query) -> Expr:
        return on if is_named(query) and not must_use(query) else NOTHING

    @answers_at_most(using)
    def using_word(query: Query) -> Expr:
        return using if is_named(query) and common_columns(query) else NOTHING

    def using_column(query: Query) -> Expr:
        return spellings(spelled(query, common_columns(query)), words.reserved)

    def order_label(query: Query) -> Expr:
        if query.phase not in CLOSED:
            return NOTHING
        names = frozenset(item.name for item in query.items if item.labelled and item.name is not None)
        return spellings(spelled(query, names), words.no_column)

    def result_name(query: Query) -> Expr:
        head = query.head or ()
        names = frozenset(item.name for item in head if item.labelled and item.name is not None)
        return Choice((spellings(spelled(query, names), words.no_column), words.numbers(len(head))))

    return {
        "COLUMN": column,
        "FREE_COLUMN": free_column,
        "QUALIFIER": qualifier,
        "FREE_QUALIFIER": free_qualifier,
        "MEMBER": member,
        "FREE_MEMBER": free_member,
        "TABLE": table,
        "ON_WORD": on_word,
        "USING_WORD": using_word,
        "USING_COLUMN": using_column,
        "ORDER_LABEL": order_label,
        "RESULT_NAME": result_name,
    }
