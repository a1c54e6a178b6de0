"""Objects as the arguments of a Python call: ``city="Rome", days=2``, with values as Python literals.

Values are written as JSON, except for ``True``, ``False`` and ``None``. Strings are written as by
``json.dumps(ensure_ascii=False)``; Python reads the same strings. Declared arguments come in declared order.
"""

from __future__ import annotations

from keyword import iskeyword, kwlist
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.sets.string_sets import Texts
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.write.lowering import Lowering, ObjectWriter
from stackmask.grammar.json_schema.write.style import Delimiters, ObjectStyle, Parted, Words
from stackmask.grammar.source import charclass

NARROWING: Final = (
    "arguments without a declared name are left out where some are declared, else one may come twice,"
    " and strings are in double quotes"
)
PYTHON_WORDS: Final[Words] = (
    (NULL, ir.Literal(b"None")),
    (TRUE, ir.Literal(b"True")),
    (FALSE, ir.Literal(b"False")),
)
_COMMA: Final = ir.Literal(b", ")
_START: Final = ((0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_NAME: Final = ir.Sequence(
    (ir.CharClass(_START), ir.Repeat(ir.CharClass(charclass.normalize([*charclass.DIGIT, *_START])), 0, None))
)


class PythonWriter(ObjectStyle):
    """A style of objects whose members are arguments of a call."""

    names = Texts(parts=(_NAME,), excluded=dict.fromkeys(kwlist))

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.others_beside = False
        self.brackets = Delimiters.of(ir.EPSILON, ir.EPSILON, _COMMA, (), ())
        self.has_patterns = False  # a name may then have no way to be written

    def run(self) -> ir.RuleSet:
        """Return the rules. Raises: SchemaError and its subclasses."""
        objects = ObjectWriter(self.lowering, self)
        forms = self.lowering.begin_objects()
        return self.lowering.finish(choice(list(map(objects.expression, forms))))

    def word(self, text: str) -> ir.Expr:
        """Return one declared name. Raises: UnsupportedSchemaError for a name that is not a Python identifier."""
        if not text.isascii() or not text.isidentifier() or iskeyword(text):
            problem = f"{text!r:.60} cannot be the name of an argument in Python"
            raise UnsupportedSchemaError(self.lowering.place_of_name(text), "", problem)
        return ir.Literal(text.encode())

    def parted(self, name: ir.Expr, state: State, _: ir.Expr | None = None) -> list[Parted]:
        """Return one argument. The value has no end marker, so its continuation is determined first."""
        self.has_patterns = self.has_patterns or not isinstance(name, ir.Literal)
        value = ir.Sequence((ir.Literal(b"="), self.lowering.expression(state)))
        return [Parted(name, ir.EPSILON, value)]
