"""Keys that must be found, where they are counted or may run out: verdicts and dead ends."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain
from typing import Any

import pytest
from support.campaign import mostly_campaign
from support.json_schema_engine import COMPILER
from support.random_schemas import judge

import stackmask as sm

KEYS = ("a", "b", "ab", "ba", "abc", "ca", "x", "1")
PATTERNS = ("a", "b", "^a", "c$", "^(?!a)", "ab|ba")


def schema(rng: random.Random) -> dict[str, Any]:
    """Return an object in which some keys must be found, with counts and few keys at random."""
    parts: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 3)):
        inner: Any = rng.choice((False, {"type": "string"}, {"not": {"type": "integer"}}, {"minimum": 5}))
        kind = rng.random()
        if kind < 0.6:
            parts.append({"not": {"patternProperties": {rng.choice(PATTERNS): inner}}})
        elif kind < 0.8:
            parts.append({"not": {"propertyNames": {"not": {"enum": rng.sample(KEYS, 2)}}}})
        else:
            parts.append({"not": {"additionalProperties": inner, "properties": {"a": True}}})
    found: dict[str, Any] = {"type": "object", "allOf": parts}
    if rng.random() < 0.6:
        found["maxProperties"] = rng.randint(1, 4)
    if rng.random() < 0.3:
        found["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.4:
        found["propertyNames"] = {"pattern": rng.choice(("^..$", "^.{1,3}$", "^[abc]*$", "^[ab]{1,2}$"))}
    if rng.random() < 0.3:
        found["required"] = rng.sample(KEYS, 1)
    if rng.random() < 0.3:
        found["properties"] = {rng.choice(KEYS): {"type": "integer"}}
    return found


@pytest.mark.parametrize("seed", mostly_campaign(range(2), 1))
def test_verdicts_and_walks(seed: int) -> None:
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(30):
        made = schema(rng)
        objects = [
            {key: rng.choice((1, 7, "s", None)) for key in rng.sample(KEYS, rng.randint(0, 4))}
            for _ in range(30)
        ]
        counts += judge(made, objects, rng, walks=2, steps=200, property_order="any")
    assert counts["refused"] <= 9
    assert min(counts["valid"], counts["invalid"]) > 20


CASES = [
    ({"maxProperties": 1, "allOf": [{"not": {"propertyNames": {"not": {"pattern": p}}}} for p in ("a", "b")]},
     ['{"ab": 1}'], ['{"a": 1}', '{"a": 1, "b": 1}', "{}"]),
    ({"not": {"propertyNames": {"not": {"const": "0"}}}}, ['{"0": 1}', '{"x": 1, "0": 2}'], ["{}", '{"x": 1}']),
    ({"maxProperties": 2, "required": ["r"], "not": {"patternProperties": {"^x": False}}},
     ['{"r": 1, "x": 1}', '{"xy": 1, "r": 0}'], ['{"r": 1}', '{"x": 1}', '{"r": 1, "q": 1}']),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "accepted", "rejected"), CASES)
def test_found(conditions: dict[str, Any], accepted: list[str], rejected: list[str]) -> None:
    grammar = sm.Grammar.from_json_schema({"type": "object", **conditions}, property_order="any")
    compiled = COMPILER.compile(grammar)
    for text in chain(accepted, rejected):
        matcher = compiled.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == (text in accepted), text
