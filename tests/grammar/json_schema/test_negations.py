"""What `not` leaves of arrays and objects, where the official suite and random schemas seldom look."""

from __future__ import annotations

from typing import Any

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm

INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("kind", "schema", "accepted", "rejected"),
    [
        # an item that is not there breaks nothing
        ("array", {"prefixItems": [INTEGER]}, ["[null]", "[null, 1]"], ["[]", "[1]"]),
        ("array", {"prefixItems": [{}, INTEGER]}, ['[1, "a"]', "[1, []]"], ["[]", "[null]", "[1, 1]"]),
        ("array", {"items": INTEGER}, ["[null]", "[1, null]"], ["[]", "[1]"]),
        ("array", {"maxItems": 2}, ["[1, 2, 3]"], ["[]", "[1, 2]"]),
        ("array", {"minItems": 2}, ["[]", "[1]"], ["[1, 2]"]),
        ("array", {"contains": INTEGER}, ["[]", "[null]"], ["[1]", "[null, 1]"]),
        ("object", {"properties": {"a": INTEGER}}, ['{"a": null}'], ["{}", '{"b": null}', '{"a": 1}']),
        ("object", {"required": ["a"]}, ["{}", '{"b": 1}'], ['{"a": 1}']),
        ("object", {"maxProperties": 1}, ['{"a": 1, "b": 2}'], ["{}", '{"a": 1}']),
        ("object", {"minProperties": 1}, ["{}"], ['{"a": 1}']),
    ],
)
def test_what_breaks_a_schema(kind: str, schema: Any, accepted: list[str], rejected: list[str]) -> None:
    compiled = COMPILER.compile(sm.Grammar.from_json_schema({"type": kind, "not": schema}))

    def accepts(text: str) -> bool:
        matcher = compiled.matcher()
        return bool(matcher.accept_string(text) and matcher.is_accepting())

    assert [text for text in accepted if not accepts(text)] == []
    assert [text for text in rejected if accepts(text)] == []
