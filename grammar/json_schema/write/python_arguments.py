"""Objects as the arguments of a call in Python: ``city="Rome", days=2``, with values as Python's literals.

Values are written as JSON, but ``True``, ``False`` and ``None``; strings as ``json.dumps(ensure_ascii=False)`` writes them, which
Python reads as the same strings. Declared arguments come in declared order.
"""

from __future__ import annotations

from keyword import iskeyword
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, repeat, sequence
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ANY_KEYS, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.object_members import Member, live_members
from stackmask.grammar.json_schema.sets.string_sets import ALL
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.write.lowering import Lowering
from stackmask.grammar.json_schema.write.style import Words
from stackmask.grammar.source import charclass
from stackmask.grammar.source.work import spend

NARROWING: Final = (
    "arguments without a declared name are left out where some are declared, and strings are in double quotes"
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


class PythonWriter:
    """Writes one object as arguments of a call."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.has_patterns = False  # a name may then have no way to be written

    def run(self) -> ir.RuleSet:
        """Return the rules. Raises: SchemaError and its subclasses."""
        lowering, algebra = self.lowering, self.lowering.algebra
        start = algebra.state((algebra.start,))
        lowering.find_productive(start)
        lowering.rules["root"] = ir.Rule("root", ir.EPSILON)
        forms = [ObjectForm([], {}, [ANY_KEYS], 0, None, [])]
        if start:
            value = algebra.value(start)
            forms = [form for form in value.objects if lowering.objects.is_productive(form)]
        if not forms:
            problem = "arguments are an object, and the schema allows none"
            raise SchemaError(algebra.where(start), "type", problem)
        return lowering.finish(choice([self.object(form) for form in forms]))

    def object(self, form: ObjectForm) -> ir.Expr:
        """Return the arguments of one form."""
        members = live_members(form.members, self.lowering.productive)
        spend(10 + 20 * len(members))
        required = sum(member.required for member in members)
        if form.low > required or (form.high is not None and form.high < len(members)) or form.some:
            keyword = "minProperties" if form.low > required else "maxProperties"
            raise UnsupportedSchemaError("", keyword, "arguments of a call in Python are not counted")
        for member in members:
            if not member.name.isascii() or not member.name.isidentifier() or iskeyword(member.name):
                problem = f"{member.name!r:.60} cannot be the name of an argument in Python"
                raise UnsupportedSchemaError("", "properties", problem)
        if not members:
            return self.undeclared(form)
        return self.chain(members)

    def undeclared(self, form: ObjectForm) -> ir.Expr:
        """Return arguments of an object without declared ones."""
        lowering = self.lowering
        live = [entry for entry in form.classes if not entry.state or lowering.is_live(entry.state)]
        if not live:
            return ir.EPSILON
        options = []
        for entry in live:
            name: ir.Expr = _NAME
            if entry.texts is not ALL:
                self.has_patterns = True
                name = ir.Intersection((_NAME, entry.texts.expr()))
            options.append(self.argument(name, entry.state))
        one = choice(options)
        return repeat(sequence((one, repeat(sequence((_COMMA, one)), 0, None))), 0, 1)

    def chain(self, members: list[Member]) -> ir.Expr:
        """Return declared arguments in order, with commas between those that are there."""
        lowering = self.lowering
        following: list[ir.Expr] = []  # the arguments that may come next, each with all that follows it
        may_end = True
        for member in reversed(members):
            spend(4 * len(following))
            more = [sequence((_COMMA, reference)) for reference in reversed(following)]
            tail = repeat(choice(more), 0 if may_end else 1, 1) if more else ir.EPSILON
            name = lowering.fresh("argument")
            written = self.argument(ir.Literal(member.name.encode()), member.state)
            lowering.rules[name] = ir.Rule(name, sequence((written, tail)))
            if member.required:
                following, may_end = [], False
            following.append(ir.RuleRef(name))
        return repeat(choice(following[::-1]), 0 if may_end else 1, 1)

    def argument(self, name: ir.Expr, state: State) -> ir.Expr:
        """Return one argument."""
        return sequence((name, ir.Literal(b"="), self.lowering.expression(state)))
