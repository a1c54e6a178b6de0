"""Hostile structural tags, tools and grammars of the model profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .request import Request, grow, grow_schema, grow_tag

FREE: dict[str, Any] = {"type": "any_text"}


def nested(kind: str, depth: int) -> dict[str, Any]:
    """Return formats of one kind in each other."""
    found = FREE
    for _ in range(depth):
        found = {"type": kind, "content": found}
    return found


def tag(begin: str, end: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return a tag."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def triggered(names: list[str], **options: Any) -> dict[str, Any]:
    """Return free text with a tag for each name."""
    tags = [tag(name, "</>", FREE) for name in names]
    return {"type": "triggered_tags", "triggers": names, "tags": tags, **options}


def markers() -> Iterator[Request]:
    """Markers that are long, many, or reach into each other."""
    yield from grow_tag("tag-long-end", (1000, 60_000), lambda n: tag("<", "a" * n, FREE))
    yield from grow_tag(
        "tag-long-excludes", (1000, 30_000), lambda n: {**FREE, "excludes": ["a" * n, "a" * (n - 1) + "b"]}
    )
    yield from grow_tag(
        "tag-many-excludes", (300, 6000), lambda n: {**FREE, "excludes": [f"x{i}y" for i in range(n)]}
    )
    yield from grow_tag("tag-many-triggers", (50, 800), lambda n: triggered([f"<{i}>" for i in range(n)]))
    yield from grow_tag(
        "tag-overlapping-triggers",
        (10, 40),
        lambda n: triggered(["a" * (i % 5 + 1) + "b" * (n + i) + "a" for i in range(n)]),
    )
    yield from grow_tag(
        "tag-counted-text",
        (1000, 1_000_000),
        lambda n: tag("<", "aba", {**FREE, "max_chars": n, "excludes": ["bab"]}),
    )


def formats() -> Iterator[Request]:
    """Formats that nest, or repeat."""
    for kind in ("star", "plus", "optional"):
        yield from grow_tag(f"tag-nested-{kind}", (20, 95), lambda n, k=kind: nested(k, n))
    yield from grow_tag(
        "tag-texts-in-line", (20, 1500), lambda n: {"type": "sequence", "elements": [FREE] * n}
    )
    yield from grow_tag(
        "tag-texts-or",
        (20, 500),
        lambda n: {"type": "or", "elements": [{**FREE, "excludes": [f"{i}", "z"]} for i in range(n)]},
    )
    yield from grow_tag(
        "tag-repeat",
        (1000, 2_147_483_647),
        lambda n: {"type": "repeat", "min": n // 2, "max": n, "content": triggered(["a", "b"])},
    )
    yield from grow_tag("tag-in-tag", (10, 30), lambda n: _tags_in_tags(n))
    yield from grow_tag(
        "tag-regexes",
        (20, 600),
        lambda n: {
            "type": "or",
            "elements": [{"type": "regex", "pattern": f"([a-z]+)+{i}|(a|aa)*"} for i in range(n)],
        },
    )


def _tags_in_tags(depth: int) -> dict[str, Any]:
    found = FREE
    for level in range(depth):
        found = {
            "type": "triggered_tags",
            "triggers": ["<a>"],
            "tags": [tag("<a>", f"</{level % 3}>", found)],
        }
    return found


def tools() -> Iterator[Request]:
    """Many tools, and tools with hard schemas."""
    hard = {
        "type": "object",
        "properties": {f"k{i}": {"type": "string", "pattern": "^(a|b)*a(a|b){9}$"} for i in range(6)},
        "patternProperties": {"^(a+)+$": {"type": "array", "uniqueItems": True}},
    }
    for style in ("qwen_3", "qwen_3_coder", "kimi", "harmony", "cohere"):
        yield from grow(
            "tools",
            f"tools-many-{style}",
            (10, 300),
            lambda n, s=style: {
                "style": s,
                "tools": [
                    {"name": f"tool{i}", "parameters": {"type": "object", "properties": {f"a{i}": {}}}}
                    for i in range(n)
                ],
            },
        )
        yield from grow(
            "tools",
            f"tools-hard-{style}",
            (1, 60),
            lambda n, s=style: {
                "style": s,
                "tools": [{"name": f"tool{i}", "parameters": hard} for i in range(n)],
                "tool_choice": "required",
            },
        )


def layouts() -> Iterator[Request]:
    """The model profile: texts that nest and line up, numbers and strings that are narrowed."""
    profile = {"profile": "model"}
    yield from grow_schema(
        "model-indented",
        (20, 120),
        lambda n: True,
        options=profile,
        driver="text",
        text=lambda n: "".join("[\n" + "    " * (i + 1) for i in range(n)) + "1",
        steps=4000,
    )
    yield from grow_schema(
        "model-multiples",
        (10, 600),
        lambda n: {"type": "object", "properties": {f"k{i}": {"multipleOf": i * 0.07 + 1} for i in range(n)}},
        options=profile,
    )
    yield from grow_schema(
        "model-enums", (100, 4000), lambda n: {"enum": [f'"\\\n{i}' for i in range(n)]}, options=profile
    )
    yield from grow_schema(
        "model-unique",
        (10, 1000),
        lambda n: {
            "type": "array",
            "uniqueItems": True,
            "maxItems": n,
            "items": {"type": ["string", "number"]},
        },
        options=profile,
    )


def all_turns() -> Iterator[Request]:
    """Return all of these requests."""
    for made in (markers, formats, tools, layouts):
        yield from made()
