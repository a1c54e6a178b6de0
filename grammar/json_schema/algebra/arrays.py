"""Arrays: from a conjunction of atoms to leading items, the rest, and what must be counted."""

from __future__ import annotations

from typing import Any

from stackmask.grammar.json_schema.nodes.forms import ArrayForm, Counted
from stackmask.grammar.json_schema.nodes.interfaces import States
from stackmask.grammar.json_schema.nodes.nodes import CONTAINS, ITEM, LENGTH, NOTHING, REST, UNIQUE, State


def negate(atom: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the alternatives of "not this atom"."""
    kind = atom[0]
    if kind == ITEM:
        return [((LENGTH, atom[1] + 1, None), (ITEM, atom[1], -atom[2]))]  # mutant: not-item
    if kind == REST:
        return [((CONTAINS, atom[1], -atom[2], 1, None),)]
    if kind == UNIQUE:
        return [((UNIQUE, not atom[1]),)]
    low, high = atom[-2], atom[-1]
    head = atom[:-2]
    result: list[tuple[Any, ...]] = []
    if low:
        result.append(((*head, 0, low - 1),))
    if high is not None:
        result.append(((*head, high + 1, None),))
    return result


def is_consistent(algebra: States, atoms: list[tuple[Any, ...]]) -> bool:
    """Return whether no clash is known in the conjunction."""
    return bool(forms(algebra, tuple(atoms)))


def forms(algebra: States, atoms: tuple[tuple[Any, ...], ...]) -> list[ArrayForm]:
    """Return the form of a conjunction of atoms, or none if it clashes."""
    if len(atoms) == 1 and atoms[0][0] == REST and not atoms[0][1]:  # nearly always: `items` alone
        rest = algebra.state((atoms[0][2],))
        return [ArrayForm([], rest, 0, 0 if algebra.clashes(rest) else None, [], None)]
    items: dict[int, list[int]] = {}
    rests: list[tuple[int, int]] = []
    contains: list[Counted] = []
    low, high = 0, None
    unique: bool | None = None
    for atom in atoms:
        kind = atom[0]
        if kind == ITEM:
            items.setdefault(atom[1], []).append(atom[2])
        elif kind == REST:
            rests.append((atom[1], atom[2]))
        elif kind == CONTAINS:
            contains.append(atom[1:])
        elif kind == UNIQUE:
            if unique is not None and unique != atom[1]:
                return []
            unique = atom[1]
        else:
            low = max(low, atom[1])
            if atom[2] is not None:
                high = atom[2] if high is None else min(high, atom[2])
    length = max((*(index + 1 for index in items), *(start for start, _ in rests)), default=0)
    prefix: list[State] = []
    for index in range(length):
        if high is not None and index >= high:
            break
        literals = items.get(index, []) + [literal for start, literal in rests if start <= index]
        state = algebra.state(literals)
        if algebra.clashes(state):
            high = index
            break
        prefix.append(state)
    rest = algebra.state([literal for _, literal in rests])
    if len(prefix) == length and (high is None or high > length) and algebra.clashes(rest):
        high = length
    kept: list[Counted] = []
    for counted in contains:
        start, literal, least, most = counted
        if most is not None and most < least:
            return []
        places = prefix[start:high]
        if high is None or high > len(prefix):
            places = [*places, rest]
        if least and all(algebra.clashes(algebra.state([*place, literal])) for place in places):
            return []
        if least:
            low = max(low, start + least)
        if all(algebra.clashes(algebra.state([*place, -literal])) for place in places):  # every item counts
            if most is not None:
                high = start + most if high is None else min(high, start + most)
        elif (least or most is not None) and literal != NOTHING:
            kept.append(counted)
    if high is not None and low > high:
        return []
    if unique and high is not None and high <= 1:
        unique = None
    if unique is False:
        low = max(low, 2)
        if high is not None and high < 2:
            return []
    return [ArrayForm(prefix, rest, low, high, kept, unique)]
