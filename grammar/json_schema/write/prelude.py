"""The rules of any JSON value, made once per kind of whitespace and shared by all grammars."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS
from stackmask.grammar.json_schema.text.strings import ANY_STRING
from stackmask.grammar.json_schema.write.numbers.number_spellings import number_expr
from stackmask.grammar.json_schema.write.whitespace import Whitespace

VALUE: Final = ir.RuleRef("json")
ANY_ARRAY: Final = ir.RuleRef("json.array")
ANY_OBJECT: Final = ir.RuleRef("json.object")
_STRING: Final = ir.RuleRef("json.string")
_OPEN: Final = ir.KeySpec(0, open=True)


@lru_cache(64)
def prelude(whitespace: Whitespace) -> dict[str, ir.Rule]:
    """Return the rules by name; ``json`` is any value, ``json.object`` any object without duplicate keys."""
    ws = whitespace
    member = ir.Sequence((ir.Capture(_STRING, "key"), ws.member, VALUE))
    members = ir.Sequence(
        (
            ws.open,
            ir.KeyTest("undeclared"),
            member,
            ir.Repeat(ir.Sequence((ws.item, ir.KeyTest("undeclared"), member)), 0, None),
        )
    )
    bodies: dict[str, ir.Expr] = {
        "json": ir.Choice(
            (
                ir.RuleRef("json.object"),
                ir.RuleRef("json.array"),
                _STRING,
                number_expr(ALL_NUMBERS),
                ir.Literal(b"true"),
                ir.Literal(b"false"),
                ir.Literal(b"null"),
            )
        ),
        "json.string": ANY_STRING,
        "json.array": ws.around(
            ir.Sequence(
                (
                    ws.begin(ir.Literal(b"[")),
                    ir.Choice(
                        (
                            ir.Sequence(
                                (
                                    ws.open,
                                    VALUE,
                                    ir.Repeat(ir.Sequence((ws.item, VALUE)), 0, None),
                                    *ws.end(ir.Literal(b"]")),
                                )
                            ),
                            ir.Sequence((ws.empty, ir.Literal(b"]"))),
                        )
                    ),
                )
            )
        ),
        "json.object": ws.around(
            ir.Keyed(
                ir.Sequence(
                    (
                        ws.begin(ir.Literal(b"{")),
                        ir.Choice(
                            (
                                ir.Sequence((members, *ws.end(ir.Literal(b"}")))),
                                ir.Sequence((ws.empty, ir.Literal(b"}"))),
                            )
                        ),
                    )
                ),
                _OPEN,
            )
        ),
    }
    return {name: ir.Rule(name, body) for name, body in bodies.items()}
