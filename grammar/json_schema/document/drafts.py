"""The drafts of JSON Schema: their keywords, and their differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from stackmask.grammar.source.similar import advice


class Keyword(NamedTuple):
    """A keyword with a meaning, and the first and the last draft that define it.

    ``holds``: where its value contains subschemas: the value is a schema ("value"), a "list" or "map" of
    schemas, a schema or a list ("either"), or a map with some schemas ("dependencies"). ``vocabulary``: the
    vocabulary of a metaschema that enables it. ``read_with``: the keyword whose function reads it, if it has
    no function of its own.
    """

    since: int
    holds: str = ""
    vocabulary: str = ""
    until: int = 2020
    read_with: str = ""


KEYWORDS: Final = {
    "$ref": Keyword(4),
    "additionalItems": Keyword(4, "value", vocabulary="applicator", until=2019, read_with="items"),
    "additionalProperties": Keyword(4, "value", vocabulary="applicator"),
    "allOf": Keyword(4, "list", vocabulary="applicator"),
    "anyOf": Keyword(4, "list", vocabulary="applicator"),
    "definitions": Keyword(4, "map"),
    "dependencies": Keyword(4, "dependencies"),
    "enum": Keyword(4, vocabulary="validation"),
    "exclusiveMaximum": Keyword(4, vocabulary="validation"),
    "exclusiveMinimum": Keyword(4, vocabulary="validation"),
    "format": Keyword(4),
    "items": Keyword(4, "either", vocabulary="applicator"),
    "maxItems": Keyword(4, vocabulary="validation"),
    "maxLength": Keyword(4, vocabulary="validation"),
    "maxProperties": Keyword(4, vocabulary="validation"),
    "maximum": Keyword(4, vocabulary="validation"),
    "minItems": Keyword(4, vocabulary="validation"),
    "minLength": Keyword(4, vocabulary="validation"),
    "minProperties": Keyword(4, vocabulary="validation"),
    "minimum": Keyword(4, vocabulary="validation"),
    "multipleOf": Keyword(4, vocabulary="validation"),
    "not": Keyword(4, "value", vocabulary="applicator"),
    "oneOf": Keyword(4, "list", vocabulary="applicator"),
    "pattern": Keyword(4, vocabulary="validation"),
    "patternProperties": Keyword(4, "map", vocabulary="applicator"),
    "properties": Keyword(4, "map", vocabulary="applicator"),
    "required": Keyword(4, vocabulary="validation"),
    "type": Keyword(4, vocabulary="validation"),
    "uniqueItems": Keyword(4, vocabulary="validation"),
    "const": Keyword(6, vocabulary="validation"),
    "contains": Keyword(6, "value", vocabulary="applicator"),
    "propertyNames": Keyword(6, "value", vocabulary="applicator"),
    "else": Keyword(7, "value", vocabulary="applicator", read_with="if"),
    "if": Keyword(7, "value", vocabulary="applicator"),
    "then": Keyword(7, "value", vocabulary="applicator", read_with="if"),
    "$anchor": Keyword(2019),
    "$defs": Keyword(2019, "map"),
    "$recursiveAnchor": Keyword(2019, until=2019, read_with="$recursiveRef"),
    "$recursiveRef": Keyword(2019, until=2019),
    "dependentRequired": Keyword(2019, vocabulary="validation"),
    "dependentSchemas": Keyword(2019, "map", vocabulary="applicator"),
    "maxContains": Keyword(2019, vocabulary="validation", read_with="contains"),
    "minContains": Keyword(2019, vocabulary="validation", read_with="contains"),
    "unevaluatedItems": Keyword(2019, "value", vocabulary="unevaluated"),
    "unevaluatedProperties": Keyword(2019, "value", vocabulary="unevaluated"),
    "$dynamicAnchor": Keyword(2020),
    "$dynamicRef": Keyword(2020),
    "prefixItems": Keyword(2020, "list", vocabulary="applicator"),
}
"""All keywords by name. `dependencies` left the newer drafts but keeps its meaning, as their metaschemas allow."""

# keywords whose value has schemas by names that are free
MAPS: Final = frozenset(name for name, keyword in KEYWORDS.items() if keyword.holds == "map")
# keywords that say nothing of values by themselves
WITHOUT_EFFECT: Final = frozenset(("$defs", "definitions", "$anchor", "$dynamicAnchor"))
VOCABULARIES: Final = {
    vocabulary: frozenset(name for name, keyword in KEYWORDS.items() if keyword.vocabulary == vocabulary)
    for vocabulary in ("validation", "unevaluated", "applicator")
}


def _keywords(draft: int) -> frozenset[str]:
    return frozenset(name for name, keyword in KEYWORDS.items() if keyword.since <= draft <= keyword.until)


@dataclass(frozen=True, slots=True)
class Draft:
    """One draft.

    name: the name that users write. keywords: all with a meaning. id_keyword: the keyword that names a
    resource. ref_alone: keywords beside ``$ref`` are ignored (up to draft 7). exclusive_flags:
    ``exclusiveMinimum`` is a boolean (draft 4). prefix_in_items: ``items`` may be a list (before 2020-12).
    """

    name: str
    uri: str
    keywords: frozenset[str]
    id_keyword: str = "$id"
    ref_alone: bool = False
    exclusive_flags: bool = False
    prefix_in_items: bool = True

    def without(self, keywords: frozenset[str]) -> Draft:
        """Return the draft with some keywords disabled."""
        return replace(self, keywords=self.keywords - keywords)


DRAFT_4: Final = Draft(
    "4",
    "http://json-schema.org/draft-04/schema",
    _keywords(4),
    id_keyword="id",
    ref_alone=True,
    exclusive_flags=True,
)
DRAFT_6: Final = Draft("6", "http://json-schema.org/draft-06/schema", _keywords(6), ref_alone=True)
DRAFT_7: Final = Draft("7", "http://json-schema.org/draft-07/schema", _keywords(7), ref_alone=True)
DRAFT_2019: Final = Draft("2019-09", "https://json-schema.org/draft/2019-09/schema", _keywords(2019))
DRAFT_2020: Final = Draft(
    "2020-12", "https://json-schema.org/draft/2020-12/schema", _keywords(2020), prefix_in_items=False
)
# what a schema without `$schema` means: the newest draft, and what older drafts wrote differently where the
# newest gives it no other meaning
UNDECLARED: Final = Draft(
    "2020-12", DRAFT_2020.uri, _keywords(2020) | {"additionalItems"}, prefix_in_items=True
)

DRAFTS: Final = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)
BY_URI: Final = {draft.uri: draft for draft in DRAFTS}
BY_NAME: Final = {
    alias: draft
    for draft in DRAFTS
    for alias in (draft.name, f"draft{draft.name}", f"draft-{draft.name}", f"draft-0{draft.name}")
}


# keywords that say something of a schema or of a value, and nothing of validity
ANNOTATIONS: Final = frozenset(
    {
        *(
            "$comment",
            "$id",
            "$schema",
            "$vocabulary",
            "contentEncoding",
            "contentMediaType",
            "contentSchema",
        ),
        *("default", "deprecated", "description", "discriminator", "example", "examples", "externalDocs"),
        *("id", "readOnly", "title", "writeOnly", "xml"),
    }
)
KNOWN: Final = ANNOTATIONS.union(KEYWORDS)
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
    """Return whether no draft defines a keyword, and it is not marked as an extension (``x-…``)."""
    return keyword not in KNOWN and not keyword.startswith(("x-", "$"))


def why_unknown(keyword: str, compare: bool) -> str:
    """Explain that a keyword has no effect, and, if ``compare`` is set, suggest a similar one."""
    meant = meant_keyword(keyword) if compare or keyword in _MEANT else ""
    return f"no draft has this keyword: it is without effect{meant and f'; {meant}'}"


def meant_keyword(keyword: str) -> str:
    """Return a replacement for an unknown keyword; empty if there is no suggestion."""
    if keyword in _MEANT:
        return _MEANT[keyword]
    return advice(keyword, sorted(KNOWN - ANNOTATIONS), "")


def subschema_keys(schema: dict[str, object]) -> list[tuple[str, str | int | None]]:
    """Return the places of the direct subschemas: pairs of a keyword and the key or index in it, or None."""
    found: list[tuple[str, str | int | None]] = []
    for keyword, value in schema.items():
        if keyword not in KEYWORDS:
            continue
        kind = KEYWORDS[keyword].holds
        if isinstance(value, dict):
            if kind in ("map", "dependencies"):
                found.extend((keyword, key) for key, item in value.items() if isinstance(item, dict))
            elif kind in ("value", "either"):
                found.append((keyword, None))
        elif isinstance(value, list) and kind in ("list", "either"):
            found.extend((keyword, i) for i, item in enumerate(value) if isinstance(item, dict))
    return found


def says_only(schema: dict[str, Any], keyword: str, draft: Draft) -> bool:
    """Return whether only this keyword of the schema affects validity or names a resource."""
    if len(schema) == 1:
        return True
    keywords = draft.keywords
    for key in schema:
        if key in keywords:
            if key != keyword and key not in WITHOUT_EFFECT:
                return False
        elif key == draft.id_keyword and key != keyword:
            return False
    return True
