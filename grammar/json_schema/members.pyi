from collections.abc import Callable
from typing import Any, TypeVar

from stackmask.grammar.json_schema.algebra import Algebra
from stackmask.grammar.json_schema.nodes import KeySet
from stackmask.grammar.json_schema.objects import Member

_Made = TypeVar("_Made")

def sort_out(
    atoms: tuple[tuple[Any, ...], ...],
) -> tuple[
    dict[str, list[int]],
    dict[str, None],
    list[tuple[KeySet, int]],
    list[tuple[KeySet, int]],
    list[tuple[KeySet, int]],
    int,
    int | None,
    dict[str, None],
]:
    """Return what atoms of objects say, by kind.

    (literals by declared name, required names, rules for many keys, keys that must be found, keys that must be
    found and have no name, the least and the greatest count, all names). Cost: linear.
    """

def find_members(
    algebra: Algebra,
    make: Callable[[str, frozenset[int], bool, bool], _Made],
    declared: dict[str, list[int]],
    required: dict[str, None],
    rules: list[tuple[KeySet, int]],
    names: dict[str, Any],
) -> list[_Made] | None:
    """Return the keys with a name that may be there, each made by ``make``; None if one that must be may not.

    ``make``: name, state, required, declared. Cost: for a name, the rules for many keys.
    """

def live_members(members: list[Member], productive: dict[frozenset[int], bool]) -> list[Member]:
    """Return the members whose values there are."""

def count_required(members: list[Member]) -> int:
    """Return how many members must be there."""

def by_declaration(members: list[Member]) -> tuple[list[Member], list[Member]]:
    """Return the members that `properties` declares, and the others."""

def chain_size(members: list[Member]) -> int:
    """Return how many members a chain writes: each place where it may start has its own tail."""
