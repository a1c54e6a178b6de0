"""Forms: the arrays or the objects that meet one conjunction of atoms."""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.json_schema.nodes.nodes import KeySet, State
from stackmask.grammar.json_schema.nodes.object_members import Member
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts

NO_SETS: Final[frozenset[int]] = frozenset()
ANY_STATE: Final[State] = frozenset()
Counted = tuple[int, int, int, "int | None"]
"""From which index on, the literal of what is counted, how many at least and at most."""


class ArrayForm:
    """The arrays that meet one conjunction of atoms.

    ``prefix``: states of the leading items; ``rest``: of all others. ``low``, ``high``: how many items.
    ``unique``: True if no two are equal, False if two must be, None for no matter.
    """

    __slots__ = ("contains", "high", "low", "prefix", "rest", "unique")

    def __init__(
        self,
        prefix: list[State],
        rest: State,
        low: int,
        high: int | None,
        contains: list[Counted],
        unique: bool | None,
    ) -> None:
        self.prefix = prefix
        self.rest = rest
        self.low = low
        self.high = high
        self.contains = contains
        self.unique = unique


class KeyClass:
    """The other keys of one kind: ``texts`` (names are to be left out of it), the state of their values.

    ``inside``: which sets of keys (by identity) they, or some of them, lie in: all lie in the same of those that must
    be found.
    """

    __slots__ = ("inside", "state", "texts")

    def __init__(self, texts: Texts, state: State, inside: frozenset[int]) -> None:
        self.texts = texts
        self.state = state
        self.inside = inside


ANY_KEYS: Final = KeyClass(ALL, ANY_STATE, NO_SETS)


class ObjectForm:
    """The objects that meet one conjunction of atoms.

    ``members``: keys with a name, those declared first, in order; ``names``: all names, also of keys that cannot
    be there. ``classes``: all other keys, disjoint. ``low``, ``high``: how many keys. ``some``: sets of keys of
    which one must be there outside of the members, with a value of this literal.
    """

    __slots__ = ("classes", "high", "low", "members", "names", "some")

    def __init__(
        self,
        members: list[Member],
        names: dict[str, Any],
        classes: list[KeyClass],
        low: int,
        high: int | None,
        some: list[tuple[KeySet, int]],
    ) -> None:
        self.members = members
        self.names = names
        self.classes = classes
        self.low = low
        self.high = high
        self.some = some
