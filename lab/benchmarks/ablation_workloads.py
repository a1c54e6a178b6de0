"""The workloads of ``ablation.py``: grammars, and texts that are written with them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pack import documents, maskbench, patterns
from record import use_checkout

use_checkout()

import stackmask as sm

REGEX_STRINGS = 3


@dataclass(frozen=True)
class Item:
    """A grammar as its source (how to make it, from what) and token ids of what is written with it."""

    how: str
    source: Any
    texts: list[list[int]]

    def grammar(self) -> sm.Grammar:
        match self.how:
            case "bundled":
                return sm.Grammar.bundled(self.source)
            case "sql":
                return sm.Grammar.from_sql("sqlite", schema=self.source)
            case "regex":
                return sm.Grammar.from_regex(self.source, search=True)
            case "pattern":
                return sm.Grammar.from_regex(self.source)
            case "ebnf":
                return sm.Grammar.from_ebnf(self.source)
        return sm.Grammar.from_json_schema(self.source, property_order=self.how)


@dataclass(frozen=True)
class Sizes:
    """How much of each workload."""

    schemas: int
    documents: int
    queries: int
    scoped: int
    patterns: int
    tokens: int = 1 << 20  # of a query
    dialects: tuple[str, ...] = ("sqlite", "postgres")


SIZES = Sizes(schemas=8, documents=2, queries=1, scoped=1, patterns=16, tokens=10, dialects=("sqlite",))
SCOPED_QUERIES = 2


# --- workloads --------------------------------------------------------------------------------------


def schema_items(data: Path, encode: Callable[[str], list[int]], order: str, sizes: Sizes) -> list[Item]:
    records = maskbench(data, 1)
    return [
        Item(order, r["schema"], [encode(json.dumps(t["data"], ensure_ascii=False)) for t in r["tests"]])
        for r in records[: sizes.schemas]
    ]


def sql_items(data: Path, encode: Callable[[str], list[int]], sizes: Sizes) -> list[Item]:
    from sql import read_rows

    items = []
    sources = {"sqlite": ("spider/dev.jsonl", "bird/dev.jsonl.xz"), "postgres": ("sql-eval/postgres.jsonl",)}
    for dialect in sizes.dialects:
        files = sources[dialect]
        rows = [row["query"] for file in files for row in read_rows(data, file)]
        random.Random(2).shuffle(rows)
        texts = [encode(query)[: sizes.tokens] for query in rows[: sizes.queries]]
        items.append(Item("bundled", dialect, texts))
    return items


def scoped_items(data: Path, encode: Callable[[str], list[int]], sizes: Sizes) -> list[Item]:
    """Return grammars of the schemas of databases, each with queries of its own."""
    from sql import read_rows
    from sql_walks import schemas

    rows: dict[str, list[str]] = {}
    for file in ("spider/dev.jsonl", "bird/dev.jsonl.xz"):
        for row in read_rows(data, file):
            rows.setdefault(row["db_id"], []).append(row["query"])
    tables = schemas(data)
    names = sorted(rows)
    random.Random(3).shuffle(names)
    return [
        Item("sql", tables[name], [encode(query)[: sizes.tokens] for query in rows[name][:SCOPED_QUERIES]])
        for name in names[: sizes.scoped]
    ]


def regex_items(data: Path, encode: Callable[[str], list[int]], sizes: Sizes) -> list[Item]:
    cases = patterns(data)
    random.Random(4).shuffle(cases)
    return [
        Item("regex", case["pattern"], [encode(text) for text in case["accept"][:REGEX_STRINGS]])
        for case in cases[: sizes.patterns]
    ]


def json_items(data: Path, tokenizer: Any, sizes: Sizes) -> list[Item]:
    return [Item("bundled", "json", documents(data, tokenizer)[: sizes.documents])]


# what people write and the corpora hardly hold: the grammar, and a text
ADVERSE = (
    (
        "schema",
        {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": {"type": "string"},
        },
        '{"name": "abc", "x-foo": 12, "other": "hello"}',
    ),
    (
        "schema",
        {
            "$defs": {
                "v": {
                    "type": "object",
                    "patternProperties": {"^\\$": {"$ref": "#/$defs/v"}},
                    "additionalProperties": {"type": "string"},
                }
            },
            "$ref": "#/$defs/v",
        },
        '{"$a": {"b": "c", "$d": {}}, "other": "hello"}',
    ),
    ("schema", {"type": "string", "not": {"pattern": "^(foo|bar)"}, "maxLength": 80}, '"this is no food"'),
    ("ebnf", "root ::= n+\nn ::= [a-z]+ | [A-Z] [a-z]*", "helloWorldIsCamelCase"),
    ("pattern", r"(\S+\s+){0,500}", "It was a dark and stormy night; the rain fell in torrents, except " * 3),
    ("pattern", r"(\w+[ ,.]\s?){1,300}", "It was a dark and stormy night, the rain fell in torrents, " * 3),
)


def adverse_items(encode: Callable[[str], list[int]]) -> list[Item]:
    return [Item(how, source, [encode(text)]) for how, source, text in ADVERSE]


WORKLOADS = ("schemas", "schemas, any order", "json", "sql", "sql of a schema", "regexes", "adverse")


def make_workload(name: str, data: Path, tokenizer: Any, sizes: Sizes) -> list[Item]:
    """Return the grammars and texts of a workload."""

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    match name:
        case "schemas":
            return schema_items(data, encode, "schema", sizes)
        case "schemas, any order":
            return schema_items(data, encode, "any", sizes)
        case "json":
            return json_items(data, tokenizer, sizes)
        case "sql":
            return sql_items(data, encode, sizes)
        case "sql of a schema":
            return scoped_items(data, encode, sizes)
        case "adverse":
            return adverse_items(encode)
    return regex_items(data, encode, sizes)
