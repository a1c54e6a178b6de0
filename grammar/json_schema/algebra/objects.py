"""Objects: from a conjunction of atoms to named members and classes of other keys."""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.forms import ANY_KEYS, NO_SETS, KeyClass, ObjectForm
from stackmask.grammar.json_schema.nodes.interfaces import States
from stackmask.grammar.json_schema.nodes.nodes import (
    COUNT,
    KEYS,
    NOTHING,
    PROPERTY,
    REQUIRED,
    SOME_KEY,
    KeySet,
)
from stackmask.grammar.json_schema.nodes.object_members import Member, find_members, sort_out
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts

MAX_KEY_SETS: Final = 8  # patterns that may overlap in one object: their combinations are told apart


def negate(atom: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the alternatives of "not this atom"."""
    kind = atom[0]
    if kind == PROPERTY:
        if atom[2] == NOTHING:
            return [((REQUIRED, atom[1]),)]
        return [((REQUIRED, atom[1]), (PROPERTY, atom[1], -atom[2]))]
    if kind == REQUIRED:
        return [((PROPERTY, atom[1], NOTHING),)]
    if kind == KEYS:
        return [((SOME_KEY, atom[1], -atom[2]),)]
    if kind == SOME_KEY:
        return [((KEYS, atom[1], -atom[2]),)]
    low, high = atom[1], atom[2]
    result: list[tuple[Any, ...]] = []
    if low:
        result.append(((COUNT, 0, low - 1),))
    if high is not None:
        result.append(((COUNT, high + 1, None),))  # mutant: not-count
    return result


def is_consistent(algebra: States, atoms: list[tuple[Any, ...]]) -> bool:
    """Return whether no clash is known in the conjunction."""
    return bool(forms(algebra, tuple(atoms)))


def forms(algebra: States, atoms: tuple[tuple[Any, ...], ...]) -> list[ObjectForm]:
    """Return the forms of a conjunction of atoms: none if it clashes, more than one where a key must be found.

    Raises: UnsupportedSchemaError if more than 8 patterns may overlap.
    """
    if algebra.depth or len(atoms) > 32:
        algebra.charge(len(atoms) >> 5)
    # `nameless`: those known to be outside of the members
    declared, required, rules, some, nameless, low, high, names = sort_out(atoms)
    members = find_members(algebra, declared, required, rules, names)
    if members is None:
        return []

    low = max(low, len(required) + bool(nameless))
    if high is not None and low > high:
        return []
    classes = _classes(algebra, rules, some + nameless) if high is None or high > len(required) else []
    if not classes and low > len(members):
        return []
    if some:
        # few keys first: they become members, which the others may be found among
        chosen = next((found for found in some if _few_names(algebra, found[0]) is not None), some[0])
        return _found(algebra, atoms, members, classes, chosen, high is None or high > len(required))
    for keys, literal in nameless:
        if not any(
            keys.covers(entry.inside) and not algebra.clashes(algebra.state([*entry.state, literal]))
            for entry in classes
        ):
            return []
    return [ObjectForm(members, names, classes, low, high, nameless)]


def _classes(
    algebra: States, rules: list[tuple[KeySet, int]], some: list[tuple[KeySet, int]]
) -> list[KeyClass]:
    """Return the classes of keys without a name, those with equal values joined."""
    if not some:
        if not rules:
            return [ANY_KEYS]
        if len(rules) == 1:
            keys, literal = rules[0]
            if literal == NOTHING and keys.negated and not keys.sets:  # no others: nearly all the rest
                return []
    sets: list[Texts] = []
    for keys, _ in (*rules, *some):
        if keys.sets:
            sets.extend([texts for texts in keys.sets if texts not in sets])
    if not sets:
        literals = [literal for keys, literal in rules if keys.negated]
        if NOTHING in literals:
            return []
        state = algebra.state(literals)
        return [] if algebra.clashes(state) else [KeyClass(ALL, state, NO_SETS)]
    if len(sets) > MAX_KEY_SETS:
        raise UnsupportedSchemaError(
            "", "patternProperties", f"more than {MAX_KEY_SETS} patterns of keys in one object"
        )
    cells: list[tuple[Texts, frozenset[int]]] = [(ALL, frozenset())]
    for texts in sets:
        split: list[tuple[Texts, frozenset[int]]] = []
        for cell, inside in cells:
            split.append((cell.meet(texts), inside | {id(texts)}))
            split.append((cell.meet(algebra.complement(texts)), inside))
        cells = [(cell, inside) for cell, inside in split if not cell.is_empty()]
    joined: dict[Any, KeyClass] = {}
    whole = True  # nothing was left out, so that one class is all keys
    for cell, inside in cells:
        state = algebra.state([literal for keys, literal in rules if keys.covers(inside)])
        if algebra.clashes(state):
            whole = False
            continue
        key = (state, tuple(keys.covers(inside) for keys, _ in some))
        known = joined.get(key)
        if known is None:
            joined[key] = KeyClass(cell, state, inside)
        else:
            # the first cell stands for all: whether keys that must be found lie in it is the same for each of them
            joined[key] = KeyClass(known.texts.join(cell), state, known.inside)
    if whole and len(joined) == 1:
        (only,) = joined.values()
        return [KeyClass(ALL, only.state, only.inside)]
    return list(joined.values())


def _found(
    algebra: States,
    atoms: tuple[tuple[Any, ...], ...],
    members: list[Member],
    classes: list[KeyClass],
    some: tuple[KeySet, int],
    room: bool,
) -> list[ObjectForm]:
    """Split by where a key that must be found is: one of the members, or one without a name."""
    keys, literal = some
    others = tuple(atom for atom in atoms if atom != (SOME_KEY, keys, literal))
    for member in members:
        if member.required and keys.has(member.name) and (literal == 1 or literal in member.state):
            return forms(algebra, others)  # found already
    result: list[ObjectForm] = []
    names = _few_names(algebra, keys)
    if names is not None:  # so each of them is a member
        for name in names:
            result.extend(forms(algebra, (*others, (REQUIRED, name), (PROPERTY, name, literal))))
        return result
    for member in members:
        if keys.has(member.name) and not algebra.clashes(algebra.state([*member.state, literal])):
            added = ((REQUIRED, member.name), (PROPERTY, member.name, literal))
            result.extend(forms(algebra, (*others, *added)))
    if room and any(
        keys.covers(entry.inside) and not algebra.clashes(algebra.state([*entry.state, literal]))
        for entry in classes
    ):
        result.extend(forms(algebra, (*others, (SOME_KEY, keys, literal, True))))
    return result


def _few_names(algebra: States, keys: KeySet) -> list[str] | None:
    """Return all keys of a set if it is written as few words."""
    names = set(keys.names)
    if not keys.negated:
        words = [texts.words for texts in keys.sets]
        if None in words:
            return None
        return sorted(names.union(*(word for word in words if word is not None)))
    if len(keys.sets) != 1:
        return None
    others = algebra.complement(keys.sets[0]).words
    return None if others is None else sorted(set(others) - names)
