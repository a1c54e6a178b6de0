"""What ``unevaluatedProperties`` and ``unevaluatedItems`` see: which subschemas hold, and what those looked at.

Each alternative assumes of every subschema that looks at properties or items either that it holds or that it does
not, so that what is left over is known.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final

from stackmask.grammar.json_schema.algebra.keywords import key_set
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.interfaces import NodeReader
from stackmask.grammar.json_schema.nodes.nodes import (
    PART_ALL,
    PART_IF,
    PART_NEEDS_SCHEMA,
    PART_ONE,
    PART_SOME,
    PROPERTY,
    REQUIRED,
    Node,
)
from stackmask.grammar.json_schema.sets.string_sets import Texts

MAX_ALTERNATIVES: Final = 512

Names = dict[str, Any]
Properties = tuple[tuple[Any, ...], Names, tuple[Texts, ...], bool]
"""Assumptions, names and sets of keys looked at, and whether all keys were."""
Items = tuple[tuple[Any, ...], int, tuple[int, ...], bool]
"""Assumptions, how many leading items were looked at, schemas whose items were, and whether all were."""

NO_PROPERTIES: Final[Properties] = ((), {}, (), False)
NO_ITEMS: Final[Items] = ((), 0, (), False)


def property_alternatives(reader: NodeReader, node: Node, inner: bool = False) -> list[Properties]:
    """Return all cases of what the subschemas of a node look at.

    Raises: UnsupportedSchemaError if there are more than 512.
    """
    own = NO_PROPERTIES
    schema = node.schema
    if isinstance(schema, dict):
        keywords = node.resource.draft.keywords
        names = schema.get("properties", {}) if "properties" in keywords else {}
        patterns = schema.get("patternProperties", {}) if "patternProperties" in keywords else {}
        keys = key_set(reader, node, names, patterns, False)
        everything = "additionalProperties" in schema or (inner and node.unevaluated_properties is not None)
        own = ((), dict(keys.names), keys.sets, everything)

    def join(a: Properties, b: Properties) -> Properties:
        sets = a[2] + tuple(texts for texts in b[2] if texts not in a[2])
        return a[0] + b[0], {**a[1], **b[1]}, sets, a[3] or b[3]

    def looks(case: Properties) -> bool:
        return bool(case[1] or case[2] or case[3])

    return _cases(
        reader, node, own, NO_PROPERTIES, property_alternatives, join, looks, "unevaluatedProperties"
    )


def item_alternatives(reader: NodeReader, node: Node, inner: bool = False) -> list[Items]:
    """Return all cases of what the subschemas of a node look at.

    Raises: UnsupportedSchemaError if there are more than 512.
    """
    own = NO_ITEMS
    schema = node.schema
    if isinstance(schema, dict):
        draft = node.resource.draft
        prefix, everything = 0, inner and node.unevaluated_items is not None
        contained: tuple[int, ...] = ()
        items = schema.get("items")
        if draft.prefix_in_items and isinstance(items, list):
            prefix, everything = len(items), everything or "additionalItems" in schema
        else:
            everything = everything or items is not None
        if "prefixItems" in draft.keywords:
            prefix = max(prefix, len(schema.get("prefixItems", ())))
            if "contains" in schema:
                contained = (reader.literal(schema["contains"], node, (node.where, "contains")),)
        own = ((), prefix, contained, everything)

    def join(a: Items, b: Items) -> Items:
        return a[0] + b[0], max(a[1], b[1]), (*a[2], *b[2]), a[3] or b[3]

    def looks(case: Items) -> bool:
        return bool(case[1] or case[2] or case[3])

    return _cases(reader, node, own, NO_ITEMS, item_alternatives, join, looks, "unevaluatedItems")


def _cases(
    reader: NodeReader,
    node: Node,
    own: Any,
    nothing: Any,
    alternatives: Any,
    join: Any,
    looks: Any,
    keyword: str,
) -> list[Any]:
    results = [own]

    def cross(options: list[Any]) -> None:
        nonlocal results
        if len(results) * len(options) > MAX_ALTERNATIVES:
            raise UnsupportedSchemaError(
                node.where, keyword, f"more than {MAX_ALTERNATIVES} cases of which subschemas hold"
            )
        results = [join(a, b) for a, b in product(results, options)]

    def assuming(assumptions: tuple[Any, ...], cases: list[Any]) -> list[Any]:
        return [(assumptions + case[0], *case[1:]) for case in cases]

    def inside(literal: int) -> list[Any]:
        if abs(literal) == 1 or literal < 0:
            return [nothing]
        return alternatives(reader, reader.node(literal), True)

    for part in node.parts:
        kind = part[0]
        if kind == PART_ALL:
            for literal in part[1]:
                cross(inside(literal))
        elif kind in (PART_SOME, PART_ONE):
            for literal in part[1]:
                cases = inside(literal)
                if any(map(looks, cases)):
                    cross([*assuming((literal,), cases), ((-literal,), *nothing[1:])])
        elif kind == PART_IF:
            condition = part[1]
            yes = [join(a, b) for a, b in product(inside(condition), inside(part[2]))]
            no = inside(part[3])
            if any(map(looks, yes + no)):
                cross([*assuming((condition,), yes), *assuming((-condition,), no)])
        elif kind == PART_NEEDS_SCHEMA and keyword == "unevaluatedProperties":
            cases = inside(part[2])
            if any(map(looks, cases)):
                absent = (((PROPERTY, part[1], -1),), *nothing[1:])
                cross([*assuming(((REQUIRED, part[1]),), cases), absent])
    return results
