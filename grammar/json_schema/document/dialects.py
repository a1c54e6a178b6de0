"""Dialects of JSON Schema, from OpenAPI and model providers. Schemas are checked, then read as a draft.

A more restricted dialect is checked: an unsupported keyword, or one that exceeds documented limits, is an
error with place, reason and remedy. A dialect with other semantics is rewritten to a draft. The limits are
documented in ``docs/json-schema.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stackmask.grammar.json_schema.document.drafts import DRAFT_4, DRAFT_2020, Draft, subschema_keys
from stackmask.grammar.json_schema.document.errors import DialectError, Where
from stackmask.grammar.json_schema.document.references import local_target
from stackmask.grammar.source.work import spend

_NOTES: Final = frozenset(("title", "description", "default", "examples", "$comment", "deprecated"))
_SHAPES: Final = frozenset(
    ("type", "properties", "required", "additionalProperties", "items", "enum", "const")
)
_DEFS: Final = frozenset(("$ref", "$defs", "definitions"))
_BOUNDS: Final = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_COUNTS: Final = frozenset(
    ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
)
_OPENAPI_3_0: Final = (
    (_SHAPES - {"const"})
    | _BOUNDS
    | _COUNTS
    | {"title", "description", "default", "deprecated", "$ref", "allOf", "oneOf", "anyOf", "not", "pattern"}
    | {"uniqueItems", "format", "nullable", "discriminator", "readOnly", "writeOnly", "xml", "externalDocs"}
    | {"example"}
)
_DOCUMENT: Final = frozenset(("openapi", "info", "servers", "paths", "components", "security", "tags"))
_OAS_BASE: Final = "https://spec.openapis.org/oas/3.1/dialect/base"

_CLOSE: Final = "write `additionalProperties: false`"
_CURES: Final = {
    "allOf": "write its parts into one schema",
    "oneOf": "write `anyOf`",
    "const": "write `enum` with one value",
    "prefixItems": "write an object with a property for each place",
    "patternProperties": "name the properties",
    "if": "write the cases as `anyOf`",
    "minLength": "write a `pattern`, or say it in the description",
    "maxLength": "write a `pattern`, or say it in the description",
    "nullable": 'write `"type": [..., "null"]`',
    "$schema": "leave it out",
}
_SAY_IT: Final = "leave it out, and say it in the description"


@dataclass
class Checked:
    """The counts that the checks of one schema collect."""

    dialect: SchemaDialect
    properties: int = 0
    optional: int = 0
    unions: int = 0
    characters: int = 0
    values: int = 0
    nodes: list[tuple[dict[str, Any], Where]] = field(default_factory=list)

    def refuse(self, where: Where, keyword: str, reason: str, cure: str) -> DialectError:
        return DialectError(
            self.dialect.name, where, keyword, f"{reason} in {self.dialect.title}; {cure}", cure
        )


Check = Callable[["Checked", dict[str, Any], Where, int], None]
"""A check of one schema object at a level of nesting. The object is a copy, which it may rewrite in place."""


@dataclass(frozen=True)
class SchemaDialect:
    """One dialect.

    ``title``: its name in messages. ``draft``: the draft in which schemas are read. ``keywords``: the
    supported keywords, None for all of the draft. ``formats``: the supported formats, None for all.
    ``checks``: the checks of each schema object; ``ends``: those of the whole schema.
    """

    name: str
    title: str
    draft: Draft
    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    checks: tuple[Check, ...] = ()
    ends: tuple[Callable[[Checked], None], ...] = ()


def read_dialect(name: str, source: Any) -> tuple[Any, Draft]:
    """Convert a schema of a dialect to a schema of a draft; the original is not modified.

    Raises: DialectError. Cost: linear in the schema.
    """
    dialect = DIALECTS[name]
    reading = Checked(dialect)
    if not isinstance(source, dict):
        return source, dialect.draft
    root = dict(source)
    # copies, where they stand, and how many objects are around them
    todo: list[tuple[dict[str, Any], Where, int]] = [(root, "", 0)]
    if isinstance(root.get("components"), dict) and isinstance(root["components"].get("schemas"), dict):
        schemas = {key: _copied(value) for key, value in root["components"]["schemas"].items()}
        root["components"] = {**root["components"], "schemas": schemas}
        place: Where = (("", "components"), "schemas")
        todo += [(value, (place, key), 0) for key, value in schemas.items() if isinstance(value, dict)]
    while todo:
        schema, where, level = todo.pop()
        spend(5 + len(schema))
        level += _is_object(schema)
        _check_keywords(reading, schema, where)
        for check in dialect.checks:
            check(reading, schema, where, level)
        reading.nodes.append((schema, where))
        copied: set[str] = set()
        for keyword, key in subschema_keys(schema):
            if key is None:
                schema[keyword] = inner = dict(schema[keyword])
                todo.append((inner, (where, keyword), level))
                continue
            if keyword not in copied:
                copied.add(keyword)
                value = schema[keyword]
                schema[keyword] = dict(value) if isinstance(value, dict) else list(value)
            schema[keyword][key] = inner = dict(schema[keyword][key])
            # a definition is at the level of nothing: where it is used is another place
            outer = 0 if keyword in ("$defs", "definitions") else level
            todo.append((inner, ((where, keyword), key), outer))
    for end in dialect.ends:
        end(reading)
    return root, dialect.draft


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def _is_object(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


def _check_keywords(reading: Checked, schema: dict[str, Any], where: Where) -> None:
    dialect = reading.dialect
    if dialect.keywords is not None:
        known = dialect.keywords | _DOCUMENT if where == "" else dialect.keywords
        for keyword in schema:
            if keyword not in known and not str(keyword).startswith("x-"):
                cure = _CURES.get(keyword, _SAY_IT)
                raise reading.refuse(where, keyword, "there is no such keyword", cure)
    name = schema.get("format")
    if dialect.formats is not None and isinstance(name, str) and name not in dialect.formats:
        known_formats = ", ".join(sorted(dialect.formats))
        reason = f"there is no format {name!r:.40}"
        raise reading.refuse(where, "format", reason, f"there are {known_formats}; or leave it out")


# -- OpenAPI -----------------------------------------------------------------------------------------------


def _nullable(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    """Rewrite `nullable`, which adds null to an adjacent `type` and has no effect without one."""
    if "$ref" in schema:
        return
    flag = schema.pop("nullable", False)
    if not isinstance(flag, bool):
        raise reading.refuse(where, "nullable", "it is true or false", "write true or false")
    kind = schema.get("type")
    if isinstance(kind, list):
        cure = 'write one type, and `nullable: true` for "null"'
        raise reading.refuse(where, "type", "it is one word, not a list,", cure)
    if kind == "null":
        raise reading.refuse(where, "type", 'there is no type "null"', "write `nullable: true` beside a type")
    if flag and kind is not None:
        schema["type"] = [kind, "null"]


def _numeric_exclusive(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        value = schema.get(keyword)
        if reading.dialect.name == "openapi-3.0" and value is not None and not isinstance(value, bool):
            bound = keyword.removeprefix("exclusive").lower()
            cure = f"write the number as `{bound}`, and `{keyword}: true`"
            raise reading.refuse(where, keyword, "it is true or false, beside a bound,", cure)
        if reading.dialect.name == "openapi-3.1" and isinstance(value, bool):
            raise reading.refuse(where, keyword, "it is a number", f"write the bound as `{keyword}`")


def _discriminator(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    """Check `discriminator`, which does not affect validity, but tells readers where to look first."""
    value = schema.get("discriminator")
    if "discriminator" in schema and not (
        isinstance(value, dict) and isinstance(value.get("propertyName"), str)
    ):
        cure = 'write `{"propertyName": …}`'
        raise reading.refuse(where, "discriminator", "it is an object with a `propertyName`", cure)


def _of_3_1(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    if "nullable" in schema:
        raise reading.refuse(where, "nullable", "there is no such keyword", _CURES["nullable"])
    if schema.get("$schema") == _OAS_BASE:
        del schema["$schema"]


# -- services ----------------------------------------------------------------------------------------------


def _closed(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    if _is_object(schema) and schema.get("additionalProperties") is not False:
        raise reading.refuse(where, "additionalProperties", "every object is closed", _CLOSE)


def _all_required(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    properties, required = schema.get("properties"), schema.get("required", [])
    if isinstance(properties, dict) and isinstance(required, list):
        known = {name for name in required if isinstance(name, str)}
        missing = next((name for name in properties if name not in known), None)
        if missing is not None:
            cure = f'name {missing!r:.60} in `required`; for a value that may be left out allow "null"'
            raise reading.refuse(where, "required", "every property is required", cure)


def _openai_limits(reading: Checked, schema: dict[str, Any], where: Where, level: int) -> None:
    """Check the size limits that OpenAI documents: properties, levels, characters, values of enumerations."""
    if where == "" and ("anyOf" in schema or schema.get("type") != "object"):
        cure = "put it into a property of an object"
        raise reading.refuse(where, "type", "the schema itself is an object, and no `anyOf`,", cure)
    if level > 10:
        raise reading.refuse(where, "properties", "objects are nested 10 levels at most", "nest them less")
    properties, values = schema.get("properties"), schema.get("enum")
    if isinstance(properties, dict):
        reading.properties += len(properties)
        reading.characters += sum(len(str(name)) for name in properties)
    for keyword in ("$defs", "definitions"):
        if isinstance(schema.get(keyword), dict):
            reading.characters += sum(len(str(name)) for name in schema[keyword])
    if isinstance(schema.get("const"), str):
        reading.characters += len(schema["const"])
    if isinstance(values, list):
        length = sum(len(value) for value in values if isinstance(value, str))
        reading.values += len(values)
        reading.characters += length
        if len(values) > 250 and length > 15_000:
            reason = f"more than 250 values have 15,000 characters at most, not {length:,},"
            raise reading.refuse(where, "enum", reason, "write fewer or shorter values")
    for count, most, keyword, what in (
        (reading.properties, 5_000, "properties", "properties"),
        (reading.values, 1_000, "enum", "values of `enum`"),
        (reading.characters, 120_000, "", "characters of names and values"),
    ):
        if count > most:
            reason = f"there are {most:,} {what} at most in one schema"
            raise reading.refuse(where, keyword, reason, "split the schema")


def _of_gemini(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    if "$ref" in schema:
        other = next((keyword for keyword in schema if not keyword.startswith("$")), None)
        if other is not None:
            cure = f"leave it out, or put it where `$ref` leads to: {schema['$ref']!r:.60}"
            raise reading.refuse(where, other, "nothing else is allowed beside `$ref`", cure)
    for value in schema.get("enum") or ():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            cure = 'write the type of the others, such as "boolean" or "null"'
            raise reading.refuse(where, "enum", "its values are strings and numbers", cure)
    order, properties = schema.pop("propertyOrdering", None), schema.get("properties")
    if isinstance(order, list) and isinstance(properties, dict):
        names = [name for name in order if isinstance(name, str) and name in properties]
        schema["properties"] = {name: properties[name] for name in dict.fromkeys([*names, *properties])}
    if "oneOf" in schema:  # documented to be read so
        if "anyOf" in schema:
            cure = "write the choices as one `anyOf`"
            raise reading.refuse(where, "oneOf", "it is read as `anyOf`, of which there is one already", cure)
        schema["anyOf"] = schema.pop("oneOf")


def _of_anthropic(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    if schema.get("minItems", 0) not in (0, 1):
        raise reading.refuse(where, "minItems", "it is 0 or 1", _SAY_IT)
    for keyword in ("enum", "const"):
        values = schema.get(keyword) if keyword == "enum" else [schema.get(keyword)]
        if isinstance(values, list) and any(isinstance(value, dict | list) for value in values):
            cure = "write `anyOf` of objects whose properties have a `const`"
            raise reading.refuse(where, keyword, "its values are no arrays or objects", cure)
    parts = schema.get("allOf")
    if isinstance(parts, list) and any(isinstance(part, dict) and "$ref" in part for part in parts):
        cure = "write the keywords of what it leads to"
        raise reading.refuse(where, "allOf", "there is no `$ref` in it", cure)
    properties, required = schema.get("properties"), schema.get("required", [])
    if isinstance(properties, dict) and isinstance(required, list):
        reading.optional += sum(name not in required for name in properties)
    reading.unions += "anyOf" in schema or isinstance(schema.get("type"), list)
    for count, most, keyword, what in (
        (reading.optional, 24, "properties", "properties that are not required"),
        (reading.unions, 16, "anyOf", "values of several types"),
    ):
        if count > most:
            raise reading.refuse(where, keyword, f"there are {most} {what} at most", "split the schema")


def _local_references(reading: Checked, schema: dict[str, Any], where: Where, _: int) -> None:
    target = schema.get("$ref")
    if isinstance(target, str) and not target.startswith("#"):
        cure = "put what it leads to into `$defs`"
        raise reading.refuse(where, "$ref", "it leads to a place of the same schema", cure)


def _no_recursion(reading: Checked) -> None:
    _check_cycles(
        reading, lambda *_: True, "a schema cannot contain itself", "write as many levels as are needed"
    )


def _optional_recursion(reading: Checked) -> None:
    def counts(schema: dict[str, Any], keyword: str, key: str | int | None) -> bool:
        return keyword != "properties" or key in (schema.get("required") or ())

    cure = "leave the property out of `required`"
    _check_cycles(
        reading, counts, "a schema is part of itself in properties that are not required only,", cure
    )


def _check_cycles(
    reading: Checked, counts: Callable[[dict[str, Any], str, str | int | None], bool], reason: str, cure: str
) -> None:
    """Refuse references that form a cycle of relevant keywords. Cost: linear in the schema."""
    root = reading.nodes[0][0]

    def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for keyword, key in subschema_keys(schema):
            if keyword not in ("$defs", "definitions") and counts(schema, keyword, key):
                yield schema[keyword] if key is None else schema[keyword][key]
        found = local_target(root, schema.get("$ref"))
        if isinstance(found, dict):
            yield found

    places = {id(schema): where for schema, where in reading.nodes}
    state: dict[int, bool] = {}  # whether all that it leads to was seen
    for start, _ in reading.nodes:
        if id(start) in state:
            continue
        state[id(start)] = False
        path = [(start, parts(start))]
        while path:
            schema, rest = path[-1]
            spend(2)
            inner = next(rest, None)
            if inner is None:
                state[id(schema)] = True
                path.pop()
            elif id(inner) not in state:
                state[id(inner)] = False
                path.append((inner, parts(inner)))
            elif not state[id(inner)]:
                raise reading.refuse(places.get(id(schema), ""), "$ref", reason, cure)


_SERVICE_FORMATS: Final = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)

DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        SchemaDialect(
            "openapi-3.0",
            "OpenAPI 3.0",
            DRAFT_4,
            _OPENAPI_3_0,
            checks=(_nullable, _numeric_exclusive, _discriminator),
        ),
        SchemaDialect(
            "openapi-3.1", "OpenAPI 3.1", DRAFT_2020, checks=(_of_3_1, _numeric_exclusive, _discriminator)
        ),
        SchemaDialect(
            "openai-strict",
            "OpenAI's strict mode",
            DRAFT_2020,
            _SHAPES | _NOTES | _DEFS | _BOUNDS | {"anyOf", "pattern", "format", "minItems", "maxItems"},
            _SERVICE_FORMATS,
            (_local_references, _closed, _all_required, _openai_limits),
        ),
        SchemaDialect(
            "gemini",
            "Gemini's response schemas",
            DRAFT_2020,
            (_SHAPES - {"const"})
            | {"title", "description", "$id", "$defs", "$ref", "$anchor", "format", "prefixItems", "minItems"}
            | {"maxItems", "minimum", "maximum", "anyOf", "oneOf", "propertyOrdering"},
            frozenset(("date-time", "date", "time")),
            (_local_references, _of_gemini),
            (_optional_recursion,),
        ),
        SchemaDialect(
            "anthropic",
            "Anthropic's structured outputs",
            DRAFT_2020,
            _SHAPES | _NOTES | _DEFS | {"anyOf", "allOf", "format", "pattern", "minItems"},
            _SERVICE_FORMATS | {"uri"},
            (_local_references, _closed, _of_anthropic),
            (_no_recursion,),
        ),
    )
}
"""The dialects by their names in ``dialect=``."""
