"""The pages for those who come from other libraries: what they show of this one runs and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository.tree import REPO

PAGES = sorted((REPO / "docs" / "migrate").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)


def test_there_are_pages() -> None:
    assert [page.stem for page in PAGES] == ["llguidance", "outlines", "xgrammar"]


@pytest.mark.campaign
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_of_a_page_print_what_it_says(page: Path) -> None:
    pytest.importorskip("pydantic")
    pytest.importorskip("transformers")
    program = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == SHOWN.findall(program)
