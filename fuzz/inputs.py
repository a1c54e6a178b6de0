"""Inputs that the tree keeps: small corpora, and those that once found something.

Both are files of one JSON value a line, ``corpus/TARGET.jsonl`` of inputs and ``found/TARGET.jsonl`` of
``{"input": …, "reason": …}``. The bytes of an input are written as the characters U+0000 to U+00FF.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

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


def found_of(name: str) -> list[tuple[bytes, str]]:
    """Return the inputs of a target that found something, and what they found."""
    path = FOUND / f"{name}.jsonl"
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["input"].encode("latin-1"), row["reason"]) for row in rows]


def add_found(name: str, data: bytes, reason: str) -> None:
    """Keep an input that found something, unless it is known."""
    known = found_of(name)
    if all(data != other for other, _ in known):
        FOUND.mkdir(exist_ok=True)
        with (FOUND / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"input": data.decode("latin-1"), "reason": reason}) + "\n")
