"""Objects as arguments between markers: strings without quotes, other values as JSON, or nested markers."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, repeat, sequence
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ArrayForm, KeyClass, ObjectForm, StateValue
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE, shown
from stackmask.grammar.json_schema.write import argument_styles as types
from stackmask.grammar.json_schema.write.argument_styles import ArgumentStyle
from stackmask.grammar.json_schema.write.lowering import Lowering, ObjectWriter
from stackmask.grammar.json_schema.write.style import Delimiters, ObjectStyle, Parted, whole
from stackmask.grammar.source import charclass
from stackmask.grammar.source.work import spend

_RESERVED: Final = (
    (0, 0x20),
    (0x22, 0x22),
    (0x26, 0x26),
    (0x3C, 0x3C),
    (0x3E, 0x3E),
)  # blanks, `"`, `&`, `<`, `>`
_SLASH: Final = 0x2F
_READABLE: Final = re.compile("(?:[^<>/][^<>]*)?")  # names, as parsers find them between markers
# of an argument that is not declared; it does not begin as a closing marker
_NAME: Final = ir.Sequence(
    (
        ir.CharClass(charclass.negate((*_RESERVED[:3], (_SLASH, _SLASH), *_RESERVED[3:]))),
        ir.Repeat(ir.CharClass(charclass.negate(_RESERVED)), 0, None),
    )
)
_LINE_BREAK: Final = ir.Literal(b"\n")  # on each side of a value on a line of its own
LINE_BREAK: Final = ir.Repeat(_LINE_BREAK, 0, 1)


class ArgumentWriter(ObjectStyle):
    """A style of objects with members between markers; the lowering writes nested JSON.

    ``blanks``: the whitespace between markers. ``is_plain``: integers are digits, and values have no
    surrounding whitespace, which some servers would parse as part of the value.
    """

    def __init__(
        self,
        lowering: Lowering,
        style: ArgumentStyle,
        spell: Callable[[str], ir.Expr],
        excludes: tuple[str, ...],
        blanks: ir.Expr,
        is_plain: bool = False,
    ) -> None:
        self.lowering = lowering
        self.style = style
        self.spell = spell
        self.excludes = excludes
        self.is_plain = is_plain
        self.blanks = blanks
        self.names = Texts(parts=(_NAME, _without(excludes)) if excludes else (_NAME,))
        self.brackets = Delimiters.of(ir.EPSILON, blanks, blanks, (blanks,), (blanks,))
        self.any_order = lowering.style.any_order
        self.objects = ObjectWriter(lowering, self)
        self.named: dict[State, str] = {}  # rules of the values of nested arguments
        self.pending: list[tuple[str, State | ArrayForm]] = []
        self.has_patterns = False  # a string may then have no way to be written
        self.typed: dict[State, list[tuple[str, ir.Expr]]] = {}
        begins = style.item.startswith(style.open) and style.item.endswith(style.middle)
        # the name of a member that is written as an item is
        self.item_name = style.item[len(style.open) : -len(style.middle)] if begins else ""
        self.repeats_names = "{name}" in style.close

    def run(self) -> ir.RuleSet:
        """Return the rules. Raises: SchemaError and its subclasses."""
        lowering = self.lowering
        body = choice(list(map(self.objects.expression, lowering.begin_objects())))
        while self.pending:
            name, nested = self.pending.pop()
            spend(20)
            found = self.items_of(nested) if isinstance(nested, ArrayForm) else self.members(nested)
            lowering.rules[name] = ir.Rule(name, found)
        return lowering.finish(body)

    # -- objects -------------------------------------------------------------------------------------

    def members(self, state: State) -> ir.Expr:
        """Return the arguments of the objects of a state, none of which is written as an array of it is."""
        forms = self.lowering.object_forms(state)
        name = self.item_name
        if name and (not state or self.arrays_of(self.lowering.algebra.value(state))):
            forms = [self.unlike_arrays(form, name, state) for form in forms]
        return choice(list(map(self.objects.expression, forms)))

    def unlike_arrays(self, form: ObjectForm, name: str, state: State) -> ObjectForm:
        """Return objects without an undeclared name that begins an item of an array."""
        if name in form.names or not any(entry.texts.contains(name) for entry in form.classes):
            return form
        algebra = self.lowering.algebra
        reason = (
            f"an object with `{name}` is left out: it is written as an array is, which may stand there too"
        )
        algebra.report.add("narrowed", algebra.where(state), "", reason)
        return replace(form, names={**form.names, name: None})  # mutant: like-arrays

    def arrays_of(self, value: StateValue) -> list[ArrayForm]:
        """Return the arrays that exist among the values of a state."""
        return [form for form in value.arrays if self.lowering.array_is_productive(form)]

    # -- arguments -----------------------------------------------------------------------------------

    def word(self, text: str) -> ir.Expr:
        """Return one declared name. Raises: UnsupportedSchemaError for a name that could not be parsed."""
        written = "".join(self.style.entities.get(char, char) for char in text)
        if _READABLE.fullmatch(written) is None:
            problem = f"{text!r:.60} cannot be the name of an argument between markers: it may not"
            problem = f"{problem} begin with `/`, or contain `<` or `>`; give it another name"
            raise UnsupportedSchemaError(self.lowering.place_of_name(text), "", problem)
        return ir.Literal(written.encode())

    def other(self, form: ObjectForm, entry: KeyClass, state: State, _: object) -> ir.Expr:
        """Return an argument whose name is not declared; it is captured if the markers repeat it."""
        self.has_patterns = self.has_patterns or entry.texts is not self.names
        name = entry.texts.without(form.names).expr()
        if not self.repeats_names:
            return whole(self.parted(name, state))
        return ir.Scope(whole(self.parted(ir.Capture(name, "push"), state, ir.Dynamic("top"))))

    def parted(self, name: ir.Expr, state: State, again: ir.Expr | None = None) -> list[Parted]:
        """Return one argument, with an alternative for each type that the markers distinguish."""
        style = self.style
        before, repeats, after = style.close.partition("{name}")
        close = self.spell(before)
        if isinstance(name, ir.Literal):
            close = self.spell(before + name.data.decode() + after) if repeats else close
        elif again is not None:
            close = sequence((close, again, self.spell(after))) if repeats else close
            self.has_patterns = True
        return [
            Parted(
                sequence((self.spell(style.open.replace("{type}", label)), name)),
                sequence((*self.middle(style.middle.replace("{type}", label)), choice(exprs))),
                close,
            )
            for label, exprs in self.by_label(state).items()
        ]

    def by_label(self, state: State) -> dict[str, list[ir.Expr]]:
        """Return the ways to write the values of a state, by the types that the markers name."""
        found: dict[str, list[ir.Expr]] = {}
        for kind, expr in self.values(state):
            found.setdefault(self.style.labels.get(kind, ""), []).append(expr)
        return found

    def middle(self, text: str) -> list[ir.Expr]:
        """Return the text between a name and a value."""
        before, place, after = text.partition("{blanks}")
        return [self.spell(before), self.blanks, self.spell(after)] if place else [self.spell(before)]

    def item(self, state: State) -> ir.Expr:
        """Return one item of an array."""
        close = self.spell(self.style.item_close)
        return choice(
            [
                sequence((self.spell(self.style.item.replace("{type}", label)), choice(exprs), close))
                for label, exprs in self.by_label(state).items()
            ]
        )

    # -- values --------------------------------------------------------------------------------------

    def values(self, state: State) -> list[tuple[str, ir.Expr]]:
        """Return the ways to write the values of a state, each with its type."""
        found = self.typed.get(state)
        if found is None:
            found = self.any_values() if not state else self.some_values(self.lowering.algebra.value(state))
            self.typed[state] = found
        return found

    def any_values(self) -> list[tuple[str, ir.Expr]]:
        lowering = self.lowering
        lowering.uses_prelude = True
        found = [
            (types.STRING, self.text(ALL)),
            (types.NUMBER, self.padded(lowering.style.any_number)),
            (types.BOOLEAN, self.padded(choice((ir.Literal(b"true"), ir.Literal(b"false"))))),
            (types.NULL, self.padded(ir.Literal(b"null"))),
        ]
        if not self.style.nested:
            found.append((types.OBJECT, self.padded(ir.RuleRef("json.object"))))
            found.append((types.ARRAY, self.padded(ir.RuleRef("json.array"))))
        else:
            anything: State = frozenset()
            found.append((types.OBJECT, self.nested_object(anything)))
            found.append((types.ARRAY, self.nested_array(ArrayForm([], anything, 0, None, [], None))))
        return found

    def some_values(self, value: StateValue) -> list[tuple[str, ir.Expr]]:
        lowering = self.lowering
        found: list[tuple[str, ir.Expr]] = []
        if value.has_strings():
            texts = value.text if value.text.words is None else self.writable(value)
            if texts.words != {}:
                found.append((types.STRING, self.text(texts)))
        if value.digits is not None or value.has_numbers():
            found.append((types.NUMBER, self.padded(self.numbers(value))))
        words = [word for bit, word in ((TRUE, b"true"), (FALSE, b"false")) if value.mask & bit]
        if self.is_plain and self.style.on_lines:
            words += [word.title() for word in words]  # as the chat templates of these styles write them
        if words:
            found.append((types.BOOLEAN, self.padded(choice([ir.Literal(word) for word in words]))))
        if value.mask & NULL:
            found.append((types.NULL, self.padded(ir.Literal(b"null"))))
        objects = [form for form in value.objects if lowering.objects.is_productive(form)]
        arrays, name = self.arrays_of(value), self.item_name
        if arrays and name and any(member.name == name for form in objects for member in form.members):
            problem = "an object with it is written as an array is, which may stand here too: rename it"
            raise UnsupportedSchemaError(lowering.place_of_name(name), "", problem)
        if objects and self.style.nested:
            found.append((types.OBJECT, self.nested_object(value.state)))
        elif objects:
            written = choice([lowering.objects.expression(form) for form in objects])
            found.append((types.OBJECT, self.padded(lowering.whitespace.around(written))))
        if arrays and self.style.nested:
            found.append((types.ARRAY, choice([self.nested_array(form) for form in arrays])))
        elif arrays:
            written = choice([lowering.array_expression(form) for form in arrays])
            found.append((types.ARRAY, self.padded(lowering.whitespace.around(written))))
        if not found:
            problem = f"no value can be written without {self.shown_stops()}, which ends it: give it others"
            raise UnsupportedSchemaError(lowering.algebra.where(value.state), "enum", problem)
        return found

    @property
    def stops(self) -> tuple[str, ...]:
        """The strings that may not occur in a string."""
        return self.style.text_end or self.style.close, *self.excludes

    def shown_stops(self) -> str:
        return " or ".join(f"`{stop:.60}`" for stop in self.stops)

    def writable(self, value: StateValue) -> Texts:
        """Return the words of a value that can be written; a note lists the omitted ones."""
        algebra = self.lowering.algebra
        words = value.text.words or {}
        kept = {word: None for word in words if not any(stop in word for stop in self.stops)}
        for word in words:
            if word not in kept:
                reason = f"{shown(word)} is left out: no string contains {self.shown_stops()}"
                algebra.report.add("narrowed", algebra.where(value.state), "enum", reason)
        return Texts(kept)

    def numbers(self, value: StateValue) -> ir.Expr:
        """Return an expression for the allowed numbers, in all their spellings."""
        style = self.lowering.style
        is_any = value.digits is None and not style.plain_numbers
        if is_any and value.number is ALL_NUMBERS:
            return style.any_number
        if self.is_plain and value.digits is None and value.number & INTEGERS == value.number:
            value = copy(value)
            value.whole = True
        if is_any and value.number is INTEGERS:
            return style.any_whole if value.whole else style.any_integer
        return self.lowering.numbers(value)

    def padded(self, expr: ir.Expr) -> ir.Expr:
        """Return a value that is not a string, with optional whitespace around it."""
        if self.is_plain:
            return self.alone(expr)
        return sequence((self.blanks, expr, self.blanks))

    def alone(self, expr: ir.Expr) -> ir.Expr:
        """Return a value without whitespace around it, in some styles also on a separate line."""
        return choice((expr, sequence((_LINE_BREAK, expr, _LINE_BREAK)))) if self.style.on_lines else expr

    def text(self, texts: Texts) -> ir.Expr:
        """Return unquoted strings that do not contain end markers or excluded strings."""
        if texts is ALL:
            return _without(self.stops)
        if texts.words is not None:
            written = choice([ir.Literal(word.encode()) for word in texts.words])
            return self.padded(written) if self.is_plain or self.style.pads_words else written
        self.has_patterns = True
        return ir.Intersection((texts.expr(), _without(self.stops)))

    def nested_object(self, state: State) -> ir.Expr:
        """Return the rule of an object whose members are arguments."""
        name = self.named.get(state)
        if name is None:
            name = self.named[state] = self.lowering.fresh("arguments")
            self.pending.append((name, state))
        return ir.RuleRef(name)

    def nested_array(self, form: ArrayForm) -> ir.Expr:
        """Return the items of an array, each between its markers."""
        if form.contains or form.unique is not None:
            where = self.lowering.algebra.where(form.rest)
            raise UnsupportedSchemaError(
                where, "uniqueItems", "items between markers are not compared or counted"
            )
        name = self.lowering.fresh("items")
        self.pending.append((name, form))
        return ir.RuleRef(name)

    def items_of(self, form: ArrayForm) -> ir.Expr:
        """Return the body of the rule for the items of an array."""
        spend(10 + 10 * len(form.prefix))
        low = max(0, form.low - len(form.prefix))
        high = None if form.high is None else max(0, form.high - len(form.prefix))
        body: ir.Expr = ir.EPSILON
        if high != 0 and (not form.rest or self.lowering.is_live(form.rest)):
            body = repeat(sequence((self.blanks, self.item(form.rest))), low, high)
        for index in reversed(range(len(form.prefix))):
            if form.high is not None and index >= form.high:
                continue
            body = sequence((self.blanks, self.item(form.prefix[index]), body))
            body = body if index < form.low else repeat(body, 0, 1)
        return sequence((body, self.blanks))


def _without(words: tuple[str, ...]) -> ir.Expr:
    held = choice([ir.Literal(word.encode()) for word in words])
    return ir.Complement(ir.Sequence((ir.ANY_TEXT, held, ir.ANY_TEXT)))
