"""Make the rules of a dialect, narrowed: functions, comments, the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.ir import Expr, Literal, RuleSet
from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.ready import written_rules
from stackmask.grammar.source.files import bundled_path
from stackmask.grammar.source.work import enter, uncounted
from stackmask.grammar.sql.calls.calls import WORD_END, call_rules, numbers_up_to, seq, without_empty
from stackmask.grammar.sql.calls.functions import Functions, chosen_functions, names_pattern, safe_functions
from stackmask.grammar.sql.calls.spelling import QuerySpelling
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.grammar.sql.scope.relations import read_catalog
from stackmask.grammar.sql.scope.rules import scoped_rules

DIALECTS: Final = {"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres"}
MAX_ROWS: Final = 10**18  # what a 64-bit count of rows holds, and so what LIMIT takes
NO_WORD: Final = Literal(b" ")  # in a rule of words to be left out: leaves out none


def sql_rules(
    dialect: str,
    *,
    functions: Iterable[str] | str | None,
    read_only: bool,
    max_limit: int | None,
    spelling: QuerySpelling,
) -> RuleSet:
    """Return the rules of ``Grammar.from_sql``; its docstring says what the arguments mean.

    Raises: SQLError.
    """
    enter("reading the dialect")
    dialect = _dialect(dialect)
    _check_limit(max_limit)
    spelling = spelling.checked(dialect)
    base = _dialect_rules(dialect, "root" if max_limit is None else "limited")
    changes: dict[str, Expr] = {}
    if functions != "any":
        changes |= call_rules(dialect, _functions(dialect, functions, read_only))
    if not read_only:
        changes["side_effect"] = NO_WORD
    if max_limit is not None:
        changes["MAX_ROWS"] = seq(numbers_up_to(max_limit), WORD_END)
    bodies = {name: rule.body for name, rule in base.rules.items()} | changes
    return with_bodies(base, without_empty(spelling.respell(bodies, "")))


def scoped_sql_rules(
    dialect: str,
    *,
    schema: Any,
    tables: Iterable[str] | None,
    columns: Mapping[str, Iterable[str]] | None,
    functions: Iterable[str] | str | None,
    read_only: bool,
    max_limit: int | None,
    escape: str | None,
    new_names: bool,
    without_from: bool,
    spelling: QuerySpelling,
) -> tuple[RuleSet, RuleSet]:
    """Return the rules of ``Grammar.from_sql`` over a schema: as written, and as the automaton needs them.

    Raises: SQLError.
    """
    enter("reading the tables")
    dialect = _dialect(dialect)
    _check_limit(max_limit)
    spelling = spelling.checked(dialect)
    if functions == "any":
        raise SQLError(
            'functions: "any" goes with no schema, whose queries call known functions; list their names'
        )
    if escape is not None and (not isinstance(escape, str) or not escape.strip()):
        raise SQLError(f"escape: {escape!r:.60} is no text")
    catalog = read_catalog(read_schema(schema, dialect), dialect, tables, columns, new_names)
    return scoped_rules(
        catalog,
        _functions(dialect, functions, read_only),
        max_limit=max_limit,
        escape=escape,
        without_from=without_from,
        spelling=spelling,
    )


def query_rules(
    dialect: str,
    *,
    schema: Any,
    tables: Iterable[str] | None,
    columns: Mapping[str, Iterable[str]] | None,
    escape: str | None,
    new_names: bool,
    without_from: bool,
    spelling: QuerySpelling,
    **options: Any,
) -> tuple[RuleSet, RuleSet | None]:
    """Return the rules of ``Grammar.from_sql``: as written, and as the automaton needs them where these are known.

    Raises: SQLError.
    """
    flags = {
        "new_names": new_names,
        "without_from": without_from,
        "read_only": options.get("read_only", True),
    }
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise SQLError(f"{name}: {flag!r:.60} is neither True nor False")
    if schema is not None:
        of_schema = {"schema": schema, "tables": tables, "columns": columns, "without_from": without_from}
        of_schema |= {"escape": escape, "new_names": new_names}
        return scoped_sql_rules(dialect, spelling=spelling, **of_schema, **options)
    for name, value in {
        "tables": tables,
        "columns": columns,
        "escape": escape,
        "new_names": new_names or None,
        "without_from": without_from or None,
        "double_quotes": None if spelling.double_quotes == "names" else spelling.double_quotes,
    }.items():
        if value is not None:
            raise SQLError(f"{name}: means nothing without a `schema`: a database, its DDL or its tables")
    return sql_rules(dialect, spelling=spelling, **options), None


def _dialect(dialect: str) -> str:
    if not isinstance(dialect, str) or dialect.lower() not in DIALECTS:
        raise SQLError(f"dialect: {dialect!r:.60} is none of {', '.join(DIALECTS)}")
    return DIALECTS[dialect.lower()]


def _check_limit(max_limit: int | None) -> None:
    if max_limit is not None and (
        isinstance(max_limit, bool) or not isinstance(max_limit, int) or not 0 <= max_limit <= MAX_ROWS
    ):
        raise SQLError(f"max_limit: {max_limit!r:.60} is no number of rows from 0 to {MAX_ROWS:,}")


def _functions(dialect: str, functions: Iterable[str] | None, read_only: bool) -> Functions:
    if functions is None:
        return safe_functions(dialect)
    bodies = {name: rule.body for name, rule in _dialect_rules(dialect, "root").rules.items()}
    forbidden = names_pattern(bodies["side_effect"], bodies) if read_only else None  # mutant: read-only
    return chosen_functions(dialect, functions, forbidden)


@lru_cache(maxsize=8)
@uncounted
def _dialect_rules(dialect: str, start: str) -> RuleSet:
    path = bundled_path(dialect)
    assert path is not None  # a file of this package
    return written_rules(path, f"stackmask/grammars/{path.name}", start)
