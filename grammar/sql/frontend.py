"""The rules of a dialect, with restrictions on functions, comments and the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.ir import Expr, Literal, RuleSet
from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.normalize import normalize
from stackmask.grammar.ready import written_rules
from stackmask.grammar.source.files import bundled_path
from stackmask.grammar.source.work import enter, spend, uncounted
from stackmask.grammar.sql.calls.calls import (
    WORD_END,
    Functions,
    QuerySpelling,
    call_rules,
    chosen_functions,
    names_pattern,
    numbers_up_to,
    safe_functions,
    seq,
    without_empty,
)
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.grammar.sql.scope.relations import read_catalog
from stackmask.grammar.sql.scope.rules import scoped_rules

DIALECTS: Final = {"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres"}
MAX_ROWS: Final = 10**18  # what a 64-bit count of rows holds, and so what LIMIT takes
NO_WORD: Final = Literal(b" ")  # in a rule of words to be left out: leaves out none


@lru_cache(maxsize=8)
@uncounted
def _plain_rules(
    dialect: str,
    functions: Functions | None,
    read_only: bool,
    max_limit: int | None,
    spelling: QuerySpelling,
) -> tuple[RuleSet, RuleSet]:
    """Return the rules of a dialect without a schema, both as written and in normal form."""
    base = _dialect_rules(dialect, "root" if max_limit is None else "limited")
    changes: dict[str, Expr] = {}
    if functions is not None:
        changes |= call_rules(dialect, functions)
    if not read_only:
        changes["side_effect"] = NO_WORD
    if max_limit is not None:
        changes["MAX_ROWS"] = seq(numbers_up_to(max_limit), WORD_END)
    bodies = {name: rule.body for name, rule in base.rules.items()} | changes
    written = with_bodies(base, without_empty(spelling.respell(bodies, "")))
    return written, normalize(written)


def query_rules(
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
    """Return the rules for ``Grammar.from_sql``, which documents the arguments, as written and in normal
    form.

    Raises: SQLError.
    """
    for name, flag in {"new_names": new_names, "without_from": without_from, "read_only": read_only}.items():
        if not isinstance(flag, bool):
            raise SQLError(f"{name}: {flag!r:.60} is neither True nor False")
    of_schema: dict[str, Any] = {
        "tables": tables,
        "columns": columns,
        "escape": escape,
        "new_names": new_names or None,
        "without_from": without_from or None,
        "double_quotes": None if spelling.double_quotes == "names" else spelling.double_quotes,
    }
    for name, value in of_schema.items() if schema is None else ():
        if value is not None:
            raise SQLError(f"{name}: has no effect without a `schema`: a database, its DDL or its tables")
    enter("reading the dialect" if schema is None else "reading the tables")
    dialect = _dialect(dialect)
    _check_limit(max_limit)
    spelling = spelling.checked(dialect)
    if schema is None:
        listed = None if functions == "any" else _functions(dialect, functions, read_only)
        # what the dialect takes is the package's own, what the request adds to it is small
        spend(2_000 + 100 * len(listed.unlisted if listed is not None else ()))
        return _plain_rules(dialect, listed, read_only, max_limit, spelling)
    if functions == "any":
        raise SQLError(
            'functions: "any" is not possible with a schema, whose queries call known functions; list their names'
        )
    if escape is not None and (not isinstance(escape, str) or not escape.strip()):
        raise SQLError(f"escape: {escape!r:.60} is not text")
    return scoped_rules(
        read_catalog(read_schema(schema, dialect), dialect, tables, columns, new_names),
        _functions(dialect, functions, read_only),
        max_limit=max_limit,
        escape=escape,
        without_from=without_from,
        spelling=spelling,
    )


def _dialect(dialect: str) -> str:
    if not isinstance(dialect, str) or dialect.lower() not in DIALECTS:
        raise SQLError(f"dialect: {dialect!r:.60} is not one of {', '.join(DIALECTS)}")
    return DIALECTS[dialect.lower()]


def _check_limit(max_limit: int | None) -> None:
    if max_limit is not None and (
        isinstance(max_limit, bool) or not isinstance(max_limit, int) or not 0 <= max_limit <= MAX_ROWS
    ):
        raise SQLError(f"max_limit: {max_limit!r:.60} is not a number of rows from 0 to {MAX_ROWS:,}")


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
