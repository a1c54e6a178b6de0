"""Structural tags: a byte of options, then the tag as JSON text, which need not be well-formed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import stackmask as sm
from fuzz.checks import LIMITS, NAMED_ERRORS, make_vocabulary, random_of, walk_grammar
from fuzz.mutators import TextMutator
from fuzz.trees import TreeMutator

MAX_LENGTH = 1200
FORMATS = (
    *(
        "const_string",
        "regex",
        "grammar",
        "json_schema",
        "any_text",
        "sequence",
        "or",
        "optional",
        "plus",
        "star",
    ),
    *("repeat", "tag", "triggered_tags", "dispatch", "tags_with_separator", "token", "exclude_token"),
    *("any_tokens", "token_triggered_tags", "token_dispatch"),
)
STYLES = (
    *("json", "qwen_xml", "minimax_xml", "minimax_m3_xml", "deepseek_xml", "deepseek_v4_1_xml", "glm_xml"),
    *("cohere_xml", "kimi_k3_xml"),
)
WORDS = (
    *(
        "type",
        "value",
        "pattern",
        "grammar",
        "json_schema",
        "style",
        "any_order",
        "max_whitespace_cnt",
        "excludes",
    ),
    *(
        "max_chars",
        "max_tokens",
        "elements",
        "content",
        "min",
        "max",
        "begin",
        "end",
        "triggers",
        "tags",
        "format",
    ),
    *(
        "at_least_one",
        "stop_after_first",
        "loop",
        "separator",
        "rules",
        "token",
        "exclude_tokens",
        "trigger_tokens",
    ),
    *("structures", "schema"),
)
STRINGS = (
    "a",
    "ab",
    "<",
    "<a",
    "<a>",
    "</a>",
    "<|x|>",
    "<|y|>",
    "",
    "é",
    '"',
    "{",
    "}",
    "\n",
    "aab",
    "a:",
    "name",
)
TOKENS: tuple[Any, ...] = ("<|x|>", "<|y|>", 97, 98, 260, 300, "no")
SCHEMAS: tuple[Any, ...] = (
    True,
    {"type": "string"},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"enum": ["x", 1]}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "boolean"}}}},
    {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "é": {}}, "minProperties": 1},
    {"type": "array"},
)
vocabulary = make_vocabulary()


def form(source: random.Random, depth: int = 2) -> dict[str, Any]:
    """Return a random format, mostly a meaningful one."""
    kind = source.choice(FORMATS[:5] if depth == 0 else FORMATS)
    made: dict[str, Any] = {"type": kind}
    if kind == "const_string":
        made["value"] = source.choice(STRINGS)
    elif kind == "regex":
        made["pattern"] = source.choice(("a+b?", "[^<]{0,3}", ".*", "(?!a)[a-c]+", "\\d{2}"))
    elif kind == "grammar":
        made["grammar"] = source.choice(('root ::= "a" root | "b"', "root ::= [a-z]+", "root ::= <|x|> 'a'"))
    elif kind == "json_schema":
        made["json_schema"] = source.choice(SCHEMAS)
        made |= source.choice(
            ({}, {"style": source.choice(STYLES)}, {"style": source.choice(STYLES), "any_order": True})
        )
    elif kind == "any_text":
        made |= source.choice(
            ({}, {"excludes": [source.choice(STRINGS)]}, {"max_chars": 3}, {"max_tokens": 2})
        )
    elif kind in ("sequence", "or"):
        made["elements"] = [form(source, depth - 1) for _ in range(source.randint(1, 3))]
    elif kind in ("optional", "plus", "star", "repeat"):
        made["content"] = form(source, depth - 1)
        if kind == "repeat":
            made |= {"min": source.randint(0, 2), "max": source.choice((-1, 2, 3))}
    elif kind == "tag":
        made = tag(source, depth)
    elif kind in ("triggered_tags", "tags_with_separator", "token_triggered_tags"):
        made["tags"] = [tag(source, depth) for _ in range(source.randint(1, 2))]
        if kind == "tags_with_separator":
            made["separator"] = source.choice(STRINGS)
        elif kind == "triggered_tags":
            made["triggers"] = sorted({part["begin"][:3] for part in made["tags"]})
        else:
            made["trigger_tokens"] = [source.choice(TOKENS) for _ in made["tags"]]
            for part, token in zip(made["tags"], made["trigger_tokens"], strict=True):
                part["begin"] = {"type": "token", "token": token}
        made |= source.choice(({}, {}, {"at_least_one": True}, {"stop_after_first": True}))
    elif kind in ("dispatch", "token_dispatch"):
        keys = STRINGS if kind == "dispatch" else TOKENS
        made["rules"] = [[source.choice(keys), form(source, depth - 1)] for _ in range(source.randint(1, 2))]
        made |= source.choice(({}, {"loop": False}))
    elif kind == "token":
        made["token"] = source.choice(TOKENS)
    elif kind in ("exclude_token", "any_tokens"):
        made |= source.choice(({}, {"exclude_tokens": [source.choice(TOKENS), source.choice(TOKENS)]}))
        if kind == "any_tokens":
            made |= source.choice(({}, {"max_tokens": 3}))
    return made


def tag(source: random.Random, depth: int) -> dict[str, Any]:
    """Return a random tag."""
    ends = (
        source.choice(STRINGS) if source.random() < 0.8 else [source.choice(STRINGS), source.choice(STRINGS)]
    )
    return {"type": "tag", "begin": source.choice(STRINGS), "content": form(source, depth - 1), "end": ends}


def value_of(source: random.Random) -> Any:
    """Return a random value of a field."""
    way = source.random()
    if way < 0.4:
        return form(source, source.choice((0, 1, 1, 2)))
    if way < 0.7:
        return source.choice(STRINGS)
    if way < 0.8:
        return json.loads(json.dumps(source.choice(SCHEMAS)))
    return source.choice((0, 1, 2, 3, -1, 5, 1000, True, False, None, [], {}, 0.5, ["a", "b"], 10**20))


def around(value: Any, source: random.Random) -> Any:
    """Return a format with another one in it."""
    way = source.random()
    if way < 0.3:
        return {"type": source.choice(("optional", "plus", "star")), "content": value}
    if way < 0.6:
        return {"type": source.choice(("sequence", "or")), "elements": [value, form(source, 1)]}
    return {"type": "tag", "begin": source.choice(STRINGS), "content": value, "end": source.choice(STRINGS)}


def fresh(source: random.Random) -> str:
    """Return a format as text."""
    return json.dumps(form(source, source.choice((0, 1, 2))))


PIECES = (
    *(f'"{word}": ' for word in WORDS),
    *(json.dumps(string) for string in STRINGS),
    *"{}[],:",
    "true",
    "-1",
)
mutator = TreeMutator(WORDS, value_of, around, TextMutator(PIECES, fresh))


def mutate(data: bytes, source: random.Random) -> bytes:
    return mutator.mutate(data, source)


def seeds() -> Iterator[bytes]:
    """Yield random tags."""
    source = random.Random(0)
    for _ in range(200):
        yield b"0" + json.dumps({"type": "structural_tag", "format": form(source)}).encode()
    for _ in range(20):
        part = {
            "begin": source.choice(STRINGS),
            "schema": source.choice(SCHEMAS),
            "end": source.choice(STRINGS),
        }
        yield b"0" + json.dumps({"structures": [part], "triggers": [source.choice(STRINGS)]}).encode()


def run(data: bytes) -> None:
    text = data[1:].decode("utf-8", "surrogateescape")
    read: Any = text
    if data[:1] < b"@":
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = text
    try:
        grammar = sm.Grammar.from_structural_tag(read, limits=LIMITS)
        walk_grammar(grammar, vocabulary, random_of(data), 8)
    except NAMED_ERRORS:
        return
