"""Actions for positions in a query, and their registration for rules.

An action maps the state and the captured text to the state after it, or to None if the text may not end
there. Another continuation then always exists: an operator after an expression, a letter after a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

from stackmask.grammar.ir import Undecided, never_forbids, reads_at_most, tells_apart
from stackmask.grammar.sql.schema.schema import fold
from stackmask.grammar.sql.scope.lookup import (
    BARE,
    KEPT,
    NAMED_BY_ALIAS,
    Use,
    begins_ordinal,
    common_columns,
    covered,
    figure,
    identity,
    is_ambiguous,
    is_named,
    leave_needs,
    list_fits,
    must_read_next,
    must_use,
    named_tables,
    of_postgres,
    ordinal,
    plain_column,
    said_aliases,
    said_columns,
    said_members,
    said_tables,
    same_text,
    star_fits,
    star_room,
    use_column,
    use_member,
    use_text,
    with_grouped,
)
from stackmask.grammar.sql.scope.relations import QUOTES, Relation
from stackmask.grammar.sql.scope.state import (
    ANY,
    MAX_DEPTH,
    NO_TARGET,
    Definition,
    Item,
    Join,
    Needs,
    Query,
    Source,
    TableReading,
    cte_shadow,
    decided,
    of_last,
    own_cte,
)

Action: TypeAlias = Callable[[Any, bytes], Hashable | None]  # of a Query, and to one
Places: TypeAlias = dict[str, Action]
# what is left of an expression that is a name, which has had an action of its own
NAMED: Final = re.compile(r"[(\s]*\.?[)\s]*(?:collate\s*\w+[)\s]*)*(?:as\s*)?", re.IGNORECASE)
# the beginnings of that
TO_BE_NAMED: Final = re.compile(
    r"[(\s]*\.?[)\s]*(?:collate\s*\w+[)\s]*)*(?:as?\s*|c(?:o(?:l(?:l(?:a(?:te?)?)?)?)?)?|collate\s*\w*)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def _beginnings(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name[:size] for name in names for size in range(len(name) + 1))


def tells_names_apart(names: Callable[[Any], frozenset[str] | None]) -> Callable[[Action], Action]:
    """Mark an action for which all names outside the query's ``names`` are equivalent; for None, no names are."""
    return tells_apart(names, _may_be_one_of)


def _may_be_one_of(names: frozenset[str] | None, begun: bytes) -> bool:
    text = fold(begun.decode("utf-8", "ignore"))
    if text[:1] in QUOTES:
        text = text[1:].partition(QUOTES[text[0]])[0]
    return names is None or text in _beginnings(names)


PLACES: Final[dict[str, Places]] = {"sqlite": {}, "postgres": {}}


def place(*names: str, of: str = "") -> Callable[[Action], Action]:
    """Return a decorator that registers an action for the named rules. ``of``: its only dialect."""

    def enter(action: Action) -> Action:
        for dialect, places in PLACES.items():
            if of in ("", dialect):
                places.update(dict.fromkeys(names, action))
        return action

    return enter


def sets(*names: str, of: str = "", **changes: Any) -> None:
    """Register an action for the named rules that changes fields of the query, and forbids nothing."""

    @place(*names, of=of)
    @never_forbids
    @reads_at_most(0)
    def change(query: Any, _text: bytes) -> Any:
        return query._replace(**changes)


def forbids(*names: str, of: str = "") -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """Return a decorator that registers a test of the query as an action that forbids, and changes nothing."""

    def enter(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
        @place(*names, of=of)
        @reads_at_most(0)
        def check(query: Any, _text: bytes) -> Hashable | None:
            return None if test(query) else query

        return test

    return enter


# -- Places where queries begin and end: within queries, as tables of WITH, as parts of a set operation; and the select list.

AS: Final = re.compile(r"\s*\bas\s*$", re.IGNORECASE)
MAX_COLUMNS: Final = 1600  # of a select list; PostgreSQL has no more


# -- queries within queries


def inner(query: Query, kind: str, expect: int | None = None) -> Query:
    """Return a query nested in another one."""
    # the log of the query around it says nothing of its columns
    up = query._replace(log=None) if query.catalog.dialect.groups else query
    return Query(
        query.catalog,
        up,
        kind,
        query.depth + 1,
        expect=expect,
        ctes=query.ctes,
        stands_in=query.stands_in,
    )


@place("QUERY_OPEN")
@reads_at_most(0)
def open_query(query: Query, _text: bytes) -> Query | None:
    """Begin a query with one column."""
    return inner(query, "scalar", 1) if query.depth <= MAX_DEPTH else None


@forbids("EXISTS_E", "WITH_W")
def is_too_deep(query: Query) -> bool:
    """Return whether the nesting limit forbids words that start a query."""
    return query.depth > MAX_DEPTH


@place("EXISTS_OPEN")
@never_forbids
@reads_at_most(0)
def open_exists(query: Query, _text: bytes) -> Query:
    """Begin a query whose columns are irrelevant."""
    return inner(query, "exists")


@place("DERIVED_OPEN")
@reads_at_most(0)
def open_derived(query: Query, _text: bytes) -> Query | None:
    """Begin a query in FROM. Column names that are needed once and already provided must not be repeated."""
    query.decide_before_from()
    owes = must_read_next(query)
    if query.join.link == "natural" or query.depth > MAX_DEPTH - owes:
        return None
    counts = query.counts()
    banned = frozenset(name for name in query.needs.columns | query.needs.strings if counts[name])
    if query.has_star():
        banned |= query.banned
    kind = "lateral" if query.phase == "lateral" else "derived"
    return inner(query, kind, star_room(query))._replace(banned=banned, reading=TableReading(owes))


@place("OPERAND_OPEN")
@reads_at_most(0)
def open_operand(query: Query, _text: bytes) -> Query | None:
    """Begin a parenthesised part of a set operation."""
    if query.depth > MAX_DEPTH - query.reading.owes:
        return None
    part = query.new_part()._replace(with_recursive=query.with_recursive, parts=query.parts + 1)
    return inner(part, "operand", query.expect)._replace(
        banned=query.banned, reading=TableReading(query.reading.owes)
    )


@place("LATERAL_L")
@reads_at_most(0)
def check_lateral(query: Query, _text: bytes) -> Query | None:
    """Begin LATERAL, after which the query sees the tables to its left."""
    if query.join.link == "natural" or query.join.side == "right":
        return None
    if query.depth > MAX_DEPTH - must_read_next(query):
        return None
    return query._replace(phase="lateral")


sets("WITH_RECURSIVE", with_recursive=True)


@place("CTE_NAME")
def name_cte(query: Query, text: bytes) -> Query | None:
    """Name a CTE. The name must not shadow anything."""
    name = query.catalog.read(text)
    if name in query.visible_relations() or name in cte_shadow(query):
        return None
    return query._replace(defined=Definition(name))


@place("CTE_COLUMN")
def name_cte_column(query: Query, text: bytes) -> Query | None:
    """Name a column of a CTE."""
    name = query.catalog.read(text)
    known = query.defined.columns
    if name in known:
        return None
    return query._replace(defined=query.defined._replace(columns=(*known, name)))


@place("CTE_OPEN")
@never_forbids
@reads_at_most(0)
def open_cte(query: Query, _text: bytes) -> Query:
    """Begin the query of a CTE."""
    return inner(query, "cte", len(query.defined.columns) or None)


@place("CLOSE")
@reads_at_most(0)
def close_query(query: Query, _text: bytes) -> Query | None:
    """End a query, and pass its columns to the enclosing one."""
    up = query.up
    if up is None:
        return None
    up = up if up.stands_in == query.stands_in else up._replace(stands_in=query.stands_in)
    head = query.head if query.head is not None else query.counted_items()
    if query.kind == "cte":
        assert up.defined.name is not None
        names = up.defined.columns or [item.name for item in decided(head)]
        relation = query.catalog.result(up.defined.name, names, query.reading.done)
        return up._replace(ctes=(*up.ctes, relation), defined=Definition())
    if query.reading.done:
        up = up._replace(reading=up.reading._replace(done=True))
    if query.kind in ("derived", "lateral"):
        relation = query.catalog.result("", [item.name for item in decided(head)])
        return up._replace(sources=(*up.sources, Source("", relation)), phase="from")
    if query.kind == "operand":
        items = tuple(Item(item.name, maybe=item.maybe) for item in head)
        return up._replace(items=items, expect=len(items))
    return up


# -- parts of a query


@place("SELECT_FROM")
@reads_at_most(0)
def begin_list(query: Query, _text: bytes) -> Query | None:
    """Begin a select list followed by FROM."""
    return _begin(query, "list") if query.depth <= MAX_DEPTH else None


@place("SELECT_BARE")
@never_forbids
@reads_at_most(0)
def begin_bare(query: Query, _text: bytes) -> Query:
    """Begin a select list without FROM."""
    return _begin(query, "bare")


@forbids("VALUES_V")
def must_read(query: Query) -> bool:
    """Return whether VALUES are forbidden because rows must come from a table."""
    return query.reading.owes


@place("VALUES_WORD")
@never_forbids
@reads_at_most(0)
def begin_values(query: Query, _text: bytes) -> Query:
    """Begin the rows of VALUES."""
    return _begin(query, "values")


def _begin(query: Query, phase: str) -> Query:
    return query.new_part()._replace(phase=phase, parts=query.parts + 1, may_recurse=query.may_recurse)


@place("SET_LETTER_U", "SET_LETTER_I", "SET_LETTER_E")
def next_part(query: Query, text: bytes) -> Query | None:
    """End a part of a set operation; nothing may follow a part that reads its own CTE."""
    if query.recursive:
        return None
    head = tuple(_heading(query)) if query.head is None else query.head
    recursive = query.kind == "cte" and query.up is not None
    if recursive and query.catalog.dialect.groups:
        recursive = query.up is not None and query.up.with_recursive
    return query.new_part()._replace(
        head=head,
        expect=len(head),
        banned=frozenset(),
        may_recurse=recursive and text in (b"u", b"U"),
    )


def _heading(query: Query) -> Iterator[Item]:
    """Yield the columns of a set operation, named by its first part.

    In SQLite a name refers to a result column only if it denotes exactly this column: not one merged by
    USING, nor one of an enclosing query.
    """
    counts = query.counts()
    for item in query.counted_items():
        if query.catalog.dialect.groups or item.is_unknown():
            yield Item(item.name, maybe=item.maybe)
            continue
        is_own = (
            item.name is not None
            and counts[item.name] == 1
            and not any(item.name in source.merged for source in query.sources)
            and (item.column is None or query.known_source(item.column[0]) is not None)
        )
        yield item._replace(labelled=item.labelled or is_own)


@forbids("query")
def part_is_not_covered(query: Query) -> bool:
    """Return whether the part has both aggregates and an ungrouped selected item."""
    return not covered(query)


@forbids("RESULT_O", "ROWS_LETTER_L", "ROWS_LETTER_O", "ROWS_LETTER_F", "RIGHT_R")
def reads_itself(query: Query) -> bool:
    """Return whether the query reads its own CTE, which excludes many constructs."""
    return query.recursive


sets("DISTINCT_WORD", distinct=True)


@place("more_value")
@reads_at_most(KEPT)
def end_value(query: Query, text: bytes) -> Query | None:
    """End a value followed by another one."""
    if query.expect is not None and query.cells + 1 >= query.expect:
        return None
    return _end_value(query, text)


@place("last_value")
@reads_at_most(KEPT)
def end_values(query: Query, text: bytes) -> Query | None:
    """End the last value of a row."""
    n = query.cells + 1
    if query.expect is not None and n != query.expect:
        return None
    ended = _end_value(query, text)
    return None if ended is None else ended._replace(cells=0, expect=n)


def _end_value(query: Query, text: bytes) -> Query | None:
    """End a value. The first row names the columns, by number or, in SQLite, by a string in double quotes.

    PostgreSQL's rules record no ``column``, so only numbers are used.
    """
    column = query.target.column
    target = query.target._replace(column=None, column_of=None)
    ended = query._replace(cells=query.cells + 1, target=target)
    if len(query.items) != query.cells:
        return ended
    name: str | None = f"column{query.cells + 1}"
    if column is not None and NAMED.fullmatch(text.decode("utf-8", "replace")):
        if len(text) >= KEPT:
            return None
        name = column
    if name in query.banned:
        return None
    return ended._replace(items=(*query.items, Item(name)))


# -- the select list


@place("STAR")
@reads_at_most(0)
def take_star(query: Query, _text: bytes) -> Query | None:
    """Select all columns."""
    if query.phase != "list" or not star_fits(query):
        return None
    return query._replace(target=query.target._replace(star="*"))


@place("STAR_OF")
@reads_at_most(0)
def take_star_of(query: Query, _text: bytes) -> Query | None:
    """Select all columns of a table, which must be in FROM."""
    alias = query.qualifier
    if query.phase != "list" or query.expect is not None or alias is None or not star_fits(query):
        return None
    needs = query.needs.with_table(alias, frozenset(), True)
    return query._replace(needs=needs, target=query.target._replace(star=alias))


@place("LABEL", "FREE_LABEL")
@never_forbids
@tells_names_apart(attrgetter("banned"))
def take_label(query: Query, text: bytes) -> Query:
    """Name a selected column."""
    return query._replace(target=query.target._replace(label=query.catalog.read(text)))


def _end_target(query: Query, data: bytes, phase: str) -> Query | None:
    groups = query.catalog.dialect.groups
    if query.stands_in and not query.names_matter() and (groups or len(data) < KEPT):
        item: Item | None = query.target.item(ANY)
    else:
        item = (_figured_item if groups else _named_item)(query, data.decode("utf-8", "replace"), len(data))
    if item is None or item.name in query.banned or (groups and len(query.items) >= MAX_COLUMNS):
        return None
    return query._replace(items=(*query.items, item), phase=phase, target=NO_TARGET, log=())


def _named_item(query: Query, text: str, size: int) -> Item | None:
    """Return SQLite's selected item, named by its label, or by its column if it is only a column."""
    target = query.target
    name = target.label
    own: tuple[str, str] | None = None
    computed = target.star is not None or target.aggregate or target.window
    if name is None and not computed and target.column is not None and NAMED.fullmatch(text):
        if size >= KEPT:  # what comes after it may compute
            return None
        name = target.column
        own = None if target.column_of is None else (target.column_of, target.column)
    if size >= KEPT and query.banned and name is None:
        return None
    return target.item(name)._replace(column=own)


def _figured_item(query: Query, text: str, size: int) -> Item | None:
    """Return PostgreSQL's selected item, named by its label or by its expression."""
    target = query.target
    item = target.item(target.label)
    if target.star is not None:
        return item
    if size < KEPT:
        text = AS.sub("", text)
    item = item._replace(text=same_text(text, query.log))
    if target.label is None:
        name, guessed = figure(text, query.log)
        if guessed != frozenset():
            # a label must tell the name where it matters
            return None if query.names_matter() else item._replace(maybe=guessed)
        item = item._replace(name=name)
    return item._replace(column=plain_column(text, query.log))


def _kinds_of_text(query: Query) -> tuple[bool, bool]:
    return query.names_matter(), query.catalog.dialect.groups


def _may_be_named(kinds: tuple[bool, bool], begun: bytes) -> bool:
    """Return whether a text with this beginning may name a column, where column names have effects."""
    matters, is_postgres = kinds
    return matters or (
        not is_postgres and TO_BE_NAMED.fullmatch(begun.decode("utf-8", "replace")) is not None
    )


@place("more_target")
@reads_at_most(KEPT)
@tells_apart(_kinds_of_text, _may_be_named)
def end_target(query: Query, text: bytes) -> Query | None:
    """End a selected item followed by another one."""
    if query.expect is not None and len(query.items) + 1 >= query.expect:
        return None
    return _end_target(query, text, query.phase)


@place("last_target")
@reads_at_most(KEPT)
@tells_apart(_kinds_of_text, _may_be_named)
def end_targets(query: Query, text: bytes) -> Query | None:
    """End the select list before FROM."""
    return _end_target(query, text, "from") if list_fits(query) else None


@place("bare_target")
@reads_at_most(KEPT)
@tells_apart(_kinds_of_text, _may_be_named)
def end_bare(query: Query, text: bytes) -> Query | None:
    """End a select list without FROM."""
    if query.phase != "bare" or query.reading.lacks():
        return None
    if query.expect is not None and len(query.items) + 1 != query.expect:
        return None
    return _end_target(query, text, "bare")


# -- Places of FROM: tables, their names, and how they are joined. ---------------------------------------


@place("LINK_COMMA")
@never_forbids
@reads_at_most(0)
def link_comma(query: Query, _text: bytes) -> Query:
    """Join by a comma; in PostgreSQL, a later ON does not see the tables before the comma."""
    return query._replace(join=Join("comma"), comma=0 if query.catalog.dialect.later else len(query.sources))


def _links(name: str, **changes: Any) -> None:
    @place(name)
    @never_forbids
    @reads_at_most(0)
    def link(query: Query, _text: bytes) -> Query:
        return query._replace(join=query.join._replace(**changes))


_links("link_join", link="join")
_links("link_cross", link="cross")
_links("link_natural", link="natural")
_links("LEFT_WORD", side="left")
_links("RIGHT_WORD", side="right")


@forbids("NATURAL_N")
def has_no_table(query: Query) -> bool:
    """Return whether there is no table to join by common columns."""
    return not named_tables(query._replace(join=query.join._replace(link="natural")))


@place("TABLE")
def take_table(query: Query, text: bytes) -> Query | None:
    """Read from a table."""
    name = query.catalog.read(text)
    relation = own_cte(query)
    recursive = relation is not None and relation.name == name
    if relation is None or not recursive:
        relation = query.visible_relations().get(name)
    if relation is None:
        return None
    return joined(query._replace(recursive=query.recursive or recursive), name, relation)


@place("SCHEMA_TABLE")
def take_schema_table(query: Query, text: bytes) -> Query | None:
    """Read from a table of a schema."""
    assert query.qualifier is not None
    name = query.catalog.read(text)
    relation = query.catalog.schemas[query.qualifier].get(name)
    return None if relation is None else joined(query._replace(qualifier=None), name, relation)


def joined(query: Query, name: str, relation: Relation) -> Query:
    """Return the query with one more table in FROM."""
    merged = relation.names & frozenset(query.counts()) if query.join.link == "natural" else frozenset[str]()
    return query._replace(
        sources=(*query.sources, Source(name, relation, False, merged)),
        reading=query.reading._replace(done=query.reading.done or relation.reads),
    )


@place("ALIAS", "FREE_ALIAS")
@tells_names_apart(said_aliases)
def take_alias(query: Query, text: bytes) -> Query | None:
    """Name the last table; the name must be unused, and the table must have the columns that it needs."""
    alias = query.catalog.read(text)
    *others, last = query.sources
    relation = last.relation
    for source in others:
        if source.alias == ANY:
            raise Undecided
        if source.alias == alias:
            return None
    if relation.name == NAMED_BY_ALIAS:
        if alias in query.needs.columns and query.counts()[alias]:
            return None
        relation = Relation.of_columns("", (alias,))
    needed = query.needs.of_table(alias)
    if needed is not None and not needed <= relation.usable_names:
        return None
    return query._replace(sources=(*others, Source(alias, relation, True, last.merged)))


@of_last
def end_joined(query: Query) -> Query | None:
    """Check the last table, with its name and condition."""
    last = query.sources[-1]
    if not is_named(query):
        return None
    if query.join.link == "natural":
        merged = last.merged
    else:
        merged = frozenset(query.join.using)
        last = last._replace(merged=merged)
    ended = query._replace(
        phase="from",
        sources=(*query.sources[:-1], last),
        join=query.join._replace(link="", using=(), side=""),
        qualifier=None,
    )
    counts = ended.counts()
    if any(counts[name] > 1 for name in query.needs.columns | query.needs.strings):
        return None
    return ended


@place("more_source", "more_piece")
@reads_at_most(0)
def end_source(query: Query, _text: bytes) -> Query | None:
    """End a table followed by another one."""
    ended = end_joined(query)
    return None if ended is None or star_room(ended) == 0 else ended


@place("last_source", "last_piece")
@reads_at_most(0)
def end_from(query: Query, _text: bytes) -> Query | None:
    """End FROM after checking that every need is satisfied."""
    ended = end_joined(query)
    if ended is None or star_room(ended) or ended.reading.lacks():
        return None
    ended = leave_needs(ended._replace(phase="where", log=()))
    if ended is None:
        return None
    items = tuple(_resolved(ended))
    if ended.banned and any(item.name in ended.banned for item in items):
        return None
    return ended._replace(items=items, needs=Needs())


def _resolved(query: Query) -> list[Item]:
    """Return the items with stars expanded; in PostgreSQL also with the tables of their inner columns."""
    groups = query.catalog.dialect.groups
    counts = query.counts()

    def own(use: Use) -> Use | None:
        if ANY in use:
            return use
        if use[0]:
            return use if query.source(use[0]) is not None else None
        return identity(query.sources, use[1]) if counts[use[1]] else None

    found: list[Item] = []
    for item in query.items:
        if item.star is None:
            if groups:
                loose = frozenset(use for use in map(own, item.loose) if use is not None)
                item = item._replace(loose=loose, column=None if item.column is None else own(item.column))
            found.append(item)
            continue
        for source in query.sources:
            if item.star not in ("*", source.alias):
                continue
            for name in source.relation.columns:
                if item.star == "*" and name in source.merged:
                    continue
                merged = item.star == "*" and any(name in other.merged for other in query.sources)
                use = ("" if merged else source.alias, name or "")
                found.append(Item(name, column=use, loose=frozenset({use})) if groups else Item(name))
    return found


sets("ON_WORD", phase="on")


sets("USING_WORD")


@place("USING_COLUMN")
@never_forbids
def take_using(query: Query, text: bytes) -> Query:
    """Join by a column."""
    return query._replace(join=query.join._replace(using=(*query.join.using, query.catalog.read(text))))


@forbids("USING_COMMA")
def has_no_more_columns(query: Query) -> bool:
    """Return whether no further column is possible in USING."""
    return not common_columns(query)


@forbids("USING_CLOSE")
def lacks_columns(query: Query) -> bool:
    """Return whether a column would be ambiguous because USING does not name it yet."""
    return not must_use(query) <= set(query.join.using)


def begin_table_call(columns: tuple[str, ...]) -> Action:
    """Return the action for a function's name in FROM. ``columns``: its columns, () if an alias names the only one."""

    def begin(query: Query, _text: bytes) -> Query:
        return query._replace(phase="lateral", calling=columns)

    return begin


@place("TABLE_CALL_CLOSE")
@never_forbids
@reads_at_most(0)
def end_table_call(query: Query, _text: bytes) -> Query:
    """End the arguments of a function in FROM."""
    columns = query.calling or ()
    relation = Relation.of_columns("" if columns else NAMED_BY_ALIAS, columns)
    return query._replace(phase="from", calling=None, sources=(*query.sources, Source("", relation)))


# -- Places of expressions and of what comes after FROM: names, GROUP BY, ORDER BY, aggregates, windows. -

# -- names in expressions


def _noted(query: Query | None, *entry: str) -> Query | None:
    """Return the query with a record of the expression's name or call, if it may name a result column."""
    if query is None:
        return None
    if query.catalog.dialect.groups:
        if query.log is None or query.phase not in ("list", "bare", "group", "order"):
            return query
        return query._replace(log=(*query.log, entry))
    if query.phase not in ("list", "bare", "values"):
        return query
    return query._replace(
        target=query.target._replace(column=entry[-1], column_of=entry[1] if len(entry) > 2 else None)
    )


@place("COLUMN")
@tells_names_apart(said_columns)
def take_column(query: Query, text: bytes) -> Query | None:
    """Use a column without a qualifier."""
    name = query.catalog.read(text)
    return _noted(use_column(query, name), "column", name)


@place("QUALIFIER", "CHOSEN_QUALIFIER", "SCHEMA_NAME")
@never_forbids
@tells_names_apart(said_tables)
def take_qualifier(query: Query, text: bytes) -> Query:
    """Record the table of a column, or the schema of a table."""
    return query._replace(qualifier=query.catalog.read(text))


@place("MEMBER")
@tells_names_apart(said_members)
def take_member(query: Query, text: bytes) -> Query | None:
    """Use a column of a table."""
    name = query.catalog.read(text)
    used = use_member(query, name)
    assert query.qualifier is not None
    return None if used is None else _noted(used._replace(qualifier=None), "member", query.qualifier, name)


@place("TEXT")
def take_text(query: Query, text: bytes) -> Query | None:
    """Use a text in double quotes, which must not be a name, except that a selected text becomes the name."""
    name = query.catalog.read(text)
    return _noted(use_text(query, name), "column", name)


# -- after FROM


@place("GROUP_G")
@reads_at_most(0)
def begin_group(query: Query, _text: bytes) -> Query | None:
    """Begin GROUP BY."""
    if query.recursive:
        return None
    return query._replace(phase="group", grouping=query.grouping._replace(begun=True), log=())


@place("GROUP_LABEL")
def take_group_label(query: Query, text: bytes) -> Query | None:
    """Group by the selected item with this name."""
    name = query.catalog.read(text)
    for n, item in enumerate(query.known_items()):
        if item.name == name:
            query = with_grouped(query, n)
    return query


@place("group_item")
@reads_at_most(KEPT)
@tells_apart(of_postgres, begins_ordinal)
def end_group_item(query: Query, data: bytes) -> Query | None:
    """End an expression of GROUP BY; a number refers to a selected item, which must not contain an aggregate."""
    n = ordinal(query, data)
    groups = query.catalog.dialect.groups
    ended = query._replace(log=())
    if n is not None:
        items = query.counted_items()
        if not 1 <= n <= len(items) or items[n - 1].aggregate or items[n - 1].window:
            return None
        return with_grouped(ended, n - 1) if groups else ended
    if not groups:
        return ended
    text = data.decode("utf-8", "replace")
    column = plain_column(text, query.log) if len(data) < KEPT else None
    by = query.grouping
    if column is not None:
        own = column if column[0] else identity(query.sources, column[1])
        return ended._replace(grouping=by._replace(columns=by.columns | {own}))
    same = same_text(text, query.log)
    if same is None:
        return ended
    return ended._replace(grouping=by._replace(expressions=by.expressions | {same}))


@forbids("group_items")
def is_not_covered(query: Query) -> bool:
    """Return whether a selected item is neither grouped nor computed only from groups."""
    return not covered(query)


sets("HAVING_WORD", phase="having")


@place("HAVING_H")
@reads_at_most(0)
def begin_covered_having(query: Query, _text: bytes) -> Query | None:
    """Begin HAVING. Without GROUP BY, all rows form one group."""
    if query.recursive:
        return None
    having = query._replace(phase="having", grouping=query.grouping._replace(begun=True))
    return having if covered(having) else None


@place("ORDER_WORD", of="sqlite")
@never_forbids
@reads_at_most(0)
def begin_order(query: Query, _text: bytes) -> Query:
    """Begin ORDER BY of a query that is not a set operation."""
    query.decide_labels()
    return query._replace(phase="order")


@place("ORDER_WORD", of="postgres")
@reads_at_most(0)
def begin_free_order(query: Query, _text: bytes) -> Query | None:
    """Begin ORDER BY of a query that is not a set operation, and may have duplicate rows."""
    if query.distinct or query.recursive:
        return None
    return query._replace(phase="order", log=())


@place("ORDER_DISTINCT")
@reads_at_most(0)
def begin_chosen(query: Query, _text: bytes) -> Query | None:
    """Begin ORDER BY after SELECT DISTINCT."""
    return query._replace(phase="order") if query.distinct and not query.recursive else None


@place("order_item")
@reads_at_most(KEPT)
@tells_apart(of_postgres, begins_ordinal)
def end_order_item(query: Query, data: bytes) -> Query | None:
    """End an expression of ORDER BY; a number refers to a selected item.

    In PostgreSQL, a single name refers to an item rather than to a column.
    """
    n = ordinal(query, data)
    log = query.log
    if n is not None:
        return query._replace(log=()) if 1 <= n <= len(query.counted_items()) else None
    is_bare = (
        log and len(log) == 1 and log[0][0] == "column" and BARE.fullmatch(data.decode("utf-8", "replace"))
    )
    if is_bare and log and is_ambiguous(query.known_items(), log[0][1]):
        return None
    return query._replace(log=())


# -- aggregates and windows


def in_an_aggregate(query: Query) -> Query:
    """Return the query within the arguments of an aggregate."""
    target = query.target._replace(aggregate=True)
    return query._replace(in_aggregate=query.in_aggregate + 1, aggregates=True, target=target)


def in_a_window(query: Query) -> Query:
    """Return the query within a window, or the arguments of a function with one."""
    target = query.target._replace(window=True)
    return query._replace(in_window=query.in_window + 1, windows=True, target=target)


@never_forbids
@reads_at_most(0)
def begin_aggregate(query: Query, _text: bytes) -> Query:
    """Begin the arguments of an aggregate."""
    return in_an_aggregate(query)


@never_forbids
def begin_named_aggregate(query: Query, text: bytes) -> Query:
    """Begin the arguments of an aggregate whose name may be that of a result column."""
    return _called(in_an_aggregate(query), text)


@never_forbids
@reads_at_most(0)
def begin_ranking(query: Query, _text: bytes) -> Query:
    """Begin the arguments of a window function followed by OVER; window functions cannot be nested."""
    return in_a_window(query)


@never_forbids
def begin_window_call(query: Query, text: bytes) -> Query:
    """Begin a function with a window. It may contain aggregates, but no other window."""
    return _called(in_a_window(query), text)


def _called(query: Query, text: bytes) -> Query:
    noted = _noted(query, "call", query.catalog.read(text))
    assert noted is not None
    return noted


@place("FILTER_OPEN", "FILTER_F")
@never_forbids
@reads_at_most(0)
def begin_filter(query: Query, _text: bytes) -> Query:
    """Begin the condition of an aggregate."""
    return query._replace(in_aggregate=query.in_aggregate + 1)


@place("AGGREGATE_CLOSE", "filter_body")
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
    return in_a_window(query)


@place("WINDOW_CLOSE", "RANKING_CLOSE", "window_body")
@never_forbids
@reads_at_most(0)
def end_window(query: Query, _text: bytes) -> Query:
    """End a window, or the arguments of a window function."""
    return query._replace(in_window=query.in_window - 1)


def may_aggregate(query: Query) -> bool:
    """Return whether an aggregate may begin here."""
    if query.in_aggregate or query.recursive:
        return False
    if query.phase == "order":
        return query.aggregates or query.grouping.begun
    return query.phase in ("list", "having")


def may_window(query: Query) -> bool:
    """Return whether a window function may begin here."""
    return (
        query.phase in ("list", "order")
        and not query.in_aggregate
        and not query.in_window
        and not query.recursive
    )
