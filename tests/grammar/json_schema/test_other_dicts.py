"""Schemas in dicts of other types than `dict` mean what they do in plain ones."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Literal

import pytest

import stackmask as sm


class Mapped(dict[str, Any]):
    """A dict of another type, as readers of YAML make them."""


@pytest.mark.parametrize("kind", [OrderedDict, Mapped])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_schemas_in_dicts_of_other_types(kind: type[dict[str, Any]], order: Literal["schema", "any"]) -> None:
    def other(value: Any) -> Any:
        if isinstance(value, dict):
            return kind((name, other(part)) for name, part in value.items())
        return [other(part) for part in value] if isinstance(value, list) else value

    schema = {
        "properties": {"a": {"type": "string"}, "b": {"allOf": [{"$ref": "#/$defs/c"}]}, "d": {"not": {}}},
        "patternProperties": {"^x": {"$id": "http://x/y", "type": "integer"}},
        "unevaluatedProperties": False,
        "$defs": {"c": {"type": "object", "properties": {"e": {"enum": [{"f": 1}, "g"]}}}},
    }
    grammar = sm.Grammar.from_json_schema(other(schema), property_order=order)
    assert grammar.rules == sm.Grammar.from_json_schema(schema, property_order=order).rules
