"""Rules for calls of listed functions: the right number of arguments, DISTINCT, FILTER and OVER where they may stand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    CharClass,
    Choice,
    Expr,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    Sequence,
)
from stackmask.grammar.ir.build import rewrite
from stackmask.grammar.notation.loading import SKIP_RULE
from stackmask.grammar.sql.calls.functions import Arity, Functions, Groups

SKIP: Final = RuleRef(SKIP_RULE)
_ID_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$" + bytes(
    range(0x80, 0x100)
)
WORD_END: Final = NotFollowedBy(sum(1 << byte for byte in _ID_BYTES))


def call_rules(dialect: str, functions: Functions) -> dict[str, Expr]:
    """Return what ``call`` and ``table_call`` of a dialect mean if only these functions may be called."""
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
    rules: dict[str, Expr] = {"call": Choice(tuple(calls)), "table_call": Choice(tuple(tables))}
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
        rules["pattern_test"] = Choice(tuple(seq(ref(name), SKIP) for name in tests))
    return rules


def _sqlite_aggregate(arity: Arity) -> Expr:
    ways = [seq(_opt_word("ALL"), arguments(arity, "expr"), sign(")"), _opt("filter"), _opt("over"))]
    if 0 in arity.counts:
        ways.append(seq(sign("*"), sign(")"), _opt("filter"), _opt("over")))
    if 1 in arity.counts:  # DISTINCT takes one argument, and no window
        ways.append(seq(ref("DISTINCT"), SKIP, ref("expr"), sign(")"), _opt("filter")))
    return Choice(tuple(ways))


def _postgres_aggregate(arity: Arity) -> Expr:
    ways = []
    if 0 in arity.counts:
        ways.append(seq(sign("*"), sign(")"), _opt("filter"), _opt("over")))
        arity = Arity(tuple(count for count in arity.counts if count), arity.open)
    # neither DISTINCT nor ORDER BY goes with a window
    listed = arguments(arity, "expr")
    end = Choice((seq(sign(")"), _opt("filter"), _opt("over")), seq(ref("order"), sign(")"), _opt("filter"))))
    ways.append(seq(_opt_word("ALL"), listed, end))
    ways.append(seq(ref("DISTINCT"), SKIP, listed, _opt("order"), sign(")"), _opt("filter")))
    return Choice(tuple(ways))


def _ordered_set(arity: Arity) -> Expr:
    within = [part for word in ("WITHIN", "GROUP") for part in (ref(word), SKIP)]
    return seq(
        arguments(arity, "expr"), sign(")"), *within, sign("("), ref("order"), sign(")"), _opt("filter")
    )


def _any_arguments(dialect: str) -> Expr:
    if dialect == "postgres":
        distinct = seq(ref("DISTINCT"), SKIP, ref("any_arguments"), _opt("order"))
        return _optional(Choice((seq(ref("any_arguments"), _opt("order")), distinct, sign("*"))))
    how = _optional(Choice((seq(ref("DISTINCT"), SKIP), seq(ref("ALL"), SKIP))))
    return _optional(Choice((seq(how, ref("exprs")), sign("*"))))


def arguments(arity: Arity, item: str) -> Expr:
    """Return so many items with commas between them."""
    ways: list[Expr] = [EPSILON] if 0 in arity.counts else []
    for low, high in _runs(arity):
        ways.append(
            seq(ref(item), Repeat(seq(sign(","), ref(item)), low - 1, None if high is None else high - 1))
        )
    return ways[0] if len(ways) == 1 else Choice(tuple(ways))


def _runs(arity: Arity) -> list[tuple[int, int | None]]:
    """Return the counts from 1 on as ranges without gaps; the last one has no end if more may come."""
    counts = [count for count in arity.counts if count]
    if not counts:
        return [(1, None)] if arity.open else []
    starts = [counts[0]] + [b for a, b in pairwise(counts) if b != a + 1]
    ends: list[int | None] = [a for a, b in pairwise(counts) if b != a + 1]
    return list(zip(starts, [*ends, None if arity.open else counts[-1]], strict=True))


def _each(groups: Groups, rest: Callable[[Arity], Expr]) -> list[Expr]:
    return [seq(words(names), sign("("), rest(arity)) for arity, names in groups.items()]


def words(names: tuple[str, ...]) -> Expr:
    """Return any of the names, in capitals or not, and what may stand behind it."""
    return seq(Choice(tuple(map(_caseless, names))), WORD_END, SKIP)


def _caseless(name: str) -> Expr:
    return Sequence(tuple(map(_letter, name)))


def _letter(char: str) -> Expr:
    low, up = ord(char.lower()), ord(char.upper())
    return Literal(char.encode()) if low == up else CharClass(((up, up), (low, low)))


def sign(text: str) -> Expr:
    """Return a sign and what may stand behind it."""
    return seq(Literal(text.encode()), SKIP)


def ref(name: str) -> Expr:
    return RuleRef(name)


def seq(*parts: Expr) -> Expr:
    return Sequence(parts)


def _optional(expr: Expr) -> Expr:
    return Repeat(expr, 0, 1)


def _opt(name: str) -> Expr:
    return _optional(ref(name))


def _opt_word(name: str) -> Expr:
    return _optional(seq(ref(name), SKIP))


def numbers_up_to(most: int) -> Expr:
    """Return the decimal numbers from 0 to ``most``, without leading zeros. Cost: linear in the digits."""
    digits = str(most)
    ways: list[Expr] = []
    if len(digits) > 1:
        ways.append(_digit(0, 0))
        ways.append(Sequence((_digit(1, 9), Repeat(_digit(0, 9), 0, len(digits) - 2))))
    for place, char in enumerate(digits):  # as many digits, less at this place for the first time
        low = 1 if place == 0 and len(digits) > 1 else 0
        if int(char) > low:
            rest = Repeat(_digit(0, 9), len(digits) - place - 1, len(digits) - place - 1)
            ways.append(Sequence((Literal(digits[:place].encode()), _digit(low, int(char) - 1), rest)))
    return Choice((*ways, Literal(digits.encode())))


def _digit(low: int, high: int) -> Expr:
    return CharClass(((ord("0") + low, ord("0") + high),))


def without_empty(bodies: dict[str, Expr]) -> dict[str, Expr]:
    """Leave out the rules that no function is left for, and the alternatives that use them."""
    empty = {name for name, body in bodies.items() if body == NOTHING}
    if not empty:
        return bodies

    def leaf(expr: Expr) -> Expr:
        return NOTHING if isinstance(expr, RuleRef) and expr.name in empty else expr

    return {name: rewrite(body, leaf) for name, body in bodies.items() if name not in empty}
