"""``uniqueItems`` of numbers: those used are left out of what may come, however long they are."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm

LONG = "119110001041010001001111110011001010101000000011100010110110106110110111001001110000111311.15"
SPELLINGS = (LONG, LONG + "0", LONG[:-1], "1.5", "1.50", "-1.5", "0.25", "0.0000001", "0.00000010", "7.25")


@pytest.mark.parametrize(
    "items",
    [
        {"type": "number", "not": {"type": "integer"}},
        {"anyOf": [{"type": "number", "not": {"type": "integer"}}, {"type": "object"}]},
    ],
)
def test_long_numbers_are_left_out(items: object) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True}
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, whitespace="compact"))
    mask = sm.allocate_token_bitmask(1, 257)
    for first, second in product(SPELLINGS, repeat=2):
        matcher = compiled.matcher()
        assert matcher.accept_string(f"[{LONG}3,{first},{second}")
        matcher.fill_next_token_bitmask(mask)
        closes = bool(mask[0, ord("]") >> 5] >> (ord("]") & 31) & 1)
        assert closes == matcher.accept_string("]") == (Decimal(first) != Decimal(second)), (first, second)


@pytest.mark.parametrize(
    ("items", "left_out"),
    [({"type": ["string", "integer"]}, "[1.0]"), ({"type": "integer", "minimum": 1}, "[1e0]"), ({}, "[2e1]")],
)
def test_spellings_that_are_left_out_are_in_the_report(items: object, left_out: str) -> None:
    grammar = sm.Grammar.from_json_schema({"type": "array", "items": items, "uniqueItems": True})
    assert not COMPILER.compile(grammar).matcher().accept_string(left_out)
    assert grammar.report is not None
    assert "uniqueItems" in [note.keyword for note in grammar.report.narrowed]


@pytest.mark.parametrize("long", ["7" * 600, "7" * 5000, "-" + "7" * 600])
def test_numbers_too_long_to_be_left_out_of_a_set(long: str) -> None:
    items = {"anyOf": [{"type": "integer"}, {"enum": ["x", "y", "z"]}]}
    grammar = sm.Grammar.from_json_schema({"type": "array", "items": items, "uniqueItems": True})
    matcher = COMPILER.compile(grammar).matcher()
    assert matcher.accept_string(f"[{long},")
    for other in ("7", '"x"', "-7"):
        assert matcher.fork().accept_string(f"{other}]")
    assert not matcher.fork().accept_string(f"{long}]")
