"""Blocks of code on the pages, and what they define when they run."""

from __future__ import annotations

import re
from typing import Any

from repository.tree import REPO

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    text = (REPO / page).read_text(encoding="utf-8")
    return [body for found, body in BLOCK.findall(text) if found == language]


def run_page(page: str, **names: Any) -> dict[str, Any]:
    """Run the Python blocks of a page, top to bottom, and return what they have defined."""
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec", dont_inherit=True), names)  # noqa: S102
    return names
