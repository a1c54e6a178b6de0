"""Make the documents and schemas that the engine benchmark runs over: deterministic, and not of any corpus."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

WORDS = """
amber basin cedar delta ember fjord garnet harbor island juniper kernel lantern meadow north onyx prairie
quartz river summit tundra umber valley willow yarrow zephyr account balance customer invoice order
payment product quantity region shipment status supplier total warehouse Zürich naïve señor
""".split()  # noqa: SIM905 - a list of fifty quoted words is longer
NAMES = [word for word in WORDS if word.isascii() and word not in ("order", "north")]


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def json_value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(10 if depth else 7)
    if kind < 3:
        return sentence(rng, rng.randint(1, 8))
    if kind == 3:
        return rng.randint(-1000, 1_000_000)
    if kind == 4:
        return round(rng.uniform(-1000, 1000), 3)
    if kind == 5:
        return rng.choice([True, False, None])
    if kind == 6:
        return f'a "{rng.choice(WORDS)}"\n\t\\ {rng.choice(WORDS)}'
    if kind == 7:
        return [json_value(rng, depth - 1) for _ in range(rng.randint(0, 6))]
    return {
        f"{rng.choice(WORDS)}_{number}": json_value(rng, depth - 1) for number in range(rng.randint(0, 6))
    }


def json_document(rng: random.Random, parts: int) -> str:
    """Return an array of ``parts`` nested records."""
    records = [{"id": n, "name": sentence(rng, 2), "value": json_value(rng, 4)} for n in range(parts)]
    return json.dumps(records, ensure_ascii=False)


def sql_operand(rng: random.Random) -> str:
    kind = rng.randrange(6)
    if kind < 2:
        return f"{rng.choice('ab')}.{rng.choice(NAMES)}"
    if kind == 2:
        return str(rng.randint(0, 10_000))
    if kind == 3:
        return f"'{sentence(rng, rng.randint(1, 3))}'"
    if kind == 4:
        return f"{rng.choice(['max', 'min', 'sum', 'coalesce'])}(a.{rng.choice(NAMES)})"
    return f"(b.{rng.choice(NAMES)} {rng.choice('+-*/')} {rng.randint(1, 99)})"


def sql_condition(rng: random.Random) -> str:
    operator = rng.choice(["=", "<>", "<", ">=", "LIKE", "IN"])
    if operator == "IN":
        return f"a.{rng.choice(NAMES)} IN ({rng.randint(1, 9)}, {rng.randint(10, 99)})"
    return f"a.{rng.choice(NAMES)} {operator} {sql_operand(rng)}"


def sql_document(rng: random.Random, parts: int) -> str:
    """Return one statement: ``parts`` queries, each a join of two tables, in a union."""
    queries = []
    for _ in range(parts):
        columns = ", ".join(
            f"{sql_operand(rng)} AS {rng.choice(NAMES)}_{n}" for n in range(rng.randint(1, 5))
        )
        join = rng.choice(["JOIN", "LEFT JOIN", "INNER JOIN"])
        tables = f"{rng.choice(NAMES)} AS a {join} {rng.choice(NAMES)} AS b ON a.id = b.{rng.choice(NAMES)}"
        condition = rng.choice([" AND ", " OR "]).join(sql_condition(rng) for _ in range(rng.randint(1, 4)))
        group = f" GROUP BY a.{rng.choice(NAMES)}" if rng.random() < 0.4 else ""
        queries.append(f"SELECT {columns} FROM {tables} WHERE {condition}{group}")
    return " UNION ALL ".join(queries)


def xml_content(rng: random.Random, depth: int) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(6 if depth else 3)
        if kind == 0:
            parts.append(f"{sentence(rng, 2)} &amp; {rng.choice(WORDS)}")
        elif kind < 3:
            parts.append(sentence(rng, rng.randint(1, 9)))
        else:
            parts.append(xml_element(rng, depth - 1))
    return "".join(parts)


def xml_element(rng: random.Random, depth: int) -> str:
    name = f"{rng.choice(NAMES)}-{rng.randrange(10)}"
    attribute = f' {rng.choice(NAMES)}="{sentence(rng, 2)}"' if rng.random() < 0.5 else ""
    if rng.random() < 0.1:
        return f"<{name}{attribute}/>"
    return f"<{name}{attribute}>{xml_content(rng, depth)}</{name}>"


def xml_document(rng: random.Random, parts: int) -> str:
    """Return one root with ``parts`` elements, nested up to six deep."""
    return "<records>\n" + "\n".join(xml_element(rng, 6) for _ in range(parts)) + "\n</records>"


DOCUMENTS: dict[str, Callable[[random.Random, int], str]] = {
    "json": json_document,
    "sql": sql_document,
    "xml": xml_document,
}


def document_of(kind: str, tokens: int, encode: Callable[[str], list[int]]) -> list[int]:
    """Return a document of at least ``tokens`` tokens, and not many more, as token ids."""
    parts = 8
    while True:
        ids = encode(DOCUMENTS[kind](random.Random(11), parts))
        if len(ids) >= tokens:
            return ids
        parts = max(parts + 1, int(parts * min(tokens / len(ids), 8)))


def text_of(length: int) -> str:
    """Return words of exactly ``length`` characters in all."""
    text = sentence(random.Random(5), length // 4 + 2)[:length]
    return text.ljust(length, "x")


def optional_properties(count: int) -> tuple[dict[str, Any], str]:
    """Return a schema of ``count`` optional properties, and a document that has about a hundred of them."""
    properties: dict[str, Any] = {}
    document: dict[str, Any] = {}
    for n in range(count):
        name = f"{NAMES[n % len(NAMES)]}_{n}"
        kind = ("string", "integer", "boolean")[n % 3]
        properties[name] = {"type": kind}
        if n % max(1, count // 100) == 0 or n == count - 1:
            document[name] = {"string": WORDS[n % len(WORDS)], "integer": n, "boolean": True}[kind]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema, json.dumps(document, ensure_ascii=False)


def resources(kinds: int, parts: int) -> tuple[dict[str, Any], str]:
    """Return a schema of the size and shape of FHIR's: ``kinds`` resources over ``parts`` data types; and a document."""
    rng = random.Random(7)
    patterns = ("^[A-Za-z0-9\\-\\.]{1,64}$", "^-?[0-9]+$", "^[^\\s]+(\\s[^\\s]+)*$")

    def members(owner: int, least: int, most: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for n in range(rng.randint(least, most)):
            kind = rng.randrange(5)
            reference = {"$ref": f"#/definitions/Part{rng.randrange(parts)}"}
            about = {"description": sentence(rng, 24)}
            value = (
                {"type": "string", "pattern": patterns[n % 3], **about},
                {**reference, **about},
                {"type": "array", "items": reference, **about},
                {"enum": [f"{word}-{n}" for word in rng.sample(NAMES, 4)], **about},
                {"type": "boolean", **about},
            )[kind]
            # eight names that all have, then names of its own
            found[f"{NAMES[n]}" if n < 8 else f"{rng.choice(NAMES)}{owner}_{n}"] = value
        return found

    definitions: dict[str, Any] = {}
    for n in range(parts):
        definitions[f"Part{n}"] = {
            "type": "object",
            "properties": members(-n, 8, 20),
            "additionalProperties": False,
        }
    for n in range(kinds):
        properties = {"resourceType": {"const": f"Kind{n}"}, **members(n, 20, 50)}
        definitions[f"Kind{n}"] = {
            "type": "object",
            "properties": properties,
            "required": ["resourceType"],
            "additionalProperties": False,
        }
    document: dict[str, Any] = {"resourceType": f"Kind{kinds - 1}"}
    for name, value in definitions[f"Kind{kinds - 1}"]["properties"].items():
        if "enum" in value:
            document[name] = value["enum"][1]
        elif value.get("type") == "boolean":
            document[name] = True
        elif value.get("type") == "array":
            document[name] = [{}, {}]
        elif "$ref" in value:
            document[name] = {}
    one_of = [{"$ref": f"#/definitions/Kind{n}"} for n in range(kinds)]
    return {"oneOf": one_of, "definitions": definitions}, json.dumps(document, ensure_ascii=False)


def enum_values(count: int) -> Iterator[str]:
    """Yield ``count`` different strings that share beginnings."""
    for n in range(count):
        yield f"{WORDS[n % len(WORDS)]} {WORDS[n // len(WORDS) % len(WORDS)]} {n // len(WORDS) ** 2}"


def nested(depth: int) -> tuple[dict[str, Any], str]:
    """Return objects in objects, ``depth`` deep, as a schema; and the document that it allows."""
    schema: dict[str, Any] = {"type": "integer"}
    text = "1"
    for level in range(depth):
        name = f"level{level}"
        schema = {
            "type": "object",
            "properties": {name: schema},
            "required": [name],
            "additionalProperties": False,
        }
        text = f'{{"{name}": {text}}}'
    return schema, text


def schema_text(schema: Any) -> str:
    """Return a schema as JSON text, without recursion: ``json.dumps`` has a limit on depth."""
    pieces: list[str] = []
    todo: list[Any] = [(schema,)]  # a tuple of one holds a value that is still to be written
    while todo:
        top = todo.pop()
        if isinstance(top, str):
            pieces.append(top)
            continue
        (value,) = top
        if not isinstance(value, dict):
            pieces.append(json.dumps(value, ensure_ascii=False))
            continue
        todo.append("}")
        for number, (key, item) in enumerate(reversed(value.items())):
            todo.append((item,))
            comma = ", " if number < len(value) - 1 else ""
            todo.append(f"{comma}{json.dumps(key, ensure_ascii=False)}: ")
        todo.append("{")
    return "".join(pieces)
