"""The work of reading unique arrays is charged to the request."""

from __future__ import annotations

import pytest

import stackmask as sm

MANY = {"type": "string"}, {"enum": [None, True, False]}, {"type": "number"}


def test_many_counts_of_single_values_are_charged() -> None:
    schema = {"type": "array", "uniqueItems": True, "maxItems": 150_000, "items": {"anyOf": list(MANY)}}
    with pytest.raises(sm.BudgetError, match="max_work"):
        sm.Grammar.from_json_schema(schema, limits=sm.Limits(max_work=10_000_000))


def test_few_counts_cost_little() -> None:
    schema = {"type": "array", "uniqueItems": True, "minItems": 4}
    assert sm.Grammar.from_json_schema(schema, property_order="any").work < 200_000
