"""The dynamic rules of ``scoped_postgres.ebnf``: which names may stand at a place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from stackmask.grammar.ir import NOTHING, Choice, Expr
from stackmask.grammar.sql.scope.names import KEPT_SETS, Words, caseless
from stackmask.grammar.sql.scope.postgres_grouping import (
    chosen_members,
    chosen_names,
    group_labels,
    output_names,
)
from stackmask.grammar.sql.scope.postgres_lookup import (
    CLOSED,
    may_be_new,
    seen_columns,
    seen_members,
    seen_qualifiers,
)
from stackmask.grammar.sql.scope.postgres_names import PostgresWords, spellings
from stackmask.grammar.sql.scope.postgres_tables import (
    plain_tables,
    schema_names,
    schema_tables,
    using_columns,
)
from stackmask.grammar.sql.scope.resolvers import Resolver
from stackmask.grammar.sql.scope.state import Query
from stackmask.grammar.sql.scope.tables import is_named, must_use

ON = caseless("ON")
USING = caseless("USING")


def resolvers(words: PostgresWords) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    @lru_cache(maxsize=KEPT_SETS)  # the same names give the same object, whose term is remembered
    def with_free(names: frozenset[str], new: bool) -> Expr:
        return Choice((spellings(names, words.qualifier), words.new_table if new else words.free))

    @lru_cache(maxsize=KEPT_SETS)
    def with_new(names: frozenset[str], member: bool) -> Expr:
        listed = spellings(names, words.label if member else words.column)
        return Choice((listed, words.new_member if member else words.new_column))

    def column(query: Query) -> Expr:
        names = seen_columns(query)
        return with_new(names, False) if _new(query) else spellings(names, words.column)

    def member(query: Query) -> Expr:
        names = frozenset(seen_members(query))
        return with_new(names, True) if may_be_new(query) else spellings(names, words.label)

    @lru_cache(maxsize=KEPT_SETS)
    def with_numbers(names: frozenset[str], most: int) -> Expr:
        return Choice((spellings(names, words.column), Words.numbers(most)))

    def qualifier(query: Query) -> Expr:
        names, free = seen_qualifiers(query)
        return with_free(names, _new(query)) if free else spellings(names, words.qualifier)

    def on_word(query: Query) -> Expr:
        return ON if is_named(query) and not must_use(query) else NOTHING

    def using_word(query: Query) -> Expr:
        return USING if is_named(query) and using_columns(query) else NOTHING

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
        "COLUMN": column,
        "QUALIFIER": qualifier,
        "MEMBER": member,
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


def _new(query: Query) -> bool:
    """Tell whether a name may be one that only FROM makes, which is still to come."""
    return query.catalog.new_names and seen_qualifiers(query)[1]
