"""Keywords: one function each, which writes the keyword's constraint into a node.

A function gets a reader (for subschemas, references, the report), the node, the schema object and the keyword's value.
Keywords that modify one another (``items`` and ``prefixItems``) are read together by the first of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, Protocol

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.drafts import DRAFTS, UNDECLARED, Draft
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError, Where
from stackmask.grammar.json_schema.document.python_types import UNKNOWABLE, format_pattern
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.nodes.literals import Literals
from stackmask.grammar.json_schema.nodes.nodes import (
    CONTAINS,
    COUNT,
    EVERYTHING,
    ITEM,
    KEYS,
    LENGTH,
    NOTHING,
    PART_ALL,
    PART_IF,
    PART_NEEDS,
    PART_NEEDS_SCHEMA,
    PART_ONE,
    PART_SOME,
    PART_VALUES,
    REQUIRED,
    REST,
    UNIQUE,
    KeySet,
    Node,
)
from stackmask.grammar.json_schema.sets.numbers import (
    INTEGERS,
    UnsupportedNumber,
    at_least,
    at_most,
    finite,
    multiples_of,
)
from stackmask.grammar.json_schema.sets.scalars import Scalars
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE, Texts, text_set
from stackmask.grammar.json_schema.sets.values import (
    ARRAY,
    NUMBER,
    OBJECT,
    STRING,
    TYPE_NAMES,
    exact,
    is_number,
    shown,
    type_of,
)
from stackmask.grammar.source.diagnostics import GrammarError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import remembering, spend

MAX_COUNT: Final = 1_000_000_000  # of items, characters, properties

# types as programming languages call them
_OTHER_TYPES: Final = {
    "bool": "boolean",
    "dict": "object",
    "double": "number",
    "float": "number",
    "int": "integer",
    "list": "array",
    "map": "object",
    "none": "null",
    "str": "string",
    "text": "string",
    "tuple": "array",
}


class NodeReader(Protocol):
    """The keywords' interface to the algebra: it reads subschemas and references."""

    formats: str
    of_type: bool
    report: Report
    literals: Literals

    def literal(self, schema: Any, parent: Node, where: Where) -> int:
        """Return the literal of a subschema."""

    def reference(self, ref: Any, node: Node, keyword: str) -> int:
        """Return the literal of a reference's target."""

    def constant(self, value: Any, where: Where) -> int:
        """Return the literal that allows exactly this value."""

    def name_scalars(self, literal: int, where: Where) -> Scalars:
        """Return the scalar values that a literal allows as names."""

    def unsupported(self, where: Where, keyword: str, reason: str) -> None:
        """Refuse a keyword, or record that it is relaxed."""


Handler = Callable[[NodeReader, Node, dict[str, Any], Any], None]


def _most(reader: NodeReader, node: Node, keyword: str, value: Any) -> int:
    """Return an upper bound. A bound beyond the countable range is lowered and reported."""
    if is_number(value) and value > MAX_COUNT:
        exact(value, node.where, keyword)
        reader.report.add("narrowed", node.where, keyword, f"{shown(value)} is read as {MAX_COUNT:,}")
        return MAX_COUNT
    return _count(node, keyword, value)


def _count(node: Node, keyword: str, value: Any) -> int:
    """Return a value that must be a natural number (2.0 is allowed)."""
    if is_number(value):
        number = exact(value, node.where, keyword)
        if isinstance(number, int) and number >= 0:
            if number > MAX_COUNT:
                raise UnsupportedSchemaError(node.where, keyword, f"counts are supported up to {MAX_COUNT:,}")
            return number
    raise SchemaError(node.where, keyword, f"must be a natural number, not {shown(value)}")


def _least(
    reader: NodeReader, node: Node, schema: dict[str, Any], value: Any, keyword: str, atom: str
) -> None:
    _atoms(node, atom).append((atom, _count(node, keyword, value), None))


def _greatest(
    reader: NodeReader, node: Node, schema: dict[str, Any], value: Any, keyword: str, atom: str
) -> None:
    _atoms(node, atom).append((atom, 0, _most(reader, node, keyword, value)))


def _atoms(node: Node, atom: str) -> list[Any]:
    return node.arrays if atom == LENGTH else node.objects


def _mapping(node: Node, keyword: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SchemaError(node.where, keyword, f"must be an object, not {shown(value)}")
    return value


def _list(node: Node, keyword: str, value: Any, expected: str = "an array") -> list[Any]:
    if not isinstance(value, list | tuple):
        raise SchemaError(node.where, keyword, f"must be {expected}, not {shown(value)}")
    return list(value)


def _names(node: Node, keyword: str, value: Any) -> list[str]:
    names: list[str] = value if type(value) is list else _list(node, keyword, value)
    for name in names:
        if type(name) is not str and not isinstance(name, str):
            raise SchemaError(node.where, keyword, f"must contain strings, not {shown(name)}")
    return names


# -- any type --------------------------------------------------------------------------------------------


def _type(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if type(value) is str and value != "integer" and value in TYPE_NAMES:  # nearly always
        node.mask &= TYPE_NAMES[value]
        return
    names = (
        (value,)
        if isinstance(value, str)
        else _list(node, "type", value, "a name of a type or an array of them")
    )
    mask = 0
    for name in names:
        bits = TYPE_NAMES.get(name) if isinstance(name, str) else None
        if bits is None:
            raise SchemaError(node.where, "type", f"{shown(name)} is not a type; {_meant_type(name, schema)}")
        mask |= bits
    node.mask &= mask
    if "integer" in names and "number" not in names:
        node.meet_number(INTEGERS)
        node.whole = node.resource.draft.exclusive_flags or reader.of_type


def _meant_type(name: Any, schema: dict[str, Any]) -> str:
    """Suggest a replacement for an invalid type."""
    if name == "json_schema" and "json_schema" in schema:
        return "this is a response_format: the schema is its `json_schema.schema`"
    meant = _OTHER_TYPES.get(name.lower()) if isinstance(name, str) else None
    if meant is None and isinstance(name, str):
        meant = similar(name, TYPE_NAMES)
    return f'did you mean "{meant}"?' if meant else f"there are: {', '.join(TYPE_NAMES)}"


def _enum(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    write_values(reader, node, "enum", _list(node, "enum", value))


def _const(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    write_values(reader, node, "const", [value])


def write_values(reader: NodeReader, node: Node, keyword: str, values: list[Any]) -> None:
    """Constrain a node to one of these values."""
    mask = 0
    words: dict[str, None] = {}
    numbers: list[Any] = []
    structured: list[int] = []
    spend(2 * len(values))
    for i, item in enumerate(values):
        if isinstance(item, str):
            words[item] = None
            continue
        kind = type_of(item, node.where, keyword)
        mask |= kind
        if kind == NUMBER:
            numbers.append(exact(item, node.where, keyword))
        elif kind & (ARRAY | OBJECT):
            place = (node.where, keyword)
            structured.append(reader.constant(item, place if keyword == "const" else (place, i)))
    if words:
        mask |= STRING
        node.text = node.text.meet(Texts(words))
    node.mask &= mask
    if numbers:
        node.meet_number(finite(numbers))
    if structured:
        node.parts.append((PART_VALUES, tuple(structured)))


def _all_of(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    node.parts.append((PART_ALL, _literals(reader, node, "allOf", value)))


def _any_of(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    literals = _literals(reader, node, "anyOf", value)
    if EVERYTHING not in literals:
        literals = tuple(dict.fromkeys(x for x in literals if x != NOTHING))
        node.parts.append((PART_SOME, literals) if len(literals) > 1 else (PART_ALL, literals or (NOTHING,)))
    elif len(literals) > 1:
        node.parts.append((PART_SOME, literals))


def _one_of(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    literals = tuple(x for x in _literals(reader, node, "oneOf", value) if x != NOTHING)
    node.parts.append((PART_ONE, literals) if len(literals) > 1 else (PART_ALL, literals or (NOTHING,)))


def _literals(reader: NodeReader, node: Node, keyword: str, value: Any) -> tuple[int, ...]:
    items = _list(node, keyword, value)
    if not items:
        raise SchemaError(node.where, keyword, "must not be empty")
    place = (node.where, keyword)
    spend(2 * len(items))
    return tuple(reader.literal(item, node, (place, i)) for i, item in enumerate(items))


def _not(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    node.parts.append((PART_ALL, (-reader.literal(value, node, (node.where, "not")),)))


def _if(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    condition = reader.literal(value, node, (node.where, "if"))
    sides = [
        reader.literal(schema[side], node, (node.where, side)) if side in schema else EVERYTHING
        for side in ("then", "else")
    ]
    if sides != [EVERYTHING, EVERYTHING] or condition not in (EVERYTHING, NOTHING):
        node.parts.append((PART_IF, condition, sides[0], sides[1]))


def _reference(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any, keyword: str) -> None:
    node.parts.append((PART_ALL, (reader.reference(value, node, keyword),)))


def _identifier(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any, keyword: str) -> None:
    if not isinstance(value, str):
        raise SchemaError(node.where, keyword, f"must be a string, not {shown(value)}")


# -- numbers ---------------------------------------------------------------------------------------------


def _bound(
    reader: NodeReader, node: Node, schema: dict[str, Any], value: Any, keyword: str, low: bool
) -> None:
    number = exact(value, node.where, keyword)
    flag = False
    if node.resource.draft.exclusive_flags or node.resource.draft is UNDECLARED:
        flag = schema.get("exclusiveMinimum" if low else "exclusiveMaximum") is True
    node.meet_number(at_least(number, exclusive=flag) if low else at_most(number, exclusive=flag))


def _exclusive(
    reader: NodeReader, node: Node, schema: dict[str, Any], value: Any, keyword: str, low: bool
) -> None:
    draft = node.resource.draft
    if isinstance(value, bool) and (draft.exclusive_flags or draft is UNDECLARED):
        return  # read with `minimum` or `maximum`
    if draft.exclusive_flags:
        raise SchemaError(node.where, keyword, f"must be true or false in draft 4, not {shown(value)}")
    number = exact(value, node.where, keyword)
    node.meet_number(at_least(number, exclusive=True) if low else at_most(number, exclusive=True))


def _multiple_of(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    number = exact(value, node.where, "multipleOf")
    if number <= 0:
        raise SchemaError(node.where, "multipleOf", f"must be above zero, not {shown(value)}")
    node.meet_number(multiples_of(number))


# -- strings ---------------------------------------------------------------------------------------------


def _min_length(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if low := _count(node, "minLength", value):
        node.text = node.text.meet(Texts(None, low))


def _max_length(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    node.text = node.text.meet(Texts(None, 0, _most(reader, node, "maxLength", value)))


def _pattern(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if not isinstance(value, str):
        raise SchemaError(node.where, "pattern", f"must be a string, not {shown(value)}")
    found = pattern_texts(reader, value, node.where, "pattern")
    if found is None:
        node.loose = True
    else:
        node.text = node.text.meet(found)


def _format(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if not isinstance(value, str):
        raise SchemaError(node.where, "format", f"must be a string, not {shown(value)}")
    node.text = node.text.meet(format_texts(reader, value, node))


# -- arrays ----------------------------------------------------------------------------------------------


def _items(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if isinstance(value, list) and node.resource.draft.prefix_in_items:
        _prefix(reader, node, "items", value)
        rest = schema.get("additionalItems") if "additionalItems" in node.resource.draft.keywords else None
        if rest is not None:
            literal = reader.literal(rest, node, (node.where, "additionalItems"))
            node.arrays.append((REST, len(value), literal))
        return
    if isinstance(value, list):
        raise SchemaError(node.where, "items", "must be a schema; a list of schemas is `prefixItems`")
    start = 0
    if "prefixItems" in node.resource.draft.keywords and isinstance(schema.get("prefixItems"), list):
        start = len(schema["prefixItems"])
    literal = reader.literal(value, node, (node.where, "items"))
    if literal != EVERYTHING:
        node.arrays.append((REST, start, literal))


def _prefix_items(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    _prefix(reader, node, "prefixItems", _list(node, "prefixItems", value))


def _prefix(reader: NodeReader, node: Node, keyword: str, items: list[Any]) -> None:
    place = (node.where, keyword)
    spend(3 * len(items))
    for i, item in enumerate(items):
        literal = reader.literal(item, node, (place, i))
        if literal != EVERYTHING:
            node.arrays.append((ITEM, i, literal))


def _unique_items(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if not isinstance(value, bool):
        raise SchemaError(node.where, "uniqueItems", f"must be true or false, not {shown(value)}")
    if value:
        node.arrays.append((UNIQUE, True))


def _contains(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    literal = reader.literal(value, node, (node.where, "contains"))
    low, high = 1, None
    keywords = node.resource.draft.keywords
    if "minContains" in keywords and "minContains" in schema:
        low = _count(node, "minContains", schema["minContains"])
    if "maxContains" in keywords and "maxContains" in schema:
        high = _most(reader, node, "maxContains", schema["maxContains"])
    if low or high is not None:
        node.arrays.append((CONTAINS, 0, literal, low, high))


def _unevaluated_items(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    node.unevaluated_items = reader.literal(value, node, (node.where, "unevaluatedItems"))


# -- objects ---------------------------------------------------------------------------------------------


def _properties(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    place = (node.where, "properties")
    node.parts_first = bool(node.parts)
    if type(value) is not dict:
        value = dict(_mapping(node, "properties", value))
    spend(4 * len(value))
    reader.literals.add_properties(node.objects, value, node.resource, node.scope, place)


def _pattern_properties(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    place = (node.where, "patternProperties")
    for pattern, item in _mapping(node, "patternProperties", value).items():
        literal = reader.literal(item, node, (place, pattern))
        if pattern_texts(reader, pattern, place, pattern) is None:
            node.loose = True  # no key is known to match
            continue
        keys = key_set(reader, node, {}, [pattern], False)
        node.objects.append((KEYS, keys, literal))


def key_set(reader: NodeReader, node: Node, names: dict[str, Any], patterns: Any, negated: bool) -> KeySet:
    """Return the set of keys that equal a name or match a pattern, or its complement."""
    if not patterns:
        return KeySet(names, (), negated)
    place = (node.where, "patternProperties")
    found = [
        pattern_texts(reader, pattern, place, pattern) or ALL for pattern in patterns
    ]  # relaxed: any key may
    spend(2 * len(names) // 8 + 4 * len(found))
    words = dict.fromkeys(word for texts in found if texts.words is not None for word in texts.words)
    sets = tuple(texts for texts in found if texts.words is None)
    return KeySet({**names, **words}, sets, negated)


def _additional_properties(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    if value is True:
        return
    literal = NOTHING
    if value is not False:
        literal = reader.literal(value, node, (node.where, "additionalProperties"))
        if literal == EVERYTHING:
            return
    names = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    if isinstance(names, dict) and isinstance(patterns, dict):  # else their own functions refuse them
        node.objects.append((KEYS, key_set(reader, node, names, patterns, True), literal))


def _property_names(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    literal = reader.literal(value, node, (node.where, "propertyNames"))
    scalars = reader.name_scalars(literal, node.where)
    texts = scalars.text
    node.loose = node.loose or scalars.loose
    if texts is ALL:
        return
    if texts is NONE or texts.words is not None:
        keys = KeySet(texts.words or {}, (), True)
    else:
        keys = KeySet({}, (texts,), True)
    node.objects.append((KEYS, keys, NOTHING))


def _required(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    objects = node.objects
    for name in _names(node, "required", value):
        objects.append((REQUIRED, name))


def _dependencies(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    place = (node.where, "dependencies")
    for name, item in _mapping(node, "dependencies", value).items():
        if isinstance(item, list | tuple):
            node.parts.append((PART_NEEDS, name, tuple(_names(node, "dependencies", item))))
        elif isinstance(item, str):  # as draft 3 wrote it
            node.parts.append((PART_NEEDS, name, (item,)))
        else:
            node.parts.append((PART_NEEDS_SCHEMA, name, reader.literal(item, node, (place, name))))


def _dependent_required(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    for name, names in _mapping(node, "dependentRequired", value).items():
        node.parts.append((PART_NEEDS, name, tuple(_names(node, "dependentRequired", names))))


def _dependent_schemas(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    place = (node.where, "dependentSchemas")
    for name, item in _mapping(node, "dependentSchemas", value).items():
        node.parts.append((PART_NEEDS_SCHEMA, name, reader.literal(item, node, (place, name))))


def _unevaluated_properties(reader: NodeReader, node: Node, schema: dict[str, Any], value: Any) -> None:
    node.unevaluated_properties = reader.literal(value, node, (node.where, "unevaluatedProperties"))


_FUNCTIONS: Final[dict[str, Handler]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": partial(_reference, keyword="$ref"),
    "$dynamicRef": partial(_reference, keyword="$dynamicRef"),
    "$recursiveRef": partial(_reference, keyword="$recursiveRef"),
    "$anchor": partial(_identifier, keyword="$anchor"),
    "$dynamicAnchor": partial(_identifier, keyword="$dynamicAnchor"),
    "minimum": partial(_bound, keyword="minimum", low=True),
    "maximum": partial(_bound, keyword="maximum", low=False),
    "exclusiveMinimum": partial(_exclusive, keyword="exclusiveMinimum", low=True),
    "exclusiveMaximum": partial(_exclusive, keyword="exclusiveMaximum", low=False),
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
    "items": _items,
    "prefixItems": _prefix_items,
    "minItems": partial(_least, keyword="minItems", atom=LENGTH),
    "maxItems": partial(_greatest, keyword="maxItems", atom=LENGTH),
    "uniqueItems": _unique_items,
    "contains": _contains,
    "unevaluatedItems": _unevaluated_items,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "required": _required,
    "minProperties": partial(_least, keyword="minProperties", atom=COUNT),
    "maxProperties": partial(_greatest, keyword="maxProperties", atom=COUNT),
    "dependencies": _dependencies,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "unevaluatedProperties": _unevaluated_properties,
}
_TABLES: Final = {
    draft.keywords: {name: handler for name, handler in _FUNCTIONS.items() if name in draft.keywords}
    for draft in (*DRAFTS, UNDECLARED)
}


def read_keywords(reader: NodeReader, node: Node) -> None:
    """Read a node's schema object. Raises: SchemaError for a keyword with a value of the wrong type."""
    schema = node.schema
    draft: Draft = node.resource.draft
    table = _TABLES.get(draft.keywords)
    if table is None:  # a dialect of the caller's
        table = {name: handler for name, handler in _FUNCTIONS.items() if name in draft.keywords}
        _TABLES[draft.keywords] = table
    for keyword, value in schema.items():
        handler = table.get(keyword)
        if handler is not None:
            try:
                handler(reader, node, schema, value)
            except UnsupportedNumber as error:
                reader.unsupported(node.where, keyword, str(error))
                node.loose = True


# -- `pattern` and `format` as sets of strings -----------------------------------------------------------

# regular expressions and formats are imported where a schema has them: most have none, and a new process would wait

_CACHED: Final = 2048
_INVALID: Final = ("G007", "G008")  # bad character class, bad regex


def pattern_texts(reader: NodeReader, pattern: Any, where: Where, keyword: str) -> Texts | None:
    """Return the strings in which the pattern is found; None if they are unknown, as it is relaxed.

    Raises: SchemaError for an invalid pattern; UnsupportedSchemaError if its language is not regular.
    """
    if not isinstance(pattern, str):
        raise SchemaError(where, keyword, f"must be a string, not {shown(pattern)}")
    found = _compiled(pattern)
    if isinstance(found, Texts):
        return found
    kind, reason = found
    if kind == "unsupported":
        reader.unsupported(where, keyword, reason)
        return None
    raise SchemaError(where, keyword, f"no regular expression of ECMA-262: {reason}")


@remembering(_CACHED)
def _compiled(pattern: str) -> Texts | tuple[str, str]:
    from stackmask.grammar.regex.compile import regex_expr

    try:
        expr = regex_expr(pattern, flavor="ecma", search=True)
    except GrammarError as error:
        invalid = any(diagnostic.code in _INVALID for diagnostic in error.diagnostics)
        return "invalid" if invalid else "unsupported", error.diagnostics[0].message
    except UnicodeEncodeError:
        return "unsupported", "a lone surrogate is not a character"
    return ALL if expr == ir.ANY_TEXT else text_set(expr)


def blank_expr(source: str) -> ir.Expr:
    """Return a user's pattern for whitespace as an expression.

    Raises: SchemaError if the pattern is invalid, or allows more than JSON's whitespace.
    """
    from stackmask.grammar.regex.compile import regex_expr

    try:
        expr = regex_expr(source, flavor="ecma", search=False)
    except GrammarError as error:
        raise SchemaError("", "whitespace", str(error)) from None
    blanks = ir.Repeat(ir.CharClass(((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20))), 0, None)
    if not Texts(parts=(expr, ir.Complement(blanks))).is_empty():
        raise SchemaError("", "whitespace", f"{source!r} matches more than blanks, tabs and line breaks")
    return expr


def format_texts(reader: NodeReader, name: str, node: Node) -> Texts:
    """Return the strings that a format allows: all strings if it is an annotation, which is reported."""
    of_version = ALL
    if reader.formats == "annotate":
        reader.report.add("annotation", node.where, "format", f"`{name}` is not asserted, on request")
        return ALL
    if reader.of_type:
        if name in UNKNOWABLE:
            reader.unsupported(node.where, "format", f"`{name}`: {UNKNOWABLE[name]}")
            node.loose = True
            return ALL
        pattern = format_pattern(name, node.schema)
        if pattern is not None:
            of_version = pattern_texts(reader, pattern, node.where, "format") or ALL
            if not name.startswith("uuid"):
                return of_version
            name = "uuid"
    from stackmask.grammar.json_schema.formats import ENDLESS, FORMATS, NARROWINGS, formats_of

    # a format that a later draft defines means the same in an earlier one, which leaves others open
    known = formats_of(node.resource.draft.name)
    make = known.get(name) or FORMATS.get(name)
    if make is None:
        reader.report.add(
            "annotation", node.where, "format", f"`{name}` is not a format of the specification"
        )
        return ALL
    if name in NARROWINGS:
        reader.report.add("narrowed", node.where, "format", f"`{name}`: {NARROWINGS[name]}")
    return _once(make, name in ENDLESS).meet(of_version)


@lru_cache(_CACHED)
def _once(make: Callable[[], ir.Expr], endless: bool) -> Texts:
    return Texts(parts=(make(),), nonempty=True, endless=endless)
