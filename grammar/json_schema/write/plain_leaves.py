"""Scalar values by what their schema says alone: read without the algebra, which they take nothing of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from stackmask.grammar.ir import Choice, Expr
from stackmask.grammar.json_schema.algebra.algebra import Algebra
from stackmask.grammar.json_schema.algebra.keywords import read_keywords
from stackmask.grammar.json_schema.algebra.scalar_values import own_scalars
from stackmask.grammar.json_schema.document.drafts import Draft
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError, Where
from stackmask.grammar.json_schema.document.references import Resource
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.nodes.leaf_cache import known_expr, leaf_key, remember
from stackmask.grammar.json_schema.nodes.nodes import Node, State
from stackmask.grammar.json_schema.nodes.state_values import Value
from stackmask.grammar.json_schema.sets.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.sets.string_sets import TextsTooLarge, spelled
from stackmask.grammar.json_schema.sets.values import ARRAY, OBJECT
from stackmask.grammar.json_schema.write.lowering import Lowering
from stackmask.grammar.json_schema.write.prelude import JSON_WORDS
from stackmask.grammar.source.work import measured, spend

_STATE: Final[State] = frozenset((2,))
_OF_WORDS: Final = frozenset(("type", "enum"))


def read_leaf(
    plain_numbers: bool,
    narrow: Callable[[Expr], Expr] | None,
    said: tuple[Any, ...],
    schema: dict[str, Any],
    draft: Draft,
    formats: str,
    keep: bool,
) -> tuple[Expr | None, int]:
    """Return the expression of a scalar value, None where there is no such, and the units that this took.

    ``narrow``: returns an expression in the spelling that is asked for. ``said``: what the schema says, as the reader of schemas remembers it if ``keep`` is set.
    """

    def read() -> Expr | None:
        # plain numbers are written in another way than that which is remembered
        key = leaf_key(said, draft, formats) if keep and not plain_numbers else None
        found = known_expr(key) or _words(schema, draft)
        found = found or _leaf(schema, draft, formats, key, plain_numbers)
        return found if found is None or narrow is None else narrow(found)

    return measured(read)


def _words(schema: dict[str, Any], draft: Draft) -> Expr | None:
    """Return one of some words, if that is all that a schema says."""
    words = schema.get("enum")
    if type(words) is not list or not words or schema.get("type", "string") != "string":
        return None
    if not all(type(word) is str for word in words):
        return None
    if any(keyword in draft.keywords and keyword not in _OF_WORDS for keyword in schema):
        return None
    spend(4 + 3 * len(words))
    written = tuple([spelled(word) for word in dict.fromkeys(words)])
    return written[0] if len(written) == 1 else Choice(written)


def _leaf(schema: dict[str, Any], draft: Draft, formats: str, key: Any, plain_numbers: bool) -> Expr | None:
    """Return what the whole reader writes of such a schema, if that is an expression."""
    node = Node(2, schema, Resource("", schema, draft, ""), (), "")
    node.content = key
    node.ready = node.checked = True
    spend(16 + 4 * len(schema))
    alone = cast(Algebra, _Alone(formats))
    try:
        read_keywords(alone, node)
        if node.mask & (ARRAY | OBJECT) or node.parts or node.loose:
            return None
        node.scalars = own_scalars(node)
        value = Value(_STATE, node.scalars)
        if not value.has_scalars():
            return None
        writer = _Writer(alone, plain_numbers)
        options = writer.scalars(value)
    except (SchemaError, UnsupportedNumber, TextsTooLarge):  # the whole reader says it with the place
        return None
    if writer.rules:
        return None
    found = options[0] if len(options) == 1 else Choice(tuple(options))
    if node.content is not None:
        remember(node, found)
    return found


class _Alone:
    """What keywords of scalar values ask of the algebra."""

    __slots__ = ("formats", "report")
    of_type = False

    def __init__(self, formats: str) -> None:
        self.formats = formats
        self.report = Report()  # nobody reads it

    def constant(self, value: Any, where: Where) -> int:
        raise UnsupportedSchemaError(where, "", "it is no scalar value")

    def literal(self, schema: Any, parent: Node, where: Where) -> int:
        raise UnsupportedSchemaError(where, "", "it has parts that may be no schemas")

    def unsupported(self, where: Where, keyword: str, reason: str) -> None:
        raise UnsupportedSchemaError(where, keyword, reason)

    def where(self, state: State) -> Where:
        return ""


class _Writer(Lowering):
    """Writes scalar values, and notes nothing."""

    def __init__(self, algebra: Algebra, plain_numbers: bool) -> None:
        self.algebra = algebra
        self.plain_numbers = plain_numbers
        self.words = JSON_WORDS
        self.rules = {}
        self.counter = 0
        self.noted_strings = self.noted_numbers = True
