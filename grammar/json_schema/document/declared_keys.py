"""Objects of Python types with only declared keys, where this excludes valid texts and allows no invalid ones.

Types that ignore extra keys drop them, so a language model need not write them. The schema of such an object
is marked when it is generated (``MARK``); ``close_objects`` then replaces the mark by ``additionalProperties:
false``, but only where this cannot widen the enclosing schema: not under ``not``, in a ``oneOf`` without a
discriminator, with other conditions on the same object, or among items that must be unique. On request, the
same is done to the objects of any schema.
"""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.json_schema.document.references import local_target
from stackmask.grammar.source.work import spend

MARK: Final[dict[str, Any]] = {"$comment": "stackmask: keys that are ignored"}

_NOTES: Final = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "$schema", "$defs", "definitions", "discriminator"),
    }
)
_OBJECT: Final = _NOTES | {"type", "properties", "required", "additionalProperties"}
_SHAPE: Final = _OBJECT | {
    *("items", "prefixItems", "minItems", "maxItems"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties"),
}
_SCALAR: Final = frozenset(
    {
        *(
            "enum",
            "const",
            "format",
            "pattern",
            "minLength",
            "maxLength",
            "contentMediaType",
            "contentEncoding",
        ),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
_UNIONS: Final = ("anyOf", "oneOf", "allOf", "$ref")


def mark_object(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object, with a mark if undeclared keys are not constrained."""
    if "properties" in schema and "additionalProperties" not in schema:
        schema["additionalProperties"] = dict(MARK)
    return schema


def close_objects(schema: Any, *, unmarked: bool = False) -> bool:
    """Replace all marks of a schema, in place; return whether objects were closed. Cost: linear in the schema.

    ``unmarked``: close all objects with properties that do not constrain other keys, in an arbitrary schema.
    A schema with external references is unchanged.
    """
    marked: dict[int, dict[str, Any]] = {}
    reached: dict[int, bool] = {}  # False: in a place where it must stay open
    stack: list[tuple[Any, bool]] = [(schema, True)]
    while stack:
        node, safe = stack.pop()
        if isinstance(node, list):
            stack.extend((item, safe) for item in node)
        if not isinstance(node, dict) or reached.get(id(node)) in (False, safe):
            continue
        spend(1)
        if unmarked and _leads_out(schema, node):
            return False
        is_open = unmarked and isinstance(node.get("properties"), dict) and "additionalProperties" not in node
        if is_open or node.get("additionalProperties") == MARK:
            marked[id(node)] = node
            safe = safe and node.keys() <= _OBJECT and _declares_required(node)
        else:
            safe = safe and _is_plain(node)
        reached[id(node)] = safe
        for key, value in node.items():
            if key == "$ref":
                stack.append((local_target(schema, value), safe))
            elif key in ("properties", "patternProperties") and isinstance(value, dict):
                stack.extend((inner, safe) for inner in value.values())
            elif key not in _NOTES and key not in ("enum", "const"):
                stack.append((value, safe))
    for node in marked.values() if unmarked else _all_marked(schema):
        if reached.get(id(node)) and id(node) in marked:
            node["additionalProperties"] = False
        elif not unmarked:
            del node["additionalProperties"]
    return any(reached[place] for place in marked)


def _leads_out(schema: Any, node: dict[str, Any]) -> bool:
    """Return whether references from or to a node cannot be resolved by their path from the root."""
    return (
        not isinstance(local_target(schema, node.get("$ref", "#")), dict | bool)
        or bool(node.keys() & {"$dynamicRef", "$recursiveRef"})
        or ("$id" in node and node is not schema)
    )


def _declares_required(node: dict[str, Any]) -> bool:
    required = node.get("required", [])
    return isinstance(required, list) and all(
        isinstance(n, str) and n in node["properties"] for n in required
    )


def _is_plain(node: dict[str, Any]) -> bool:
    """Return whether a schema can only get narrower, but not empty, if its parts get narrower."""
    unions = [name for name in _UNIONS if name in node]
    if not unions:
        return node.keys() <= _SHAPE | _SCALAR
    name = unions[0]
    if name == "oneOf":
        tag = node.get("discriminator")
        if not isinstance(tag, dict) or tag.get("propertyName") not in _as_list(node.get("required")):
            return False
    if name == "allOf" and len(_as_list(node["allOf"])) != 1:
        return False
    return len(unions) == 1 and node.keys() <= {*_NOTES, name, "required" if name == "oneOf" else name}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _all_marked(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    seen = set()
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict) and id(node) not in seen:
            seen.add(id(node))
            if node.get("additionalProperties") == MARK:
                found.append(node)
            stack.extend(node.values())
    return found
