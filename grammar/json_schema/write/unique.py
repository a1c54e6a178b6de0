"""``uniqueItems``: no two items of equal value, in whatever spelling, and never a dead end.

Items with few values, and strings without end, are *slots*: each may be taken once, as keys of an object are. Of all
others the values that were used are kept in a frame (``unique_frames``). Those that can always be made longer are
compared where they end; of scalars that run out the used ones are left out of what may come; and arrays and objects
without room for more are written with *gates*: resolvers that ask a frame whether a key, a comma or a bracket may come.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ArrayForm, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.object_members import live_members
from stackmask.grammar.json_schema.nodes.state_values import Value
from stackmask.grammar.json_schema.sets.key_languages import count_keys, hidden_words
from stackmask.grammar.json_schema.sets.numbers import (
    ALL_NUMBERS,
    INTEGERS,
    UnsupportedNumber,
    at_least,
    finite,
)
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts, finite_words
from stackmask.grammar.json_schema.sets.used_values import NONE_USED
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE
from stackmask.grammar.json_schema.write.array_expr import array_expr
from stackmask.grammar.json_schema.write.interfaces import ValueWriter
from stackmask.grammar.json_schema.write.numbers.decimals import ended
from stackmask.grammar.json_schema.write.numbers.number_spellings import number_expr
from stackmask.grammar.json_schema.write.style import UNDECLARED
from stackmask.grammar.json_schema.write.unique_frames import (
    CONSTANTS,
    ArrayShape,
    AtKey,
    BeginIf,
    Enter,
    Field,
    Gate,
    GateOf,
    GateOfDepth,
    MayBegin,
    ObjectShape,
    ScalarsLeft,
    begin_set,
    has_matching,
    may_close,
    may_go_on,
    take,
    take_left_over,
)
from stackmask.grammar.source.work import spend

MAX_VALUES: Final = 512  # values of items that are told apart by slots
MAX_SINGLE: Final = (
    4  # single values beside items without end: beside more, numbers keep all of their spellings
)
MIN_VALUES: Final = 16  # that a field must have if it has no end of them and cannot be told apart by value
MAX_MEMBERS: Final = 200  # of an object that is told apart by its members
_CLOSE: Final = ir.Literal(b"]")
_FEW: Final = "items of which some beginnings have only a few values"

_PLAIN: Final = "integers are digits alone, and other numbers have no exponent"


class Parts(NamedTuple):
    """Single values; strings, numbers, and arrays or objects without end, if there are any."""

    singles: dict[Hashable, ir.Expr]
    strings: ir.Expr | None
    numbers: ir.Expr | None
    structured: bool


def unique_array(writer: ValueWriter, form: ArrayForm) -> ir.Expr:
    """Return the expression of an array of unequal items.

    Raises: UnsupportedSchemaError where that cannot be done without dead ends.
    """
    if not (form.prefix or form.contains) and writer.is_live(form.rest):
        parts = parts_of(writer, form.rest)
        if parts is not None and parts.numbers is None and not parts.structured:
            return _slots(writer, form, parts.singles, parts.strings)
    fields = Fields(writer, form)
    begun = fields.array(form, is_outer=True)
    fields.finish()
    return begun.expression(fields)


def gated(writer: ValueWriter, expr: ir.Expr, gate: Gate) -> ir.Expr:
    """Return an expression behind a gate; one that can be empty goes on to others, which are behind theirs."""
    if expr == ir.EPSILON:
        return expr
    match expr:
        case ir.Dynamic(resolver):
            return ir.Dynamic(GateOfDepth(resolver, gate))
        case ir.Capture(item, action):
            return ir.Capture(gated(writer, item, gate), action)
        case ir.Repeat(item, 0, high):
            return expr if ir.is_pure(expr) else ir.Repeat(gated(writer, item, gate), 0, high)
        case ir.Sequence(items) if not ir.is_pure(expr):
            return ir.Sequence((gated(writer, items[0], gate), *items[1:]))
    return writer.dynamic(GateOf(expr, gate))


# -- values -----------------------------------------------------------------------------------------------


def enough_values(writer: ValueWriter, form: ArrayForm) -> bool:
    """Return whether as many unequal items as the array must have can be found, one for each place.

    Places whose items have few values are matched to values (augmenting paths); others never run out.
    """
    few: list[list[Hashable]] = []
    known: dict[State, dict[Hashable, ir.Expr] | None] = {}
    for index in range(form.low):
        state = form.prefix[index] if index < len(form.prefix) else form.rest
        if state not in known:
            known[state] = _values(writer, state)
        values = known[state]
        spend(1 + len(values or ()))
        if values is None:
            if index >= len(form.prefix):
                break
            continue
        few.append(list(values))
        if len(few) > MAX_VALUES:
            return False
    return has_matching(few)


def is_endless(writer: ValueWriter, state: State) -> bool:
    """Return whether every beginning of an array or object of the state has endless completions.

    It has if more keys or items can always come.
    """
    if not state:
        return True
    value = writer.algebra.value(state)
    for array in value.arrays:
        counted = any(most is not None for *_, most in array.contains)
        if array.high is not None or counted or array.unique or not writer.is_live(array.rest):
            return False
    return all(
        form.high is None
        and any(writer.is_live(entry.state) and entry.texts.is_endless() for entry in form.classes)
        for form in value.objects
    )


def with_singles(
    writer: ValueWriter, begin: ir.Expr, singles: list[ir.Expr], item: ir.Expr, low: int, high: int | None
) -> ir.Expr:
    """Return an array of items among which each of the single values may come once.

    There is a rule for each set of those that are left: as slots they would be states beside the values that were used.
    """
    ws = writer.whitespace
    most = max(low, high or 0)
    names: dict[tuple[int, int], str] = {}
    todo: list[tuple[int, int]] = []

    def goes_on(left: int, count: int, before: ir.Expr) -> list[ir.Expr]:
        if high is not None and count >= high:
            return []
        spend(400 * (1 + left.bit_count()))
        moves = [(item, left)]
        moves += [(single, left & ~(1 << i)) for i, single in enumerate(singles) if left >> i & 1]
        found: list[ir.Expr] = []
        for expr, rest in moves:
            key = (rest, min(count + 1, most))
            if key not in names:
                names[key] = writer.fresh("unique")
                todo.append(key)
            found.append(ir.Sequence((before, expr, ir.RuleRef(names[key]))))
        return found

    first = goes_on((1 << len(singles)) - 1, 0, ws.open)
    if not low:
        first.append(ir.Sequence((ws.empty, _CLOSE)))
    while todo:
        left, count = todo.pop()
        options = goes_on(left, count, ws.item)
        if count >= low:
            options.append(ir.Sequence(ws.end(_CLOSE)))
        writer.rules[names[left, count]] = ir.Rule(names[left, count], writer.choice(options))
    return ir.Sequence((begin, writer.choice(first)))


def _slots(
    writer: ValueWriter, form: ArrayForm, singles: dict[Hashable, ir.Expr], strings: ir.Expr | None
) -> ir.Expr:
    """Return an array of values by slot, and of strings without end."""
    high = form.high
    if strings is None and (high is None or high >= len(singles)):
        high = None
    if strings is None and form.low > len(singles):
        return ir.NOTHING
    spec = ir.KeySpec(len(singles), min_count=form.low, max_count=high, open=strings is not None)
    options: list[ir.Expr] = [
        ir.Sequence((value, ir.Slot(i), ir.EPSILON)) for i, value in enumerate(singles.values())
    ]
    if strings is not None:
        options.append(ir.Sequence((UNDECLARED, ir.Capture(strings, "key"))))
    return writer.style.array_brackets.keyed(options, spec)


def _values(writer: ValueWriter, state: State) -> dict[Hashable, ir.Expr] | None:
    """Return the spellings of all values of a state by value, or None if they are not few scalars."""
    if not state:
        return None
    value = writer.algebra.value(state)
    return None if value.arrays or value.objects else scalar_values(writer, value)


def scalar_values(writer: ValueWriter, value: Value) -> dict[Hashable, ir.Expr] | None:
    """Return the spellings of all scalars of a value by value, or None if they are more than 512."""
    found: dict[Hashable, ir.Expr] = {
        ("", bit): ir.Literal(word) for bit, word in CONSTANTS if value.mask & bit
    }
    numbers = value.number.values(MAX_VALUES)
    words = few_words(writer, value.text)
    if numbers is None or words is None:
        return None
    spend(500 * len(numbers))
    found.update((n, writer.style.numbers(finite([n]), value.whole)) for n in numbers)
    found.update((word, writer.style.word(word)) for word in words)
    return found if len(found) <= MAX_VALUES else None


def few_words(writer: ValueWriter, text: Texts) -> list[str] | None:
    """Return the members of a set if they are few. Many arrays of a schema ask for the same ones."""
    if text.words is not None:
        return list(text.words)
    known = writer.few_words.get(id(text))
    if known is None:
        words: list[str] | None = None
        if text.is_empty():
            words = []
        elif text.parts or text.high is not None:
            words = finite_words(text.expr(), MAX_VALUES)
            if words is None and not text.is_endless():
                words = hidden_words(text)
        known = writer.few_words[id(text)] = (text, words)
    return known[1]


def count_values(writer: ValueWriter, value: Value) -> int:
    """Return how many scalars there are at least, 512 at most."""
    count = (value.mask & NULL) // NULL + (value.mask & TRUE) // TRUE + (value.mask & FALSE) // FALSE
    numbers = value.number.values(MAX_VALUES)
    if numbers is None:
        return MAX_VALUES
    words = few_words(writer, value.text)
    if words is not None:
        return min(MAX_VALUES, count + len(numbers) + len(words))
    return min(MAX_VALUES, MAX_VALUES if value.text.is_endless() else count + count_keys(value.text))


def parts_of(writer: ValueWriter, state: State) -> Parts | None:
    """Split a state into single values, strings without end, and other items without end.

    Returns None if some beginning of an item can be completed to finitely many values only.
    """
    style = writer.style
    if state:
        value = writer.algebra.value(state)
        mask, number, text, whole = value.mask, value.number, value.text, value.whole
        structured = bool(value.arrays or value.objects)
        words = None if text is ALL else few_words(writer, text)
    else:
        mask, number, text, whole = NULL | TRUE | FALSE, ALL_NUMBERS, ALL, False
        structured, words = True, None
    singles: dict[Hashable, ir.Expr] = {("", bit): ir.Literal(word) for bit, word in CONSTANTS if mask & bit}
    numbers: ir.Expr | None = None
    few = number.values(MAX_VALUES)
    if few is not None:
        singles.update((n, style.numbers(finite([n]), whole)) for n in few)
    else:
        spelled = endless_numbers(number, style.plain_numbers)
        if spelled is None:
            return None
        zero, others = spelled
        if zero is not None:
            singles[0] = zero
        numbers = ended(others) if style.plain_numbers else others
    strings: ir.Expr | None = None
    if words is not None:
        singles.update((word, style.word(word)) for word in words)
    elif not text.is_endless():
        return None
    else:
        strings = style.text(text)
    if len(singles) > MAX_VALUES or (structured and not is_endless(writer, state)):
        return None
    return Parts(singles, strings, numbers, structured)


def endless_numbers(number: Any, plain_numbers: bool) -> tuple[ir.Expr | None, ir.Expr] | None:
    """Return the spellings of zero, and plain ones of the others, of which each can be made longer."""
    digits = ir.Repeat(ir.CharClass(((0x30, 0x39),)), 0, None)
    whole = ir.Sequence((ir.CharClass(((0x31, 0x39),)), digits))
    minus = ir.Literal(b"-")
    zero = number_expr(finite([0]), plain=plain_numbers) if 0 in number else None
    if number == INTEGERS:
        return zero, ir.Sequence((ir.Repeat(minus, 0, 1), whole))
    fraction = ir.Sequence((ir.Literal(b"."), ir.Repeat(ir.CharClass(((0x30, 0x39),)), 1, None)))
    plain = ir.Sequence((ir.Choice((ir.Literal(b"0"), whole)), ir.Repeat(fraction, 0, 1)))
    if number == ALL_NUMBERS:
        return None, ir.Sequence((ir.Repeat(minus, 0, 1), plain))
    if number == at_least(0):
        return None, plain
    for low in (0, 1):
        if number == (INTEGERS & at_least(low)):
            return zero, whole
    return None


# -- arrays and objects ---------------------------------------------------------------------------------


class Fields:
    """The fields of one array of unequal items: a rule for each state that a value in it has."""

    def __init__(self, writer: ValueWriter, form: ArrayForm) -> None:
        self.writer = writer
        first = form.rest or (form.prefix[0] if form.prefix else form.rest)
        self.where = writer.algebra.where(first)
        self.fields: dict[State, Field] = {}
        self.names: dict[State, str] = {}  # of the rules of their values
        self.written: dict[State, ir.Expr] = {}
        self.shapes: dict[State, list[BegunArray | BegunObject]] = {}
        self.scalars: dict[State, dict[Hashable, ir.Expr] | None] = {}
        self.endless: dict[State, bool] = {}  # whether some value can always be made longer
        self.children: dict[State, set[State]] = {}
        self.todo: list[State] = []
        self.most: int | None = None  # unequal items, where a field has many values, but not endless ones
        self.unique = 1
        self.parts = self.endless_items(form)

    def refused(self, reason: str) -> UnsupportedSchemaError:
        """Return the error that says why items cannot be told apart."""
        return UnsupportedSchemaError(self.where, "uniqueItems", reason)

    def endless_items(self, form: ArrayForm) -> dict[State, Parts]:
        """Return the parts of items where all can always be made longer, but for some single values; else nothing."""
        found: dict[State, Parts] = {}
        for state in (*form.prefix, form.rest):
            if not self.writer.is_live(state):
                break
            parts = parts_of(self.writer, state)
            if parts is None or len(parts.singles) > (0 if form.prefix else MAX_SINGLE):
                return {}
            found[state] = parts
        return found

    def field(self, state: State) -> Field:
        """Return the field of a state; what it may be is found out later."""
        found = self.fields.get(state)
        if found is None:
            found = self.fields[state] = Field()
            self.names[state] = self.writer.fresh("unlike")
            self.todo.append(state)
        return found

    def finish(self) -> None:
        """Find the values of all fields, and write their rules. Raises: UnsupportedSchemaError."""
        order: list[State] = []
        while self.todo:
            state = self.todo.pop()
            order.append(state)
            spend(20)
            self.read(state)
        self.count()
        for state in order:
            if state in self.parts:
                self.written[state] = self.endless_item(state)
                continue
            name = self.names[state]
            self.writer.rules[name] = ir.Rule(name, self.body(state))

    def read(self, state: State) -> None:
        """Find the shapes of a state."""
        writer = self.writer
        self.shapes[state] = shapes = []
        self.children[state] = children = set()
        if not state:
            self.endless[state], self.scalars[state] = True, None
            return
        value = writer.algebra.value(state)
        if value.digits is not None:
            raise self.refused("integers of draft 4 beside other numbers")
        if state in self.parts:
            self.endless[state], self.scalars[state] = True, None
            return
        few = self.scalars[state] = scalar_values(writer, value)
        if few is None:
            self.check_numbers(state, value)
        self.endless[state] = few is None and (
            value.text is ALL
            or (not value.text.is_empty() and value.text.words is None and value.text.is_endless())
            or (not value.number.is_empty() and endless_numbers(value.number, False) is not None)
        )
        for form in writer.forms(value):
            if self.form_is_endless(form):
                self.endless[state] = True
                continue
            begun = self.array(form) if isinstance(form, ArrayForm) else self.object(form)
            shapes.append(begun)
            children.update(begun.states)

    def check_numbers(self, state: State, value: Value) -> None:
        """Refuse now what could only be refused later."""
        plain = self.writer.style.plain_numbers
        try:
            number_expr(value.number, zero_fractions=not value.whole, plain=plain)
        except UnsupportedNumber as error:
            where = self.writer.algebra.where(state)
            raise UnsupportedSchemaError(where, "uniqueItems", str(error)) from None

    def form_is_endless(self, form: ArrayForm | ObjectForm) -> bool:
        """Return whether every beginning of an array or object can be made longer in endless ways."""
        writer = self.writer
        if isinstance(form, ObjectForm):
            return form.high is None and any(
                writer.is_live(entry.state) and entry.texts.is_endless() for entry in form.classes
            )
        if form.high is not None or any(most is not None for *_, most in form.contains):
            return False
        if not writer.is_live(form.rest):
            return False
        if not form.unique:
            return True
        if form.prefix or form.contains:
            return False
        parts = parts_of(writer, form.rest)
        return parts is not None and bool(parts.strings or parts.numbers or parts.structured)

    def array(self, form: ArrayForm, is_outer: bool = False) -> BegunArray:
        """Return the shape of an array. ``is_outer``: it is that of the unequal items itself."""
        if form.contains:
            raise self.refused("together with `contains`")
        self.unique += bool(form.unique) and not is_outer
        writer = self.writer
        prefix, high = list(form.prefix), form.high
        live = [writer.is_live(state) for state in prefix]
        if False in live:
            high = min(live.index(False), len(prefix) if high is None else high)
        others: State | None = form.rest
        if (high is not None and high <= len(prefix)) or not writer.is_live(form.rest):
            high = len(prefix) if high is None else min(high, len(prefix))
            others = None
        prefix = prefix[:high]
        if len(prefix) > MAX_VALUES:
            raise self.refused(f"more than {MAX_VALUES} leading items")
        fields = [self.field(state) for state in prefix]
        field = None if others is None else self.field(others)
        shape = ArrayShape(tuple(fields), field, form.low, high, bool(form.unique))
        states = [*prefix, *(() if others is None else (others,))]
        return BegunArray(shape, states, form, is_outer)

    def object(self, form: ObjectForm) -> BegunObject:
        """Return the shape of an object."""
        writer = self.writer
        if form.some or any(writer.is_live(entry.state) for entry in form.classes):
            raise self.refused(_FEW)
        for member in form.members:
            writer.is_live(member.state)
        members = live_members(form.members, writer.productive)
        needed = sum(member.required for member in members)
        high = len(members) if form.high is None else min(form.high, len(members))
        if high == needed:
            members = [member for member in members if member.required]
        if len(members) > MAX_MEMBERS:
            raise self.refused(f"objects of more than {MAX_MEMBERS} members")
        ranks = [0] * len(members)
        if not writer.style.any_order:
            for i, member in enumerate(members):
                ranks[i] = i if member.declared else len(members)
        required = sum(1 << i for i, member in enumerate(members) if member.required)
        names = tuple(member.name for member in members)
        fields = tuple(self.field(member.state) for member in members)
        shape = ObjectShape(names, fields, tuple(ranks), required, form.low, high)
        return BegunObject(shape, [member.state for member in members])

    def count(self) -> None:
        """Find the fields of few values: those all of whose parts have few."""
        waiting = [state for state in self.fields if not self.is_many(state)]
        known: set[State] = set()
        changed = True
        while changed:
            changed = False
            for state in waiting:
                spend(1 + len(self.children[state]))
                if state in known or any(
                    child not in known or self.fields[child].values is None for child in self.children[state]
                ):
                    continue
                known.add(state)
                changed = True
                self.fields[state].values = self.values(state)
        # a field of more values than are told apart, but not endless ones, could still be used up
        self.find_endless()
        least = 1 << 30
        for state, field in self.fields.items():
            if field.values is None and not self.endless[state]:
                least = min(least, self.fewest(state))
        if least < 1 << 30:
            # what is forbidden are values before this one, and those that would lead into a dead end
            self.most = least if self.unique == 1 else least // 2
            if self.most < MIN_VALUES and len(self.fields) > 1:
                raise self.refused(_FEW)

    def fewest(self, state: State) -> int:
        """Return how many values a state of many has at least."""
        if self.scalars[state] is None:
            return count_values(self.writer, self.writer.algebra.value(state))
        return MAX_VALUES

    def is_many(self, state: State) -> bool:
        return self.endless[state] or self.scalars[state] is None

    def find_endless(self) -> None:
        """Mark the states with a part that is endless."""
        changed = True
        while changed:
            changed = False
            for state, children in self.children.items():
                spend(1 + len(children))
                if not self.endless[state] and any(self.endless[child] for child in children):
                    self.endless[state] = changed = True

    def values(self, state: State) -> frozenset[Hashable] | None:
        """Return all values of a state, or None if they are more than 512."""
        found: set[Hashable] = set(self.scalars[state] or ())
        for begun in self.shapes[state]:
            made = begun.values()
            if made is None:
                return None
            found |= made
            if len(found) > MAX_VALUES:
                return None
        return frozenset(found)

    def body(self, state: State) -> ir.Expr:
        """Return a value of a state that is not forbidden."""
        writer = self.writer
        options: list[ir.Expr] = []
        value = writer.algebra.value(state)
        few = self.scalars[state]
        if few or (few is None and value.has_scalars()):
            resolver = ScalarsLeft(few, value, writer.style.spelling, writer.style.plain_numbers)
            options.append(writer.capture(writer.dynamic(resolver), take_left_over))
        if not state:
            options.append(writer.capture(writer.structured(state), take))
            return writer.choice(options)
        for form in writer.forms(value):
            if self.form_is_endless(form):
                options.append(writer.capture(writer.container(form), take))
        options += [writer.capture(begun.expression(self), take_left_over) for begun in self.shapes[state]]
        return writer.choice(options)

    def endless_item(self, state: State) -> ir.Expr:
        """Return an item that can always be made longer."""
        writer, parts = self.writer, self.parts[state]
        ends = [end for end in (parts.strings, parts.numbers) if end is not None]
        if parts.numbers is not None:
            writer.algebra.report.add("narrowed", writer.algebra.where(state), "uniqueItems", _PLAIN)
        if parts.structured:
            ends.append(writer.structured(state))
        return writer.capture(writer.choice(ends), take)

    def item(self, state: State) -> ir.Expr:
        """Return a value of a state that is not forbidden, where it stands."""
        return self.written.get(state) or ir.RuleRef(self.names[state])

    def entered(self, shape: ObjectShape | ArrayShape, bracket: bytes, is_gated: bool = True) -> ir.Expr:
        """Return an opening bracket, with the frame after it."""
        literal: ir.Expr = ir.Literal(bracket)
        if is_gated:
            literal = self.writer.dynamic(GateOf(literal, BeginIf(shape)))
        action = self.writer.whitespace.bracket
        literal = literal if action is None else ir.Capture(literal, action)
        return self.writer.capture(literal, Enter(shape, not is_gated))

    def closed(self, bracket: bytes) -> ir.Expr:
        """Return a closing bracket after items or members, behind a gate."""
        parts = self.writer.whitespace.end(ir.Literal(bracket))
        return _joined([gated(self.writer, part, may_close) for part in parts])


class BegunArray:
    """An array by its items."""

    def __init__(self, shape: ArrayShape, states: list[State], form: ArrayForm, is_outer: bool) -> None:
        self.shape = shape
        self.states = states
        self.form = form
        self.is_outer = is_outer

    def values(self) -> set[Hashable] | None:
        """Return all values, or None if they are more than 512."""
        shape = self.shape
        found: set[Hashable] = set()
        level: set[tuple[Hashable, ...]] = {("array",)}
        count = 0
        while level:
            if count >= shape.low:
                found |= level
            field = shape.field(count)
            if field is None:
                break
            assert field.values is not None
            count += 1
            longer: set[tuple[Hashable, ...]] = set()
            for items in level:
                spend(1 + len(field.values))
                for value in field.values:
                    more = (*items, value)
                    if shape.unique and (value in items[1:] or not shape.has_end(count, NONE_USED, more[1:])):
                        continue
                    longer.add(more)
                if len(longer) + len(found) > MAX_VALUES:  # each of them can be ended
                    return None
            level = longer
        return found

    def expression(self, fields: Fields) -> ir.Expr:
        """Return the array, as a scope."""
        shape, writer = self.shape, fields.writer
        ws, algebra = writer.whitespace, writer.algebra
        most = fields.most
        if most is not None and shape.unique and (shape.high is None or shape.high > most):
            if shape.low > most:
                raise fields.refused(f"{shape.low:,} items that may run out after {most}")
            shape.high = most
            note = f"at most {most} items"
            algebra.report.add("narrowed", algebra.where(self.form.rest), "uniqueItems", note)
        if not shape.has_end(0, NONE_USED):
            raise fields.refused(_FEW)
        items = [fields.item(state) for state in self.states]
        if self.is_outer and all(fields.fields[state].values is None for state in self.states):
            # nothing runs out before it must end
            parts = fields.parts.get(self.states[-1]) if self.states else None
            if parts is not None and parts.singles:  # there is one kind of items
                begin = writer.capture(ws.begin(ir.Literal(b"[")), begin_set)
                singles = list(parts.singles.values())
                return ir.Scope(with_singles(writer, begin, singles, items[0], shape.low, shape.high))
            rest = items.pop() if shape.others is not None else None
            array = array_expr(ws, items, rest, shape.low, shape.high)
            assert isinstance(array, ir.Sequence)
            return ir.Scope(ir.Sequence((writer.capture(array.items[0], begin_set), *array.items[1:])))
        # each item has a comma of its own, which is there at its index only
        firsts = [gated(writer, ws.open, may_go_on)]
        begin = fields.entered(shape, b"[", not self.is_outer)
        more: list[ir.Expr] = []
        for index, item in enumerate(items):
            more.append(ir.Sequence((gated(writer, ws.item, MayBegin(index)), item)))
        some: list[ir.Expr] = []
        if items:
            rest = ir.Repeat(fields.writer.choice(more), 0, None)
            some = [ir.Sequence((*firsts, items[0], rest, fields.closed(b"]")))]
        empty = _joined([ws.empty, gated(writer, ir.Literal(b"]"), may_close)])
        return ir.Scope(ir.Sequence((begin, fields.writer.choice([*some, empty]))))


class BegunObject:
    """An object by its members."""

    def __init__(self, shape: ObjectShape, states: list[State]) -> None:
        self.shape = shape
        self.states = states

    def values(self) -> set[Hashable] | None:
        """Return all values, or None if they are more than 512."""
        shape = self.shape
        rest = list(range(len(shape.fields)))
        level: list[tuple[tuple[str, Hashable], ...]] = [()]
        for i, field in enumerate(shape.fields):
            assert field.values is not None
            after = rest[i + 1 :]
            longer: list[tuple[tuple[str, Hashable], ...]] = []
            for members in level:
                spend(1 + len(field.values))
                if not shape.required >> i & 1 and shape.has_end(len(members), after):
                    longer.append(members)
                if shape.has_end(len(members) + 1, after):
                    longer += [(*members, (shape.names[i], value)) for value in field.values]
                if len(longer) > MAX_VALUES:  # each of them can be ended
                    return None
            level = longer
        return {("object", frozenset(members)) for members in level}

    def expression(self, fields: Fields) -> ir.Expr:
        """Return the object, as a scope."""
        shape, writer = self.shape, fields.writer
        ws = writer.whitespace
        begin = fields.entered(shape, b"{")
        members: list[ir.Expr] = []
        for i, (name, state) in enumerate(zip(shape.names, self.states, strict=True)):
            gate = GateOf(writer.style.word(name), MayBegin(i))
            key = writer.capture(writer.dynamic(gate), AtKey(i))
            members.append(ir.Sequence((key, ws.member, fields.item(state))))
        empty = _joined([ws.empty, gated(writer, ir.Literal(b"}"), may_close)])
        if not members:
            return ir.Scope(ir.Sequence((begin, empty)))
        name = fields.writer.fresh("member")
        fields.writer.rules[name] = ir.Rule(name, fields.writer.choice(members))
        member = ir.RuleRef(name)
        more = ir.Repeat(ir.Sequence((gated(writer, ws.item, may_go_on), member)), 0, None)
        some = ir.Sequence((gated(writer, ws.open, may_go_on), member, more, fields.closed(b"}")))
        return ir.Scope(ir.Sequence((begin, fields.writer.choice([some, empty]))))


def _joined(parts: list[ir.Expr]) -> ir.Expr:
    return parts[0] if len(parts) == 1 else ir.Sequence(tuple(parts))
