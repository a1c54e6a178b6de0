"""The page of errors has every class and every code, with what the goldens say."""

from __future__ import annotations

import re

from repository.error_page import CLASSES, example_of, page

import stackmask as sm
from stackmask.grammar.source.diagnostic_codes import CODES


def test_it_has_every_code_and_every_public_class() -> None:
    text = page()
    assert "from_sm." not in text
    assert [code for code in CODES if f"### {code}: " not in text] == []
    public = {name for name in sm.__all__ if name.endswith("Error")}
    assert public <= {name for name, _, _ in CLASSES} | {"StackmaskError"}


def test_an_example_of_a_code_shows_that_code_alone() -> None:
    """The message of a golden case, with its place and help."""
    found = {code: example for code in CODES if (example := example_of(code)) is not None}
    assert len(found) > len(CODES) // 2
    for code, (given, said) in found.items():
        assert given and re.search(rf"(?:error|warning)\[{code}\]: ", said), code
        assert len(re.findall(r"(?:error|warning)\[G\d+\]", said)) == 1, code
