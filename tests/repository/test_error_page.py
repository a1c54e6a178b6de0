"""``docs/errors.md`` says what the tests have seen."""

from __future__ import annotations

from pathlib import Path

from repository.error_page import CLASSES, page

import stackmask as sm
from stackmask.grammar.source.diagnostic_codes import CODES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def test_the_page_is_what_the_goldens_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tests/repository/error_page.py"
    assert "from_sm." not in page()


def test_it_has_every_code_and_every_public_class() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"### {code}: " in text for code in CODES)
    public = {name for name in sm.__all__ if name.endswith("Error")}
    assert public <= {name for name, _, _ in CLASSES} | {"StackmaskError"}
