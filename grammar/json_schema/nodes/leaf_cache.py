"""A cache of the leaves of all schemas: types, enumerations, bounds and patterns of scalar values.

Most parts of schemas are the same few leaves. The meaning and the rules of a leaf depend only on its content,
and are cached for the process.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.drafts import UNDECLARED, Draft
from stackmask.grammar.json_schema.nodes.nodes import Node
from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS
from stackmask.grammar.json_schema.sets.scalars import Scalars
from stackmask.grammar.json_schema.sets.string_sets import ALL
from stackmask.grammar.json_schema.sets.values import ARRAY, NUMBER, OBJECT, STRING

MAX_LEAVES: Final = 4096
MAX_CONTENT: Final = 1000  # characters of one, about

Key = tuple[tuple[Any, ...], str, str]
"""The schema's keywords that have a meaning, the draft, and the treatment of formats."""


class Leaf(NamedTuple):
    mask: int
    scalars: Scalars
    whole: bool
    expr: ir.Expr
    numbers: bool  # the report says how numbers are narrowed
    strings: bool  # … and strings


def leaf_key(said: tuple[Any, ...], draft: Draft, formats: str) -> Key:
    """Return the key of a leaf. An undeclared draft has more keywords than the newest one."""
    return (said, "" if draft is UNDECLARED else draft.name, formats)


def recall(leaves: dict[Key, Leaf], node: Node, key: Key) -> None:
    """Complete an unread node from an equal cached leaf, if there is one."""
    leaf = leaves.get(key)
    if leaf is None:
        node.content = key
        return
    node.ready = node.checked = True
    node.mask = leaf.mask
    node.scalars = leaf.scalars
    node.number = leaf.scalars.number if leaf.scalars.digits is None else leaf.scalars.digits
    node.text = leaf.scalars.text
    node.whole = leaf.whole
    node.leaf = leaf


def remember(leaves: dict[Key, Leaf], node: Node, expr: ir.Expr) -> None:
    """Cache a node that was read, and its expression, if it is a leaf.

    Notes for the report are not cached: a function that adds one sets ``node.content`` to None.
    """
    key, number, text = node.content, node.number, node.text
    if node.mask & (ARRAY | OBJECT) or node.parts or node.loose:
        return
    if len(leaves) >= MAX_LEAVES:
        leaves.clear()
    plain = not node.mask & NUMBER or node.whole or number is ALL_NUMBERS or number is INTEGERS
    words = not node.mask & STRING or text is ALL or text.words is not None
    # of what has no value nothing is written, nor is anything noted
    numbers = not plain and not number.is_empty()
    strings = not words and not text.is_empty()
    leaves[key] = Leaf(node.mask, node.scalars, node.whole, expr, numbers, strings)
