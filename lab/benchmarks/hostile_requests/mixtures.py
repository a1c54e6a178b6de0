"""Hostile requests that mix what the other families have one by one: dialects in each other, keywords that lean on
keywords, and services (budgets, completions, samples, drafts) on grammars that are hard already."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .request import Request, chain, grow_ebnf, grow_regex, grow_schema, grow_tag
from .turns import FREE, tag

STRING: dict[str, Any] = {"type": "string"}


def run_out_keys() -> Iterator[Request]:
    """Objects of very many keys whose pattern lets them run out after some beginning, or nearly does."""
    forms = {
        "suffix": ({"^[a-z0-9]+_id$": {"type": "integer"}}, "k{i:x}_id"),
        "counted": ({"^k[0-9a-f]{1,4}$": {"type": "integer"}}, "k{i:x}"),
        "three": ({"^k": {"minimum": 0}, "[0-9]$": {"type": "integer"}, "a": {"maximum": 9}}, "k{i:x}"),
        "many": ({f"^k.*{c}": {"type": "integer"} for c in "0123456789"}, "k{i:x}"),
    }
    for name, (found, form) in forms.items():
        for n in (300, 1000, 2500):
            text = "{" + ",".join(f'"{form.format(i=i)}":{i % 7}' for i in range(n)) + "}"
            schema = {"type": "object", "patternProperties": found, "additionalProperties": False}
            yield Request(
                f"keys-run-out-{name}-{n}",
                "keys-run-out",
                "json_schema",
                json.dumps(schema),
                driver="text",
                text=text,
                steps=20_000,
            )
    names = {"pattern": "^[a-z]{1,3}$", "maxLength": 3}
    letters = "abcdefghijklmnopqrstuvwxyz"
    keys = [a + b + c for a in letters for b in letters for c in letters][:2000]
    yield Request(
        "keys-names-2000",
        "keys-run-out",
        "json_schema",
        json.dumps({"type": "object", "propertyNames": names, "additionalProperties": {"type": "integer"}}),
        driver="text",
        text="{" + ",".join(f'"{key}":1' for key in keys) + "}",
        steps=20_000,
    )


def keywords() -> Iterator[Request]:
    """Keywords of JSON Schema that lean on each other."""
    yield from grow_schema(
        "dependent-chain",
        (20, 200, 1000),
        lambda n: {
            "type": "object",
            "dependentSchemas": {f"k{i}": {"required": [f"k{i + 1}"]} for i in range(n)},
            "maxProperties": n,
        },
        options={"property_order": "any"},
    )
    yield from grow_schema(
        "dependent-excluding",
        (10, 60, 300),
        lambda n: {
            "type": "object",
            "properties": {f"k{i}": {"type": "integer"} for i in range(n)},
            "dependentSchemas": {f"k{i}": {"not": {"required": [f"k{(i * 7 + 1) % n}"]}} for i in range(n)},
        },
    )

    def unevaluated(depth: int) -> Any:
        schema: Any = {"properties": {"z": STRING}}
        for i in range(depth):
            schema = {
                "anyOf": [schema, {"properties": {f"a{i}": {"type": "integer"}}, "required": [f"a{i}"]}],
                "unevaluatedProperties": {"type": "boolean"} if i % 2 else False,
            }
        return {"type": "object", **schema}

    yield from grow_schema("unevaluated-nest", (4, 12, 120), unevaluated)
    yield from grow_schema(
        "unevaluated-wide",
        (6, 12, 300),
        lambda n: {
            "type": "object",
            "anyOf": [{"properties": {f"a{i}": {"type": "integer"}}} for i in range(n)],
            "unevaluatedProperties": False,
        },
    )
    yield from grow_schema(
        "dynamic-tree",
        (3, 40, 400),
        lambda n: {
            "$id": "https://e.x/root",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {f"c{i}": {"$ref": f"d{i}"} for i in range(n)},
            "$defs": {
                f"d{i}": {
                    "$id": f"d{i}",
                    "$dynamicAnchor": "node",
                    "anyOf": [
                        {"$dynamicRef": "#node"},
                        {"type": "array", "items": {"$ref": f"d{(i + 1) % n}"}},
                    ],
                }
                for i in range(n)
            },
        },
    )
    yield from grow_schema(
        "not-enum",
        (300, 4000),
        lambda n: {"type": "string", "not": {"enum": [f"v{i * 7919 % 100003:x}" for i in range(n)]}},
    )
    yield from grow_schema(
        "not-enum-any",
        (100, 1500),
        lambda n: {"not": {"enum": [i if i % 3 else [i, str(i)] if i % 2 else {"a": i} for i in range(n)]}},
    )
    yield from grow_schema(
        "long-const-items",
        (2000, 30_000),
        lambda n: {"type": "array", "items": {"const": "ab" * (n // 2)}, "minItems": n, "maxItems": n + 5},
    )
    yield from grow_schema(
        "const-shared-beginnings",
        (20, 240),
        lambda n: {"enum": ["a" * (i + 1) + "b" for i in range(n)] + ["a" * n]},
    )
    yield from grow_schema(
        "conditions-in-line",
        (5, 12, 150),
        lambda n: {
            "type": "object",
            "properties": {f"k{i}": {"type": ["integer", "string"]} for i in range(n)},
            "allOf": [
                {
                    "if": {"properties": {f"k{i}": {"type": "integer"}}, "required": [f"k{i}"]},
                    "then": {"properties": {f"k{(i + 1) % n}": {"type": "string"}}},
                    "else": {"required": [f"k{(i + 3) % n}"]},
                }
                for i in range(n)
            ],
        },
    )
    yield from grow_schema(
        "names-by-patterns",
        (4, 10, 200),
        lambda n: {
            "type": "object",
            "propertyNames": {
                "allOf": [{"pattern": f"[{chr(97 + i % 26)}-z]{{{i % 5 + 1}}}"} for i in range(n)]
            },
            "minProperties": n,
        },
    )


def characters() -> Iterator[Request]:
    """Classes of very many characters, and look-around in look-around."""
    yield from grow_regex(
        "re-class-of-pieces",
        (200, 6000),
        lambda n: "(?:[" + "".join(f"\\u{{{0x3400 + 3 * i:x}}}" for i in range(n)) + "]|\\p{Lu})*x",
        options={"flags": "u"},
    )
    yield from grow_regex(
        "re-classes-excluded",
        (30, 400),
        lambda n: "".join(
            f"[^\\p{{L}}\\u{{{0x4E00 + 7 * i:x}}}-\\u{{{0x4E03 + 9 * i:x}}}]?" for i in range(n)
        ),
        options={"flags": "u"},
    )
    yield from grow_regex(
        "re-lookbehind-nest", (4, 30, 400), lambda n: "[a-z]*" + "(?<=[a-z]{2}" * n + "x" + ")" * n + "[a-z]*"
    )
    yield from grow_regex(
        "re-around-both",
        (4, 20, 300),
        lambda n: "".join(
            f"[a-f]*(?<![a-c]{{{i % 4 + 1}}})(?!{'abcdef'[i % 6]}{{{i % 5 + 1}}})" for i in range(n)
        ),
    )
    yield from grow_regex(
        "re-case-classes", (50, 900), lambda n: "".join(f"[k-\\u{{{0x212A + i:x}}}]?ſ?" for i in range(n)),
        options={"flags": "iu"}
    )  # fmt: skip


def dialects() -> Iterator[Request]:
    """Grammars in EBNF whose operators nest, or that hold schemas, patterns and free text."""

    def nest(n: int) -> str:
        body = '"a"* "b"'
        for i in range(n):
            body = f'!(({body}) & ([a-{chr(98 + i % 20)}]* "{chr(97 + i % 26)}"?)) & ([a-z]{{0,{i + 3}}})'
        return f"root ::= {body}"

    yield from grow_ebnf("and-not-nest", (3, 12, 60, 400), nest)
    yield from grow_ebnf(
        "indentation",
        (6, 30, 120),
        lambda n: (
            "root ::= b0\n"
            + "\n".join(f'b{i} ::= ("{"  " * i}" [a-z]+ ("\\n" | ":\\n" b{i + 1}))+' for i in range(n))
            + f'\nb{n} ::= "{"  " * n}" [a-z]+ "\\n"'
        ),
    )
    yield from grow_ebnf(
        "json-in-ebnf",
        (3, 20, 120),
        lambda n: (
            "root ::= (r0)*\n"
            + "\n".join(
                f'r{i} ::= "c{i} " %json {{"type":"object","properties":{{"k{i}":{{"pattern":"a.{{{i % 9}}}b"}}}},'
                f'"patternProperties":{{"^x{i}":{{"uniqueItems":true}}}}}} | r{i + 1}'
                for i in range(n)
            )
            + f'\nr{n} ::= "end"'
        ),
    )
    yield from grow_ebnf(
        "regex-in-ebnf",
        (5, 300),
        lambda n: (
            "root ::= ("
            + " | ".join(f"%regex /(?!{i})[0-9a-f]{{1,{i % 30 + 2}}}(?=-)-?/" for i in range(n))
            + ")*"
        ),
    )
    yield from grow_ebnf(
        "dispatch-in-dispatch",
        (3, 12, 60),
        lambda n: (
            "root ::= d0\n"
            + "\n".join(
                f'd{i} ::= TagDispatch(("<a{i}>", d{i + 1}), ("<b{i}>", d0), excludes=("</{i}>", "<<{i}"))'
                for i in range(n)
            )
            + f"\nd{n} ::= [a-z]*"
        ),
    )
    yield from grow_ebnf(
        "gbnf-macros",
        (20, 600),
        lambda n: (
            'root ::= ws obj ws\nws ::= ([ \\t\\n] ws)?\nobj ::= "{" ws (pair ("," ws pair)*)? "}"\n'
            "pair ::= " + " | ".join(f"k{i} ws \":\" ws v{i % 7}" for i in range(n)) + "\n"
            + "\n".join(f'k{i} ::= "\\"" "k{i}" "\\""' for i in range(n)) + "\n"
            + "\n".join(f'v{i} ::= obj | "[" ws (v{(i + 1) % 7} ("," ws v{(i + 2) % 7})*)? "]" | [0-9]+ ws' for i in range(7))
        )
    )  # fmt: skip
    yield from grow_tag(
        "counted-free-text",
        (20, 300),
        lambda n: {
            "type": "sequence",
            "elements": [
                tag(f"<{i}>", f"</{i}>", {**FREE, "max_chars": 50 + i, "excludes": [f"x{i}", "yz"]})
                for i in range(n)
            ],
        },
    )
    yield from grow_tag(
        "tag-recursive-schemas",
        (3, 60),
        lambda n: {
            "type": "triggered_tags",
            "triggers": ["<f"],
            "tags": [
                tag(
                    f"<f{i}>",
                    "</f>",
                    {
                        "type": "json_schema",
                        "json_schema": {
                            "$ref": "#/$defs/t",
                            "$defs": {
                                "t": {
                                    "type": "object",
                                    "properties": {
                                        f"p{i}": {"type": "array", "items": {"$ref": "#/$defs/t"}}
                                    },
                                    "patternProperties": {"^x": {"$ref": "#/$defs/t"}},
                                }
                            },
                        },
                    },
                )
                for i in range(n)
            ],
        },
    )


def services() -> Iterator[Request]:
    """Budgets, completions, samples and drafts on grammars that are hard for masks already."""
    hard = {
        "pairs": ("ebnf", 'root ::= s\ns ::= s s | "(" s ")" | [a-z]+ s? "."\n'),
        "long-ends": ("ebnf", chain(14, 'r{i} ::= "[" r{j} r{j} "]"', 'r{i} ::= "ab" | "c" r0')),
        "recursive": (
            "json_schema",
            json.dumps(
                {
                    "$ref": "#/$defs/n",
                    "$defs": {
                        "n": {
                            "type": "object",
                            "properties": {k: {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]} for k in "abcdef"},
                            "required": ["a"],
                            "minProperties": 2,
                            "anyOf": [{"maxProperties": 3}, {"required": ["f"]}],
                        }
                    },
                }
            ),
        ),
        "unique": (
            "json_schema",
            json.dumps({"type": "array", "uniqueItems": True, "minItems": 60, "items": {"enum": list(range(80))}}),
        ),
        "any-order": (
            "json_schema",
            json.dumps(
                {
                    "type": "object",
                    "properties": {f"k{i}": {"type": "string", "minLength": i} for i in range(60)},
                    "required": [f"k{i}" for i in range(60)],
                }
            ),
        ),
        "products": (
            "json_schema",
            json.dumps({"type": "string", "allOf": [{"pattern": f"[{c}]{{{i + 2}}}"} for i, c in enumerate("abcdefg")]}),
        ),
        "subsets": ("regex", "(a|b)*a(a|b){14}(c|d)*d(c|d){9}"),
    }  # fmt: skip
    for name, (kind, source) in hard.items():
        for driver in ("budget", "complete", "strings", "storm"):
            options: dict[str, Any] = {"property_order": "any"} if name == "any-order" else {}
            yield Request(f"{driver}-{name}", driver, kind, source, options, driver, steps=60)  # type: ignore[arg-type]


def all_mixtures() -> Iterator[Request]:
    """Return all of these requests."""
    for family in (run_out_keys, keywords, characters, dialects, services):
        yield from family()
