"""Schemas whose work grew with what does not matter to them."""

from __future__ import annotations

from typing import Any

import stackmask as sm


def work_of(schema: Any) -> int:
    return sm.Grammar.from_json_schema(schema).work


def test_arrays_told_apart_by_every_item_count_none() -> None:
    kinds = [
        {"type": "array", "maxItems": 25, "items": {"enum": [f"{kind}{i}" for i in range(9)]}}
        for kind in "abcdef"
    ]
    schema = {"oneOf": kinds}
    assert work_of(schema) < 1_000_000  # 60 million if the items are counted
    matcher = (
        sm.Compiler(sm.Vocabulary([bytes([i]) for i in range(256)]))
        .compile(sm.Grammar.from_json_schema(schema))
        .matcher()
    )
    for text, accepted in (('["a1", "a2"]', True), ('["f8"]', True), ("[]", False), ('["a1", "b1"]', False)):
        matcher.reset()
        assert matcher.accept_string(text) == accepted, text


def test_items_that_must_be_found_among_others_are_counted() -> None:
    schema = {"type": "array", "items": {"enum": [1, 2, 3]}, "contains": {"enum": [2, 4]}, "maxContains": 1}
    matcher = (
        sm.Compiler(sm.Vocabulary([bytes([i]) for i in range(256)]))
        .compile(sm.Grammar.from_json_schema(schema))
        .matcher()
    )
    for text, accepted in (("[1, 2, 3]", True), ("[1, 3]", False), ("[2, 2]", False)):
        matcher.reset()
        assert matcher.accept_string(text) == accepted, text


def test_keys_are_counted_as_far_as_there_is_room() -> None:
    found = [{"not": {"propertyNames": {"not": {"pattern": pattern}}}} for pattern in ("a1", "b2", "2a")]
    schema = {
        "type": "object",
        "allOf": [*found, {"propertyNames": {"pattern": "^....$"}}, {"maxProperties": 1}],
    }
    assert work_of(schema) < 10_000_000  # 18 million if no room bounds what is looked for


def test_arrays_of_unequal_items_share_what_is_known_of_strings() -> None:
    code = {
        "type": "object",
        "properties": {"id": {"pattern": "^[a-z]{2}[0-9](-[0-9]{1,3})?$", "type": "string"}},
    }
    closed = {**code, "additionalProperties": False}

    def arrays(count: int) -> dict[str, Any]:
        kinds = {
            f"p{i}": {"type": "array", "uniqueItems": True, "maxItems": 9 + i, "items": closed}
            for i in range(count)
        }
        return {"type": "object", "properties": kinds}

    assert work_of(arrays(10)) < 5 * work_of(arrays(1))
