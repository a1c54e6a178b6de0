"""Unequal items of any kind: arrays and objects without room for more, nested, recursive, behind leading items.

Every value of which some beginnings can be completed in few ways only is written with *gates*: resolvers that ask a
frame (``unique_frames``) whether a key, a comma or a bracket may come, and what a scalar may be. Values that can always
be made longer are compared where they end.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ArrayForm, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.object_members import live_members
from stackmask.grammar.json_schema.nodes.state_values import Value
from stackmask.grammar.json_schema.sets.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.sets.string_sets import ALL
from stackmask.grammar.json_schema.sets.used_values import NONE_USED
from stackmask.grammar.json_schema.sets.values import read_value
from stackmask.grammar.json_schema.write.indentation import OfDepth
from stackmask.grammar.json_schema.write.interfaces import ValueWriter
from stackmask.grammar.json_schema.write.numbers.number_spellings import number_expr
from stackmask.grammar.json_schema.write.unique import (
    MAX_VALUES,
    LeftOver,
    count_values,
    endless_numbers,
    parts_of,
    scalar_values,
)
from stackmask.grammar.json_schema.write.unique_frames import (
    ArrayFrame,
    ArrayShape,
    Field,
    Gate,
    ObjectFrame,
    ObjectShape,
    forbidden,
)
from stackmask.grammar.source.work import spend

MIN_VALUES: Final = 16  # that a field must have if it has no end of them and cannot be told apart by value
MAX_MEMBERS: Final = 200  # of an object that is told apart by its members


def unlike_items(writer: ValueWriter, form: ArrayForm, error: UnsupportedSchemaError) -> ir.Expr:
    """Return an array of unequal items. Raises: ``error``, with its reason, where these cannot be told apart."""
    fields = Fields(writer, error)
    begun = fields.array(form, is_outer=True)
    fields.finish()
    return begun.expression(fields)


# -- what is asked while a text is read ----------------------------------------------------------------------


class Enter:
    """The action of an opening bracket: the frame inside of it. ``alone``: what is around it does not count."""

    __slots__ = ("alone", "shape")
    never_forbids = True

    def __init__(self, shape: ObjectShape | ArrayShape, alone: bool) -> None:
        self.shape = shape
        self.alone = alone

    def __call__(self, state: Hashable, _: bytes) -> Hashable:
        return self.shape.start(None if self.alone else state)


class AtKey:
    """The action of a key."""

    __slots__ = ("index",)
    never_forbids = True

    def __init__(self, index: int) -> None:
        self.index = index

    def __call__(self, frame: Hashable, _: bytes) -> Hashable:
        return frame.at(self.index) if isinstance(frame, ObjectFrame) else frame


def take(frame: Hashable, text: bytes) -> Hashable | None:
    """Return the frame after a value; None if it is forbidden. Cost: linear in the text."""
    value = read_value(text)
    assert isinstance(frame, ObjectFrame | ArrayFrame)
    return None if value in forbidden(frame) else frame.after(value)


@ir.never_forbids
def take_left_over(frame: Hashable, text: bytes) -> Hashable | None:
    """As ``take``, for values that were written without those that are forbidden."""
    return take(frame, text)


class GateOf:
    """A resolver: an expression where a gate is open, else nothing."""

    __slots__ = ("expr", "gate")

    def __init__(self, expr: ir.Expr, gate: Gate) -> None:
        self.expr = expr
        self.gate = gate

    def __call__(self, frame: Hashable) -> ir.Expr:
        return self.expr if self.gate(frame) else ir.NOTHING


class GateOfDepth(OfDepth):
    """As ``GateOf``, for what a resolver says of the layout."""

    __slots__ = ("gate", "resolver")

    def __init__(self, resolver: Any, gate: Gate) -> None:
        self.resolver = resolver
        self.gate = gate

    @property
    def written(self) -> bytes:
        """What diagrams show."""
        found: bytes = self.resolver.written
        return found

    def __call__(self, state: Hashable) -> ir.Expr:
        assert isinstance(state, tuple)
        found: ir.Expr = self.resolver(state) if self.gate(state[1]) else ir.NOTHING
        return found


class Scalars:
    """A resolver: the scalars that are not forbidden."""

    __slots__ = ("few", "left_over")

    def __init__(self, few: dict[Hashable, ir.Expr] | None, left_over: LeftOver) -> None:
        self.few = few
        self.left_over = left_over

    def __call__(self, frame: Hashable) -> ir.Expr:
        taken = forbidden(frame)
        if self.few is None:
            return self.left_over.without(taken)
        left = tuple(expr for value, expr in self.few.items() if value not in taken)
        return left[0] if len(left) == 1 else ir.Choice(left)


class BeginIf:
    """A gate: whether an array or object of a shape can be begun and ended."""

    __slots__ = ("shape",)

    def __init__(self, shape: ObjectShape | ArrayShape) -> None:
        self.shape = shape

    def __call__(self, outside: Hashable) -> bool:
        frame = self.shape.start(outside)
        return frame.may_close() or frame.may_go_on()


class MayBegin:
    """A gate: whether a member of an object, or an item at an index of an array, may come."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __call__(self, frame: Any) -> bool:
        if isinstance(frame, ObjectFrame):
            return frame.may_begin(self.index)
        return bool(frame.may_be(self.index))


def may_go_on(frame: Any) -> bool:
    """Return whether a comma may come."""
    return bool(frame.may_go_on())


def may_close(frame: Any) -> bool:
    """Return whether the closing bracket may come."""
    return bool(frame.may_close())


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


# -- what is written ---------------------------------------------------------------------------------------


class Fields:
    """The fields of one array of unequal items: a rule for each state that a value in it has."""

    def __init__(self, writer: ValueWriter, error: UnsupportedSchemaError) -> None:
        self.writer = writer
        self.error = error
        self.fields: dict[State, Field] = {}
        self.names: dict[State, str] = {}
        self.shapes: dict[State, list[BegunArray | BegunObject]] = {}
        self.scalars: dict[State, dict[Hashable, ir.Expr] | None] = {}
        self.endless: dict[State, bool] = {}  # whether some value can always be made longer
        self.children: dict[State, set[State]] = {}
        self.todo: list[State] = []
        self.most: int | None = None  # unequal items, where a field has many values, but not endless ones
        self.unique = 1

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
            raise self.error
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
        return parts is not None and not (parts[1] is None and parts[2] is None)

    def array(self, form: ArrayForm, is_outer: bool = False) -> BegunArray:
        """Return the shape of an array. ``is_outer``: it is that of the unequal items itself."""
        if form.contains:
            raise self.error
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
            raise self.error
        fields = [self.field(state) for state in prefix]
        field = None if others is None else self.field(others)
        shape = ArrayShape(fields, field, form.low, high, bool(form.unique))
        states = [*prefix, *(() if others is None else (others,))]
        return BegunArray(shape, states, form, is_outer)

    def object(self, form: ObjectForm) -> BegunObject:
        """Return the shape of an object."""
        writer = self.writer
        if form.some or any(writer.is_live(entry.state) for entry in form.classes):
            raise self.error
        for member in form.members:
            writer.is_live(member.state)
        members = live_members(form.members, writer.productive)
        needed = sum(member.required for member in members)
        high = len(members) if form.high is None else min(form.high, len(members))
        if high == needed:
            members = [member for member in members if member.required]
        if len(members) > MAX_MEMBERS:
            raise self.error
        ranks = [0] * len(members)
        if not writer.style.any_order:
            for i, member in enumerate(members):
                ranks[i] = i if member.declared else len(members)
        required = sum(1 << i for i, member in enumerate(members) if member.required)
        names = [member.name for member in members]
        fields = [self.field(member.state) for member in members]
        shape = ObjectShape(names, fields, ranks, required, form.low, high)
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
            if self.most < MIN_VALUES:
                raise self.error

    def fewest(self, state: State) -> int:
        """Return how many values a state of many has at least."""
        if self.scalars[state] is None:
            return count_values(self.writer.algebra.value(state))
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
            resolver = Scalars(few, LeftOver(value, writer.style))
            options.append(writer.capture(writer.dynamic(resolver), take_left_over))
        if not state:
            options.append(writer.capture(writer.structured(state), take))
            return writer.choice(options)
        for form in writer.forms(value):
            if self.form_is_endless(form):
                options.append(writer.capture(writer.container(form), take))
        options += [writer.capture(begun.expression(self), take_left_over) for begun in self.shapes[state]]
        return writer.choice(options)

    def reference(self, state: State) -> ir.Expr:
        return ir.RuleRef(self.names[state])

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
                raise fields.error
            shape.high = most
            note = f"at most {most} items"
            algebra.report.add("narrowed", algebra.where(self.form.rest), "uniqueItems", note)
        if not shape.has_end(0, NONE_USED):
            raise fields.error
        items = [fields.reference(state) for state in self.states]
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
            members.append(ir.Sequence((key, ws.member, fields.reference(state))))
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
