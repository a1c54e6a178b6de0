"""The examples of docs/lark.md do what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stackmask.grammar.grammar import Grammar

PAGE = Path(__file__).parents[3] / "docs" / "lark.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, list[str], list[str]]]:
    """Return each grammar of the page with its accepted and rejected lines."""
    found: list[tuple[str, list[str], list[str]]] = []
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "lark":
            found.append((text, [], []))
        elif language in ("accepted", "rejected"):
            found[-1][1 if language == "accepted" else 2].extend(text.splitlines())
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda example: example[0].split("\n")[0])
def test_example(example: tuple[str, list[str], list[str]]) -> None:
    text, accepted, rejected = example
    grammar = Grammar.from_lark(text)
    assert accepted
    assert rejected
    assert [line for line in accepted if not grammar.accepts(json.loads(line))] == []
    assert [line for line in rejected if grammar.accepts(json.loads(line))] == []
