"""How the values of a schema are written, and the pieces that grammars of one style share."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS, NumberSet
from stackmask.grammar.json_schema.sets.string_sets import Texts, spelled, text_expr
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.text.strings import ANY_BODIES, ANY_STRINGS
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
_OPEN: Final = ir.Literal(b"{")
_CLOSE: Final = ir.Literal(b"}")
MAY_CLOSE: Final = ir.KeyTest("close")
MAY_GO_ON: Final = ir.KeyTest("continue")
UNDECLARED: Final = ir.KeyTest("undeclared")
MAX_STYLES: Final = 16  # whose pieces are remembered
MAX_KEPT: Final = 4096  # pieces of each kind
_STYLES: Final[dict[tuple[Any, ...], Style]] = {}


class Style:
    """How values are written, and what objects of several grammars have in common. Threads may share it.

    ``spelling``: of strings, one of ``SPELLINGS``. ``any_order``: members need not come as they are declared. ``words``:
    null, true and false. ``members``: key, colon and value, by name and address of the value; ``slots``: the same with a
    slot; ``items``: members that follow others; ``leaves``: scalar values by what their schema says.
    """

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
        # how objects begin, and end after members and with none; where keys are kept account of, if they may
        self.begin = ws.begin(_OPEN)
        self.end = ir.Sequence(ws.end(_CLOSE))
        self.empty = ir.Sequence((ws.empty, _CLOSE))
        self.may_end = ir.Sequence((MAY_CLOSE, *ws.end(_CLOSE)))
        self.may_be_empty = ir.Sequence((MAY_CLOSE, ws.empty, _CLOSE))
        self.members: dict[tuple[str, int], ir.Expr] = {}
        self.slots: dict[tuple[str, int, int], ir.Expr] = {}
        self.items: dict[int, ir.Expr] = {}
        self.leaves: dict[Any, Any] = {}
        self._any_value: dict[str, ir.Rule] = {}

    @classmethod
    def of(cls, blanks: Whitespace, *options: Any) -> Style:
        """Return the style with these options, the same one as long as it is remembered."""
        key = (id(blanks), *options)
        found = _STYLES.get(key)
        if found is None:
            if len(_STYLES) >= MAX_STYLES:
                _STYLES.clear()
            found = _STYLES[key] = cls(blanks, *options)
        return found

    def keyed(self, brackets: bytes, options: list[ir.Expr], spec: ir.KeySpec) -> ir.Expr:
        """Return an object or array of parts of which account is kept: by key or slot, and by number."""
        ws, close = self.blanks, ir.Literal(brackets[1:])
        part = options[0] if len(options) == 1 else ir.Choice(tuple(options))
        more = ir.Repeat(ir.Sequence((MAY_GO_ON, ws.item, part)), 0, None)
        some = ir.Sequence((ws.open, part, more, MAY_CLOSE, *ws.end(close)))
        none = ir.Sequence((MAY_CLOSE, ws.empty, close))
        return ir.Keyed(ir.Sequence((ws.begin(ir.Literal(brackets[:1])), ir.Choice((some, none)))), spec)

    def trim(self) -> None:
        """Forget pieces where they are many."""
        if len(self.members) > MAX_KEPT or len(self.slots) > MAX_KEPT:
            self.members, self.slots, self.items = {}, {}, {}

    def word(self, text: str) -> ir.Expr:
        """Return one string, with the quotes."""
        return spelled(text, self.spelling)

    def text(self, texts: Texts) -> ir.Expr:
        """Return some strings, with the quotes."""
        return text_expr(texts, self.spelling)

    def numbers(self, numbers: NumberSet, whole: bool = False) -> ir.Expr:
        """Return some numbers; ``whole``: integers as draft 4 has them. Raises: UnsupportedNumber."""
        return number_expr(numbers, zero_fractions=not whole, plain=self.plain_numbers)

    @property
    def any_value(self) -> dict[str, ir.Rule]:
        """The rules by name of any value; ``json.object`` is any object without duplicate keys."""
        if not self._any_value:
            self._any_value = {name: ir.Rule(name, body) for name, body in self._bodies().items()}
        return self._any_value

    def _bodies(self) -> dict[str, ir.Expr]:
        ws = self.blanks
        member = ir.Sequence((ir.Capture(_STRING, "key"), ws.member, VALUE))
        more_members = ir.Repeat(ir.Sequence((ws.item, UNDECLARED, member)), 0, None)
        members = ir.Sequence((ir.Sequence((ws.open, UNDECLARED, member, more_members)), *ws.end(_CLOSE)))
        end = ws.end(ir.Literal(b"]"))
        items = ir.Sequence((ws.open, VALUE, ir.Repeat(ir.Sequence((ws.item, VALUE)), 0, None), *end))
        array = ir.Choice((items, ir.Sequence((ws.empty, ir.Literal(b"]")))))
        object_ = ir.Sequence((self.begin, ir.Choice((members, self.empty))))
        null, true, false = (word for _, word in self.words)
        return {
            "json": ir.Choice((ANY_OBJECT, ANY_ARRAY, _STRING, self.any_number, true, false, null)),
            "json.string": self.any_string,
            "json.array": ws.around(ir.Sequence((ws.begin(ir.Literal(b"[")), array))),
            "json.object": ws.around(ir.Keyed(object_, ir.KeySpec(0, open=True))),
        }
