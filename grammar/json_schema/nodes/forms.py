"""The values of a state: sets of scalars, and forms of the arrays or objects that satisfy a conjunction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from stackmask.grammar.json_schema.nodes.nodes import KeySet, State
from stackmask.grammar.json_schema.nodes.object_members import Member
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS, NO_NUMBERS, NumberSet
from stackmask.grammar.json_schema.sets.scalars import Scalars
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE, Texts
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE

NO_SETS: Final[frozenset[int]] = frozenset()
ANY_STATE: Final[State] = frozenset()
Counted = tuple[int, int, int, "int | None"]
"""The index of the first counted item, the literal of counted items, and their minimum and maximum number."""


@dataclass(slots=True, eq=False)
class ArrayForm:
    """The arrays that satisfy one conjunction of atoms.

    ``prefix``: states of the leading items; ``rest``: the state of all others. ``low``, ``high``: the bounds
    on the number of items. ``unique``: True if no two items may be equal, False if two must be equal, None if
    neither is required.
    """

    prefix: list[State]
    rest: State
    low: int
    high: int | None
    contains: list[Counted]
    unique: bool | None
    plan: Any = None  # how its items are counted, once that was asked for


@dataclass(slots=True, eq=False)
class KeyClass:
    """A class of unnamed keys: ``texts`` (without the names), and the state of their values.

    ``inside``: the sets of keys (by identity) that contain some of them. A set of which a key must be found
    contains all of them or none.
    """

    texts: Texts
    state: State
    inside: frozenset[int]


ANY_KEYS: Final = KeyClass(ALL, ANY_STATE, NO_SETS)


@dataclass(slots=True, eq=False)
class ObjectForm:
    """The objects that satisfy one conjunction of atoms.

    ``members``: the named keys in order, declared ones first; ``names``: all names, also of forbidden keys.
    ``classes``: disjoint classes of all other keys. ``low``, ``high``: the bounds on the number of keys.
    ``some``: sets of keys; of each, one key outside the members must be present with a value of this literal.
    """

    members: list[Member]
    names: dict[str, Any]
    classes: list[KeyClass]
    low: int
    high: int | None
    some: list[tuple[KeySet, int]]


SIMPLE: Final = NULL | TRUE | FALSE


class StateValue:
    """The values of a state: scalar values, and the forms of its arrays and objects."""

    __slots__ = ("arrays", "digits", "mask", "number", "objects", "state", "text", "whole")

    def __init__(self, state: State, scalars: Scalars) -> None:
        self.state = state
        self.mask = scalars.mask & SIMPLE
        self.number = scalars.number
        self.digits: NumberSet | None = None  # numbers written as digits alone, where others are not
        self.text = scalars.text
        self.whole = False
        if scalars.digits is not None:
            digits = scalars.digits & INTEGERS
            if self.number is NO_NUMBERS or self.number.is_empty():
                self.number, self.whole = digits, True
                if digits == INTEGERS:
                    self.number = INTEGERS
            elif self.number & INTEGERS != digits:
                self.digits = digits
        self.arrays: list[ArrayForm] = []
        self.objects: list[ObjectForm] = []

    def has_scalars(self) -> bool:
        """Return whether any null, boolean, number or string is among the values."""
        if self.number is NO_NUMBERS and self.text is NONE:
            return bool(self.mask)
        return bool(self.mask) or self.has_numbers() or self.has_strings()

    def has_numbers(self) -> bool:
        """Return whether any number is among the values."""
        number = self.number
        if number is NO_NUMBERS:
            return False
        return number is ALL_NUMBERS or number is INTEGERS or not number.is_empty() or self.digits is not None

    def has_strings(self) -> bool:
        """Return whether any string is among the values."""
        text = self.text
        return text is not NONE and (text is ALL or not text.is_empty())
