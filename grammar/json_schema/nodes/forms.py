"""The values of a state: sets of scalar values, and forms: the arrays or objects that satisfy one conjunction
of atoms.
"""

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
"""From which index on, the literal of what is counted, how many at least and at most."""


@dataclass(slots=True, eq=False)
class ArrayForm:
    """The arrays that satisfy one conjunction of atoms.

    ``prefix``: states of the leading items; ``rest``: the state of all others. ``low``, ``high``: the bounds
    on the number of items. ``unique``: True if no two may be equal, False if two must be, None for either.
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
    """The other keys of one kind: ``texts`` (without the names), and the state of their values.

    ``inside``: which sets of keys (by identity) they, or some of them, lie in: all lie in the same of those that must
    be found.
    """

    texts: Texts
    state: State
    inside: frozenset[int]


ANY_KEYS: Final = KeyClass(ALL, ANY_STATE, NO_SETS)


@dataclass(slots=True, eq=False)
class ObjectForm:
    """The objects that satisfy one conjunction of atoms.

    ``members``: keys with a name, those declared first, in order; ``names``: all names, also of forbidden
    keys. ``classes``: all other keys, disjoint. ``low``, ``high``: the bounds on the number of keys.
    ``some``: sets of keys of which one must be present outside of the members, with a value of this literal.
    """

    members: list[Member]
    names: dict[str, Any]
    classes: list[KeyClass]
    low: int
    high: int | None
    some: list[tuple[KeySet, int]]


SIMPLE: Final = NULL | TRUE | FALSE


class StateValue:
    """The values of a state: scalar values, and the forms of arrays and of objects."""

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
        """Return whether a null, boolean, number or string is a value."""
        if self.number is NO_NUMBERS and self.text is NONE:
            return bool(self.mask)
        return bool(self.mask) or self.has_numbers() or self.has_strings()

    def has_numbers(self) -> bool:
        """Return whether a number is a value."""
        number = self.number
        if number is NO_NUMBERS:
            return False
        return number is ALL_NUMBERS or number is INTEGERS or not number.is_empty() or self.digits is not None

    def has_strings(self) -> bool:
        """Return whether a string is a value."""
        text = self.text
        return text is not NONE and (text is ALL or not text.is_empty())
