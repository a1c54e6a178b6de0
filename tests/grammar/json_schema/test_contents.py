"""Keys of the parts of a schema: equal exactly where the JSON texts are."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from stackmask import Grammar
from stackmask.grammar.json_schema.document.drafts import MAPS, WITHOUT_EFFECT
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.nodes.structural_keys import Contents

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


@pytest.mark.campaign
def test_depth_costs_nothing() -> None:
    contents = Contents()
    keywords = frozenset(("items",))
    deep: Any = {}
    for _ in range(100_000):
        deep = {"items": [deep]}
    for _ in range(1_000):  # none of which looks at all levels again
        assert contents.key(deep, keywords) is None
        deep = deep["items"][0]


def test_titles_within_a_schema_do_not_count_and_values_do() -> None:
    contents = Contents()
    keywords = frozenset(("items", "properties", "enum", "const", "dependencies"))
    texts = [{"description": text, "title": text, "type": "string"} for text in ("one", "two")]
    for around in (
        lambda part: {"items": part},
        lambda part: {"properties": {"a": {"items": [part]}}},
    ):
        first, second = (contents.key(around(part), keywords) for part in texts)
        assert first == second
    for around in (
        lambda part: {"const": part},
        lambda part: {"enum": [1, {"a": part}]},
        lambda part: {"items": {"const": {"a": [part]}}},
        lambda part: {"properties": {"a": {"enum": [part]}}},
        lambda part: {"dependencies": {"title": part["title"]}},
        lambda part: {"items": {"dependencies": {"title": part["title"]}}},
        lambda part: {"items": {"title": [part["title"]]}},
    ):
        first, second = (contents.key(around(part), keywords) for part in texts)
        assert first != second


def test_the_same_object_as_a_schema_and_as_a_value() -> None:
    contents = Contents()
    keywords = frozenset(("items", "const"))
    one, two = ({"a": {"title": text}} for text in ("one", "two"))
    assert contents.key({"items": one}, keywords) == contents.key({"items": two}, keywords)
    assert contents.key({"const": one}, keywords) != contents.key({"const": two}, keywords)


def test_deep_parts_are_compared_in_the_same_way() -> None:
    def nested(depth: int, title: str, last: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"maximum": last}
        for _ in range(depth):
            schema = {"items": [schema], "title": title}
        return {"items": schema}

    contents = Contents()
    keywords = frozenset(("items",))
    deep = contents.key(nested(100, "one", 1), keywords)
    assert deep is not None
    assert deep == contents.key(nested(100, "two", 1), keywords)
    assert deep != contents.key(nested(100, "one", 2), keywords)
    assert deep != contents.key(nested(99, "one", 1), keywords)
    assert contents.key(nested(5_000, "one", 1), keywords) is None


@pytest.mark.parametrize("keyword", sorted(MAPS - WITHOUT_EFFECT))
def test_a_text_in_place_of_a_schema_is_an_error_beside_an_equal_part_without_it(keyword: str) -> None:
    for around in (lambda part: part, lambda part: {"items": part}):
        right, wrong = around({keyword: {"q": {}}}), around({keyword: {"q": {}, "title": "x"}})
        for parts in ([right, wrong], [wrong, right]):
            with pytest.raises(SchemaError, match='not "x"'):
                Grammar.from_json_schema({"properties": {"a": parts[0], "b": parts[1]}})
    Grammar.from_json_schema({"properties": {"a": {"properties": {"properties": {"title": "x"}}}}})


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_one_where_they_say_the_same_whatever_came_before(seed: int) -> None:
    rng = random.Random(seed)

    def part(depth: int) -> Any:
        if not depth or rng.random() < 0.3:
            return rng.choice([{"type": "string"}, {"type": "string", "title": "t"}, {"type": "null"}, True])
        names = rng.sample("xyz", 2)
        return {"title": rng.choice("uv"), "properties": {name: part(depth - 1) for name in names}}

    schema = {"properties": {name: part(3) for name in "abcdef"}}
    shared = Grammar.from_json_schema(schema)
    texts = {json.dumps(without_titles(inner)) for inner in objects_in(schema)}
    assert len([name for name in shared.rules.rules if name.startswith("value")]) <= len(texts)


def objects_in(schema: Any) -> list[Any]:
    """Return the schemas with properties, from the outermost one."""
    found = []
    todo = [schema]
    while todo:
        inner = todo.pop()
        if isinstance(inner, dict) and "properties" in inner:
            found.append(inner)
            todo.extend(inner["properties"].values())
    return found


def without_titles(schema: Any) -> Any:
    """Return what a schema says."""
    if not isinstance(schema, dict):
        return schema
    said = {name: value for name, value in schema.items() if name != "title"}
    if "properties" in said:
        said["properties"] = {name: without_titles(inner) for name, inner in said["properties"].items()}
    return said
