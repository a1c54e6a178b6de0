"""What the schema of a tool says of the values of its arguments, where their markers do not say it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.json_schema.sets.string_sets import Texts, TextsTooLarge
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.source.diagnostics import GrammarError, StackmaskError

EVERY: Final = frozenset({"string", "number", "boolean", "null", "object", "array"})
MAX_DEPTH: Final = 20  # of combined schemas and references; what lies deeper may be of any type


class ArgumentSchema:
    """The schema of the arguments of one tool, which the parser asks; parts that are no schema say nothing.

    Cost: each part of the schema is looked at once.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._types: dict[int, frozenset[str]] = {}  # by the address of a part of the root

    def types(self, schema: Any, depth: int = 0) -> frozenset[str]:
        """Return the types that a part may allow, from its keywords; all where they do not say."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return EVERY
        known = self._types.get(id(schema))
        if known is not None:
            return known
        self._types[id(schema)] = EVERY  # for one that leads back to itself
        named = schema.get("type")
        names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        known_names = EVERY & {
            "number" if name == "integer" else name for name in names if isinstance(name, str)
        }
        found = known_names or EVERY
        words = self.words(schema)
        if words is not None:
            found &= {_type_of(word) for word in words}
        for keyword in ("anyOf", "oneOf"):
            parts = schema.get(keyword)
            if isinstance(parts, list):
                found &= frozenset().union(*(self.types(part, depth + 1) for part in parts))
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            found &= self.types(part, depth + 1)
        self._types[id(schema)] = found
        return found

    def words(self, schema: Any) -> list[Any] | None:
        """Return the only values that a part lists; None where it lists none."""
        schema = self.resolved(schema)
        if isinstance(schema, dict):
            if "const" in schema:
                return [schema["const"]]
            if isinstance(schema.get("enum"), list):
                return list(schema["enum"])
        return None

    def member(self, schema: Any, name: str) -> Any:
        """Return the schema of a member of an object."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict):
            return True
        declared = schema.get("properties")
        if isinstance(declared, dict) and name in declared:
            return declared[name]
        patterns = schema.get("patternProperties")
        for pattern, found in patterns.items() if isinstance(patterns, dict) else ():
            if isinstance(pattern, str) and _matches(pattern, name):
                return found
        return schema.get("additionalProperties", True)

    def item(self, schema: Any, index: int) -> Any:
        """Return the schema of an item of an array."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict):
            return True
        leading = schema.get("prefixItems")
        if isinstance(leading, list) and index < len(leading):
            return leading[index]
        return schema.get("items", True)

    def resolved(self, schema: Any) -> Any:
        """Return a part with its own reference followed, if that is one within the root."""
        for _ in range(MAX_DEPTH):
            reference = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(reference, str):
                return schema
            if not reference.startswith("#"):
                return True
            found = self.root
            for part in reference[1:].split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                found = found.get(key, True) if isinstance(found, dict) else True
            schema = found
        return True


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", type(None): "null", dict: "object"}
    return names.get(type(value), "array")


def _matches(pattern: str, name: str) -> bool:
    """Return whether a pattern of ECMA-262 is found in a name: by derivatives, in linear time, not by backtracking."""
    texts = _texts(pattern)
    return texts is not None and texts.contains(name)


@lru_cache(256)
def _texts(pattern: str) -> Texts | None:
    try:
        return Texts(parts=(regex_expr(pattern, flavor="ecma", search=True),))
    except (GrammarError, StackmaskError, TextsTooLarge):
        return None  # no pattern, or one that no grammar was made of
