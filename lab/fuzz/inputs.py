"""Inputs that the tree keeps: small corpora, and those that once found something.

Both are files of one JSON value a line, ``corpus/TARGET.jsonl`` of inputs and ``found/TARGET.jsonl`` of
``{"input": …, "reason": …, "after": […]}``; "after" are inputs that must run before it on the same compilers. The bytes of an input are written as the characters U+0000 to U+00FF.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
CORPUS = FOLDER / "corpus"
FOUND = FOLDER / "found"


def corpus_of(name: str) -> list[bytes]:
    """Return the corpus of a target."""
    path = CORPUS / f"{name}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line).encode("latin-1") for line in path.read_text(encoding="utf-8").splitlines()]


def write_corpus(name: str, inputs: Iterable[bytes]) -> None:
    """Replace the corpus of a target."""
    CORPUS.mkdir(exist_ok=True)
    lines = [json.dumps(data.decode("latin-1")) for data in inputs]
    (CORPUS / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@dataclass(frozen=True)
class Found:
    """An input that found something, and the inputs that must run before it."""

    data: bytes
    reason: str
    after: tuple[bytes, ...] = ()


def found_of(name: str) -> list[Found]:
    """Return the inputs of a target that found something, and what they found."""
    path = FOUND / f"{name}.jsonl"
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Found(
            row["input"].encode("latin-1"),
            row["reason"],
            tuple(other.encode("latin-1") for other in row.get("after", ())),
        )
        for row in rows
    ]


def add_found(name: str, found: Found) -> None:
    """Keep an input that found something, unless it is known."""
    if all(found.data != other.data for other in found_of(name)):
        FOUND.mkdir(exist_ok=True)
        row: dict[str, Any] = {"input": found.data.decode("latin-1"), "reason": found.reason}
        if found.after:
            row["after"] = [data.decode("latin-1") for data in found.after]
        with (FOUND / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
