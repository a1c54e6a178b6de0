"""Hostile requests whose cost is in what people are told: diagnostics, warnings, rule paths, reports, samples."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import chain as joined

from .request import LARGEST, Request, grow_ebnf, grow_schema

ROOM = LARGEST - 100  # characters that a run may take


def other_dialects() -> Iterator[Request]:
    """Texts that are no grammar of this dialect, so another one is looked for."""
    texts = {
        "blanks": " " * ROOM + "x",
        "lines-of-blanks": (" " * 200 + "\n") * 300 + "x =",
        "arrows": "->" * (ROOM // 2),
        "names": "a" * ROOM,
        "names-and-dots": "a." * (ROOM // 2),
        "abnf": "a = " + "1*" * (ROOM // 2),
        "iso": "a = " + "." * ROOM,
        "less-than": "<a" + " -" * (ROOM // 2),
    }
    for name, text in texts.items():
        yield Request(f"dialect-{name}", "dialects", "ebnf", text, driver="explain")


def comments() -> Iterator[Request]:
    """Comments with the beginnings of literals, inside of an operator that leaves nothing."""
    for name, text in {"brackets": "[" * ROOM, "escapes": '"\\' * (ROOM // 2 - 20)}.items():
        source = f'root ::= "a" & # {text}\n "b"'
        yield Request(f"comment-{name}", "comments", "ebnf", source, driver="explain")


def unclosed() -> Iterator[Request]:
    """Literals, patterns, comments and macros without an end: each sign in them could be a beginning."""
    texts = {
        "pattern": "root ::= /" + "\\/" * 32000,
        "strings": "root ::= Token(x x " + '\\"' * 30000,
        "comments": "root ::= " + "(*" * 30000,
        "number-signs": "root ::= Token(" + "#" * 40 + "\n!",
        "macros": "root ::= " + "Token(" * 10900,
    }
    for name, text in texts.items():
        yield Request(f"unclosed-{name}", "unclosed", "ebnf", text, driver="explain")
    marks = f'("\U0001f600{"a" * 31000}", x), excludes=("{"b" * 31000}",)'
    yield Request(
        "long-marks", "long-marks", "ebnf", f'root ::= TagDispatch({marks})\nx ::= "a"', driver="explain"
    )


def warned_of() -> Iterator[Request]:
    """Grammars with as many warnings as there is room for."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    sets = ["".join(random.Random(i).sample(letters, 9)) for i in range(4000)]
    texts = {
        "dots": 'root ::= "a" ' + "." * ROOM + ' "b"',
        "equal-alternatives": "root ::= " + " | ".join(['"a"'] * (ROOM // 6)),
        "hidden-alternatives": "root ::= " + " | ".join(["[a-ſ]", *(f'"{i}"' for i in range(6000))]),
        "unused": 'root ::= "a"\n' + "\n".join(f'r{i} ::= "b"' for i in range(4000)),
        "classes": "root ::= " + " | ".join(f"[{s}]" for s in sets),
    }
    for name, text in texts.items():
        yield Request(f"warnings-{name}", "warnings", "ebnf", text, driver="explain")


def refused() -> Iterator[Request]:
    """Texts whose rule path takes long to find."""

    def net(size: int) -> str:
        return "root ::= r0\n" + "\n".join(
            f'r{i} ::= "a" r{(i * 7 + 1) % size} | "a" r{(i * 3 + 2) % size} | "a"' for i in range(size)
        )

    yield from grow_ebnf("path-net", (40, 600), net, driver="explain", text="a" * 60)
    yield from grow_ebnf(
        "path-counts",
        (8, 60),
        lambda n: "root ::= " + "(" * n + '"a"' + "{4})" * n,
        driver="explain",
        text="aaaa",
    )
    yield from grow_ebnf(
        "path-alternatives",
        (100, 5000),
        lambda n: "root ::= x*\nx ::= " + " | ".join(f'"b{i}"' for i in range(n)),
        driver="explain",
        text="b12" * 300,
    )
    yield from grow_ebnf(
        "path-ambiguous",
        (1, 20),
        lambda n: 'root ::= s\ns ::= s s | "a" | "b"' + ' | s "c" s' * n,
        driver="explain",
        text="ab" * 60,
    )
    yield Request(
        "path-deep", "path-deep", "ebnf", 'root ::= "(" root ")" | "x"', {}, "explain", "(" * 2000, 2000
    )


def directives() -> Iterator[Request]:
    """Grammars that hold many others."""
    yield from grow_ebnf("parts-json", (100, 6000), lambda n: "root ::= " + "%json {} " * n, driver="explain")
    yield from grow_ebnf("parts-sql", (20, 8000), lambda n: "root ::= " + "%sql " * n, driver="explain")
    yield from grow_ebnf(
        "parts-choice", (5000,), lambda n: "root ::= %choice " + json.dumps(["a"] * n), driver="explain"
    )
    yield from grow_ebnf("parts-nested", (60_000,), lambda n: "root ::= %json " + "[" * n, driver="explain")


def schemas() -> Iterator[Request]:
    """Schemas with more contradictions and notes than anybody reads."""
    yield from grow_schema(
        "told-required",
        (100, 2000),
        lambda n: {
            "type": "object",
            "required": [f"r{i}x" for i in range(n)],
            "properties": {f"p{i}y": {} for i in range(n)},
            "additionalProperties": False,
        },
        driver="explain",
    )
    yield from grow_schema(
        "told-all-of",
        (30, 700),
        lambda n: {
            "allOf": [
                {"type": "object", "required": [f"r{i}"], "additionalProperties": False} for i in range(n)
            ]
        },
        driver="explain",
    )
    yield from grow_schema(
        "told-keywords", (4000,), lambda n: {f"unk{i}": 1 for i in range(n)}, driver="explain"
    )
    yield from grow_schema("told-type", (9000,), lambda n: {"type": "intger" * n}, driver="explain")


def all_explanations() -> Iterator[Request]:
    """Return all requests whose cost is in what people are told."""
    families = (other_dialects, comments, unclosed, warned_of, refused, directives, schemas)
    return joined.from_iterable(family() for family in families)
