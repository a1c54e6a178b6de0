"""The functions that a query may call, from the lists of each dialect and of the caller.

The lists (``…_functions.json``) are generated from the databases' own catalogues by
``lab/benchmarks/sql_catalogue.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from typing import Literal as OneOf

from stackmask.grammar import ir
from stackmask.grammar.ir.build import rewrite
from stackmask.grammar.notation.loading import SKIP_RULE
from stackmask.grammar.sql.schema.errors import SQLError

KINDS: Final = ("scalar", "aggregate", "ordered_set", "window", "table")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*")
FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Arity:
    """The allowed numbers of arguments: those in ``counts`` (sorted) and, if ``open``, all greater ones."""

    counts: tuple[int, ...]
    open: bool = False

    @classmethod
    def read(cls, text: str) -> Arity:
        """Parse ``1``, ``2,3`` or ``2+``."""
        return cls(tuple(map(int, text.removesuffix("+").split(","))), text.endswith("+"))


Groups: TypeAlias = Mapping[Arity, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Functions:
    """Names by kind and arity, as pairs, so that results can be cached. ``unlisted``: names outside the
    dialect's list, with any arguments.

    ``types``: names of types, if the dialect lists them; a type's name calls its input function.
    """

    groups: tuple[tuple[str, Arity, tuple[str, ...]], ...]
    unlisted: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def of(self, kind: str) -> Groups:
        """Return the names of functions of a kind."""
        return {arity: names for of, arity, names in self.groups if of == kind}


@cache
def safe_functions(dialect: str) -> Functions:
    """Return the pure functions of a dialect."""
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
    """Return the functions that a caller lists, with their arities in the dialect's list.

    Raises: SQLError if a name is invalid, or matches ``forbidden``.
    """
    if isinstance(names, str | bytes):
        raise SQLError(f'functions: {names!r:.60} is neither None, "any" nor a list of names')
    wanted = set()
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise SQLError(f"functions: {name!r:.60} is not the name of a function")
        if forbidden is not None and forbidden.fullmatch(name.rpartition(".")[2]):  # mutant: schema-name
            raise SQLError(
                f"functions: `{name:.60}` has side effects; read_only=False allows it, and then only the "
                "privileges of the role that runs the query prevent writing"
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


def names_pattern(expr: ir.Expr, rules: Mapping[str, ir.Expr]) -> re.Pattern[str]:
    """Return the Python pattern of a regular expression in the grammar; for rules that list words."""

    def spelled(expr: ir.Expr) -> str:
        match expr:
            case ir.Literal(data):
                return re.escape(data.decode())
            case ir.CharClass(ranges):
                return "[" + "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges) + "]"
            case ir.Sequence(items):
                return "".join(map(spelled, items))
            case ir.Choice(items):
                return "(?:" + "|".join(map(spelled, items)) + ")"
            case ir.Repeat(item, low, high):
                return f"(?:{spelled(item)}){{{low},{'' if high is None else high}}}"
            case ir.RuleRef(name):
                return spelled(rules[name])
        raise TypeError(expr)

    return re.compile(spelled(expr))


# -- Rules for calls of listed functions: the right number of arguments, DISTINCT, FILTER and OVER where they may stand.

SKIP: Final = ir.RuleRef(SKIP_RULE)
_ID_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$" + bytes(
    range(0x80, 0x100)
)
WORD_END: Final = ir.NotFollowedBy(sum(1 << byte for byte in _ID_BYTES))


def call_rules(dialect: str, functions: Functions) -> dict[str, ir.Expr]:
    """Return the rules ``call`` and ``table_call`` of a dialect for these functions."""
    argument = "argument" if dialect == "postgres" else "expr"
    scalar = _each(functions.of("scalar"), lambda arity: seq(arguments(arity, argument), sign(")")))
    unlisted = seq(words(functions.unlisted), sign("("), _any_arguments(dialect), sign(")"))
    aggregate = _postgres_aggregate if dialect == "postgres" else _sqlite_aggregate
    calls = [
        *scalar,
        *([seq(unlisted, _opt("filter"), _opt("over"))] if functions.unlisted else []),
        *_each(functions.of("aggregate"), aggregate),
        *_each(functions.of("ordered_set"), _ordered_set),
        *_each(functions.of("window"), lambda arity: seq(arguments(arity, "expr"), sign(")"), ref("over"))),
    ]
    if dialect == "postgres":  # any function may stand in FROM
        tables = [*scalar, ref("special_call")]
    else:
        tables = _each(functions.of("table"), lambda arity: seq(arguments(arity, "expr"), sign(")")))
    if functions.unlisted:
        tables.append(unlisted)
    rules: dict[str, ir.Expr] = {"call": ir.Choice(tuple(calls)), "table_call": ir.Choice(tuple(tables))}
    if functions.types:
        types = words(functions.types)
        rules["named_type"] = seq(types, _opt("precision"))
        rules["typed_text"] = seq(types, _opt("precision"), ref("STRING"), SKIP)
    if dialect == "sqlite":
        tests = [
            "LIKE",
            "GLOB",
            *(name.upper() for name in ("regexp", "match") if name in functions.unlisted),
        ]
        rules["pattern_test"] = ir.Choice(tuple(seq(ref(name), SKIP) for name in tests))
    return rules


def _sqlite_aggregate(arity: Arity) -> ir.Expr:
    ways = [seq(_opt_word("ALL"), arguments(arity, "expr"), sign(")"), _opt("filter"), _opt("over"))]
    if 0 in arity.counts:
        ways.append(seq(sign("*"), sign(")"), _opt("filter"), _opt("over")))
    if 1 in arity.counts:  # DISTINCT takes one argument, and no window
        ways.append(seq(ref("DISTINCT"), SKIP, ref("expr"), sign(")"), _opt("filter")))
    return ir.Choice(tuple(ways))


def _postgres_aggregate(arity: Arity) -> ir.Expr:
    ways = []
    if 0 in arity.counts:
        ways.append(seq(sign("*"), sign(")"), _opt("filter"), _opt("over")))
        arity = Arity(tuple(count for count in arity.counts if count), arity.open)
    # neither DISTINCT nor ORDER BY goes with a window
    listed = arguments(arity, "expr")
    end = ir.Choice(
        (seq(sign(")"), _opt("filter"), _opt("over")), seq(ref("order"), sign(")"), _opt("filter")))
    )
    ways.append(seq(_opt_word("ALL"), listed, end))
    ways.append(seq(ref("DISTINCT"), SKIP, listed, _opt("order"), sign(")"), _opt("filter")))
    return ir.Choice(tuple(ways))


def _ordered_set(arity: Arity) -> ir.Expr:
    within = [part for word in ("WITHIN", "GROUP") for part in (ref(word), SKIP)]
    return seq(
        arguments(arity, "expr"), sign(")"), *within, sign("("), ref("order"), sign(")"), _opt("filter")
    )


def _any_arguments(dialect: str) -> ir.Expr:
    if dialect == "postgres":
        distinct = seq(ref("DISTINCT"), SKIP, ref("any_arguments"), _opt("order"))
        return _optional(ir.Choice((seq(ref("any_arguments"), _opt("order")), distinct, sign("*"))))
    how = _optional(ir.Choice((seq(ref("DISTINCT"), SKIP), seq(ref("ALL"), SKIP))))
    return _optional(ir.Choice((seq(how, ref("exprs")), sign("*"))))


def arguments(arity: Arity, item: str) -> ir.Expr:
    """Return a number of items separated by commas."""
    ways: list[ir.Expr] = [ir.EPSILON] if 0 in arity.counts else []
    for low, high in _runs(arity):
        ways.append(
            seq(ref(item), ir.Repeat(seq(sign(","), ref(item)), low - 1, None if high is None else high - 1))
        )
    return ways[0] if len(ways) == 1 else ir.Choice(tuple(ways))


def _runs(arity: Arity) -> list[tuple[int, int | None]]:
    """Return the allowed counts from 1 on as separate ranges; the last is open if more are allowed."""
    counts = [count for count in arity.counts if count]
    if not counts:
        return [(1, None)] if arity.open else []
    starts = [counts[0]] + [b for a, b in pairwise(counts) if b != a + 1]
    ends: list[int | None] = [a for a, b in pairwise(counts) if b != a + 1]
    return list(zip(starts, [*ends, None if arity.open else counts[-1]], strict=True))


def _each(groups: Groups, rest: Callable[[Arity], ir.Expr]) -> list[ir.Expr]:
    return [seq(words(names), sign("("), rest(arity)) for arity, names in groups.items()]


def words(names: tuple[str, ...]) -> ir.Expr:
    """Return any of the names, case-insensitively, and the blanks after it."""
    return seq(ir.Choice(tuple(map(caseless, names))), WORD_END, SKIP)


@lru_cache(maxsize=65536)
def caseless(text: str) -> ir.Expr:
    """Return the text with its ASCII letters case-insensitive."""
    parts: list[ir.Expr] = []
    plain = ""
    for char in text:
        if char.isascii() and char.isalpha():
            if plain:
                parts.append(ir.Literal(plain.encode()))
                plain = ""
            low, up = ord(char.lower()), ord(char.upper())
            parts.append(ir.CharClass(((up, up), (low, low))))
        else:
            plain += char
    if plain:
        parts.append(ir.Literal(plain.encode()))
    return ir.Sequence(tuple(parts))


def sign(text: str) -> ir.Expr:
    """Return a punctuation character and the blanks after it."""
    return seq(ir.Literal(text.encode()), SKIP)


def ref(name: str) -> ir.Expr:
    return ir.RuleRef(name)


def seq(*parts: ir.Expr) -> ir.Expr:
    return ir.Sequence(parts)


def _optional(expr: ir.Expr) -> ir.Expr:
    return ir.Repeat(expr, 0, 1)


def _opt(name: str) -> ir.Expr:
    return _optional(ref(name))


def _opt_word(name: str) -> ir.Expr:
    return _optional(seq(ref(name), SKIP))


def numbers_up_to(most: int) -> ir.Expr:
    """Return the decimal numbers from 0 to ``most``, without leading zeros. Cost: linear in the digits."""
    digits = str(most)
    ways: list[ir.Expr] = []
    if len(digits) > 1:
        ways.append(_digit(0, 0))
        ways.append(ir.Sequence((_digit(1, 9), ir.Repeat(_digit(0, 9), 0, len(digits) - 2))))
    for place, char in enumerate(digits):  # as many digits, less at this place for the first time
        low = 1 if place == 0 and len(digits) > 1 else 0
        if int(char) > low:
            rest = ir.Repeat(_digit(0, 9), len(digits) - place - 1, len(digits) - place - 1)
            ways.append(ir.Sequence((ir.Literal(digits[:place].encode()), _digit(low, int(char) - 1), rest)))
    return ir.Choice((*ways, ir.Literal(digits.encode())))


def _digit(low: int, high: int) -> ir.Expr:
    return ir.CharClass(((ord("0") + low, ord("0") + high),))


def without_empty(bodies: dict[str, ir.Expr]) -> dict[str, ir.Expr]:
    """Remove the rules without any function left, and the alternatives that use them."""
    empty = {name for name, body in bodies.items() if body == ir.NOTHING}
    if not empty:
        return bodies

    def leaf(expr: ir.Expr) -> ir.Expr:
        return ir.NOTHING if isinstance(expr, ir.RuleRef) and expr.name in empty else expr

    return {name: rewrite(body, leaf) for name, body in bodies.items() if name not in empty}


# -- How elements are written: keywords in capitals or not, and what may stand between two elements. -----

CHOICES: Final = {
    "profile": ("exact", "model"),
    "blanks": ("any", "single"),
    "keywords": ("any", "upper"),
    "double_quotes": ("names", "strings"),
}


class QuerySpelling(NamedTuple):
    """The spelling of queries; ``profile`` provides the defaults.

    ``keywords``: "upper" for only capitals. ``blanks``: "single" for at most one space. ``double_quotes``:
    the meaning of double quotes over a SQLite schema.
    """

    profile: OneOf["exact", "model"] = "exact"
    allow_comments: bool = False
    blanks: OneOf["any", "single"] | None = None
    keywords: OneOf["any", "upper"] | None = None
    double_quotes: OneOf["names", "strings"] = "names"

    def checked(self, dialect: str) -> QuerySpelling:
        """Return the spelling with the profile's defaults. Raises: SQLError for invalid values."""
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed and not (value is None and name in ("blanks", "keywords")):
                raise SQLError(f"{name}: {value!r:.60} is neither {' nor '.join(map(repr, allowed))}")
        if dialect == "postgres" and self.double_quotes == "strings":
            raise SQLError("double_quotes: PostgreSQL reads names alone in double quotes")
        model = self.profile == "model"
        blanks = self.blanks or ("single" if model else "any")
        if blanks == "single" and self.allow_comments:
            raise SQLError('allow_comments: comments do not go with blanks="single"')
        return self._replace(blanks=blanks, keywords=self.keywords or ("upper" if model else "any"))

    def respell(self, bodies: Mapping[str, ir.Expr], module: str) -> dict[str, ir.Expr]:
        """Return the rules with this spelling of keywords and blanks; those of blanks are in ``module``."""
        result = dict(bodies)
        if self.blanks == "single":
            # in PostgreSQL blanks also stand in the gap between the parts of a string
            result |= {SKIP_RULE: ir.Repeat(ir.Literal(b" "), 0, 1), f"{module}gap": ir.NOTHING}
        elif not self.allow_comments:
            result[SKIP_RULE] = ir.Repeat(ir.RuleRef(f"{module}blank"), 0, None)
        if self.keywords == "upper":
            for name, body in bodies.items():
                if name.split(".")[-1].isupper() and _is_keyword(body):
                    result[name] = rewrite(body, _capital, True)
        return result


def _is_keyword(body: ir.Expr) -> bool:
    """Return whether a rule consists of words, or letters of one."""
    match body:
        case ir.Sequence(items) | ir.Choice(items):
            return all(map(_is_keyword, items))
        case ir.CharClass():
            return _capital(body) is not body
    return isinstance(body, ir.Literal | ir.RuleRef | ir.NotFollowedBy)


def _capital(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.CharClass(((upper, first), (lower, last))) if upper == first and lower == last == upper + 32:
            return ir.Literal(bytes([upper]))
    return expr
