"""Schemas are closed where they do not say so."""

from __future__ import annotations

from stackmask.grammar.json_schema.document.closed import closed


def test_objects_are_closed_where_the_schema_does_not_say() -> None:
    schema = {
        "properties": {
            "properties": {"properties": {}},
            "open": {"properties": {}, "additionalProperties": True},
            "data": {"enum": [{"properties": {}}]},
        },
        "anyOf": [{"properties": {"x": True}}],
    }
    made = closed(schema)
    assert made["additionalProperties"] is False
    assert made["properties"]["properties"]["additionalProperties"] is False
    assert made["properties"]["open"]["additionalProperties"] is True
    assert made["properties"]["data"] == {"enum": [{"properties": {}}]}
    assert made["anyOf"][0]["additionalProperties"] is False
    assert "additionalProperties" not in made["properties"]
    assert "additionalProperties" not in schema  # what was given stays


def test_parts_of_one_value_are_closed_together_and_conditions_stay() -> None:
    parts = [{"properties": {"a": True}}, {"properties": {"b": True}}]
    made = closed({"allOf": parts, "not": {"properties": {"c": False}}})
    assert made == {"allOf": parts, "not": {"properties": {"c": False}}, "unevaluatedProperties": False}
    assert closed({"prefixItems": [True]}) == {"prefixItems": [True]}
    assert closed({"prefixItems": [True]}, arrays=True)["items"] is False
