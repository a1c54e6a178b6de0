"""The notation of a schema's values, and the parts shared by all grammars of one style."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.ir.build import sequence
from stackmask.grammar.json_schema.nodes.forms import KeyClass, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.object_members import Member, write_members
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS, NumberSet
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts, text_expr
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.text.strings import ANY_BODIES, ANY_STRINGS, choice, word
from stackmask.grammar.json_schema.write.number_spellings import number_expr
from stackmask.grammar.json_schema.write.whitespace import Whitespace

Words: TypeAlias = tuple[tuple[int, ir.Literal], ...]
"""The spellings of null, true and false, by their bits."""

JSON_WORDS: Final[Words] = (
    (NULL, ir.Literal(b"null")),
    (TRUE, ir.Literal(b"true")),
    (FALSE, ir.Literal(b"false")),
)
VALUE: Final = ir.RuleRef("json")
ANY_ARRAY: Final = ir.RuleRef("json.array")
ANY_OBJECT: Final = ir.RuleRef("json.object")
_STRING: Final = ir.RuleRef("json.string")
MAY_CLOSE: Final = ir.KeyTest("close")
MAY_GO_ON: Final = ir.KeyTest("continue")
UNDECLARED: Final = ir.KeyTest("undeclared")
MAX_STYLES: Final = 16  # whose pieces are remembered
_STYLES: Final[dict[tuple[Any, ...], Style]] = {}


class Delimiters(NamedTuple):
    """The text around and between the members of objects, or the items of arrays.

    ``open``: the text before the first one; ``item``: before each other one; ``end``: after the last one;
    ``empty``: if there is none; ``may_end``, ``may_be_empty``: the same if keys are tracked.
    """

    begin: ir.Expr
    open: ir.Expr
    item: ir.Expr
    end: ir.Expr
    empty: ir.Expr
    may_end: ir.Expr
    may_be_empty: ir.Expr

    @classmethod
    def of(
        cls,
        begin: ir.Expr,
        open_: ir.Expr,
        item: ir.Expr,
        end: tuple[ir.Expr, ...],
        empty: tuple[ir.Expr, ...],
    ) -> Delimiters:
        """Return these delimiters, with tests of keys where keys are tracked."""
        ends = (
            ir.Sequence(end),
            ir.Sequence(empty),
            ir.Sequence((MAY_CLOSE, *end)),
            ir.Sequence((MAY_CLOSE, *empty)),
        )
        return cls(begin, open_, item, *ends)

    @classmethod
    def of_json(cls, ws: Whitespace, brackets: bytes) -> Delimiters:
        """Return the delimiters of JSON objects or arrays."""
        close = ir.Literal(brackets[1:])
        return cls.of(ws.begin(ir.Literal(brackets[:1])), ws.open, ws.item, ws.end(close), (ws.empty, close))

    def keyed(self, options: list[ir.Expr], spec: ir.KeySpec) -> ir.Expr:
        """Return an object or array whose parts are tracked by slot or key and by number."""
        part = choice(options)
        more = ir.Repeat(ir.Sequence((MAY_GO_ON, self.item, part)), 0, None)
        some = ir.Sequence((self.open, part, more, self.may_end))
        return ir.Keyed(ir.Sequence((self.begin, ir.Choice((some, self.may_be_empty)))), spec)


class Parted(NamedTuple):
    """One way to write a member, with its name, its value, and its non-empty end."""

    name: ir.Expr
    value: ir.Expr
    close: ir.Expr


class ObjectStyle(Protocol):
    """The notation of objects that ``ObjectWriter`` writes.

    ``any_order``: members may come in any order. ``compares_keys``: the engine tracks undeclared keys;
    otherwise two of them may be equal if members are not counted, and all come from ``names``.
    ``repeats_names``: the end of a member repeats its name.
    ``others_beside``: undeclared keys may be mixed with declared ones. ``any_object``: an unconstrained
    object.
    """

    brackets: Delimiters
    any_order: bool = False
    compares_keys: bool = False
    repeats_names: bool = False
    others_beside: bool = True
    any_object: ir.Expr | None = None
    names: Texts = ALL

    def word(self, text: str) -> ir.Expr:
        """Return one declared name."""

    def parted(self, name: ir.Expr, state: State, again: ir.Expr | None = None) -> list[Parted]:
        """Return the ways to write a member; ``again``: repeats an undeclared name."""

    def written(self, members: list[Member], writer: Any) -> list[ir.Expr]:
        """Return members that have declared names."""
        return [whole(self.parted(self.word(member.name), member.state)) for member in members]

    def slotted(self, members: list[Member], writer: Any) -> list[ir.Expr]:
        """Return members, each with its slot after the name."""
        ways = [self.parted(self.word(member.name), member.state) for member in members]
        return [
            choice([sequence((way.name, ir.Slot(i), way.value, way.close)) for way in found])
            for i, found in enumerate(ways)
        ]

    def other(self, form: ObjectForm, entry: KeyClass, state: State, objects: Any) -> ir.Expr:
        """Return a member with an undeclared name; ``objects``: the writer of objects."""
        return whole(self.parted(entry.texts.without(form.names).expr(), state))


def whole(ways: list[Parted]) -> ir.Expr:
    """Return a member that is written in any of these ways."""
    return choice([sequence(way) for way in ways])


class Style(ObjectStyle):
    """The notation of values, with objects that several grammars share. Threads may share it.

    ``spelling``: the spelling of strings, one of ``SPELLINGS``. ``any_order``: members may come in any order.
    ``words``: the spellings of null, true and false.
    """

    compares_keys = True
    any_object = ANY_OBJECT

    def __init__(
        self,
        blanks: Whitespace,
        spelling: str = "any",
        plain_numbers: bool = False,
        any_order: bool = False,
        words: Words = JSON_WORDS,
    ) -> None:
        self.blanks = ws = blanks
        self.spelling = spelling
        self.plain_numbers = plain_numbers
        self.any_order = any_order
        self.words = words
        self.any_string = ANY_STRINGS[spelling]
        self.string_body = ANY_BODIES[spelling]
        self.any_key = ir.Capture(self.any_string, "key")
        self.any_number = self.numbers(ALL_NUMBERS)
        self.any_integer = self.numbers(INTEGERS)
        self.any_whole = self.numbers(INTEGERS, whole=True)
        self.brackets = Delimiters.of_json(ws, b"{}")
        self.array_brackets = Delimiters.of_json(ws, b"[]")
        self._any_value: dict[str, ir.Rule] = {}

    @classmethod
    def of(cls, blanks: Whitespace, *options: Any) -> Style:
        """Return the style with these options, the same object as long as it is cached."""
        key = (blanks, *options)
        found = _STYLES.get(key)
        if found is None:
            if len(_STYLES) >= MAX_STYLES:
                _STYLES.clear()
            found = _STYLES[key] = cls(blanks, *options)
        return found

    def written(self, members: list[Member], writer: Any) -> list[ir.Expr]:
        """Return members as key, colon and value."""
        return write_members(members, self, writer)

    def slotted(self, members: list[Member], writer: Any) -> list[ir.Expr]:
        """Return members with their slots, as key, slot, colon and value."""
        return write_members(members, self, writer, True)

    def other(self, form: ObjectForm, entry: KeyClass, state: State, objects: Any) -> ir.Expr:
        """Return a member with an unnamed key, which must not have been used."""
        found: ir.Expr = objects.class_member(form, entry, state)
        return found

    def word(self, text: str) -> ir.Expr:
        """Return the expression of one string, with the quotes."""
        return word(text, self.spelling)

    def text(self, texts: Texts) -> ir.Expr:
        """Return the expression of some strings, with the quotes."""
        return text_expr(texts, self.spelling)

    def numbers(self, numbers: NumberSet, whole: bool = False) -> ir.Expr:
        """Return the expression of numbers; ``whole``: integers as in draft 4. Raises: UnsupportedNumber."""
        return number_expr(numbers, zero_fractions=not whole, plain=self.plain_numbers)

    @property
    def any_value(self) -> dict[str, ir.Rule]:
        """The rules for any value, by name; ``json.object`` is any object without duplicate keys."""
        if not self._any_value:
            self._any_value = {name: ir.Rule(name, body) for name, body in self._bodies().items()}
        return self._any_value

    def _bodies(self) -> dict[str, ir.Expr]:
        ws = self.blanks
        member = ir.Sequence((ir.Capture(_STRING, "key"), ws.member, VALUE))
        members = (
            ws.open,
            UNDECLARED,
            member,
            ir.Repeat(ir.Sequence((ws.item, UNDECLARED, member)), 0, None),
        )
        items = (ws.open, VALUE, ir.Repeat(ir.Sequence((ws.item, VALUE)), 0, None))

        def either(brackets: Delimiters, parts: tuple[ir.Expr, ...]) -> ir.Expr:
            some = ir.Sequence((*parts, brackets.end))
            return ir.Sequence((brackets.begin, ir.Choice((some, brackets.empty))))

        array, object_ = either(self.array_brackets, items), either(self.brackets, members)
        null, true, false = (word for _, word in self.words)
        return {
            "json": ir.Choice((ANY_OBJECT, ANY_ARRAY, _STRING, self.any_number, true, false, null)),
            "json.string": self.any_string,
            "json.array": ws.around(array),
            "json.object": ws.around(ir.Keyed(object_, ir.KeySpec(0, open=True))),
        }
