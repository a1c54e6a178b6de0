"""json-pointer (RFC 6901) and relative-json-pointer."""

from __future__ import annotations

from functools import cache

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.parts import DIGIT, alt, chars, opt, rep, seq

_UNESCAPED = ir.CharClass(((0x00, 0x2E), (0x30, 0x7D), (0x7F, 0xD7FF), (0xE000, 0x10FFFF)))


@cache
def json_pointer() -> ir.Expr:
    """Return json-pointer. Source: RFC 6901, 3."""
    return rep(seq("/", rep(alt(_UNESCAPED, seq("~", chars("01"))))))


def _relative(*manipulation: ir.Expr) -> ir.Expr:
    number = alt("0", seq(chars("1-9"), rep(DIGIT)))
    return seq(number, *manipulation, alt("#", json_pointer()))


@cache
def relative_json_pointer() -> ir.Expr:
    """Return a number of steps up, then ``#`` or a json-pointer. Source: draft-handrews-relative-json-pointer-01."""
    return _relative()


@cache
def relative_json_pointer_with_index() -> ir.Expr:
    """Return the same with a step along the array, as in ``0+1``. Source: draft-handrews-relative-json-pointer-02."""
    return _relative(opt(chars("+-"), chars("1-9"), rep(DIGIT)))
