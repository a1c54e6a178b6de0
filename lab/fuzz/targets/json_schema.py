"""JSON Schemas: a byte of options, then the schema as JSON text, which need not be well-formed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from support.random_schemas import SchemaMaker

import stackmask as sm
from fuzz.checks import LIMITS, NAMED_ERRORS, Walk, expect, make_vocabulary, random_of, walk_grammar
from fuzz.mutators import TextMutator
from fuzz.trees import TreeMutator
from stackmask.grammar.json_schema.document import drafts

MAX_LENGTH = 1600
DRAFTS = (None, None, None, "2020-12", "2019-09", "7", "6", "4")
WHITESPACE: tuple[Any, ...] = (
    None,
    "compact",
    "any",
    {"max": 2},
    {"separators": (", ", ": ")},
    {"indent": 2},
)
KEYWORDS = (*drafts.KEYWORDS, "$id", "$schema", "$comment", "contentEncoding", "default")
VALUES: tuple[Any, ...] = (
    *(
        True,
        False,
        None,
        0,
        1,
        -1,
        2,
        3,
        0.5,
        1e308,
        10**30,
        -0.0,
        1e-7,
        "",
        "a",
        "é",
        "#",
        "#/$defs/x",
        "#x",
        [],
        {},
        [1, 1.0],
    ),
    *(
        "^a",
        "b$",
        "^(?!a)",
        "(",
        "\\d+",
        "date",
        "date-time",
        "uuid",
        "email",
        "ipv6",
        "uri",
        "idn-hostname",
        "regex",
        "time",
    ),
    *(
        {"type": "string"},
        {"type": "integer"},
        {"type": "object"},
        {"type": "array"},
        {"$ref": "#"},
        {"not": {}},
        ["a", "b"],
    ),
    *(
        {"$ref": "#/$defs/x"},
        {"x": {"type": "null"}},
        {"a": {"$ref": "#"}},
        ["string", "null"],
        [{"type": "number"}, {}],
    ),
)
PIECES = (
    *(json.dumps(word) for word in KEYWORDS),
    *(json.dumps(value) for value in VALUES),
    *(f"{json.dumps(word)}: " for word in KEYWORDS),
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "\\u0000",
        "\\ud800",
        "\\ud83d\\ude00",
        "NaN",
        "Infinity",
        "1e999",
        "~1",
        "~0",
        "%25",
    ),
)
# keywords that the library and the engine read alike, so that a whole text can be judged
JUDGED = {
    *(
        "type",
        "enum",
        "const",
        "maximum",
        "minimum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
    ),
    *(
        "items",
        "prefixItems",
        "maxItems",
        "minItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "properties",
    ),
    *(
        "additionalProperties",
        "required",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "allOf",
        "anyOf",
        "oneOf",
    ),
    *(
        "not",
        "if",
        "then",
        "else",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "dependentSchemas",
    ),
}
vocabulary = make_vocabulary()


def fresh(source: random.Random) -> str:
    """Return a random schema, or a keyword with a value."""
    if source.random() < 0.5:
        return json.dumps(SchemaMaker(source).schema(source.choice((0, 1, 2, 2))))
    return f"{json.dumps(source.choice(KEYWORDS))}: {json.dumps(source.choice(VALUES))}"


def value_of(source: random.Random) -> Any:
    """Return a random value for a keyword."""
    if source.random() < 0.4:
        return SchemaMaker(source).schema(source.choice((0, 1, 2)))
    return json.loads(json.dumps(source.choice(VALUES)))


def around(value: Any, source: random.Random) -> Any:
    """Return a schema with another one in it."""
    if source.random() < 0.5:
        return {source.choice(("not", "items", "then", "additionalProperties", "contains")): value}
    return {source.choice(("allOf", "anyOf", "oneOf")): [value, value_of(source)]}


mutator = TreeMutator(KEYWORDS, value_of, around, TextMutator(PIECES, fresh))


def mutate(data: bytes, source: random.Random) -> bytes:
    return mutator.mutate(data, source)


def seeds() -> Iterator[bytes]:
    """Yield each keyword with some values, and random schemas."""
    source = random.Random(0)
    for word in KEYWORDS:
        for value in source.sample(VALUES, 3):
            yield b"0" + json.dumps({word: value, "$defs": {"x": {"type": "boolean"}}}).encode()
    maker = SchemaMaker(source)
    for _ in range(150):
        yield bytes([source.randrange(48, 112)]) + json.dumps(maker.schema(3)).encode()


def run(data: bytes) -> None:
    options = data[0] if data else 0
    source = random_of(data)
    try:
        text = data[1:].decode("utf-8", "surrogateescape")
        schema: Any = text
        if options & 1:
            schema = json.loads(text)
    except (ValueError, RecursionError):
        schema = text
    order = "any" if options >> 1 & 1 else "schema"
    try:
        grammar = sm.Grammar.from_json_schema(
            schema,
            draft=DRAFTS[options >> 2 & 7],
            whitespace=WHITESPACE[options % len(WHITESPACE)],
            property_order=order,
            on_unsupported="relax" if options >> 5 & 1 else "error",
            spelling="plain" if options >> 4 & 1 else "any",
            formats="annotate" if options % 5 == 0 else "assert",
            limits=LIMITS,
        )
        walk = walk_grammar(grammar, vocabulary, source, 10)
        if source.random() < 0.15:
            judge(text, walk, DRAFTS[options >> 2 & 7])
    except NAMED_ERRORS:
        return


def judge(text: str, walk: Walk, draft: str | None) -> None:
    """Lead the text of a walk to its end, and have the library ``jsonschema`` judge it."""
    if draft not in (None, "2020-12"):
        return
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(schema, dict) or not is_judged(schema):
        return
    matcher = walk.matcher
    if not finish(matcher, walk):
        return
    import jsonschema

    try:
        instance = json.loads(walk.text, parse_float=exact_number)
        jsonschema.Draft202012Validator.check_schema(schema)
        valid = jsonschema.Draft202012Validator(schema).is_valid(instance)
    except (ValueError, jsonschema.SchemaError, RecursionError, OverflowError):
        return
    expect(valid, "jsonschema refuses what the grammar allows", text, walk.text)


def exact_number(written: str) -> int | Decimal:
    """Return the number that is written, which a float would round. Raises: ValueError if it is a large one."""
    number = Decimal(written)
    if number and not -30 < number.adjusted() < 30:
        raise ValueError("too large to be judged")
    return int(number) if number == number.to_integral_value() else number


def is_judged(schema: Any) -> bool:
    """Tell whether a schema has only keywords that are judged alike. Numbers are those that floats hold."""
    todo = [(schema, True)]
    while todo:
        node, is_schema = todo.pop()
        if isinstance(node, dict):
            if is_schema and not set(node) <= JUDGED:
                return False
            for key, value in node.items():
                named = is_schema and key in ("properties", "dependentSchemas", "dependentRequired")
                if named and isinstance(value, dict):
                    todo += [(part, True) for part in value.values()]
                elif not is_schema or key not in ("enum", "const"):
                    todo.append((value, is_schema))
                else:
                    todo.append((value, False))
        elif isinstance(node, list):
            todo += [(part, is_schema) for part in node]
        elif isinstance(node, int | float) and not isinstance(node, bool) and not abs(node) < 1e6:
            return False
    return True


def finish(matcher: Any, walk: Walk) -> bool:
    """Go on by single bytes that close what is open; return whether the text ended."""
    for _ in range(60):
        if matcher.is_accepting():
            return True
        options = matcher.expected_bytes()
        for byte in b'"]}0e1:, ':
            if byte in options:
                break
        else:
            byte = min(options, default=0)
        if not matcher.accept_string(bytes([byte])):
            return False
        walk.text += bytes([byte])
    return False
