"""The places of ``scoped_sqlite.ebnf``: an action for each text that changes what is known.

An action maps the state and the text that was read to the state after it, or to None where the text may not end
like this. It then can always go on another way: an expression with an operator, a name with a letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from stackmask.grammar.ir import never_forbids, reads_at_most
from stackmask.grammar.sql.scope.lookup import leave_needs, use_column, use_member, use_text
from stackmask.grammar.sql.scope.relations import Relation, fold, read_name
from stackmask.grammar.sql.scope.state import MAX_DEPTH, Item, Query, Source
from stackmask.grammar.sql.scope.tables import common_columns, is_named, must_use, own_cte, readable

Action: TypeAlias = Callable[[Any, bytes], Hashable | None]  # of a Query, and to one
PLACES: Final[dict[str, Action]] = {}
KEPT: Final = (
    200  # bytes of an expression, without the names in it, that tell whether it is a name or a number
)
INTEGER: Final = re.compile(r"[(\s+-]*([0-9]+)[)\s]*")
LONG_INTEGER: Final = re.compile(r"[(\s+-]*[0-9]*[)\s]*")
# what is left of a target that is a name, which has had an action of its own
NAMED: Final = re.compile(r"[(\s]*\.?[)\s]*(?:collate\s*\w+[)\s]*)*(?:as\s*)?", re.IGNORECASE)


def place(*names: str) -> Callable[[Action], Action]:
    """Enter an action for rules of the grammar."""

    def enter(action: Action) -> Action:
        for name in names:
            PLACES[name] = action
        return action

    return enter


# -- queries within queries


def _inner(query: Query, kind: str, expect: int | None = None) -> Query:
    return Query(query.catalog, query, kind, query.depth + 1, expect=expect, ctes=query.ctes)


@place("QUERY_OPEN")
@reads_at_most(0)
def open_query(query: Query, _text: bytes) -> Query | None:
    """Begin a query that gives one column."""
    return _inner(query, "scalar", 1) if query.depth <= MAX_DEPTH else None


@place("EXISTS_E", "WITH_W")
@reads_at_most(0)
def check_depth(query: Query, _text: bytes) -> Query | None:
    """Begin a word behind which a query comes."""
    return query if query.depth <= MAX_DEPTH else None


@place("EXISTS_OPEN")
@never_forbids
@reads_at_most(0)
def open_exists(query: Query, _text: bytes) -> Query:
    """Begin a query of which only matters whether it gives a row."""
    return _inner(query, "exists")


@place("DERIVED_OPEN")
@reads_at_most(0)
def open_derived(query: Query, _text: bytes) -> Query | None:
    """Begin a query in FROM; it must not have columns with names that are needed once and are there."""
    if query.link == "natural" or query.depth > MAX_DEPTH:
        return None
    counts = query.counts()
    banned = frozenset(name for name in query.need | query.texts if counts[name])
    if query.has_star():
        banned |= query.banned
    return _inner(query, "derived")._replace(banned=banned)


@place("CTE_NAME")
def name_cte(query: Query, text: bytes) -> Query | None:
    """Name a CTE; it must not hide anything."""
    name = fold(text.decode())
    if name in query.visible_relations() or name in query.cte_shadow():
        return None
    return query._replace(cte_name=name, cte_columns=())


@place("CTE_COLUMN")
def name_cte_column(query: Query, text: bytes) -> Query | None:
    """Name a column of a CTE."""
    name = read_name(text.decode())
    if name in query.cte_columns:
        return None
    return query._replace(cte_columns=(*query.cte_columns, name))


@place("CTE_OPEN")
@never_forbids
@reads_at_most(0)
def open_cte(query: Query, _text: bytes) -> Query:
    """Begin the query of a CTE."""
    return _inner(query, "cte", len(query.cte_columns) or None)


@place("CLOSE")
@reads_at_most(0)
def close_query(query: Query, _text: bytes) -> Query | None:
    """End a query, and hand its columns to the one around."""
    up = query.up
    if up is None:
        return None
    head = query.head if query.head is not None else query.items
    if query.kind == "derived":
        relation = Relation.of_query("", [item.name for item in head])
        return up._replace(sources=(*up.sources, Source("", relation)))
    if query.kind == "cte":
        assert up.cte_name is not None
        relation = Relation.of_query(up.cte_name, up.cte_columns or [item.name for item in head])
        return up._replace(ctes=(*up.ctes, relation), cte_name=None, cte_columns=())
    return up


# -- parts of a query


@place("SELECT_FROM")
@reads_at_most(0)
def begin_list(query: Query, _text: bytes) -> Query | None:
    """Begin a select list with FROM behind it."""
    return _begin(query, "list") if query.depth <= MAX_DEPTH else None


@place("SELECT_BARE")
@never_forbids
@reads_at_most(0)
def begin_bare(query: Query, _text: bytes) -> Query:
    """Begin a select list without FROM."""
    return _begin(query, "bare")


@place("VALUES_WORD")
@never_forbids
@reads_at_most(0)
def begin_values(query: Query, _text: bytes) -> Query:
    """Begin rows."""
    return _begin(query, "values")


def _begin(query: Query, phase: str) -> Query:
    return query.new_part()._replace(phase=phase, parts=query.parts + 1, may_recurse=query.may_recurse)


@place("SET_LETTER_U", "SET_LETTER_I", "SET_LETTER_E")
def next_part(query: Query, text: bytes) -> Query | None:
    """End a part of a set operation; nothing comes behind one that reads its own CTE."""
    if query.recursive:
        return None
    head = query.head
    if head is None:
        # the name of a column can stand for it where it means that very column, not one that USING joined to it
        counts = query.counts()
        merged = frozenset[str]().union(*(source.merged for source in query.sources))
        head = tuple(
            item._replace(
                labelled=item.labelled
                or (item.name is not None and counts[item.name] == 1 and item.name not in merged)
            )
            for item in query.items
        )
    return query.new_part()._replace(
        head=head,
        expect=len(head),
        banned=frozenset(),
        may_recurse=query.kind == "cte" and text in (b"u", b"U"),
    )


@place("more_value")
@reads_at_most(0)
def end_value(query: Query, _text: bytes) -> Query | None:
    """End a value that another one follows."""
    if query.expect is not None and query.cells + 1 >= query.expect:
        return None
    return query._replace(cells=query.cells + 1)


@place("last_value")
@reads_at_most(0)
def end_values(query: Query, _text: bytes) -> Query | None:
    """End the last value of a row."""
    n = query.cells + 1
    if query.expect is not None and n != query.expect:
        return None
    items = query.items or tuple(Item(f"column{i + 1}") for i in range(n))
    return query._replace(cells=0, expect=n, items=items)


# -- the select list


@place("STAR")
@reads_at_most(0)
def take_star(query: Query, _text: bytes) -> Query | None:
    """Select all columns."""
    if query.phase != "list" or query.expect is not None:
        return None
    return query._replace(star="*")


@place("STAR_OF")
@reads_at_most(0)
def take_star_of(query: Query, _text: bytes) -> Query | None:
    """Select all columns of a table, which must be one of FROM."""
    alias = query.qualifier
    if query.phase != "list" or query.expect is not None or alias is None:
        return None
    return query.with_need(alias, frozenset(), True)._replace(star=alias)


@place("LABEL", "FREE_LABEL")
@never_forbids
def take_label(query: Query, text: bytes) -> Query:
    """Name a selected column."""
    return query._replace(label=read_name(text.decode()))


def _end_target(query: Query, text: bytes) -> Query | None:
    spelled = text.decode("utf-8", "replace")
    name, labelled = query.label, query.label is not None
    computed = query.star is not None or query.item_aggregate or query.item_window
    if name is None and not computed and query.column is not None and NAMED.fullmatch(spelled):
        name = query.column
    if name in query.banned or (len(text) >= KEPT and query.banned and name is None):
        return None
    item = Item(name, labelled, query.item_aggregate, query.item_window, query.star)
    return query._replace(
        items=(*query.items, item),
        label=None,
        column=None,
        star=None,
        item_aggregate=False,
        item_window=False,
    )


@place("more_target")
@reads_at_most(KEPT)
def end_target(query: Query, text: bytes) -> Query | None:
    """End a selected column that another one follows."""
    if query.expect is not None and len(query.items) + 1 >= query.expect:
        return None
    return _end_target(query, text)


@place("last_target")
@reads_at_most(KEPT)
def end_targets(query: Query, text: bytes) -> Query | None:
    """End the select list; FROM comes."""
    if query.expect is not None and len(query.items) + 1 != query.expect:
        return None
    ended = _end_target(query, text)
    return None if ended is None else ended._replace(phase="from", column=None)


@place("bare_target")
@reads_at_most(KEPT)
def end_bare(query: Query, text: bytes) -> Query | None:
    """End a select list without FROM."""
    if query.phase != "bare" or (query.expect is not None and len(query.items) + 1 != query.expect):
        return None
    return _end_target(query, text)


# -- FROM


@place("LINK_COMMA")
@never_forbids
@reads_at_most(0)
def link_comma(query: Query, _text: bytes) -> Query:
    """Join by a comma."""
    return query._replace(link="comma", using=())


@place("link_join")
@never_forbids
@reads_at_most(0)
def link_join(query: Query, _text: bytes) -> Query:
    """Join with a condition."""
    return query._replace(link="join", using=())


@place("NATURAL_N")
@reads_at_most(0)
def check_natural(query: Query, _text: bytes) -> Query | None:
    """Begin NATURAL, if there is a table to join like that."""
    return query if readable(query._replace(link="natural")) else None


@place("link_natural")
@never_forbids
@reads_at_most(0)
def link_natural(query: Query, _text: bytes) -> Query:
    """Join by the columns that both sides have."""
    return query._replace(link="natural", using=())


@place("TABLE")
def take_table(query: Query, text: bytes) -> Query | None:
    """Read from a table."""
    name = read_name(text.decode())
    relation = own_cte(query)
    recursive = relation is not None and relation.name == name
    if relation is None or not recursive:
        relation = query.visible_relations().get(name)
    if relation is None:
        return None
    merged: frozenset[str] = frozenset()
    if query.link == "natural":
        merged = relation.names & frozenset(query.counts())
    return query._replace(
        sources=(*query.sources, Source(name, relation, False, merged)),
        recursive=query.recursive or recursive,
    )


@place("ALIAS", "FREE_ALIAS")
def take_alias(query: Query, text: bytes) -> Query | None:
    """Name the last table; the name must not be taken, and the table must have what was needed of that name."""
    alias = fold(text.decode())
    last = query.sources[-1]
    if any(source.alias == alias for source in query.sources[:-1]):
        return None
    needed = query.needs_of(alias)
    if needed is not None and not needed <= last.relation.usable_names:
        return None
    return query._replace(sources=(*query.sources[:-1], last._replace(alias=alias, named=True)))


@lru_cache(maxsize=64)  # asked by two actions each time
def _end_source(query: Query) -> Query | None:
    """Check the last table, with its name and condition."""
    last = query.sources[-1]
    if not is_named(query):
        return None
    if query.link == "natural":
        merged = last.merged
    else:
        merged = frozenset(query.using)
        last = last._replace(merged=merged)
    ended = query._replace(
        phase="from", sources=(*query.sources[:-1], last), link="", using=(), column=None, qualifier=None
    )
    counts = ended.counts()
    if any(counts[name] > 1 for name in query.need | query.texts):
        return None
    return ended


@place("more_source", "more_piece")
@reads_at_most(0)
def end_source(query: Query, _text: bytes) -> Query | None:
    """End a table that another one follows."""
    return _end_source(query)


@place("last_source", "last_piece")
@reads_at_most(0)
def end_from(query: Query, _text: bytes) -> Query | None:
    """End FROM: every need is met."""
    ended = _end_source(query)
    if ended is None:
        return None
    ended = leave_needs(ended._replace(phase="where"))
    if ended is None:
        return None
    items = tuple(_expanded(ended)) if ended.has_star() else ended.items
    if ended.banned and any(item.name in ended.banned for item in items):
        return None
    return ended._replace(items=items, need=frozenset(), own=frozenset(), texts=frozenset(), qualified=())


def _expanded(query: Query) -> list[Item]:
    found: list[Item] = []
    for item in query.items:
        if item.star is None:
            found.append(item)
            continue
        for source in query.sources:
            if item.star in ("*", source.alias):
                hidden = source.merged if item.star == "*" else frozenset()
                found += [
                    Item(name) for name in source.relation.columns if name is None or name not in hidden
                ]
    return found


@place("ON_WORD")
@never_forbids
@reads_at_most(0)
def begin_on(query: Query, _text: bytes) -> Query:
    """Begin the condition of a join."""
    return query._replace(phase="on")


@place("USING_WORD")
@never_forbids
@reads_at_most(0)
def begin_using(query: Query, _text: bytes) -> Query:
    """Begin the columns of USING."""
    return query


@place("USING_COLUMN")
@never_forbids
def take_using(query: Query, text: bytes) -> Query:
    """Join by a column."""
    return query._replace(using=(*query.using, read_name(text.decode())))


@place("USING_COMMA")
@reads_at_most(0)
def go_on_using(query: Query, _text: bytes) -> Query | None:
    """Go on to another column of USING, if there is one."""
    return query if common_columns(query) else None


@place("USING_CLOSE")
@reads_at_most(0)
def close_using(query: Query, _text: bytes) -> Query | None:
    """End USING, once all columns that would be ambiguous are in it."""
    return query if must_use(query) <= set(query.using) else None


# -- names in expressions


@place("COLUMN")
def take_column(query: Query, text: bytes) -> Query | None:
    """Use a column without a qualifier."""
    name = read_name(text.decode())
    used = use_column(query, name)
    return None if used is None else used._replace(column=name)


@place("QUALIFIER")
@never_forbids
def take_qualifier(query: Query, text: bytes) -> Query:
    """Name the table of a column."""
    return query._replace(qualifier=read_name(text.decode()))


@place("MEMBER")
def take_member(query: Query, text: bytes) -> Query | None:
    """Use a column of a table."""
    name = read_name(text.decode())
    used = use_member(query, name)
    return None if used is None else used._replace(column=name, qualifier=None)


@place("TEXT")
def take_text(query: Query, text: bytes) -> Query | None:
    """Use a text in double quotes, which must not be a name."""
    name = read_name(text.decode())
    used = use_text(query, name)
    return (
        None if used is None else used._replace(column=name)
    )  # of a selected text it is the name all the same


# -- behind FROM


@place("GROUP_G")
@reads_at_most(0)
def begin_group(query: Query, _text: bytes) -> Query | None:
    """Begin GROUP BY."""
    return None if query.recursive else query._replace(phase="group", grouped=True)


@place("HAVING_WORD")
@never_forbids
@reads_at_most(0)
def begin_having(query: Query, _text: bytes) -> Query:
    """Begin HAVING."""
    return query._replace(phase="having")


@place("ORDER_WORD")
@never_forbids
@reads_at_most(0)
def begin_order(query: Query, _text: bytes) -> Query:
    """Begin ORDER BY of a query that is no set operation."""
    return query._replace(phase="order")


def _ordinal(query: Query, text: bytes) -> int | None:
    spelled = text.decode("utf-8", "replace").strip()
    if len(text) >= KEPT:
        return -1 if LONG_INTEGER.fullmatch(spelled) else None
    found = INTEGER.fullmatch(spelled)
    if not found or spelled.count("(") != spelled.count(")"):  # a call
        return None
    return -1 if "-" in spelled else int(found[1])


@place("group_item")
@reads_at_most(KEPT)
def end_group_item(query: Query, text: bytes) -> Query | None:
    """End an expression of GROUP BY; a number is that of a selected column, which must compute no aggregate."""
    n = _ordinal(query, text)
    if n is None:
        return query
    if not 1 <= n <= len(query.items) or query.items[n - 1].aggregate or query.items[n - 1].window:
        return None
    return query


@place("order_item")
@reads_at_most(KEPT)
def end_order_item(query: Query, text: bytes) -> Query | None:
    """End an expression of ORDER BY; a number is that of a selected column."""
    n = _ordinal(query, text)
    return query if n is None or 1 <= n <= len(query.items) else None


# -- aggregates and windows


@never_forbids
@reads_at_most(0)
def begin_aggregate(query: Query, _text: bytes) -> Query:
    """Begin the arguments of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate + 1, aggregates=True, item_aggregate=True)


@never_forbids
@reads_at_most(0)
def begin_ranking(query: Query, _text: bytes) -> Query:
    """Begin the arguments of a window function, which OVER follows; there is no other one in them."""
    return query._replace(in_window=query.in_window + 1, windows=True, item_window=True)


@place("FILTER_OPEN")
@never_forbids
@reads_at_most(0)
def begin_filter(query: Query, _text: bytes) -> Query:
    """Begin the condition of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate + 1)


@place("AGGREGATE_CLOSE")
@never_forbids
@reads_at_most(0)
def end_aggregate(query: Query, _text: bytes) -> Query:
    """End the arguments, or the condition, of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate - 1)


@place("OVER_O")
@reads_at_most(0)
def begin_window(query: Query, _text: bytes) -> Query | None:
    """Begin a window."""
    if not may_window(query):
        return None
    return query._replace(in_window=query.in_window + 1, windows=True, item_window=True)


@place("WINDOW_CLOSE", "RANKING_CLOSE")
@never_forbids
@reads_at_most(0)
def end_window(query: Query, _text: bytes) -> Query:
    """End a window, or the arguments of a window function."""
    return query._replace(in_window=query.in_window - 1)


def may_aggregate(query: Query) -> bool:
    """Tell whether an aggregate may begin here."""
    if query.in_aggregate or query.recursive:
        return False
    if query.phase == "order":
        return query.aggregates or query.grouped
    return query.phase in ("list", "having")


def may_window(query: Query) -> bool:
    """Tell whether a window function may stand here."""
    return (
        query.phase in ("list", "order")
        and not query.in_aggregate
        and not query.in_window
        and not query.recursive
    )
