"""The dynamic rules of ``scoped_postgres.ebnf``: which names may stand at a place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from stackmask.grammar.ir import NOTHING, Choice, Expr, answers_at_most
from stackmask.grammar.sql.scope.postgres.grouping import (
    chosen_members,
    chosen_names,
    group_labels,
    output_names,
)
from stackmask.grammar.sql.scope.postgres.lookup import (
    CLOSED,
    may_be_new,
    seen_columns,
    seen_members,
    seen_qualifiers,
)
from stackmask.grammar.sql.scope.postgres.names import PostgresWords, spellings
from stackmask.grammar.sql.scope.postgres.tables import (
    plain_tables,
    schema_names,
    schema_tables,
    using_columns,
)
from stackmask.grammar.sql.scope.shared.names import KEPT_SETS, Words
from stackmask.grammar.sql.scope.shared.state import Query
from stackmask.grammar.sql.scope.shared.tables import is_named, must_use
from stackmask.grammar.sql.scope.sqlite.resolvers import Resolver


def resolvers(words: PostgresWords, on: Expr, using: Expr) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    @lru_cache(maxsize=KEPT_SETS)  # the same names give the same object, whose term is remembered
    def with_numbers(names: frozenset[str], most: int) -> Expr:
        return Choice((spellings(names, words.column), Words.numbers(most)))

    def free_column(query: Query) -> Expr:
        return words.new_column if query.catalog.new_names and seen_qualifiers(query)[1] else NOTHING

    def free_qualifier(query: Query) -> Expr:
        if not seen_qualifiers(query)[1]:
            return NOTHING
        return words.new_table if query.catalog.new_names else words.free

    def free_member(query: Query) -> Expr:
        return words.new_member if may_be_new(query) else NOTHING

    @answers_at_most(on)
    def on_word(query: Query) -> Expr:
        return on if is_named(query) and not must_use(query) else NOTHING

    @answers_at_most(using)
    def using_word(query: Query) -> Expr:
        return using if is_named(query) and using_columns(query) else NOTHING

    def order_label(query: Query) -> Expr:
        return spellings(output_names(query.items), words.column) if query.phase in CLOSED else NOTHING

    def group_label(query: Query) -> Expr:
        return spellings(group_labels(query), words.column) if query.phase == "group" else NOTHING

    def result_name(query: Query) -> Expr:
        head = query.head or ()
        return with_numbers(output_names(head), len(head))

    def chosen_name(query: Query) -> Expr:
        return with_numbers(chosen_names(query), len(query.items))

    def chosen_member(query: Query) -> Expr:
        assert query.qualifier is not None
        return spellings(chosen_members(query).get(query.qualifier, frozenset()), words.label)

    def schema_table(query: Query) -> Expr:
        assert query.qualifier is not None
        return spellings(schema_tables(query, query.qualifier), words.label)

    found: dict[str, Any] = {
        "COLUMN": lambda query: spellings(seen_columns(query), words.column),
        "FREE_COLUMN": free_column,
        "QUALIFIER": lambda query: spellings(seen_qualifiers(query)[0], words.qualifier),
        "FREE_QUALIFIER": free_qualifier,
        "MEMBER": lambda query: spellings(frozenset(seen_members(query)), words.label),
        "FREE_MEMBER": free_member,
        "TABLE": lambda query: spellings(plain_tables(query), words.name),
        "SCHEMA_NAME": lambda query: spellings(schema_names(query), words.qualifier),
        "SCHEMA_TABLE": schema_table,
        "ON_WORD": on_word,
        "USING_WORD": using_word,
        "USING_COLUMN": lambda query: spellings(using_columns(query), words.name),
        "ORDER_LABEL": order_label,
        "GROUP_LABEL": group_label,
        "RESULT_NAME": result_name,
        "CHOSEN_NAME": chosen_name,
        "CHOSEN_QUALIFIER": lambda query: spellings(frozenset(chosen_members(query)), words.qualifier),
        "CHOSEN_MEMBER": chosen_member,
    }
    return found
