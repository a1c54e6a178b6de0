"""What is not a token is reported once, at the place where reading can go on."""

from __future__ import annotations

import pytest

from stackmask.grammar.lark.parser import read_tokens
from stackmask.grammar.source.diagnostics import Collector


@pytest.mark.parametrize(
    ("text", "kinds", "problems"),
    [
        (r"\/ a /b/", ["name", "regex"], [(0, 1)]),
        (r"\\/ a", ["name"], [(0, 1), (1, 2)]),
        ("\\", [], [(0, 1)]),
        ("\\\n/b/", ["regex"], []),
        ("<[5 <[5-9,^12]> <[^5]>", ["[", "number", "ids", "ids"], [(0, 1)]),
        ("/a\nb /b/", ["line", "name", "regex"], [(0, 1)]),
        ('"a\nb', ["line", "name"], [(0, 1)]),
        ("'a' b 'c\nd", ["name", "line", "name"], [(0, 3), (6, 7)]),
        ("%json {\nb", ["body", "line", "name"], [(8, 9)]),
        ("; b", ["name"], [(0, 1)]),
    ],
)
def test_what_is_no_token(text: str, kinds: list[str], problems: list[tuple[int, int]]) -> None:
    collector = Collector(0)
    tokens = read_tokens(text, collector)
    assert [token.kind for token in tokens[:-1]] == kinds
    assert [(found.span.start, found.span.end) for found in collector.found if found.span] == problems
