from collections.abc import Callable
from typing import Any, TypeVar

from stackmask.grammar.json_schema.algebra import Algebra
from stackmask.grammar.json_schema.nodes import KeySet

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
]:
    """Return what atoms of objects say, by kind.

    (literals by declared name, required names, rules for many keys, keys that must be found, keys that must be
    found and have no name, the least and the greatest count). Cost: linear.
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
