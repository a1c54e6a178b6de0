"""Which functions a query may call: the lists of each dialect, and what the caller names.

The lists (``…_functions.json``) are made of the databases' own catalogues by ``benchmarks/sql_catalogue.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from stackmask.grammar.ir import CharClass, Choice, Expr, Literal, Repeat, RuleRef, Sequence
from stackmask.grammar.sql.schema.errors import SQLError

KINDS: Final = ("scalar", "aggregate", "ordered_set", "window", "table")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*")
FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Arity:
    """How many arguments: one of ``counts`` (sorted), or more than the last of them if ``open``."""

    counts: tuple[int, ...]
    open: bool = False

    @classmethod
    def read(cls, text: str) -> Arity:
        """Read ``1``, ``2,3`` or ``2+``."""
        return cls(tuple(map(int, text.removesuffix("+").split(","))), text.endswith("+"))


Groups: TypeAlias = Mapping[Arity, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Functions:
    """Names by kind and arity, as pairs, so that what is made of them can be remembered; ``unlisted`` are names that the dialect's list does not have: any arguments.

    ``types``: names of types, where the dialect has a list of them; a type's name calls its input function.
    """

    groups: tuple[tuple[str, Arity, tuple[str, ...]], ...]
    unlisted: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def of(self, kind: str) -> Groups:
        """Return the names of a kind."""
        return {arity: names for of, arity, names in self.groups if of == kind}


@cache
def safe_functions(dialect: str) -> Functions:
    """Return the functions of a dialect that only compute."""
    document = json.loads((FOLDER / f"{dialect}_functions.json").read_text("utf-8"))
    return Functions(
        tuple(
            (kind, Arity.read(count), tuple(names))
            for kind in KINDS
            for count, names in document.get(kind, {}).items()
        ),
        types=tuple(document.get("types", {}).get("names", ())),
    )


def chosen_functions(dialect: str, names: Iterable[str], forbidden: re.Pattern[str] | None) -> Functions:
    """Return the functions that a caller lists, with the arities of those that the dialect's list has.

    Raises: SQLError if a name is none, or is ``forbidden``.
    """
    if isinstance(names, str | bytes):
        raise SQLError(f'functions: {names!r:.60} is neither None, "any" nor a list of names')
    wanted = set()
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise SQLError(f"functions: {name!r:.60} is no name of a function")
        if forbidden is not None and forbidden.fullmatch(name.rpartition(".")[2]):  # mutant: schema-name
            raise SQLError(
                f"functions: `{name:.60}` has side effects; read_only=False lets it through, and then nothing "
                "but the privileges of the role that runs the query keeps it from writing"
            )
        wanted.add(name.lower())
    known = safe_functions(dialect)
    kept = [
        (kind, arity, here)
        for kind, arity, names in known.groups
        if (here := tuple(name for name in names if name in wanted))
    ]
    listed = {name for _, _, names in kept for name in names}
    return Functions(tuple(kept), tuple(sorted(wanted - listed)), known.types)


def names_pattern(expr: Expr, rules: Mapping[str, Expr]) -> re.Pattern[str]:
    """Return the Python pattern of a regular expression of the grammar; for rules that list words."""

    def spelled(expr: Expr) -> str:
        match expr:
            case Literal(data):
                return re.escape(data.decode())
            case CharClass(ranges):
                return "[" + "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges) + "]"
            case Sequence(items):
                return "".join(map(spelled, items))
            case Choice(items):
                return "(?:" + "|".join(map(spelled, items)) + ")"
            case Repeat(item, low, high):
                return f"(?:{spelled(item)}){{{low},{'' if high is None else high}}}"
            case RuleRef(name):
                return spelled(rules[name])
        raise TypeError(expr)

    return re.compile(spelled(expr))
