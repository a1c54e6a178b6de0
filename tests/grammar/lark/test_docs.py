"""The examples of docs/lark.md do what the page says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.golden import page_examples

from stackmask.grammar.grammar import Grammar

PAGE = Path(__file__).parents[3] / "docs" / "lark.md"


@pytest.mark.parametrize(
    "example", page_examples(PAGE, "lark"), ids=lambda example: example[0].split("\n")[0]
)
def test_example(example: tuple[str, list[str], list[str]]) -> None:
    text, accepted, rejected = example
    grammar = Grammar.from_lark(text)
    assert accepted
    assert rejected
    assert [line for line in accepted if not grammar.accepts(json.loads(line))] == []
    assert [line for line in rejected if grammar.accepts(json.loads(line))] == []
