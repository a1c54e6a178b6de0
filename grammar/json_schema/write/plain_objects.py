"""Plain objects, as most tools take them: declared members whose values are scalar, lists or plain objects.

What such an object allows needs no algebra: its members come in order, and then other keys if they may. So the rules
are put together from pieces that are remembered by what the schema says. They have the names and the language of those
that the whole reader writes, to which all is left that is not plain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import sequence
from stackmask.grammar.json_schema.document.drafts import UNDECLARED
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.nodes.leaf_cache import MAX_CONTENT
from stackmask.grammar.json_schema.nodes.object_members import Member, chain_size, write_chain
from stackmask.grammar.json_schema.nodes.structural_keys import Contents
from stackmask.grammar.json_schema.sets.string_sets import spelled
from stackmask.grammar.json_schema.text.strings import ANY_STRING_BODY, QUOTE, literals
from stackmask.grammar.json_schema.write.array_expr import array_expr
from stackmask.grammar.json_schema.write.object_rules import MAX_CHAIN
from stackmask.grammar.json_schema.write.prelude import JSON_WORDS, VALUE, prelude
from stackmask.grammar.json_schema.write.whitespace import Whitespace
from stackmask.grammar.source.work import spend

MAX_KEPT: Final = 4096  # pieces of each kind that are remembered
MAX_NESTING: Final = 16  # lists and objects within one another
NO_STATE: Final[frozenset[int]] = frozenset()  # members are written from expressions
_START: Final = "root"
_OF_OBJECTS: Final = frozenset(("type", "properties", "required", "additionalProperties"))
_OF_LISTS: Final = frozenset(("type", "items"))
_UNKNOWN: Final = ir.RuleRef("unknown")  # no leaf is a reference
_OPEN: Final = ir.Literal(b"{")
_CLOSE: Final = ir.Literal(b"}")
_MAY_CLOSE: Final = ir.KeyTest("close")
_MAY_GO_ON: Final = ir.KeyTest("continue")
_UNDECLARED: Final = ir.KeyTest("undeclared")
_OTHER_KEYS: Final = ir.KeySpec(0, open=True)


class PlainObjects:
    """The pieces of objects for one kind of blanks and spelling. Safe to share between threads: entries mean the same always.

    ``narrow``: returns rules in this spelling. ``read``: the whole reader, with the same options, which scalar values
    are asked of when they are first met.
    """

    def __init__(
        self,
        whitespace: Whitespace,
        narrow: Callable[[ir.RuleSet], ir.RuleSet],
        read: Callable[[Any], ir.RuleSet],
    ) -> None:
        ws = self.whitespace = whitespace
        self.narrow = narrow
        self.read = read
        self.leaves: dict[tuple[Any, ...], ir.Expr | None] = {}
        self.members: dict[tuple[str, ir.Expr], ir.Expr] = {}
        self.begin = ws.begin(_OPEN)
        self.end = sequence(ws.end(_CLOSE))
        self.empty = sequence((ws.empty, _CLOSE))
        self.may_end = (_MAY_CLOSE, *ws.end(_CLOSE))
        self.may_be_empty = sequence((_MAY_CLOSE, ws.empty, _CLOSE))
        self.string_body = self.narrowed(ANY_STRING_BODY)
        values = narrow(ir.RuleSet(prelude(ws, tuple(word for _, word in JSON_WORDS)), "json"))
        self.any_value = values.rules
        self.initial = values.initial

    def rules(self, schema: Any) -> ir.RuleSet | None:
        """Return the rules of an object; None if it is not plain.

        Cost: linear in the members, about a microsecond each; that of ``read`` for each scalar value not met before.
        """
        parts = _Parts(self)
        first = parts.reference(schema, 0)
        if first is None or schema.get("type") != "object":
            return None
        rules = {_START: ir.Rule(_START, first)}
        while parts.todo:
            name, inner, depth = parts.todo.pop()
            body = parts.list_of(inner, depth) if inner["type"] == "array" else parts.object_of(inner, depth)
            if body is None:
                return None
            rules[name] = ir.Rule(name, self.whitespace.around(body))
        if parts.is_open:
            rules.update(self.any_value)
        return ir.RuleSet(rules, _START, self.initial)

    def narrowed(self, expr: ir.Expr) -> ir.Expr:
        """Return an expression in this spelling."""
        return self.narrow(ir.RuleSet({_START: ir.Rule(_START, expr)}, _START)).rules[_START].body

    def leaf(self, said: tuple[Any, ...], schema: dict[str, Any]) -> ir.Expr | None:
        """Return what a scalar value may be, by what its schema says; None where that is not known, or takes rules."""
        found = self.leaves.get(said, _UNKNOWN)
        if found is not _UNKNOWN:
            return found
        alone = {keyword: value for keyword, value in schema.items() if keyword in UNDECLARED.keywords}
        if not alone or any(keyword.startswith("$") for keyword in alone):
            return None
        try:
            rules = self.read(alone)
        except SchemaError:  # the whole reader says it with the place
            return None
        body = rules.rules[rules.start].body
        found = body if len(rules.rules) == 1 and ir.is_pure(body) else None
        if len(self.leaves) >= MAX_KEPT:
            self.leaves = {}
        self.leaves[said] = found
        return found

    def member(self, name: str, value: ir.Expr) -> ir.Expr:
        """Return a key with its value."""
        key = (name, value)
        found = self.members.get(key)
        if found is None:
            if len(self.members) >= MAX_KEPT:
                self.members = {}
            written = self.narrowed(spelled(name))
            found = self.members[key] = sequence((written, self.whitespace.member, value))
        return found


class _Parts:
    """The lists and objects of one schema: equal ones are one rule, named when it is first met."""

    __slots__ = ("contents", "is_open", "names", "pieces", "todo")

    def __init__(self, pieces: PlainObjects) -> None:
        self.pieces = pieces
        self.contents = Contents()
        self.names: dict[tuple[Any, ...], ir.RuleRef] = {}
        self.todo: list[tuple[str, dict[str, Any], int]] = []
        self.is_open = False

    def value(self, schema: Any, depth: int) -> ir.Expr | None:
        """Return what a schema allows, or None where it is not plain."""
        if type(schema) is not dict or UNDECLARED.id_keyword in schema:
            return None
        said = self.contents.sketch(schema, UNDECLARED.keywords)
        if said is None:
            return None
        if self.contents.portable:
            return self.pieces.leaf(said, schema) if self.contents.size <= MAX_CONTENT else None
        return self.reference(schema, depth)

    def reference(self, schema: Any, depth: int) -> ir.Expr | None:
        """Return a reference to the rule of a list or object."""
        if type(schema) is not dict or UNDECLARED.id_keyword in schema or depth > MAX_NESTING:
            return None
        kind = schema.get("type")
        if kind not in ("object", "array"):
            return None
        allowed = _OF_OBJECTS if kind == "object" else _OF_LISTS
        for keyword in schema:
            if keyword not in allowed and (keyword in UNDECLARED.keywords or keyword == "$schema"):
                return None
        key = self.contents.key(schema, UNDECLARED.keywords) if depth else ()
        if key is None:
            return None
        found = self.names.get(key)
        if found is None:
            found = self.names[key] = ir.RuleRef(f"value{len(self.names) + 1}")
            self.todo.append((found.name, schema, depth))
        return found

    def list_of(self, schema: dict[str, Any], depth: int) -> ir.Expr | None:
        """Return a list of any number of items."""
        spend(2)
        item = self.value(schema.get("items"), depth + 1)
        return None if item is None else array_expr(self.pieces.whitespace, [], item, 0, None)

    def object_of(self, schema: dict[str, Any], depth: int) -> ir.Expr | None:
        """Return an object of its declared members, in order, and of other keys if it allows them."""
        properties = schema.get("properties")
        others = schema.get("additionalProperties", True)
        if type(properties) is not dict or not properties or type(others) is not bool:
            return None
        required = _names_of(schema.get("required", []), properties)
        if required is None:
            return None
        spend(2 + len(properties))
        pieces = self.pieces
        members, written = [], []
        for name, inner in properties.items():
            value = self.value(inner, depth + 1)
            if value is None or type(name) is not str or not _is_text(name):
                return None
            members.append(Member(name, NO_STATE, name in required, True))
            written.append(pieces.member(name, value))
        if chain_size(members) > MAX_CHAIN:
            return None
        if others:
            self.is_open = True
            return self.open_object(members, written)
        return sequence((pieces.begin, self.chain(members, written, [pieces.end], [pieces.empty])))

    def open_object(self, members: list[Member], written: list[ir.Expr]) -> ir.Expr:
        """Return an object of declared members in order, then other keys, none of them twice."""
        pieces, ws = self.pieces, self.pieces.whitespace
        spellings = literals([member.name for member in members])
        words = spellings[0] if len(members) == 1 else ir.Choice(spellings)
        body = ir.Intersection((pieces.string_body, ir.Complement(words)))
        key = ir.Capture(ir.Sequence((QUOTE, body, QUOTE)), "key")
        other = sequence((_UNDECLARED, key, ws.member, VALUE))
        more = ir.Repeat(sequence((_MAY_GO_ON, ws.item, other)), 0, None)
        first = sequence((_MAY_GO_ON, ws.open, other, more, *pieces.may_end))
        chain = self.chain(members, written, [more, *pieces.may_end], [first, pieces.may_be_empty])
        return ir.Keyed(sequence((pieces.begin, chain)), _OTHER_KEYS)

    def chain(
        self, members: list[Member], written: list[ir.Expr], rest: list[ir.Expr], rest_alone: list[ir.Expr]
    ) -> ir.Expr:
        """Return the members in order, then ``rest``; ``rest_alone`` where no member came."""
        ws = self.pieces.whitespace
        options = write_chain(members, written, {}, ws.open, ws.item, rest, rest_alone)
        return options[0] if len(options) == 1 else ir.Choice(tuple(options))


def _names_of(names: Any, properties: dict[str, Any]) -> set[str] | None:
    """Return the names of members that must be there; None if they are no such list."""
    if type(names) is not list or not all(type(name) is str and name in properties for name in names):
        return None
    found = set(names)
    return found if len(found) == len(names) else None


def _is_text(name: str) -> bool:
    """Tell whether a name has no half of a character."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)
