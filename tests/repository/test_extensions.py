"""What ``docs/extend/`` asks of those who add a keyword or a dialect."""

from __future__ import annotations

import importlib
import re

import pytest
from repository.tree import REPO

from stackmask import Grammar
from stackmask.grammar.json_schema.algebra.keywords import _FUNCTIONS
from stackmask.grammar.json_schema.document.drafts import KEYWORDS, WITHOUT_EFFECT

# rows of the table that have another name than the keyword: the official test suite names them
ROWS = {
    "if": "if-then-else",
    "then": "if-then-else",
    "else": "if-then-else",
    "$recursiveAnchor": "recursiveRef",
    "$dynamicAnchor": "dynamicRef",
}


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_keyword_has_a_function_and_a_row(keyword: str) -> None:
    owner = KEYWORDS[keyword].read_with or keyword
    named = owner in _FUNCTIONS or keyword in WITHOUT_EFFECT
    assert named, f"`{owner}` has no function in algebra/keywords.py: see docs/extend/keyword.md"
    page = (REPO / "docs" / "json-schema.md").read_text(encoding="utf-8")
    row = f"| `{ROWS.get(keyword, keyword.lstrip('$'))}` |"
    assert row in page, f"docs/json-schema.md has no row that begins with {row}"


def test_every_keyword_function_belongs_to_a_draft() -> None:
    assert sorted(_FUNCTIONS.keys() - KEYWORDS.keys()) == []
    assert [name for name in _FUNCTIONS if KEYWORDS[name].read_with] == []


def test_keywords_without_a_function_are_few() -> None:
    """A keyword does not excuse itself: those that are read with another one, or say nothing of values."""
    assert {name: row.read_with for name, row in KEYWORDS.items() if row.read_with} == {
        "then": "if",
        "else": "if",
        "additionalItems": "items",
        "minContains": "contains",
        "maxContains": "contains",
        "$recursiveAnchor": "$recursiveRef",
    }
    assert {"$defs", "definitions", "$anchor", "$dynamicAnchor"} == WITHOUT_EFFECT


DIALECTS = {
    method: (module, page, tests)
    for method, module, page, tests in re.findall(
        r"^\| `(from_\w+)` \| `([\w.]+)` \| \[[^\]]*\]\(([^)]+)\) \| `([^`]+)` \|$",
        (REPO / "docs" / "extend" / "dialect.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


def test_every_dialect_is_in_the_table() -> None:
    methods = {name for name in dir(Grammar) if name.startswith("from_")}
    assert sorted(methods ^ DIALECTS.keys()) == [], "not both a method and a row of docs/extend/dialect.md"


@pytest.mark.parametrize("method", sorted(DIALECTS))
def test_dialect_has_a_front_end_a_page_and_tests(method: str) -> None:
    module, page, tests = DIALECTS[method]
    assert module.startswith("stackmask.grammar.")
    importlib.import_module(module)
    text = (REPO / "docs" / "extend" / page).read_text(encoding="utf-8")
    assert f"Grammar.{method}" in text
    assert (REPO / tests).exists()
