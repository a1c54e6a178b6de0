"""Requests whose grammar is honest and whose use is not: long texts, walks, rollbacks, drafts, forks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from .request import Driver, Request

OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "tags": {"type": "array", "items": {"type": "string"}},
        "size": {"type": "number", "minimum": 0},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["name", "size"],
}
SUM = 'root ::= s\ns ::= s "+" t | t\nt ::= t "*" f | f\nf ::= [0-9]+ | "(" s ")"\n'
BRACKETS = 'root ::= v\nv ::= "[" (v ("," v)*)? "]" | [a-z]+\n'


def document(size: int) -> str:
    """Return a JSON text of about ``size`` bytes, of objects in an array."""
    chosen = random.Random(size)
    rows: list[Any] = []
    length = 2
    while length < size:
        row = {
            "name": f"n{chosen.randrange(10**6)}",
            "tags": ["a", "bc"],
            "size": chosen.random(),
            "more": {"x": 1},
        }
        rows.append(row)
        length += len(json.dumps(row)) + 2
    return json.dumps(rows)


def all_streams() -> Iterator[Request]:
    """Return the requests that use honest grammars without mercy."""
    schema = json.dumps({"type": "array", "items": OBJECT})
    deep = "[" * 4000 + "a" + "]" * 4000
    total = "+".join(f"({i}*{i + 1})" for i in range(2200))
    nested = '{"more":' * 2500 + "1" + "}" * 2500
    for size, steps in ((27_000, 20_000), (6_000, 4_000)):
        text = document(size)
        yield Request(
            f"stream-json-{size}", "stream", "json_schema", "true", driver="text", text=text, steps=steps
        )
        yield Request(
            f"stream-schema-{size}", "stream", "json_schema", schema, driver="text", text=text, steps=steps
        )
    yield Request("stream-sums", "stream", "ebnf", SUM, driver="text", text=total, steps=20_000)
    yield Request(
        "stream-deep-sums",
        "stream",
        "ebnf",
        SUM,
        driver="text",
        text="(" * 9000 + "1" + ")" * 9000,
        steps=20_000,
    )
    yield Request("stream-deep", "stream", "ebnf", BRACKETS, driver="text", text=deep, steps=20_000)
    yield Request("stream-nested", "stream", "json_schema", "true", driver="text", text=nested, steps=20_000)
    yield Request(
        "stream-string",
        "stream",
        "json_schema",
        "true",
        driver="text",
        text='"' + "lorem ipsum " * 2200 + '"',
        steps=20_000,
    )
    yield Request(
        "stream-number",
        "stream",
        "json_schema",
        "true",
        driver="text",
        text="1234567890" * 2700,
        steps=20_000,
    )
    drivers: tuple[Driver, ...] = ("rollback", "draft", "fork", "jump", "reset")
    walks: tuple[Driver, ...] = ("walk", "long")
    for driver in drivers:
        text = document(6_000)
        yield Request(f"{driver}-json", driver, "json_schema", "true", driver=driver, text=text, steps=2000)
        yield Request(f"{driver}-schema", driver, "json_schema", schema, driver=driver, text=text, steps=2000)
        yield Request(f"{driver}-sums", driver, "ebnf", SUM, driver=driver, text=total[:6000], steps=2000)
        yield Request(f"{driver}-deep", driver, "ebnf", BRACKETS, driver=driver, text=deep, steps=2000)
    for seed in range(4):
        driver = walks[seed % 2]
        yield Request(
            f"walk-json-{seed}", "walk", "json_schema", "true", driver=driver, steps=2000, seed=seed
        )
        yield Request(
            f"walk-schema-{seed}", "walk", "json_schema", schema, driver=driver, steps=2000, seed=seed
        )
        yield Request(f"walk-brackets-{seed}", "walk", "ebnf", BRACKETS, driver=driver, steps=2000, seed=seed)
