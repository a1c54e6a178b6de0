"""Positions inside a unique item, from which its continuations must still be able to differ from other items.

A value must not be one of finitely many: the previous items, or values that would lead to a dead end. Inside
an array or object, the forbidden values that agree with the text so far are *candidates*. A continuation is
allowed if some completion is not a candidate. Frames are semantic states: immutable, and equal if their
continuations are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.nodes.forms import StateValue
from stackmask.grammar.json_schema.sets.numbers import MAX_EXPONENT, NumberSet, UnsupportedNumber, finite
from stackmask.grammar.json_schema.sets.used_values import NONE_USED, UsedValues
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE, FarNumber, read_value
from stackmask.grammar.json_schema.text.strings import choice, lift, literal, string
from stackmask.grammar.json_schema.write.number_spellings import number_expr
from stackmask.grammar.json_schema.write.whitespace import OfDepth
from stackmask.grammar.source.work import spend

CONSTANTS: Final = ((NULL, b"null"), (TRUE, b"true"), (FALSE, b"false"))

# texts of a number that is left, after one with so many digits that it cannot be left out
_SHORT: Final = ir.Repeat(ir.CharClass(((0x20, 0x7E),)), 1, MAX_EXPONENT)

Values = frozenset[Hashable]
"""A JSON value in the form that ``canonical`` returns."""

_NONE: Final[Values] = frozenset()


@dataclass(slots=True, eq=False)
class Field:
    """The possible values at one position. ``values``: all of them if few, None if they cannot run out."""

    values: Values | None = None

    def has_other(self, taken: Iterable[Hashable]) -> bool:
        """Return whether any value is unused."""
        return self.values is None or not self.values.issubset(taken)


@dataclass(slots=True, eq=False)
class ObjectShape:
    """An object of named members, with names and fields, the required ones as bits, and bounds on their
    number.

    ``ranks``: the order of members. Members of the same rank come in any order.
    """

    names: tuple[str, ...]
    fields: tuple[Field, ...]
    ranks: tuple[int, ...]
    required: int
    low: int
    high: int

    def start(self, outside: Hashable) -> ObjectFrame:
        """Return the frame after the opening bracket."""
        names = set(self.names)
        found: dict[Hashable, dict[str, Hashable]] = {}
        for value in forbidden(outside):
            if isinstance(value, tuple) and value[0] == "object":
                members = dict(value[1])
                if names.issuperset(members):
                    found[value] = members
        return ObjectFrame(self, 0, 0, frozenset(found), found)

    def rest(self, written: int, rank: int) -> list[int]:
        """Return the members that may still follow."""
        return [i for i, place in enumerate(self.ranks) if place >= rank and not written >> i & 1]

    def has_end(self, count: int, rest: Sequence[int]) -> bool:
        """Return whether the object can be completed after ``count`` members, with ``rest`` possible."""
        needed = sum(self.required >> i & 1 for i in rest)
        return count + needed <= self.high and min(count + len(rest), self.high) >= self.low

    def lives(self, written: int, rank: int, candidates: dict[Hashable, dict[str, Hashable]]) -> bool:
        """Return whether some completion is not a candidate. Cost: at most members squared times candidates."""
        rest = self.rest(written, rank)
        count = written.bit_count()
        if self.required & ~written & ~sum(1 << i for i in rest) or not self.has_end(count, rest):
            return False
        known = {self.names[i] for i in range(len(self.names)) if written >> i & 1}
        known.update(self.names[i] for i in rest)
        left = [members for members in candidates.values() if known.issuperset(members)]
        todo = [(0, left, count)]
        while todo:
            at, left, count = todo.pop()
            spend(2 + len(left))
            if not self.has_end(count, rest[at:]):
                continue
            if not left:
                return True
            if at == len(rest):
                continue
            index = rest[at]
            name = self.names[index]
            if not self.required >> index & 1:
                todo.append((at + 1, [members for members in left if name not in members], count))
            if not self.has_end(count + 1, rest[at + 1 :]):
                continue
            split: dict[Hashable, list[dict[str, Hashable]]] = {}
            for members in left:
                if name in members:
                    split.setdefault(members[name], []).append(members)
            values = self.fields[index].values
            if values is None or not values.issubset(split):
                return True
            todo += [(at + 1, same, count + 1) for value, same in split.items() if value in values]
        return False


class ObjectFrame:
    """A position inside an object, with the written members as bits, and the candidates.

    ``index``: the member whose value is being written, -1 between members. ``rank``: that of the last member.
    """

    __slots__ = ("_forbidden", "_members", "candidates", "index", "rank", "shape", "written")

    def __init__(
        self,
        shape: ObjectShape,
        written: int,
        rank: int,
        candidates: Values,
        members: dict[Hashable, dict[str, Hashable]] | None = None,
        index: int = -1,
    ) -> None:
        self.shape = shape
        self.written = written
        self.rank = rank
        self.candidates = candidates
        self.index = index
        self._members: dict[Hashable, dict[str, Hashable]] | None = members
        self._forbidden: Values | None = None

    def members(self) -> dict[Hashable, dict[str, Hashable]]:
        """Return the members of each candidate."""
        if self._members is None:
            self._members = {value: dict(value[1]) for value in self.candidates}  # type: ignore[index]
        return self._members

    def forbidden(self) -> Values:
        """Return the values of the current member that would leave no completion."""
        if self._forbidden is None:
            shape, name = self.shape, self.shape.names[self.index]
            split: dict[Hashable, dict[Hashable, dict[str, Hashable]]] = {}
            for value, members in self.members().items():
                if name in members:
                    split.setdefault(members[name], {})[value] = members
            written, rank = self.written | 1 << self.index, shape.ranks[self.index]
            dead = [value for value, same in split.items() if not shape.lives(written, rank, same)]
            self._forbidden = frozenset(dead)
        return self._forbidden

    def at(self, index: int) -> ObjectFrame:
        """Return the frame after a key."""
        return ObjectFrame(self.shape, self.written, self.rank, self.candidates, self._members, index)

    def after(self, value: Hashable) -> ObjectFrame:
        """Return the frame after the value of the current member."""
        shape, name = self.shape, self.shape.names[self.index]
        written = self.written | 1 << self.index
        if not self.candidates:
            return ObjectFrame(shape, written, shape.ranks[self.index], _NONE, {})
        same = {c: m for c, m in self.members().items() if name in m and m[name] == value}
        return ObjectFrame(shape, written, shape.ranks[self.index], frozenset(same), same)

    def may_begin(self, index: int) -> bool:
        """Return whether a member may come next, that is, whether a value of it leads to a completion."""
        shape = self.shape
        rank = shape.ranks[index]
        if self.written >> index & 1 or rank < self.rank:
            return False
        written = self.written | 1 << index
        if not shape.lives(written, rank, {}):  # required ones would be passed over, or there are too many
            return False
        return not self.candidates or shape.fields[index].has_other(self.at(index).forbidden())

    def may_go_on(self) -> bool:
        """Return whether another member may come next."""
        return any(map(self.may_begin, range(len(self.shape.names))))

    def may_close(self) -> bool:
        """Return whether the object may end here."""
        shape = self.shape
        count = self.written.bit_count()
        if shape.required & ~self.written or not shape.low <= count <= shape.high:
            return False
        return all(len(members) != count for members in self.members().values())

    def _key(self) -> tuple[Any, ...]:
        return (id(self.shape), self.written, self.rank, self.index, self.candidates)

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFrame) and self._key() == other._key()


@dataclass(slots=True, eq=False)
class ArrayShape:
    """An array, with the fields of its leading items and of the others, the bounds on the number of items,
    and whether items must be unique.
    """

    fields: tuple[Field, ...]
    others: Field | None
    low: int
    high: int | None
    unique: bool

    def field(self, index: int) -> Field | None:
        """Return the field of an item, or None beyond the last one."""
        if self.high is not None and index >= self.high:
            return None
        return self.fields[index] if index < len(self.fields) else self.others

    def start(self, outside: Hashable) -> ArrayFrame:
        """Return the frame after the opening bracket."""
        found = [v for v in forbidden(outside) if isinstance(v, tuple) and v[0] == "array"]
        return ArrayFrame(self, 0, frozenset(found), NONE_USED)

    def has_end(self, count: int, used: UsedValues, more: Iterable[Hashable] = ()) -> bool:
        """Return whether the remaining required items can be distinct, after the given number of items.

        Positions with few values are matched to values by augmenting paths; others are never exhausted.
        """
        few: list[list[Hashable]] = []
        taken = set(more)
        for index in range(count, self.low):
            field = self.field(index)
            if field is None:
                return False
            if not self.unique or field.values is None:
                if index >= len(self.fields):
                    break
                continue
            spend(1 + len(field.values) // 8)
            few.append([v for v in field.values if v not in taken and v not in used])
            if len(few) > len(field.values) + len(self.fields):
                return False
        return has_matching(few)

    def lives(self, count: int, used: UsedValues, candidates: Iterable[Hashable], value: Hashable) -> bool:
        """Return whether, after one more item with this value, some completion of the array is not a candidate."""
        more: tuple[Hashable, ...] = (value,)
        todo: list[tuple[int, list[Any], tuple[Hashable, ...]]] = [(count + 1, list(candidates), more)]
        while todo:
            count, left, more = todo.pop()
            spend(2 + len(left))
            if not self.has_end(count, used, more):
                continue
            # `array` stands before the items of a candidate
            if not left or (count >= self.low and all(len(c) != count + 1 for c in left)):
                return True
            field = self.field(count)
            if field is None:
                continue
            split: dict[Hashable, list[Any]] = {}
            for c in left:
                if len(c) > count + 1:
                    split.setdefault(c[count + 1], []).append(c)
            if field.values is None:
                if self.has_end(count + 1, used, more):
                    return True
                continue
            for item in field.values:
                if self.unique and (item in more or item in used):
                    continue
                todo.append((count + 1, split.get(item, []), (*more, item)))
        return False


class ArrayFrame:
    """A position inside an array: the number of items, their values if unique, and the candidates."""

    __slots__ = ("_forbidden", "candidates", "count", "shape", "used")

    def __init__(self, shape: ArrayShape, count: int, candidates: Values, used: UsedValues) -> None:
        self.shape = shape
        self.count = count
        self.candidates = candidates
        self.used = used
        self._forbidden: Iterable[Hashable] | None = None

    def forbidden(self) -> Any:
        """Return the values of the next item that are used, or would leave no completion."""
        if self._forbidden is None:
            shape, place = self.shape, self.count + 1
            asked = {c[place] for c in self.candidates if len(c) > place}  # type: ignore[arg-type,index]
            if shape.unique:
                for index in range(self.count + 1, min(shape.low, len(shape.fields) + 1)):
                    field = shape.field(index)
                    asked.update((field.values if field is not None else None) or ())
            dead = frozenset(value for value in asked if not self._lives_after(value))
            self._forbidden = Forbidden(dead, self.used) if dead else self.used
        return self._forbidden

    def _lives_after(self, value: Hashable) -> bool:
        place = self.count + 1
        same = [c for c in self.candidates if len(c) > place and c[place] == value]  # type: ignore[arg-type,index]
        return self.shape.lives(self.count, self.used, same, value)

    def after(self, value: Hashable) -> ArrayFrame | None:
        """Return the frame after an item with this value; None if it is used."""
        place = self.count + 1
        used: UsedValues | None = self.used
        if self.shape.unique:
            used = self.used.adding(value)
            if used is None:
                return None
        same = frozenset(c for c in self.candidates if len(c) > place and c[place] == value)  # type: ignore[arg-type,index]
        assert used is not None
        return ArrayFrame(self.shape, place, same, used)

    def may_go_on(self) -> bool:
        """Return whether another item may come."""
        field = self.shape.field(self.count)
        if field is None or not self.shape.has_end(self.count + 1, self.used):
            return False
        return field.values is None or any(value not in self.forbidden() for value in field.values)

    def may_close(self) -> bool:
        """Return whether the array may end here."""
        size = self.count + 1
        return self.count >= self.shape.low and all(len(c) != size for c in self.candidates)  # type: ignore[arg-type]

    def may_be(self, index: int) -> bool:
        """Return whether the next item may be the one at an index; the last index means all later items."""
        last = len(self.shape.fields)
        return self.may_go_on() and min(self.count, last) == index

    def _key(self) -> tuple[Any, ...]:
        return (id(self.shape), self.count, self.candidates, self.used)

    def __hash__(self) -> int:
        return hash((id(self.shape), self.count, self.candidates, hash(self.used)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayFrame) and self._key() == other._key()


@dataclass(slots=True, eq=False)
class Forbidden:
    """The used values and other forbidden values, which can be queried and iterated like a set."""

    dead: Values
    used: UsedValues

    def __contains__(self, value: Hashable) -> bool:
        return value in self.dead or value in self.used

    def __iter__(self) -> Any:
        yield from self.dead
        yield from (value for value in self.used if value not in self.dead)


def forbidden(state: Hashable) -> Any:
    """Return the values that the next value must not have; none for states of other kinds."""
    if isinstance(state, UsedValues):
        return state
    return state.forbidden() if isinstance(state, ObjectFrame | ArrayFrame) else ()


def has_matching(few: Sequence[Sequence[Hashable]]) -> bool:
    """Return whether each position can have a distinct value from its list. Cost: positions times values."""
    taken: dict[Hashable, int] = {}

    def place(start: int) -> bool:
        # a search for an augmenting path, without recursion: values are visited once
        came_from: dict[Hashable, tuple[int, Hashable | None]] = {}
        todo: list[tuple[int, Hashable | None]] = [(start, None)]
        while todo:
            index, before = todo.pop()
            spend(1 + len(few[index]))
            for value in few[index]:
                if value in came_from:
                    continue
                came_from[value] = (index, before)
                if value not in taken:
                    at: Hashable | None = value
                    while at is not None:
                        taken[at], at = came_from[at]
                    return True
                todo.append((taken[value], value))
        return False

    return all(map(place, range(len(few))))


Gate = Callable[[Any], bool]
"""A test of a frame: whether something may come next."""


# -- what is asked while a text is read ------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Enter:
    """The action of an opening bracket: enter a frame. ``alone``: the enclosing frame is irrelevant."""

    shape: ObjectShape | ArrayShape
    alone: bool
    never_forbids: ClassVar = True

    def __call__(self, state: Hashable, _: bytes) -> Hashable:
        return self.shape.start(None if self.alone else state)


@dataclass(slots=True, eq=False)
class AtKey:
    """The action of a key."""

    index: int
    never_forbids: ClassVar = True

    def __call__(self, frame: Hashable, _: bytes) -> Hashable:
        return frame.at(self.index) if isinstance(frame, ObjectFrame) else frame


@ir.never_forbids
def begin_set(_: Hashable, __: bytes) -> Hashable:
    """Start an array for which only the used values matter, since no field can be exhausted."""
    return NONE_USED


def may_repeat(used: Hashable, begun: bytes) -> bool:
    """Return whether the JSON text of a used value may have this prefix, in any spelling."""
    if not isinstance(used, UsedValues):
        return isinstance(used, ArrayFrame | ObjectFrame)  # else the capture is another action's
    if not used or not begun:
        return bool(used)
    if begun[:1] == b'"':
        return b"\\" in begun or used.may_hold_string(begun[1:])
    if begun[:1] in b"[{":
        return used.holds_structures
    return True


@ir.may_forbid_if(may_repeat)
def take(frame: Hashable, text: bytes) -> Hashable | None:
    """Return the frame after a value; None if the value is forbidden. Cost: linear in the text."""
    value = read_value(text)
    if isinstance(frame, UsedValues):
        return frame.adding(value)
    assert isinstance(frame, ObjectFrame | ArrayFrame)
    return None if value in forbidden(frame) else frame.after(value)


@ir.never_forbids
def take_left_over(frame: Hashable, text: bytes) -> Hashable | None:
    """Return the frame after a value that is not forbidden, as ``take`` does."""
    return take(frame, text)


@dataclass(slots=True, eq=False)
class GateOf:
    """A resolver to an expression if a gate is open, else to nothing."""

    expr: ir.Expr
    gate: Gate

    def __call__(self, frame: Hashable) -> ir.Expr:
        return self.expr if self.gate(frame) else ir.NOTHING


@dataclass(slots=True, eq=False)
class GateOfDepth(OfDepth):
    """Like ``GateOf``, but for a resolver of the layout."""

    resolver: Any
    gate: Gate

    @property
    def written(self) -> bytes:
        """The text for diagrams."""
        found: bytes = self.resolver.written
        return found

    def __call__(self, state: Any) -> ir.Expr:
        found: ir.Expr = self.resolver(state) if self.gate(state[1]) else ir.NOTHING
        return found


@dataclass(slots=True, eq=False)
class BeginIf:
    """A gate that tests whether an array or object of a shape can be started and completed."""

    shape: ObjectShape | ArrayShape

    def __call__(self, outside: Hashable) -> bool:
        frame = self.shape.start(outside)
        return frame.may_close() or frame.may_go_on()


@dataclass(slots=True, eq=False)
class MayBegin:
    """A gate that tests whether a member of an object, or an item at an index of an array, may come."""

    index: int

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


def is_near(number: Any) -> bool:
    """Return whether a used number can be removed from a set of numbers."""
    if isinstance(number, FarNumber):
        return False
    try:
        finite([number])
    except UnsupportedNumber:
        return False
    return True


class ScalarsLeft:
    """A resolver to the scalars of a value that are not forbidden, in a style. ``few``: all scalars by value,
    if there are few.
    """

    __slots__ = ("body", "few", "plain_numbers", "value")

    def __init__(
        self, few: dict[Hashable, ir.Expr] | None, value: StateValue, spelling: str, plain_numbers: bool
    ) -> None:
        self.few = few
        self.value = value
        self.plain_numbers = plain_numbers
        self.body = None if value.text.is_empty() else lift(value.text.expr(), spelling)

    def __call__(self, frame: Hashable) -> ir.Expr:
        taken = forbidden(frame)
        return choice(
            self.without(taken)
            if self.few is None
            else [expr for value, expr in self.few.items() if value not in taken]
        )

    def without(self, used: Any) -> list[ir.Expr]:
        """Return the expressions of the unused values; ``used`` is queried and iterated like a set.

        Cost: linear in the number of used values.
        """
        value = self.value
        options: list[ir.Expr] = [
            ir.Literal(word) for bit, word in CONSTANTS if value.mask & bit and ("", bit) not in used
        ]
        counted = [item for item in used if isinstance(item, FarNumber) or not isinstance(item, str | tuple)]
        taken = [item for item in counted if is_near(item)]
        numbers = value.number - finite(taken) if taken else value.number
        if not numbers.is_empty():
            spelled = self.spelled(numbers, taken)
            # numbers too long to be left out of a set: no other one is as long
            options.append(spelled if len(taken) == len(counted) else ir.Intersection((spelled, _SHORT)))
        if self.body is not None:
            words = [literal(word) for word in sorted(item for item in used if isinstance(item, str))]
            left = ir.Intersection((self.body, ir.Complement(choice(words)))) if words else self.body
            options.append(string(left))
        return options

    def spelled(self, numbers: NumberSet, taken: list[Any]) -> ir.Expr:
        """Return the spellings of the schema's numbers except for ``taken``."""
        zeros, plain = not self.value.whole, self.plain_numbers
        try:
            return number_expr(numbers, zero_fractions=zeros, plain=plain)
        except (
            UnsupportedNumber
        ):  # with these left out it is too large for one expression: leave their texts out
            every = number_expr(self.value.number, zero_fractions=zeros, plain=plain)
            return ir.Intersection((every, ir.Complement(number_expr(finite(taken)))))
