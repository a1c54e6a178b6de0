"""What holds of one value without a choice: types, atoms, and the order of members, through all that is in place."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.nodes.forms import ObjectForm
from stackmask.grammar.json_schema.nodes.interfaces import States
from stackmask.grammar.json_schema.nodes.nodes import (
    EVERYTHING,
    PART_ALL,
    PART_ONE,
    PART_SOME,
    PROPERTY,
    State,
    in_place,
)
from stackmask.grammar.json_schema.sets.values import ARRAY, OBJECT
from stackmask.grammar.source.work import spend

ENDLESS = "the schema refers to itself for the same value, without end"


def kinds(algebra: States, literal: int) -> int:
    """Return which of arrays and objects a literal may allow, after its scalar values were asked for.

    What is left out has no form; it would take a look at every alternative to find that out later.
    Raises: SchemaError if the literal leads to itself.
    Cost: the parts for the same value, once. No recursion: references lead as deep as they like.
    """
    if literal < 0:
        return ARRAY | OBJECT
    answer = algebra.nodes[literal].kinds
    if answer >= 0:
        return answer
    asked = [_Asked(_asking(algebra, literal), literal)]
    open_literals = {literal}
    while asked:
        spend(2)
        try:
            inner = asked[-1].questions.send(None if asked[-1].is_new else answer)
        except StopIteration as end:
            finished = asked.pop()
            open_literals.discard(finished.literal)
            answer = algebra.nodes[finished.literal].kinds = end.value
            continue
        asked[-1].is_new = False
        answer = ARRAY | OBJECT if inner < 0 else algebra.nodes[inner].kinds
        if answer < 0:
            if inner in open_literals:
                raise SchemaError(algebra.nodes[inner].where, "$ref", ENDLESS)
            asked.append(_Asked(_asking(algebra, inner), inner))
            open_literals.add(inner)
    return answer


@dataclass(slots=True)
class _Asked:
    """A literal whose kinds are being found out, and that asks for those of others."""

    questions: Generator[int, int | None, int]
    literal: int
    is_new: bool = True


def _asking(algebra: States, literal: int) -> Generator[int, int | None, int]:
    """Return the kinds of a literal; yields each literal whose kinds it needs, and is sent them."""
    node = algebra.nodes[literal]
    if not node.ready:
        algebra.node(literal)
    found: int = node.mask & (ARRAY | OBJECT)
    for part in node.parts if found else ():
        if part[0] == PART_ALL:
            for inner in part[1]:
                found &= (yield inner) or 0
        elif part[0] == PART_SOME or part[0] == PART_ONE:
            some = 0
            for inner in part[1]:
                some |= (yield inner) or 0
                if some == ARRAY | OBJECT:
                    break
            found &= some
    return found


def conjunction(algebra: States, state: State, kind: int) -> dict[tuple[Any, ...], None] | None:
    """Return the atoms of a state in which nothing is left to choose, as `allOf` makes them; else None.

    What clashes among them, their forms show. Cost: the atoms.
    """
    atoms: dict[tuple[Any, ...], None] = {}
    nodes = algebra.nodes
    seen: set[int] = set()
    todo: list[Any] = sorted(state, key=abs, reverse=True)
    while todo:
        item = todo.pop()
        spend(2)
        if type(item) is list:
            spend(len(item) // 2)
            atoms.update(dict.fromkeys(item))
            continue
        if item == EVERYTHING or item in seen:
            continue
        if item < 0:
            return None
        seen.add(item)
        node = nodes[item]
        if not node.ready:
            algebra.node(item)
        if kind == OBJECT:
            own, unevaluated = node.objects, node.unevaluated_properties
        else:
            own, unevaluated = node.arrays, node.unevaluated_items
        if not node.mask & kind or unevaluated is not None:
            return None
        if not node.parts:
            if own:
                atoms.update(dict.fromkeys(own))
            continue
        follows: list[Any] = []
        for part in node.parts:
            if part[0] != PART_ALL:
                return None
            follows.extend(part[1])
        follows.reverse()
        if node.parts_first:
            todo.append(own)
            todo.extend(follows)
        else:
            todo.extend(follows)
            todo.append(own)
    return atoms


def order_members(algebra: States, state: State, forms: list[ObjectForm]) -> None:
    """Put declared members into the order of declaration: left to right, through all that is in place."""
    ranks: dict[str, int] = {}
    seen: set[int] = set()
    todo: list[Any] = sorted((x for x in state if x > 0), reverse=True)
    while todo:
        literal = todo.pop()
        spend(3)
        if not isinstance(literal, int):
            spend(len(literal.objects) // 2)
            for atom in literal.objects:
                if atom[0] == PROPERTY:
                    ranks.setdefault(atom[1], len(ranks))
            continue
        if literal in seen:
            continue
        seen.add(literal)
        node = algebra.node(literal)
        inside = [x for x in in_place(node) if x > 0]
        inside.reverse()
        if node.parts_first:
            todo.append(node)
            todo.extend(inside)
        else:
            todo.extend(inside)
            todo.append(node)
    last = len(ranks)
    for form in forms:
        form.members.sort(key=lambda member: ranks.get(member.name, last) if member.declared else last)
