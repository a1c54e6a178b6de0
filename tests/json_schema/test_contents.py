"""Keys of the parts of a schema: equal exactly where the JSON texts are."""

from __future__ import annotations

import json
import random
from typing import Any

from stackmask.grammar.json_schema.contents import Contents

SEED = 5
SCALARS = (0, 1, 1.0, -0.0, 0.0, True, False, None, "", "a", "1", "true", 10**30, 0.1)


def some_json(rng: random.Random, depth: int) -> Any:
    """Return a small JSON value."""
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return rng.choice(SCALARS)
    size = rng.randint(0, 2)
    if kind < 0.75:
        return [some_json(rng, depth - 1) for _ in range(size)]
    return {rng.choice("ab"): some_json(rng, depth - 1) for _ in range(size)}


def test_keys_are_equal_where_the_texts_are() -> None:
    rng = random.Random(SEED)
    keywords = frozenset("ab")
    contents = Contents()
    parts = [{rng.choice("ab"): some_json(rng, 3) for _ in range(rng.randint(1, 2))} for _ in range(600)]
    made = [(contents.key(part, keywords), json.dumps(part)) for part in parts]
    equal = 0
    for key, text in made:
        for other, their in made:
            assert (key == other) == (text == their), (text, their)
            equal += key == other
    assert equal > len(parts)


def test_only_keywords_count_and_their_order_does() -> None:
    contents = Contents()
    keywords = frozenset(("type", "enum"))
    said = contents.key({"type": "string", "description": "one"}, keywords)
    assert said == contents.key({"description": "two", "type": "string"}, keywords)
    assert contents.key({"type": "string", "enum": []}, keywords) != contents.key(
        {"enum": [], "type": "string"}, keywords
    )


def test_what_no_json_text_says_has_no_key() -> None:
    contents = Contents()
    keywords = frozenset(("enum", "items"))
    for value in (object(), {1: 2}, {"a": [b""]}, [1, {2}], (1, 2)):
        assert contents.key({"enum": value}, keywords) is None
    assert contents.key({"title": object()}, keywords) == ()


def test_keys_of_leaves_hold_for_other_schemas() -> None:
    keywords = frozenset(("type", "enum", "items"))
    leaf = {"type": ["string", "null"], "enum": ["a", 1, 2.5, None]}
    first, second = Contents(), Contents()
    assert first.key({"items": leaf}, keywords) != second.key({"items": dict(leaf)}, keywords)
    assert not first.portable
    assert first.key(leaf, keywords) == second.key(dict(leaf), keywords)
    assert first.portable


def test_depth_costs_nothing() -> None:
    contents = Contents()
    keywords = frozenset(("items",))
    deep: Any = {}
    for _ in range(100_000):
        deep = {"items": [deep]}
    assert contents.key(deep, keywords) == contents.key({"items": [deep["items"][0]]}, keywords)
