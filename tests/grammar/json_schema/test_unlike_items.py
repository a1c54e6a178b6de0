"""Unequal items that are closed, nested or recursive, or stand behind leading items: verdicts and dead ends."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import partial
from typing import Any

import pytest
from support.campaign import mostly_campaign
from support.json_schema_engine import COMPILER
from support.random_schemas import judge, walk

import stackmask as sm

NAMES = ("a", "b", "é", "ab")


class ItemMaker:
    """Makes schemas of items that run out soon, or after some beginnings, and values near them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def leaf(self) -> dict[str, Any]:
        rng = self.rng
        leaves: tuple[dict[str, Any], ...] = (
            {"type": "boolean"},
            {"enum": [1, "x", None][: rng.randint(1, 3)]},
            {"const": "k"},
            {"type": "string"},
            {"type": "integer", "minimum": 0, "maximum": 2},
            {"type": "integer", "minimum": 0},
            {"type": "string", "maxLength": 1, "pattern": "^[ab]"},
            {"type": ["null", "string"]},
        )
        return rng.choice(leaves)

    def item(self, depth: int) -> dict[str, Any]:
        """Return the schema of an item of at most so many levels."""
        rng = self.rng
        kind = rng.random()
        if depth <= 0 or kind < 0.3:
            return self.leaf()
        if kind < 0.75:
            names = rng.sample(NAMES, rng.randint(1, 3))
            found: dict[str, Any] = {
                "type": "object",
                "properties": {name: self.item(depth - 1) for name in names},
                "required": rng.sample(names, rng.randint(0, len(names))),
                "additionalProperties": False,
            }
            if rng.random() < 0.2:
                found["maxProperties"] = rng.randint(len(found["required"]), 3)
            if rng.random() < 0.2:
                found["minProperties"] = 1
            return found
        if kind < 0.9:
            return self.array(depth)
        return {"oneOf" if rng.random() < 0.5 else "anyOf": [self.item(depth - 1), self.item(depth - 1)]}

    def array(self, depth: int) -> dict[str, Any]:
        """Return an array of few or unequal items."""
        rng = self.rng
        found: dict[str, Any] = {"type": "array", "uniqueItems": rng.random() < 0.5}
        if rng.random() < 0.5:
            found["prefixItems"] = [self.item(depth - 1) for _ in range(rng.randint(1, 2))]
        found["items"] = False if rng.random() < 0.3 else self.item(depth - 1)
        if rng.random() < 0.6:
            found["maxItems"] = rng.randint(1, 3)
        if rng.random() < 0.3:
            found["minItems"] = rng.randint(1, 2)
        return found

    def schema(self) -> dict[str, Any]:
        """Return an array of unequal items."""
        rng = self.rng
        found: dict[str, Any] = {"type": "array", "uniqueItems": True}
        if rng.random() < 0.3:
            found["prefixItems"] = [self.item(1) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.9:
            found["items"] = self.item(2)
        if rng.random() < 0.3:
            found["minItems"] = rng.randint(1, 3)
        return found

    def value(self, schema: Any, wild: float) -> Any:
        """Return a value that is mostly valid under a schema of this maker."""
        rng = self.rng
        if rng.random() < wild or not isinstance(schema, dict):
            return rng.choice((None, True, 0, 1, "", "a", "x", [], {}, [1], {"a": 1}))
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.value(rng.choice(schema[word]), wild)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type", "null")
        if kind == "object":
            names = [n for n in schema["properties"] if n in schema["required"] or rng.random() < 0.5]
            rng.shuffle(names)
            return {name: self.value(schema["properties"][name], wild) for name in names}
        if kind == "array":
            prefix = schema.get("prefixItems", [])
            low = schema.get("minItems", 0)
            count = rng.randint(low, max(low, min(4, schema.get("maxItems", 4))))
            rest = schema.get("items", {})
            return [self.value(prefix[i] if i < len(prefix) else rest, wild) for i in range(count)]
        return {
            "boolean": rng.random() < 0.5,
            "integer": rng.randint(0, 2),
            "string": rng.choice("ab"),
        }.get(kind if isinstance(kind, str) else "string")


@pytest.mark.parametrize("seed", mostly_campaign(range(3), 1))
def test_verdicts_and_walks(seed: int) -> None:
    rng = random.Random(seed)
    maker = ItemMaker(rng)
    counts: Counter[str] = Counter()
    for _ in range(25):
        schema = maker.schema()
        for order in ("any", "schema"):
            blanks, indent = rng.choice((("any", None), ("single", 2), ({"indent": 1}, 1)))
            values = [maker.value(schema, 0.02) for _ in range(12 if order == "any" else 0)]
            write = partial(json.dumps, ensure_ascii=False, indent=indent)
            how = {"property_order": order, "whitespace": blanks}
            counts += judge(schema, values, rng, walks=3, write=write, **how)
    assert counts["refused"] <= 3
    assert counts["valid"] > 30
    assert counts["invalid"] > 30
    assert counts["walks"] > 20


RECURSIVE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"k": {"type": "boolean"}, "n": {"$ref": "#/$defs/node"}},
            "additionalProperties": False,
        }
    },
    "type": "array",
    "items": {"$ref": "#/$defs/node"},
    "uniqueItems": True,
}


def test_recursive_items() -> None:
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(RECURSIVE, property_order="any"))
    for text, valid in (
        ('[{}, {"n": {}}, {"n": {"n": {}}}, {"k": true, "n": {"k": true}}]', True),
        ('[{"n": {"k": true}, "k": false}, {"k": false, "n": {"k": true}}]', False),
        ("[{}, {}]", False),
    ):
        matcher = compiled.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == valid
    rng = random.Random(1)
    for _ in range(10):
        walk(compiled, rng, 150)
