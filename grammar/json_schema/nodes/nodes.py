"""The content of one schema object: its types, their constraints, and its combinations of other schemas.

A schema is a conjunction. Its constraints on numbers and strings are sets; those on arrays and objects are
*atoms*, each of which can be negated; subschemas are *literals*: node numbers, negative for a negation.

Atoms and parts are tuples that begin with a tag, so that the type checker knows their other fields.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

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
"""A conjunction, as the literals that it contains."""


@dataclass(slots=True, eq=False)
class KeySet:
    """A set of keys: these names and the members of these sets of strings, or the complement of all these."""

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
        """Return whether the set contains the unnamed keys that are in exactly these sets (by identity)."""
        return any(id(texts) in inside for texts in self.sets) != self.negated


ObjectAtom: TypeAlias = (
    tuple[Literal["property"], str, int]  # the value of this key, if there
    | tuple[Literal["required"], str]
    | tuple[Literal["count"], int, int | None]  # at least, at most
    | tuple[Literal["keys"], KeySet, int]  # the values of all these keys
    | tuple[Literal["some key"], KeySet, int]  # one of these keys is there with such a value
    | tuple[Literal["some key"], KeySet, int, bool]  # the same of a key that is none of the members
)
ArrayAtom: TypeAlias = (
    tuple[Literal["item"], int, int]  # the item at this index, if there
    | tuple[Literal["rest"], int, int]  # all from this index on
    | tuple[Literal["length"], int, int | None]  # at least, at most
    | tuple[
        Literal["contains"], int, int, int, int | None
    ]  # from this index on, a literal, at least, at most
    | tuple[Literal["unique"], bool]
)
Atom: TypeAlias = ObjectAtom | ArrayAtom
Alternative: TypeAlias = tuple[int | Atom, ...]
"""Literals and atoms that all hold."""
Part: TypeAlias = (
    tuple[Literal["all"], tuple[int, ...]]
    | tuple[Literal["some"], tuple[int, ...]]
    | tuple[Literal["one"], tuple[int, ...]]
    | tuple[Literal["values"], tuple[int, ...]]  # one of these arrays or objects
    | tuple[Literal["if"], int, int, int]  # if, then, else
    | tuple[Literal["needs"], str, tuple[str, ...]]  # where the key is, so are these
    | tuple[Literal["needs schema"], str, int]
)


class Node:
    """The content of one schema object, complete once it was read (``ready``)."""

    __slots__ = (
        "arrays",
        "checked",
        "id",
        "kinds",
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
        self.objects: list[ObjectAtom] = []
        self.arrays: list[ArrayAtom] = []
        self.parts: list[Part] = []
        self.parts_first = False  # subschemas for the same value were written before the own properties
        self.kinds = -1  # which of arrays and objects may be valid, once that was asked for
        self.scalars: Any = None
        self.opposite: Any = None  # the complement of the scalars
        self.unevaluated_properties: int | None = None
        self.unevaluated_items: int | None = None

    def meet_number(self, numbers: NumberSet) -> None:
        """Restrict the node's numbers to these numbers."""
        self.number = self.number & numbers
        if self.number.is_empty():
            self.mask &= ~NUMBER


def in_place(node: Node, assumed: Collection[Any] | None = None) -> list[int]:
    """Return the literals of subschemas for the same value. ``assumed``: only for these alternatives."""
    found: list[int] = []
    for part in node.parts:
        if part[0] == PART_IF:
            found.extend(part[1:])
        elif part[0] == PART_NEEDS_SCHEMA:
            found.append(part[2])
        elif part[0] == PART_ALL or part[0] == PART_SOME or part[0] == PART_ONE:
            found.extend(x for x in part[1] if assumed is None or part[0] == PART_ALL or x in assumed)
    return [x for x in found if abs(x) != 1]
