"""JSON values compared by value: numbers as exact fractions, equality as defined by JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Hashable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, Final

from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError, Where
from stackmask.grammar.json_schema.document.loading import MAX_EXPONENT
from stackmask.grammar.json_schema.document.schema_size import MAX_WRITTEN, is_larger
from stackmask.grammar.source.work import spend

MAX_VALUE_NESTING: Final = 200  # of `const` and `enum` values
MAX_DIGITS: Final = 4000  # of a number that is kept as one: Python reads no longer ones

NULL: Final = 1
TRUE: Final = 2
FALSE: Final = 4
NUMBER: Final = 8
STRING: Final = 16
ARRAY: Final = 32
OBJECT: Final = 64
ANY: Final = 127
TYPE_NAMES: Final = {
    "null": NULL,
    "boolean": TRUE | FALSE,
    "number": NUMBER,
    "integer": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def exact(value: Any, where: Where, keyword: str) -> Fraction | int:
    """Return the exact value of a schema's number. Raises: SchemaError if it is not a number, or not finite."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float | Decimal):
        decimal = value if isinstance(value, Decimal) else Decimal(float.__repr__(value))
        if not decimal.is_finite():
            raise SchemaError(where, keyword, f"{value} is not a JSON number")
        if abs(decimal.adjusted()) > MAX_EXPONENT:
            raise SchemaError(where, keyword, f"the exponent of {value} is beyond {MAX_EXPONENT}")
        fraction = Fraction(decimal)
        return fraction.numerator if fraction.denominator == 1 else fraction
    raise SchemaError(where, keyword, f"must be a number, not {shown(value)}")


class FarNumber(tuple[Any, ...]):
    """A number too long, or with too large an exponent, to be stored as a number: its sign, digits, exponent."""

    __slots__ = ()


def read_number(text: str) -> int | Fraction | FarNumber:
    """Return a number of a JSON text, of any size.

    Cost: linear in the text; computes powers of ten up to `MAX_EXPONENT`, numbers up to `MAX_DIGITS` digits.
    """
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    written = whole + fraction
    kept = written.rstrip("0")
    digits = kept.lstrip("0")
    if not digits:
        return 0
    # Python's integers read no more than 4,300 digits, and that in quadratic time; decimals read any number in linear time
    size = Decimal(exponent or 0)
    exact_sum = Context(prec=len(exponent) + len(text) + 20, Emax=MAX_EMAX, Emin=MIN_EMIN)
    power = exact_sum.add(size, len(written) - len(kept) - len(fraction))
    sign = -1 if text.startswith("-") else 1
    if len(digits) > MAX_DIGITS or exact_sum.add(power, len(digits) - 1).copy_abs() > MAX_EXPONENT:
        return FarNumber((sign, digits, f"{power:f}"))
    value, places = sign * int(digits), int(power)
    return value * 10**places if places >= 0 else Fraction(value, 10**-places)


def read_value(text: bytes) -> Hashable:
    """Return the key that `canonical` returns for the value of a JSON text.

    Raises: UnsupportedSchemaError beyond `MAX_VALUE_NESTING` levels.
    """
    try:
        return canonical(json.loads(text, parse_float=read_number, parse_int=read_number))
    except (SchemaError, RecursionError):  # of Python's own reader, some levels further
        reason = (
            f"an item is nested more than {MAX_VALUE_NESTING} levels deep, too deep to compare it with others"
        )
        raise UnsupportedSchemaError("", "uniqueItems", reason) from None


def shown(value: Any) -> str:
    """Return the text of a value for a message."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def type_of(value: Any, where: Where, keyword: str) -> int:
    """Return the type bit of a JSON value. Raises: SchemaError for other types."""
    if value is None:
        return NULL
    if value is True:
        return TRUE
    if value is False:
        return FALSE
    if isinstance(value, str):
        return STRING
    if isinstance(value, list | tuple):
        return ARRAY
    if isinstance(value, dict):
        return OBJECT
    if is_number(value):
        return NUMBER
    raise SchemaError(where, keyword, f"{value!r:.60} is not a JSON value")


def canonical(value: Any, where: Where = "", keyword: str = "", depth: int = 0) -> Hashable:
    """Return a key, equal for equal JSON values: 1 equals 1.0, true is not a number, key order is irrelevant.

    Raises: SchemaError beyond 200 levels, or for a value with excessively shared parts.
    """
    spend(2)
    if depth > MAX_VALUE_NESTING:
        raise SchemaError(where, keyword, f"the value is nested more than {MAX_VALUE_NESTING} levels deep")
    if isinstance(value, Fraction | FarNumber):  # of a text, where numbers are read by `read_number`
        return value
    kind = type_of(value, where, keyword)
    if kind == NUMBER:
        return exact(value, where, keyword)
    if kind == STRING:
        return str(value)
    if keyword and not depth and kind >= ARRAY and is_larger(value):
        raise SchemaError(
            where, keyword, f"the value is nested too deeply, or has more than {MAX_WRITTEN:,} parts"
        )
    if kind == ARRAY:
        return ("array", *(canonical(item, where, keyword, depth + 1) for item in value))
    if kind == OBJECT:
        return (
            "object",
            frozenset((key, canonical(item, where, keyword, depth + 1)) for key, item in value.items()),
        )
    return ("", kind)
