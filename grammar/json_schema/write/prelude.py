"""The rules of any JSON value, made once per kind of whitespace and shared by all grammars."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.text.strings import ANY_STRING
from stackmask.grammar.json_schema.write.numbers.number_spellings import number_expr
from stackmask.grammar.json_schema.write.whitespace import Whitespace

Words: TypeAlias = tuple[tuple[int, ir.Literal], ...]
"""How null, true and false are written, each by its bit."""

JSON_WORDS: Final[Words] = (
    (NULL, ir.Literal(b"null")),
    (TRUE, ir.Literal(b"true")),
    (FALSE, ir.Literal(b"false")),
)
VALUE: Final = ir.RuleRef("json")
ANY_ARRAY: Final = ir.RuleRef("json.array")
ANY_OBJECT: Final = ir.RuleRef("json.object")
_STRING: Final = ir.RuleRef("json.string")
_OPEN: Final = ir.KeySpec(0, open=True)


@lru_cache(64)
def prelude(whitespace: Whitespace, words: tuple[ir.Expr, ...], plain: bool = False) -> dict[str, ir.Rule]:
    """Return the rules by name; ``json`` is any value, ``json.object`` any object without duplicate keys.

    ``words``: null, true and false as they are written. ``plain``: numbers as ``number_expr`` has it.
    """
    null, true, false = words
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
                number_expr(ALL_NUMBERS, plain=plain),
                true,
                false,
                null,
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
