"""The examples of docs/grammar.md do what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import check_samples, page_examples

from stackmask.grammar.grammar import Grammar

PAGE = Path(__file__).parents[2] / "docs" / "grammar.md"


@pytest.mark.parametrize(
    "example", page_examples(PAGE, "ebnf"), ids=lambda example: example[0].split("\n")[0]
)
def test_example(example: tuple[str, list[str], list[str]]) -> None:
    text, accepted, rejected = example
    assert accepted, "an example shows something"
    check_samples(Grammar.from_ebnf(text, None).rules, accepted, rejected)
