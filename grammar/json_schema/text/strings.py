"""JSON strings: from expressions over code points to expressions over their spellings.

JSON has many spellings of a string: `"a"` and `"\\u0061"` are the same. Keywords such as `pattern` and
`maxLength` constrain the string, while the automaton reads the spelling; :func:`lift` converts between them.
A spelling contains, for each code point, one of:

- the character itself, unless it is a control character, a quote or a backslash;
- the two-character escape, for the eight characters that have one;
- ``\\uXXXX`` with hexadecimal digits of either case, or a surrogate pair of them beyond U+FFFF.

A lone surrogate (``"\\ud800"``) is not a code point, so no spelling contains one: JSON's grammar allows it,
Unicode does not, and parsers disagree about its meaning. This narrows every string of a schema.

The spellings of code points are a prefix code: a spelling belongs to only one string. Lifting therefore
commutes with `&` and `!`, and the lift of a complement is the complement within all spellings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from json.encoder import encode_basestring
from math import prod
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import sequence
from stackmask.grammar.languages.classes import common
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.source import charclass
from stackmask.grammar.source.work import ENDLESS, Work, counted, spend

ANY: Final = "any"
PLAIN: Final = "plain"
DUMPS: Final = "dumps"
SPELLINGS: Final = (ANY, PLAIN, DUMPS)
"""All spellings; those of ``json.dumps`` for fixed texts and classes without escapes; only those of ``json.dumps``."""

KEY_SYNTAX: Final = ir.KeySyntax(quote=b'"', escape=b"\\", least=0x20, spelling="json")
"""The spelling of the keys of JSON objects, for the engine."""

NARROWING: Final = "A string holds no lone surrogate, spelled \\uD800 to \\uDFFF without its other half."
"""The spellings of strings that are excluded, for reports."""

# escapes of two characters: code point → the character after the backslash
SHORT_ESCAPES: Final = {
    0x22: '"',
    0x5C: "\\",
    0x2F: "/",
    0x08: "b",
    0x0C: "f",
    0x0A: "n",
    0x0D: "r",
    0x09: "t",
}
# characters that may not stand for themselves
_ESCAPED: Final = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
_UNESCAPED: Final = charclass.negate(_ESCAPED)

QUOTE: Final = ir.Literal(b'"')
_BACKSLASH: Final = ir.Literal(b"\\")
_U: Final = ir.Literal(b"u")
_SECOND_ESCAPE: Final = ir.Literal(b"\\u")
_D: Final = ir.CharClass(((0x44, 0x44), (0x64, 0x64)))

# the digits of \uXXXX, and of a surrogate pair but for its two D; "" stands for the `\uD` between the two
_HEX: Final = "0123456789abcdef"
_FOUR_DIGITS: Final = (_HEX,) * 4
_PAIR: Final = ("89ab", _HEX, _HEX, "", "cdef", _HEX, _HEX)

_CACHED_CLASSES: Final = 4096


def string(body: ir.Expr) -> ir.Expr:
    """Return a lifted expression between quotes."""
    if isinstance(body, ir.Sequence):
        return ir.Sequence((QUOTE, *body.items, QUOTE))
    return ir.Sequence((QUOTE, body, QUOTE))


def literal(value: str, spelling: str = ANY) -> ir.Expr:
    """Return the spellings of one string, without the quotes.

    Raises: ValueError for a lone surrogate. Cost: about 0.3 µs per character whose spelling is known.
    """
    if spelling != ANY:
        return ir.Literal(encode_basestring(value)[1:-1].encode()) if value else ir.EPSILON
    if len(value) == 1:
        return _CHARACTERS[value]
    return ir.Sequence(tuple(map(_CHARACTERS.__getitem__, value))) if value else ir.EPSILON


def literals(values: Iterable[str]) -> tuple[ir.Expr, ...]:
    """Return every spelling of each string, without the quotes. Raises: ValueError for a lone surrogate."""
    return tuple(map(literal, values))


def word(value: str, spelling: str = ANY) -> ir.Expr:
    """Return the spellings of one string, with the quotes. Raises: ValueError for a lone surrogate."""
    if spelling != ANY:
        return ir.Literal(encode_basestring(value).encode())
    return string(literal(value))


class _Characters(dict[str, ir.Expr]):
    """The spellings of characters, created on demand."""

    def __missing__(self, char: str) -> ir.Expr:
        found = _character(char)
        if len(self) < _CACHED_CLASSES:
            self[char] = found
        return found


_CHARACTERS: Final = _Characters()


def _character(char: str) -> ir.Expr:
    """Return the spellings of one character: a few words, or digits in classes beyond U+FFFF."""
    code = ord(char)
    if code > 0xFFFF:
        return _lift_class(((code, code),))
    plain = char.encode()  # refuses surrogates
    cases = (sorted({digit, digit.upper()}) for digit in f"{code:04x}")
    words = [b"\\u" + "".join(digits).encode() for digits in product(*cases)]
    if code in SHORT_ESCAPES:
        words.insert(0, b"\\" + SHORT_ESCAPES[code].encode())
    if code > 0x1F and char not in '"\\':  # mutant: plain-spelling
        words.insert(0, plain)
    return ir.Choice(tuple(map(ir.Literal, words)))


# -- classes ---------------------------------------------------------------------------------------------


@lru_cache(_CACHED_CLASSES)
def _lift_class(ranges: charclass.Ranges, spelling: str = ANY) -> ir.Expr:
    """Return the spellings of any one character in the ranges. Cost: linear in the ranges, cached."""
    if not ranges:
        return ir.NOTHING
    if spelling != ANY:
        unescaped = common(ranges, _UNESCAPED)
        if not common(ranges, _ESCAPED):
            return ir.CharClass(unescaped)
        if spelling == PLAIN:
            return _lift_class(ranges)
        return choice([*([ir.CharClass(unescaped)] if unescaped else ()), _written_escapes(ranges)])
    numbers: list[ir.Expr] = []
    if basic := _part(ranges, 0, 0xFFFF):
        numbers.append(_digits(basic, _FOUR_DIGITS))
    if beyond := _part(ranges, 0x10000, ir.MAX_CODE_POINT):
        numbers.append(concat((_D, _digits(beyond, _PAIR))))
    after: list[ir.Expr] = [concat((_U, choice(numbers)))]
    short = [ord(escape) for code, escape in SHORT_ESCAPES.items() if any(a <= code <= b for a, b in ranges)]
    if short:
        after.insert(0, ir.CharClass(charclass.normalize((code, code) for code in short)))
    escaped = concat((_BACKSLASH, choice(after)))
    plain = common(ranges, _UNESCAPED)
    return ir.Choice((ir.CharClass(plain), escaped)) if plain else escaped


def _written_escapes(ranges: charclass.Ranges) -> ir.Expr:
    """Return the escapes of the characters in the ranges that ``json.dumps`` escapes."""
    texts = [
        json.dumps(chr(code))[2:-1]
        for escaped in common(ranges, _ESCAPED)
        for code in range(escaped[0], escaped[1] + 1)
    ]
    short = [ord(text) for text in texts if len(text) == 1]
    after: list[ir.Expr] = [ir.CharClass(charclass.normalize((c, c) for c in short))] if short else []
    for start in ("u000", "u001"):
        digits = [ord(text[-1]) for text in texts if text.startswith(start)]
        if digits:
            last = ir.CharClass(charclass.normalize((c, c) for c in digits))
            after.append(ir.Sequence((ir.Literal(start.encode()), last)))
    return ir.Sequence((_BACKSLASH, choice(after)))


@lru_cache(_CACHED_CLASSES)
def _digits(ranges: charclass.Ranges, layout: tuple[str, ...]) -> ir.Expr:
    """Return the numbers in the ranges as digits in a layout, most significant first.

    Digits with the same continuations form one class, so that runs of code points stay small.
    """
    if not layout:
        return ir.EPSILON
    if not layout[0]:
        return concat((_SECOND_ESCAPE, _D, _digits(ranges, layout[1:])))
    size = prod(len(symbols) for symbols in layout[1:] if symbols)
    rests: dict[int, list[tuple[int, int]]] = {}
    for low, high in ranges:
        for digit in range(low // size, high // size + 1):
            base = digit * size
            rests.setdefault(digit, []).append((max(low, base) - base, min(high, base + size - 1) - base))
    groups: dict[charclass.Ranges, list[str]] = {}
    for digit, rest in rests.items():
        groups.setdefault(tuple(rest), []).append(layout[0][digit])
    return choice(
        [
            concat((_digit_class("".join(symbols)), _digits(rest, layout[1:])))
            for rest, symbols in groups.items()
        ]
    )


@lru_cache(_CACHED_CLASSES)
def _digit_class(symbols: str) -> ir.Expr:
    """Return the class of hexadecimal digits in either case."""
    if len(symbols) == 1 and symbols.isdigit():
        return ir.Literal(symbols.encode())
    return ir.CharClass(charclass.normalize((ord(c), ord(c)) for c in symbols + symbols.upper()))


def _part(ranges: charclass.Ranges, low: int, high: int) -> charclass.Ranges:
    """Return the part of the ranges between low and high, with numbers relative to low."""
    return tuple((max(a, low) - low, min(b, high) - low) for a, b in ranges if a <= high and b >= low)


def choice(items: Sequence[ir.Expr]) -> ir.Expr:
    """Return any of the items."""
    return items[0] if len(items) == 1 else ir.Choice(tuple(items))


ANY_CHARS: Final = {spelling: _lift_class(ir.ANY_CHAR.ranges, spelling) for spelling in SPELLINGS}
"""The spellings of one code point."""

ANY_BODIES: Final[dict[str, ir.Expr]] = {
    spelling: ir.Repeat(char, 0, None) for spelling, char in ANY_CHARS.items()
}
ANY_BODIES[PLAIN] = ANY_BODIES[ANY]
"""The spellings of all strings, without the quotes."""

ANY_STRINGS: Final = {spelling: string(body) for spelling, body in ANY_BODIES.items()}


# -- expressions -----------------------------------------------------------------------------------------


def lift(expr: ir.Expr, spelling: str = ANY) -> ir.Expr:
    """Return the spellings, without quotes, of the strings that match a regular expression over code points.

    Literals are UTF-8 and byte classes ASCII; calls, captures and special tokens are not regular. The counts
    of a repetition still refer to code points, regardless of their spelling. Excluded strings are excluded in
    every spelling.
    Raises: ValueError if the expression is not regular.
    Cost: linear in the expression; no recursion. Classes and literals are cached.
    """
    match expr:  # the usual leaves, without the machinery
        case ir.CharClass(ranges):
            return _lift_class(ranges, spelling)
        case ir.Literal(data):
            return literal(data.decode(), spelling)
    return _lifted_kept(expr, spelling) if id(expr) in _KEPT else _lifted(expr, spelling)


def _lifted(expr: ir.Expr, spelling: str) -> ir.Expr:
    lifts = {ANY: _Lift(ANY, None)}
    lifts[spelling] = _Lift(spelling, lifts[ANY]) if spelling != ANY else lifts[ANY]
    stack = [(expr, lifts[spelling], False)]
    while stack:
        current, into, ready = stack.pop()
        spend(3)
        if id(current) in into.done:
            continue
        if id(current) in _KEPT and current is not expr:
            into.done[id(current)] = _lifted_kept(current, into.spelling)
        elif ready or not (parts := ir.children(current)):
            into.done[id(current)] = into.node(current)
        else:
            stack.append((current, into, True))
            below = into.outside if isinstance(current, ir.Complement) else into
            stack.extend((part, below, False) for part in parts)
    return lifts[spelling].done[id(expr)]


_KEPT: Final[dict[int, tuple[ir.Expr, dict[str, ir.Expr]]]] = {}
FOR_MODELS: Final[dict[int, tuple[ir.Expr, str]]] = {}
"""By the address of a kept expression, the narrower expression for models, with a description of it."""


def keep(expr: ir.Expr, plain: ir.Expr | None = None, note: str = "") -> ir.Expr:
    """Return an expression whose lifts are computed once for the process, and are then free.

    This is for expressions that are created once, such as formats. Neither they nor their lifts are freed.
    """
    if plain is not None:
        FOR_MODELS[id(expr)] = (keep(plain), note)
    _KEPT[id(expr)] = (expr, {})
    return expr


def _lifted_kept(expr: ir.Expr, spelling: str) -> ir.Expr:
    """Return the lift of a kept expression; its cost is not charged to any request."""
    lifts = _KEPT[id(expr)][1]
    found = lifts.get(spelling)
    if found is None:
        with counted(Work(ENDLESS, ENDLESS, ENDLESS)):
            found = lifts[spelling] = _lifted(expr, spelling)
    return found


class _Lift:
    """Lifts into one spelling, cached by address. ``outside``: lifts to all spellings, for complements."""

    __slots__ = ("done", "outside", "spelling")

    def __init__(self, spelling: str, outside: _Lift | None) -> None:
        self.spelling = spelling
        self.done: dict[int, ir.Expr] = {}
        self.outside: _Lift = outside or self

    def node(self, expr: ir.Expr) -> ir.Expr:
        """Lift one expression whose children are already lifted."""
        done = self.done
        match expr:
            case ir.CharClass(ranges):
                spend(2 + 4 * len(ranges))  # be it remembered or not
                return _lift_class(ranges, self.spelling)
            case ir.Literal(data):
                spend(len(data) // 2)
                return literal(data.decode(), self.spelling)
            case ir.Repeat(item, low, high):
                lifted = done[id(item)]
                if lifted is ANY_CHARS[self.spelling] and low == 0 and high is None:
                    return ANY_BODIES[self.spelling]
                return ir.Repeat(lifted, low, high)
            case ir.Sequence(items):
                parts = [done[id(item)] for item in items]
                return sequence(parts) if self.spelling == ANY else concat(parts)
            case ir.Choice(items):
                return ir.Choice(tuple([done[id(item)] for item in items]))
            case ir.Complement(item):
                return ir.Intersection(
                    (ANY_BODIES[self.spelling], ir.Complement(self.outside.done[id(item)]))
                )
            case ir.Intersection(items):
                return self.intersection(items)
            case ir.ByteClass(mask) if mask < 1 << 128:
                ranges = charclass.normalize((b, b) for b in range(128) if (mask >> b) & 1)
                return _lift_class(ranges, self.spelling)
            case _:
                raise ValueError(f"not a regular expression over code points: {type(expr).__name__}")

    def intersection(self, items: tuple[ir.Expr, ...]) -> ir.Expr:
        """Lift an intersection. One operand, no complement, keeps the result within the spellings."""
        body = ANY_BODIES[self.spelling]
        inside = [self.done[id(item)] for item in items if not isinstance(item, ir.Complement)]
        narrow = [item for item in inside if item is not body]
        outside = [
            ir.Complement(self.outside.done[id(item.item)])
            for item in items
            if isinstance(item, ir.Complement)
        ]
        parts = (*(narrow or (body,)), *outside)
        return parts[0] if len(parts) == 1 else ir.Intersection(parts)
