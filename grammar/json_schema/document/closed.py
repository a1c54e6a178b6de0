"""Schemas in which unmentioned properties and items are forbidden."""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.json_schema.document.drafts import MAPS
from stackmask.grammar.source.work import spend

# keywords whose values are schemas, lists of them, or objects of them
SCHEMA: Final = frozenset(
    {
        "items",
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contains",
        "additionalItems",
    }
)
SCHEMAS: Final = frozenset({"anyOf", "oneOf", "prefixItems", "items"})
# schemas that speak of the same value: closed together, not each by itself
SAME_VALUE: Final = frozenset({"allOf"})


def closed(schema: Any, *, arrays: bool = False) -> Any:
    """Return a copy of a schema in which objects with ``properties``, and ``arrays`` with ``prefixItems``,
    allow nothing else.

    Where the schema itself specifies other properties or items, its specification applies. Objects combined
    by ``allOf`` are closed as a whole. Conditions, ``not`` and data are unchanged.
    Cost: linear in the schema.
    """
    root: list[Any] = [schema]
    # places that hold a schema to be copied, and whether the value is closed by the schema around it
    work: list[tuple[Any, Any, bool]] = [(root, 0, False)]
    while work:
        holder, key, is_part = work.pop()
        value = holder[key]
        spend(4)
        if not isinstance(value, dict):
            continue
        made = dict(value)
        holder[key] = made
        if not is_part:
            _close(made, arrays)
        for name, inner in value.items():
            if name in SCHEMA and isinstance(inner, dict):
                work.append((made, name, False))
            elif (name in SCHEMAS or name in SAME_VALUE) and isinstance(inner, list):
                items = list(inner)
                made[name] = items
                part = name in SAME_VALUE or (is_part and name in ("anyOf", "oneOf"))
                work.extend((items, i, part) for i in range(len(items)))
            elif name in MAPS and isinstance(inner, dict):
                named = dict(inner)
                made[name] = named
                work.extend((named, each, False) for each in named)
    return root[0]


def _close(made: dict[str, Any], arrays: bool) -> None:
    """Forbid the unmentioned parts of an object or an array."""
    says = made.keys()
    if "allOf" in says:
        if not says & {"additionalProperties", "unevaluatedProperties"} and _has_properties(made):
            made["unevaluatedProperties"] = False
    elif "properties" in says and not says & {"additionalProperties", "unevaluatedProperties"}:
        made["additionalProperties"] = False
    if arrays and "prefixItems" in says and not says & {"items", "unevaluatedItems"}:  # mutant: open-arrays
        made["items"] = False
    if arrays and isinstance(made.get("items"), list) and "additionalItems" not in says:
        made["additionalItems"] = False


def _has_properties(schema: dict[str, Any]) -> bool:
    parts = schema["allOf"]
    spend(len(parts) if isinstance(parts, list) else 1)
    return "properties" in schema or (
        isinstance(parts, list) and any(isinstance(part, dict) and "properties" in part for part in parts)
    )
