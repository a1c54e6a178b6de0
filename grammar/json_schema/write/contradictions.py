"""Explain in terms of the schema why no value is valid, as for reversed bounds or conflicting types.

The schemas of one value are compared by keyword. This finds common mistakes, not all reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from typing import Any, Final

from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.sets.values import TYPE_NAMES, is_number, shown, type_of
from stackmask.grammar.source.similar import similar

MAX_REASONS: Final = 4
MAX_SCHEMAS: Final = 50  # of one value that are looked at
MAX_EXPONENT: Final = 300  # of numbers that are compared: others would be long to write

# (type that both are about, lower bounds, upper bounds); an exclusive bound begins so
_BOUNDS: Final = (
    ("number", ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")),
    ("string", ("minLength",), ("maxLength",)),
    ("array", ("minItems",), ("maxItems",)),
    ("array", ("minContains",), ("maxContains",)),
    ("object", ("minProperties",), ("maxProperties",)),
)


def contradictions(schemas: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return reasons why no value is valid for all of these schemas; empty if none is found.

    Cost: linear in the keywords of the first ``MAX_SCHEMAS``.
    """
    schemas = schemas[:MAX_SCHEMAS]
    mask = -1
    whole = False
    named: list[str] = []
    for schema in schemas:
        if "type" in schema:
            allowed = _types(schema["type"])
            named.append(f"`type` {shown(schema['type'])}")
            if mask & allowed == 0:
                return [" and ".join(dict.fromkeys(named)) + " exclude each other"]
            mask &= allowed
            whole |= "integer" in schema["type"] and "number" not in schema["type"]
    checks = (_bounds(schemas, mask, whole), _values(schemas, mask), _multiples(schemas), _required(schemas))
    reasons = list(islice(chain(*checks), MAX_REASONS))
    if not reasons and any("pattern" in s or "format" in s for s in schemas):
        words = [
            f"`{k}` {shown(s[k])}"
            for s in schemas
            for k in ("pattern", "format", "minLength", "maxLength")
            if k in s
        ][:MAX_REASONS]
        if len(words) > 1:
            reasons.append(f"no string meets {' and '.join(words)}")
    return list(dict.fromkeys(reasons))


def _types(value: Any) -> int:
    names = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    mask = 0
    for name in names:
        mask |= TYPE_NAMES.get(name, 0) if isinstance(name, str) else 0
    return mask


def _bounds(schemas: Sequence[Mapping[str, Any]], mask: int, whole: bool) -> Iterator[str]:
    for kind, lows, highs in _BOUNDS:
        if not mask & TYPE_NAMES[kind]:
            continue
        low = max(_numbers(schemas, lows), default=None)
        high = min(_numbers(schemas, highs), key=lambda bound: (bound[0], -bound[1]), default=None)
        if low is None or high is None:
            continue
        said = f"`{low[2]}` {_number(low[0])} is above `{high[2]}` {_number(high[0])}"
        if low[0] > high[0]:
            yield said
        elif low[0] == high[0] and (low[1] or high[1]):
            yield f"`{low[2]}` {_number(low[0])} and `{high[2]}` {_number(high[0])} leave nothing between them"
        elif kind == "number" and whole:
            first = low[0].__floor__() + 1 if low[1] else low[0].__ceil__()
            last = high[0].__ceil__() - 1 if high[1] else high[0].__floor__()
            if first > last:
                yield f"no integer lies between `{low[2]}` {_number(low[0])} and `{high[2]}` {_number(high[0])}"


def _numbers(
    schemas: Sequence[Mapping[str, Any]], keywords: tuple[str, ...]
) -> list[tuple[Fraction, int, str]]:
    """Return the bounds as tuples of a number, whether it is exclusive, and the keyword."""
    found = []
    for schema in schemas:
        for keyword in keywords:
            number = _fraction(schema.get(keyword))
            if number is not None:
                excluded = (
                    keyword.startswith("exclusive")
                    or schema.get(f"exclusive{keyword[:1].upper()}{keyword[1:]}") is True
                )
                found.append((number, int(excluded), keyword))
    return found


def _fraction(value: Any) -> Fraction | None:
    """Return the exact number; None if the value is not a number, or has a large exponent."""
    if not is_number(value):
        return None
    if isinstance(value, int):
        return Fraction(value) if value.bit_length() <= 3 * MAX_EXPONENT else None
    number = Decimal(str(value))
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= MAX_EXPONENT else None


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


def _values(schemas: Sequence[Mapping[str, Any]], mask: int) -> Iterator[str]:
    for schema in schemas:
        for keyword in ("const", "enum"):
            if keyword not in schema:
                continue
            values = [schema["const"]] if keyword == "const" else schema["enum"]
            if not isinstance(values, list | tuple):
                continue
            if not values:
                yield "`enum` has no values"
            elif mask != -1 and not any(_is_of(value, mask) for value in values):
                types = " or ".join(name for name, bits in TYPE_NAMES.items() if bits & mask == bits and bits)
                yield f"`{keyword}` {shown(schema[keyword])} is not of the `type` {types}"


def _is_of(value: Any, mask: int) -> bool:
    try:
        return bool(type_of(value, "", "") & mask)
    except SchemaError:
        return True


def _multiples(schemas: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    steps = [step for s in schemas if (step := _fraction(s.get("multipleOf")))]
    low = max(_numbers(schemas, _BOUNDS[0][1]), default=None)
    high = min(_numbers(schemas, _BOUNDS[0][2]), default=None)
    if not steps or low is None or high is None or low[0] > high[0]:
        return
    step = max(steps)
    first = low[0] / step
    count = first.__floor__() + 1 if low[1] else first.__ceil__()
    if count * step > high[0] or (high[1] and count * step == high[0]):
        yield (
            f"no multiple of `multipleOf` {_number(step)} lies between `{low[2]}` {_number(low[0])} and "
            f"`{high[2]}` {_number(high[0])}"
        )


def _required(schemas: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = [
        n
        for s in schemas
        if isinstance(s.get("required"), list | tuple)
        for n in s["required"]
        if isinstance(n, str)
    ]
    most = min(_numbers(schemas, ("maxProperties",)), default=None)
    if most is not None and len(set(names)) > most[0]:
        yield f"`required` names {len(set(names))} properties, and `maxProperties` allows {_number(most[0])}"
    for schema in schemas:
        declared = schema.get("properties")
        declared = declared if isinstance(declared, Mapping) else {}
        for name in dict.fromkeys(names):
            if declared.get(name) is False:
                yield f"`required` names `{name:.60}`, which `properties` forbids"
            elif (
                schema.get("additionalProperties") is False
                and name not in declared
                and not schema.get("patternProperties")
            ):
                close = similar(name, declared)
                meant = f": did you mean `{close}`?" if close else ""
                yield f"`required` names `{name:.60}`, which `additionalProperties` forbids{meant}"
