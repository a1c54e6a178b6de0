"""The examples of docs/regex.md run, and its error is what a user reads."""

from __future__ import annotations

import pytest
from support.byte_matcher import ByteMatcher
from support.pages import blocks, run_page

from stackmask import Grammar, GrammarError


def test_examples() -> None:
    names = run_page("docs/regex.md")
    for name, text, other in (
        ("phone", "(555) 123-4567", "555 123-4567"),
        ("date", "2024-02-30", "2024-2-3"),
        ("name", "aB_1", "Ab"),
        ("key", "x-é", "ax-"),
        ("raw", b"\x89PNG\xff", b"\x89PNG\x00"),
        ("answer", "maybe", "may"),
        ("domain", "a-b.example.org", "a--b.example.org"),
        ("untagged", "a <scripts>\n", "a <script>"),
    ):
        matcher = ByteMatcher(names[name])
        assert matcher.matches(text), name  # type: ignore[arg-type]
        assert not matcher.matches(other), name  # type: ignore[arg-type]


def test_the_error() -> None:
    (shown,) = blocks("docs/regex.md", "text")
    with pytest.raises(GrammarError) as refused:
        Grammar.from_regex(r"a(\d{2,1}")
    assert shown.rstrip("\n") in str(refused.value)


def test_what_the_tables_say_is_refused() -> None:
    for pattern, flavor in (
        (r"(a)\1", "ecma"),
        (r"(a)?(?(1)b|c)", "python"),
        ("(?>(?:a|bc)*)d", "python"),
        (r"\p{RGI_Emoji}", "ecma"),
        ("(?L:a)", "python"),
        (r"(?:(?:\b|x){50}){50}", "ecma"),
    ):
        with pytest.raises(GrammarError):
            Grammar.from_regex(pattern, flavor=flavor)  # type: ignore[arg-type]
    for pattern in ("(?>a|b)c", "a*+b", "(?:ab)++c"):
        Grammar.from_regex(pattern, flavor="python")
