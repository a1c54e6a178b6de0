"""What a state means: sets of scalar values, and the forms of arrays and of objects."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.json_schema.nodes.forms import ArrayForm, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS, NO_NUMBERS, NumberSet
from stackmask.grammar.json_schema.sets.scalars import Scalars
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE

SIMPLE: Final = NULL | TRUE | FALSE


class Value:
    """What a state means: scalar values, and the forms of arrays and of objects."""

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
