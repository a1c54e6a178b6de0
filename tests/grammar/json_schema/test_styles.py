"""One writer of objects takes any style: here one that the package does not have."""

from __future__ import annotations

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm
from stackmask.grammar import ir
from stackmask.grammar.json_schema.frontend import schema_rules
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.sets.string_sets import Texts
from stackmask.grammar.json_schema.text.strings import choice
from stackmask.grammar.json_schema.write.lowering import Lowering, ObjectWriter
from stackmask.grammar.json_schema.write.style import Delimiters, ObjectStyle, Parted

NAME = ir.Repeat(ir.CharClass(((0x61, 0x7A),)), 1, None)


class Query(ObjectStyle):
    """Members as in the query of a URL: `?name=value&name=value`, with values in JSON."""

    names = Texts(parts=(NAME,))

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.items = {}
        self.any_order = lowering.style.any_order
        self.brackets = Delimiters.of(ir.Literal(b"?"), ir.EPSILON, ir.Literal(b"&"), (), ())

    def word(self, text: str) -> ir.Expr:
        return ir.Literal(text.encode())

    def parted(self, name: ir.Expr, state: State, again: ir.Expr | None = None) -> list[Parted]:
        return [Parted(name, ir.EPSILON, ir.Sequence((ir.Literal(b"="), self.lowering.expression(state))))]


def write(lowering: Lowering) -> ir.RuleSet:
    objects = ObjectWriter(lowering, Query(lowering))
    return lowering.finish(choice(list(map(objects.expression, lowering.begin_objects()))))


SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "tag": {"type": "string"}, "of": {"properties": {"a": {}}}},
    "required": ["tag"],
}


@pytest.mark.parametrize(
    ("order", "others", "text", "accepted"),
    [
        ("schema", False, '?id=7&tag="x"&of={"a": 1}', True),
        ("schema", False, '?tag="x"', True),
        ("schema", False, '?tag="x"&id=7', False),
        ("schema", False, "?id=7", False),
        ("schema", False, '?tag="x"&other=1', False),
        ("schema", False, '?&tag="x"', False),
        ("schema", True, '?tag="x"&other=[1]&more={}', True),
        ("schema", True, '?other=1&tag="x"', False),
        ("any", True, '?other=1&tag="x"&id=7', True),
        ("any", True, '?id=7&tag="x"&id=7', False),
        ("any", False, '?of=0&tag="x"&id=7', True),
        ("any", False, "?of=0", False),
    ],
)
def test_a_style_that_the_package_does_not_have(order: str, others: bool, text: str, accepted: bool) -> None:
    schema = SCHEMA if others else {**SCHEMA, "additionalProperties": False}
    rules, _ = schema_rules(schema, property_order=order, write=write)
    matcher = COMPILER.compile(sm.Grammar(rules)).matcher()
    assert (matcher.accept_string(text) and matcher.is_accepting()) == accepted
