"""The scalar values of states: null, booleans, numbers and strings, one set each."""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError, Where
from stackmask.grammar.json_schema.nodes.interfaces import NodeReader
from stackmask.grammar.json_schema.nodes.nodes import PART_ALL, PART_IF, PART_ONE, PART_SOME, Node, State
from stackmask.grammar.json_schema.sets.numbers import NO_NUMBERS, UnsupportedNumber
from stackmask.grammar.json_schema.sets.scalars import ALL_SCALARS, LOOSE, NO_SCALARS, STRUCTURED, Scalars
from stackmask.grammar.json_schema.sets.string_sets import NONE
from stackmask.grammar.json_schema.sets.values import NUMBER, STRING

MAX_NESTING: Final = 100  # subschemas of one value within one another; those of names count three times


def state_scalars(reader: NodeReader, state: State) -> Scalars:
    """Return the scalar values of a state."""
    result = None
    # what holds first: against few words, all that does not hold is a look-up
    for literal in sorted(state, reverse=True) if len(state) > 2 else state:
        found = literal_scalars(reader, literal)
        try:
            result = found if result is None else result.meet(found)
        except UnsupportedNumber as error:
            reader.unsupported(reader.where(state), "multipleOf", str(error))
            return LOOSE
    return ALL_SCALARS if result is None else result


def literal_scalars(reader: NodeReader, literal: int) -> Scalars:
    """Return the scalar values of a literal, remembered in its node."""
    node = reader.nodes[abs(literal)]
    found = node.scalars
    if found is None:
        if not node.ready:
            reader.node(literal)
        if node.parts:
            reader.check_cycles(node)
        found = own_scalars(node)
        if node.parts:
            reader.nesting += 1
            try:
                for part in node.parts:
                    found = found.meet(_part_scalars(reader, part))
            except UnsupportedNumber as error:
                reader.unsupported(node.where, "multipleOf", str(error))
                found = LOOSE
            reader.nesting -= 1
        node.scalars = found
    scalars: Scalars = found
    if literal > 0:
        return scalars
    if node.opposite is None:
        try:
            node.opposite = scalars.complement()
        except UnsupportedNumber as error:
            reader.unsupported(node.where, "multipleOf", str(error))
            node.opposite = LOOSE
    opposite: Scalars = node.opposite
    return opposite


def name_scalars(reader: NodeReader, literal: int, where: Where) -> Scalars:
    """Return the scalar values of names. Raises: UnsupportedSchemaError if names of names nest too deeply."""
    if reader.nesting > MAX_NESTING:
        raise UnsupportedSchemaError(where, "propertyNames", "subschemas of names are nested too deeply")
    reader.nesting += 3  # as many calls as for that many subschemas
    result = state_scalars(reader, frozenset((literal,)))
    reader.nesting -= 3
    return result


def _part_scalars(reader: NodeReader, part: tuple[Any, ...]) -> Scalars:
    kind = part[0]
    if kind == PART_ALL:
        result = ALL_SCALARS
        for literal in part[1]:
            result = result.meet(literal_scalars(reader, literal))
        return result
    if kind == PART_SOME:
        result = NO_SCALARS
        for literal in part[1]:
            result = result.join(literal_scalars(reader, literal))
        return result
    if kind == PART_ONE:
        none, one = ALL_SCALARS, NO_SCALARS
        for literal in part[1]:
            this = literal_scalars(reader, literal)
            other = this.complement()
            one = one.meet(other).join(none.meet(this))
            none = none.meet(other)  # mutant: one-of
        return one
    if kind == PART_IF:
        condition = literal_scalars(reader, part[1])
        yes = condition.meet(literal_scalars(reader, part[2]))
        return yes.join(condition.complement().meet(literal_scalars(reader, part[3])))
    return ALL_SCALARS


def own_scalars(node: Node) -> Scalars:
    """Return the scalar values of a node, but for what its parts say."""
    mask = node.mask
    if not mask & (NUMBER | STRING) and not node.whole and not node.loose:
        return STRUCTURED[mask]
    number = node.number if mask & NUMBER else NO_NUMBERS
    text = node.text if mask & STRING else NONE
    if node.whole:
        return Scalars(mask, NO_NUMBERS, text, number, node.loose)
    return Scalars(mask, number, text, None, node.loose)
