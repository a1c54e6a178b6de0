"""The drafts of JSON Schema: which keywords each has, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from stackmask.grammar.source.similar import similar

# where subschemas are: the value itself, the items of a list, the values of an object
_VALUE: Final = {"additionalItems", "additionalProperties", "not"}
_LIST: Final = {"allOf", "anyOf", "oneOf"}
_MAP: Final = {"definitions", "patternProperties", "properties"}

_CORE_4: Final = frozenset(
    [
        "$ref",
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "definitions",
        "dependencies",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "properties",
        "required",
        "type",
        "uniqueItems",
    ]
)
_CORE_6: Final = _CORE_4 | {"const", "contains", "propertyNames"}
_CORE_7: Final = _CORE_6 | {"if", "then", "else"}
_NEW_2019: Final = frozenset(
    [
        "$defs",
        "$anchor",
        "dependentRequired",
        "dependentSchemas",
        "maxContains",
        "minContains",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
# `dependencies` left the newer drafts but keeps its meaning there, as their metaschemas allow
_CORE_2019: Final = _CORE_7 | _NEW_2019 | {"$recursiveRef", "$recursiveAnchor"}
_CORE_2020: Final = (_CORE_7 | _NEW_2019 | {"$dynamicRef", "$dynamicAnchor", "prefixItems"}) - {
    "additionalItems"
}

# keywords that a metaschema without the vocabulary leaves without effect
VOCABULARIES: Final = {
    "validation": frozenset(
        [
            "type",
            "enum",
            "const",
            "multipleOf",
            "maximum",
            "exclusiveMaximum",
            "minimum",
            "exclusiveMinimum",
            "maxLength",
            "minLength",
            "pattern",
            "maxItems",
            "minItems",
            "uniqueItems",
            "maxContains",
            "minContains",
            "maxProperties",
            "minProperties",
            "required",
            "dependentRequired",
        ]
    ),
    "unevaluated": frozenset(("unevaluatedItems", "unevaluatedProperties")),
    "applicator": frozenset(
        [
            "prefixItems",
            "items",
            "contains",
            "additionalProperties",
            "properties",
            "patternProperties",
            "dependentSchemas",
            "propertyNames",
            "if",
            "then",
            "else",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "additionalItems",
        ]
    ),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """One draft.

    name: as users write it. keywords: those with a meaning. id_keyword: what names a resource.
    ref_alone: keywords beside ``$ref`` do not count (up to draft 7). exclusive_flags: ``exclusiveMinimum`` is a
    boolean (draft 4). prefix_in_items: ``items`` may be a list (before 2020-12). boolean_schemas: true and false
    are schemas (since draft 6).
    """

    name: str
    uri: str
    keywords: frozenset[str]
    id_keyword: str = "$id"
    ref_alone: bool = False
    exclusive_flags: bool = False
    prefix_in_items: bool = True
    boolean_schemas: bool = True

    def without(self, keywords: frozenset[str]) -> Draft:
        """Return the draft with some keywords of no effect."""
        return replace(self, keywords=self.keywords - keywords)


DRAFT_4: Final = Draft(
    "4",
    "http://json-schema.org/draft-04/schema",
    _CORE_4,
    id_keyword="id",
    ref_alone=True,
    exclusive_flags=True,
    boolean_schemas=False,
)
DRAFT_6: Final = Draft("6", "http://json-schema.org/draft-06/schema", _CORE_6, ref_alone=True)
DRAFT_7: Final = Draft("7", "http://json-schema.org/draft-07/schema", _CORE_7, ref_alone=True)
DRAFT_2019: Final = Draft("2019-09", "https://json-schema.org/draft/2019-09/schema", _CORE_2019)
DRAFT_2020: Final = Draft(
    "2020-12", "https://json-schema.org/draft/2020-12/schema", _CORE_2020, prefix_in_items=False
)
# what a schema without `$schema` means: the newest draft, and what older drafts wrote differently where the
# newest gives it no other meaning
UNDECLARED: Final = Draft("2020-12", DRAFT_2020.uri, _CORE_2020 | {"additionalItems"}, prefix_in_items=True)

DRAFTS: Final = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)
BY_URI: Final = {draft.uri: draft for draft in DRAFTS}
BY_NAME: Final = {
    alias: draft
    for draft in DRAFTS
    for alias in (draft.name, f"draft{draft.name}", f"draft-{draft.name}", f"draft-0{draft.name}")
}


# keywords that say something of a schema or of a value, and nothing of validity
ANNOTATIONS: Final = frozenset(
    [
        "$comment",
        "$id",
        "$schema",
        "$vocabulary",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "deprecated",
        "description",
        "discriminator",
        "example",
        "examples",
        "externalDocs",
        "id",
        "readOnly",
        "title",
        "writeOnly",
        "xml",
    ]
)
KNOWN: Final = frozenset().union(ANNOTATIONS, *(draft.keywords for draft in (*DRAFTS, UNDECLARED)))
# what people write for keywords of JSON Schema
_MEANT: Final = {
    "nullable": 'write `"type": [..., "null"]`: it is of OpenAPI 3.0',
    "optional": "leave the property out of `required`",
    "length": "write `minLength` and `maxLength`",
    "min": "write `minimum`",
    "max": "write `maximum`",
    "regex": "write `pattern`",
    "values": "write `enum`",
    "options": "write `enum`",
    "choices": "write `enum`",
    "fields": "write `properties`",
}


def is_unknown(keyword: str) -> bool:
    """Return whether no draft has a keyword, and it is no extension that says so (``x-…``)."""
    return keyword not in KNOWN and not keyword.startswith(("x-", "$"))


def why_unknown(keyword: str, compare: bool) -> str:
    """Say that a keyword is without effect, and which one was meant, if it is like one and ``compare`` is set."""
    meant = meant_keyword(keyword) if compare or keyword in _MEANT else ""
    return f"no draft has this keyword: it is without effect{meant and f'; {meant}'}"


def meant_keyword(keyword: str) -> str:
    """Return what to write in place of an unknown keyword; empty if that cannot be told."""
    if keyword in _MEANT:
        return _MEANT[keyword]
    close = similar(keyword, sorted(KNOWN - ANNOTATIONS))
    return f"did you mean `{close}`?" if close else ""


def subschema_keys(schema: dict[str, object]) -> list[tuple[str, str | int | None]]:
    """Return the places of the direct subschemas: (keyword, key or index below it or None)."""
    found: list[tuple[str, str | int | None]] = []
    for keyword, value in schema.items():
        kind = PLACES.get(keyword)
        if kind is None:
            continue
        if isinstance(value, dict):
            if kind == "map" or (kind == "dependencies"):
                found.extend((keyword, key) for key, item in value.items() if isinstance(item, dict))
            elif kind != "list":
                found.append((keyword, None))
        elif isinstance(value, list) and kind in ("list", "either"):
            found.extend((keyword, i) for i, item in enumerate(value) if isinstance(item, dict))
    return found


PLACES: Final = (
    dict.fromkeys(
        _VALUE
        | {"contains", "propertyNames", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"},
        "value",
    )
    | {"items": "either"}
    | dict.fromkeys(_LIST | {"prefixItems"}, "list")
    | dict.fromkeys(_MAP | {"$defs", "dependentSchemas"}, "map")
    | {"dependencies": "dependencies"}
)


# keywords that say nothing of values by themselves
_WITHOUT_EFFECT: Final = frozenset(("$defs", "definitions", "$anchor", "$dynamicAnchor"))


def says_only(schema: dict[str, Any], keyword: str, draft: Draft) -> bool:
    """Return whether no other keyword of the schema has a meaning for validity, or names a resource."""
    if len(schema) == 1:
        return True
    keywords = draft.keywords
    for key in schema:
        if key in keywords:
            if key != keyword and key not in _WITHOUT_EFFECT:
                return False
        elif key == draft.id_keyword and key != keyword:
            return False
    return True
