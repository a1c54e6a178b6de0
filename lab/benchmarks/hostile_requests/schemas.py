"""Hostile JSON Schemas, and the tables of hostile databases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from .request import Request, grow, grow_schema

STRING: dict[str, Any] = {"type": "string"}


def patterns() -> Iterator[Request]:
    """Many patterns for one string."""

    def several(word: str, form: str) -> Any:
        return lambda n: {
            "type": "string",
            word: [{"pattern": form.format(i=i, c=chr(97 + i % 26))} for i in range(n)],
        }

    yield from grow_schema("allof-patterns", (10, 30, 200), several("allOf", "{c}.{{{i}}}"))
    yield from grow_schema("allof-lookaheads", (15, 100), several("allOf", "^(?=.*{c}{{{i},}})"))
    yield from grow_schema("oneof-patterns", (10, 40, 300), several("oneOf", "^.{{0,{i}}}x"))
    yield from grow_schema("anyof-patterns", (10, 40, 500), several("anyOf", "{c}.{{{i}}}x"))
    yield from grow_schema(
        "not-patterns",
        (10, 200),
        lambda n: {"type": "string", "allOf": [{"not": {"pattern": f"a.{{{i}}}b"}} for i in range(n)]},
    )
    yield from grow_schema(
        "pattern-length",
        (30, 3000),
        lambda n: {"type": "string", "pattern": f"(a|b)*a.{{{n}}}", "maxLength": 10 * n, "minLength": n},
    )
    formats = (
        "idn-hostname",
        "hostname",
        "uri",
        "email",
        "date-time",
        "iri",
        "uri-template",
        "ipv6",
        "regex",
        "json-pointer",
    )
    for name in formats:
        schema = {
            "type": "string",
            "format": name,
            "minLength": 9,
            "maxLength": 90,
            "pattern": "[a-c]+.*[0-9x]",
        }
        yield Request(
            f"format-{name}", "format-with-lengths", "json_schema", json.dumps(schema), driver="long"
        )
    schema = {"allOf": [{"type": "string", "format": name} for name in formats[:6]], "pattern": ".*a.{9}"}
    yield Request("formats-all", "format-with-lengths", "json_schema", json.dumps(schema))


def arrays(count: int, item: str) -> str:
    """Return about 27 KB of an array of different items."""
    makers: dict[str, Callable[[int], str]] = {
        "integer": lambda i: str(i * 7919 % 1000003),
        "number": lambda i: f"{i * 7919 % 100003}.{i}5",
        "string": lambda i: f'"s{i * 7919 % 1000003:x}"',
        "object": lambda i: f'{{"id":{i},"a":"x{i}"}}',
        "array": lambda i: f"[{i},{i + 1}]",
        "mixed": lambda i: (f'"{i}"', str(i), f"[{i}]", f'{{"a":{i}}}')[i % 4],
    }
    made = makers[item]
    return "[" + ",".join(made(i) for i in range(count)) + "]"


def unique_items() -> Iterator[Request]:
    """Arrays without duplicates, with long outputs."""
    items: dict[str, tuple[Any, int]] = {
        "integer": ({"type": "integer"}, 3600),
        "number": ({"type": "number"}, 2000),
        "string": (STRING, 2800),
        "object": ({"type": "object", "properties": {"id": {"type": "integer"}, "a": STRING}}, 1200),
        "array": ({"type": "array", "items": {"type": "integer"}}, 2300),
        "mixed": (True, 3000),
    }
    for name, (item, count) in items.items():
        for part in (8, 1):
            schema = {"type": "array", "items": item, "uniqueItems": True}
            text = arrays(count // part, name)
            source = json.dumps(schema)
            yield Request(
                f"unique-{name}-{count // part}",
                "unique",
                "json_schema",
                source,
                driver="text",
                text=text,
                steps=20000,
            )
    yield from grow_schema(
        "unique-enum",
        (200, 4000),
        lambda n: {"type": "array", "items": {"enum": list(range(n))}, "uniqueItems": True},
    )
    yield from grow_schema(
        "unique-contains",
        (5, 40),
        lambda n: {
            "type": "array",
            "uniqueItems": True,
            "contains": {"type": "integer", "multipleOf": n},
            "minContains": n,
            "maxContains": 2 * n,
        },
    )


def keys() -> Iterator[Request]:
    """Objects of thousands of keys, declared or not."""

    def text(n: int) -> str:
        return "{" + ",".join(f'"k{i:x}":{i % 7}' for i in range(n)) + "}"

    for n in (500, 2500):
        for name, schema in {
            "undeclared": {"type": "object", "additionalProperties": {"type": "integer"}},
            "counted": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 9999},
            "declared": {"type": "object", "properties": {f"k{i:x}": {"type": "integer"} for i in range(n)}},
            "patterned": {
                "type": "object",
                "patternProperties": {"^k": {"type": "integer"}, "[0-9]$": {"minimum": 0}},
            },
        }.items():
            source = json.dumps(schema, separators=(",", ":"))
            options = {"property_order": "any"} if name == "declared" else {}
            yield Request(
                f"keys-{name}-{n}", f"keys-{name}", "json_schema", source, options, "text", text(n), 20000
            )
    yield from grow_schema(
        "keys-any-order",
        (30, 1200),
        lambda n: {
            "type": "object",
            "properties": {f"key{i}": STRING for i in range(n)},
            "required": [f"key{i}" for i in range(n)],
        },
        options={"property_order": "any"},
    )
    yield from grow_schema(
        "keys-required", (30, 3000), lambda n: {"type": "object", "required": [f"key{i}" for i in range(n)]}
    )
    yield from grow_schema(
        "key-name-long",
        (1000, 30000),
        lambda n: {"type": "object", "properties": {"n" * n: {}}, "required": ["n" * n]},
    )
    yield from grow_schema(
        "pattern-properties",
        (4, 8, 60, 1000),
        lambda n: {
            "type": "object",
            "patternProperties": {f"{chr(97 + i % 26)}.{{{i % 50}}}": {"minimum": i} for i in range(n)},
        },
    )
    yield from grow_schema(
        "property-names",
        (8, 60),
        lambda n: {
            "type": "object",
            "propertyNames": {"allOf": [{"pattern": f"a.{{{i}}}"} for i in range(n)]},
        },
    )


def references() -> Iterator[Request]:
    """Chains, graphs and circles of references."""

    def defs(n: int, one: Any, last: Any = True) -> Any:
        return {"$ref": "#/$defs/d0", "$defs": {f"d{i}": one(i) for i in range(n)} | {f"d{n}": last}}

    def ref(i: int) -> Any:
        return {"$ref": f"#/$defs/d{i}"}

    yield from grow_schema("ref-chain", (300, 1500), lambda n: defs(n, lambda i: ref(i + 1), STRING))
    yield from grow_schema(
        "ref-graph",
        (20, 40, 95, 600),
        lambda n: defs(n, lambda i: {"allOf": [ref(i + 1), ref(i + 1)]}, STRING),
    )
    yield from grow_schema(
        "ref-any-graph",
        (20, 95, 600),
        lambda n: defs(n, lambda i: {"anyOf": [ref(i + 1), {"items": ref(i + 1)}]}, STRING),
    )
    yield from grow_schema(
        "ref-one-graph",
        (12, 40),
        lambda n: defs(n, lambda i: {"oneOf": [ref(i + 1), {"type": "array", "items": ref(i + 1)}]}, STRING),
    )
    yield from grow_schema(
        "ref-not-graph", (12, 45, 200), lambda n: defs(n, lambda i: {"not": {"not": ref(i + 1)}}, STRING)
    )
    yield from grow_schema(
        "ref-circle",
        (3, 800),
        lambda n: defs(n, lambda i: {"properties": {"a": ref((i + 1) % n), "b": ref((i * 3) % n)}}),
    )
    yield from grow_schema(
        "ref-circle-all",
        (5, 60),
        lambda n: defs(
            n,
            lambda i: {
                "allOf": [{"properties": {"a": ref((i + 1) % n)}}, {"properties": {"a": ref((i + 2) % n)}}]
            },
        ),
    )
    yield from grow_schema("ref-self", (1, 50), lambda n: defs(n, lambda i: {"allOf": [ref((i + 1) % n)]}))
    yield from grow_schema(
        "ref-pairs",
        (8, 30),
        lambda n: defs(
            n,
            lambda i: {
                "allOf": [
                    {"items": ref((i * 2 + 1) % n)},
                    {"prefixItems": [ref((i * 3 + 2) % n)]},
                    {"items": {"items": ref(i)}},
                ]
            },
        ),
    )
    dynamic = (
        {"$ref": "#/$defs/x", "$defs": {"x": {"propertyNames": {"$dynamicRef": "#"}, "$dynamicRef": "#"}}},
        {
            "$dynamicAnchor": "n",
            "properties": {"a": {"$dynamicRef": "#n"}},
            "unevaluatedProperties": {"$dynamicRef": "#n"},
        },
        {"$dynamicAnchor": "n", "not": {"$dynamicRef": "#n"}},
        {"allOf": [{"$ref": "#"}, {"items": {"$ref": "#"}}]},
        {"contains": {"$ref": "#"}, "propertyNames": {"$ref": "#"}},
        {"if": {"$ref": "#/items"}, "then": {"$dynamicRef": "#"}, "items": {"not": {"$ref": "#"}}},
    )
    for i, schema in enumerate(dynamic):
        yield Request(f"ref-dynamic-{i}", "ref-dynamic", "json_schema", json.dumps(schema))


def products() -> Iterator[Request]:
    """Alternatives that multiply."""

    def choice(word: str, i: int, width: int) -> Any:
        return {
            word: [
                {"properties": {f"k{i}_{j}": {"const": j}}, "required": [f"k{i}_{j}"]} for j in range(width)
            ]
        }

    def product(word: str) -> Callable[[int], Any]:
        return lambda n: {"type": "object", "allOf": [choice(word, i, 3) for i in range(n)]}

    for word in ("anyOf", "oneOf"):
        yield from grow_schema(f"product-{word.lower()}", (5, 12, 200), product(word))
    yield from grow_schema(
        "one-of-wide",
        (40, 700),
        lambda n: {
            "oneOf": [{"type": "object", "properties": {"a": {"minimum": i}, f"b{i}": {}}} for i in range(n)]
        },
    )
    yield from grow_schema(
        "one-of-types",
        (20, 30, 1000),
        lambda n: {"oneOf": [{"minimum": i, "maxLength": i} for i in range(n)]},
    )
    yield from grow_schema(
        "if-then-else",
        (7, 8, 9, 300),
        lambda n: {
            "type": "object",
            "allOf": [
                {
                    "if": {"properties": {f"a{i}": {"const": 1}}},
                    "then": {"required": [f"b{i}"]},
                    "else": {"required": [f"c{i}"]},
                }
                for i in range(n)
            ],
        },
    )

    def nest(n: int, one: Any) -> Any:
        schema: Any = {"type": "string"}
        for i in range(n):
            schema = one(schema, i)
        return schema

    yield from grow_schema(
        "if-nested",
        (8, 150),
        lambda n: nest(n, lambda s, i: {"if": {"maxLength": i}, "then": s, "else": {"minimum": i}}),
    )
    yield from grow_schema(
        "not-nested", (20, 45, 150), lambda n: nest(n, lambda s, i: {"not": {"anyOf": [s, {"minimum": i}]}})
    )
    yield from grow_schema(
        "all-nested",
        (12, 45, 150),
        lambda n: nest(
            n,
            lambda s, i: {"anyOf": [{"allOf": [s, {"maxLength": i}]}, {"properties": {"a": {"minimum": i}}}]},
        ),
    )
    yield from grow_schema(
        "items-nested",
        (100, 300),
        lambda n: nest(n, lambda s, i: {"type": "array", "items": s, "minItems": i % 3}),
    )
    yield from grow_schema(
        "properties-nested",
        (50, 200),
        lambda n: nest(
            n,
            lambda s, i: {
                "type": "object",
                "properties": {"a": s, "b": {"type": "null"}},
                "minProperties": 1,
            },
        ),
    )
    yield from grow_schema("deeper-than-the-stack", (5000,), lambda n: '{"items":' * n + "true" + "}" * n)


def evaluation() -> Iterator[Request]:
    """Keywords that look at one another."""
    yield from grow_schema(
        "unevaluated",
        (8, 40, 400),
        lambda n: {
            "anyOf": [{"properties": {f"k{i}": {"type": "integer"}}} for i in range(n)],
            "unevaluatedProperties": False,
        },
    )
    yield from grow_schema(
        "unevaluated-items",
        (8, 10, 200),
        lambda n: {
            "type": "array",
            "anyOf": [{"prefixItems": [{"const": i}] * (i % 20)} for i in range(n)],
            "contains": {"const": 1},
            "unevaluatedItems": {"type": "null"},
        },
    )
    yield from grow_schema(
        "dependent-required",
        (12, 400),
        lambda n: {
            "type": "object",
            "dependentRequired": {f"k{i}": [f"k{i * 7 % n}", f"k{i * 3 % n}"] for i in range(n)},
        },
    )
    yield from grow_schema(
        "dependent-schemas",
        (8, 200),
        lambda n: {
            "type": "object",
            "dependentSchemas": {
                f"k{i}": {"properties": {f"k{(i + 1) % n}": {"maximum": i}}, "maxProperties": i + 2}
                for i in range(n)
            },
        },
    )
    yield from grow_schema(
        "contains",
        (3, 4, 6, 16),
        lambda n: {
            "type": "array",
            "allOf": [
                {"contains": {"multipleOf": i + 2}, "minContains": 2, "maxContains": 5} for i in range(n)
            ],
        },
    )
    yield from grow_schema(
        "contains-strings",
        (2, 3, 4, 12),
        lambda n: {"type": "array", "allOf": [{"contains": {"pattern": f"a.{{{i}}}"}} for i in range(n)]},
    )


def values() -> Iterator[Request]:
    """Numbers, enumerations and counts."""
    yield from grow_schema(
        "multiple-of",
        (7, 999983, 10**17 + 3),
        lambda n: {"type": "integer", "multipleOf": n, "minimum": -(10**40)},
    )
    yield from grow_schema(
        "multiples",
        (3, 4, 5, 14),
        lambda n: {
            "type": "integer",
            "allOf": [{"multipleOf": p} for p in (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59)[:n]],
        },
    )
    yield from grow_schema(
        "decimals",
        (2, 6),
        lambda n: {
            "type": "number",
            "multipleOf": float(f"0.{'0' * n}7"),
            "minimum": -1e9,
            "exclusiveMaximum": 1e15,
        },
    )
    yield from grow_schema(
        "bounds", (50, 4000), lambda n: {"type": "integer", "minimum": -(10**n), "maximum": 10**n + 7}
    )
    yield from grow_schema(
        "bounds-many",
        (30, 1000),
        lambda n: {
            "anyOf": [{"type": "number", "minimum": i * 1.37, "maximum": i * 1.37 + 0.61} for i in range(n)]
        },
    )
    yield from grow_schema("enum", (5000,), lambda n: {"enum": [f"v{i}" for i in range(n)]})
    yield from grow_schema(
        "enum-objects", (1500,), lambda n: {"enum": [{"a": i, "b": [i, str(i)]} for i in range(n)]}
    )
    yield from grow_schema(
        "enum-products",
        (40, 600),
        lambda n: {"allOf": [{"enum": list(range(i, n + 40))} for i in range(0, n, max(1, n // 20))]},
    )
    yield from grow_schema(
        "items-counted",
        (1000, 1000000),
        lambda n: {
            "type": "array",
            "items": {"type": "array", "items": STRING, "maxItems": n},
            "minItems": n // 2,
            "maxItems": n,
        },
    )
    yield from grow_schema(
        "lengths", (10**4, 10**9), lambda n: {"type": "string", "minLength": n // 2, "maxLength": n}
    )
    yield from grow_schema(
        "prefix-items",
        (100, 3000),
        lambda n: {"type": "array", "prefixItems": [{"maximum": i} for i in range(n)], "minItems": n},
    )
    yield from grow_schema(
        "property-counts",
        (8, 200),
        lambda n: {
            "type": "object",
            "properties": {f"k{i}": {} for i in range(n)},
            "minProperties": n // 2,
            "maxProperties": n // 2 + 1,
        },
        options={"property_order": "any"},
    )


def tables(n: int, columns: int) -> dict[str, list[str]]:
    """Return tables as a tenant's catalogue names them."""
    return {
        f"t{i:x}": [f"c{i:x}_{j:x}" if columns < 9 else f"c{j:x}" for j in range(columns)] for i in range(n)
    }


def databases() -> Iterator[Request]:
    """Queries over databases of very many tables and columns, and the dialects alone."""
    yield from grow("sql_schema", "sql-tables", (300, 2000, 3500), lambda n: tables(n, 1), steps=60)
    yield from grow("sql_schema", "sql-columns", (300, 7000), lambda n: tables(1, n), steps=60)
    yield from grow("sql_schema", "sql-tables-columns", (20, 80), lambda n: tables(n, n), steps=60)
    yield from grow(
        "sql_schema", "sql-names-long", (100, 5000), lambda n: {"t" * n: ["c" * n, "d" * n]}, steps=60
    )
    query = (
        "SELECT "
        + ", ".join(f"a{i} + {i}" for i in range(200))
        + " FROM t WHERE "
        + "(" * 60
        + "x = 1"
        + ")" * 60
    )
    for dialect in ("sqlite", "postgres"):
        yield Request(f"sql-{dialect}-walk", "sql", "sql", dialect, driver="long", steps=300)
        yield Request(f"sql-{dialect}-text", "sql", "sql", dialect, driver="text", text=query, steps=2000)


def all_schemas() -> Iterator[Request]:
    """Return all requests that are schemas."""
    for family in (patterns, unique_items, keys, references, products, evaluation, values, databases):
        yield from family()
