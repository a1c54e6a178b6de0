"""One schema object, read: which types it allows, what it says of each, and how it combines other schemas.

A schema is a conjunction. What it says of numbers and strings are sets; what it says of arrays and objects are
*atoms*, each of which can be negated; subschemas are *literals*: the number of a node, negative for "not this".

Atoms of objects:  ``(PROPERTY, name, literal)``   the value of this key, if there
                   ``(KEYS, KeySet, literal)``     the values of all these keys
                   ``(REQUIRED, name)``  ``(COUNT, low, high)``
                   ``(SOME_KEY, KeySet, literal)`` one of these keys is there with such a value
Atoms of arrays:   ``(ITEM, index, literal)``  ``(REST, from, literal)``  ``(LENGTH, low, high)``
                   ``(CONTAINS, from, literal, low, high)``  ``(UNIQUE, bool)``
Parts:             ``(ALL, literals)``  ``(SOME, literals)``  ``(ONE, literals)``  ``(IF, if, then, else)``
                   ``(NEEDS, name, names)``  ``(NEEDS_SCHEMA, name, literal)``  ``(VALUES, literals)``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stackmask.grammar.json_schema.document.errors import Where
from stackmask.grammar.json_schema.document.references import Resource
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, NumberSet
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts
from stackmask.grammar.json_schema.sets.values import ANY, NUMBER

PROPERTY: Final = "property"
KEYS: Final = "keys"
REQUIRED: Final = "required"
COUNT: Final = "count"
SOME_KEY: Final = "some key"
ITEM: Final = "item"
REST: Final = "rest"
LENGTH: Final = "length"
CONTAINS: Final = "contains"
UNIQUE: Final = "unique"
ANY_OF: Final = "any of"  # a disjunction of literals as an atom

PART_ALL: Final = "all"
PART_SOME: Final = "some"
PART_ONE: Final = "one"
PART_IF: Final = "if"
PART_NEEDS: Final = "needs"
PART_NEEDS_SCHEMA: Final = "needs schema"
PART_VALUES: Final = "values"

EVERYTHING: Final = 1  # the literal of the schema `true`; -1 is `false`
NOTHING: Final = -1

State = frozenset[int]
"""A conjunction of literals."""


@dataclass(slots=True, eq=False)
class KeySet:
    """A set of keys: these names and the members of these sets of strings, or all others."""

    names: Mapping[str, object]
    sets: tuple[Texts, ...]
    negated: bool

    def has(self, name: str) -> bool:
        """Return whether the name is in the set."""
        if name in self.names:
            return not self.negated
        for texts in self.sets:
            if texts.contains(name):
                return not self.negated
        return self.negated

    def covers(self, inside: frozenset[int]) -> bool:
        """Return whether it holds keys that have no name here and lie in just these sets (by identity)."""
        return any(id(texts) in inside for texts in self.sets) != self.negated


class Node:
    """What one schema object says, once it is read (``ready``)."""

    __slots__ = (
        "arrays",
        "checked",
        "content",
        "id",
        "kinds",
        "leaf",
        "loose",
        "mask",
        "number",
        "objects",
        "opposite",
        "parts",
        "parts_first",
        "ready",
        "resource",
        "scalars",
        "schema",
        "scope",
        "text",
        "unevaluated_items",
        "unevaluated_properties",
        "where",
        "whole",
    )

    def __init__(
        self, number: int, schema: Any, resource: Resource, scope: tuple[Resource, ...], where: Where
    ) -> None:
        self.id = number
        self.schema = schema
        self.resource = resource
        self.scope = scope
        self.where = where
        self.ready = False
        self.checked = False
        self.mask = ANY
        self.number: NumberSet = ALL_NUMBERS
        self.whole = False  # an integer of draft 4: written without a fraction
        self.loose = False  # a part was relaxed: what is not allowed is not known
        self.text: Texts = ALL
        self.objects: list[tuple[Any, ...]] = []
        self.arrays: list[tuple[Any, ...]] = []
        self.parts: list[tuple[Any, ...]] = []
        self.parts_first = False  # subschemas for the same value were written before the own properties
        self.kinds = -1  # which of arrays and objects may be valid, once that was asked for
        self.scalars: Any = None
        self.opposite: Any = None  # the complement of the scalars
        self.unevaluated_properties: int | None = None
        self.unevaluated_items: int | None = None
        self.content: Any = None  # what it says, as a key of `leaves`
        self.leaf: Any = None  # its expression, where it is a leaf that was met before

    def meet_number(self, numbers: NumberSet) -> None:
        """Keep only these numbers."""
        self.number = self.number & numbers
        if self.number.is_empty():
            self.mask &= ~NUMBER


def in_place(node: Node) -> list[int]:
    """Return the literals of subschemas for the same value."""
    found: list[int] = []
    for part in node.parts:
        kind = part[0]
        if kind == PART_IF:
            found.extend(part[1:])
        elif kind == PART_NEEDS_SCHEMA:
            found.append(part[2])
        elif kind != PART_NEEDS and kind != PART_VALUES:
            found.extend(part[1])
    return [x for x in found if abs(x) != 1]
