"""The blocks of a page are one program, which prints what the page says: recipes, README, and pages for newcomers."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from repository.tree import tracked_files
from support.campaign import mostly_campaign
from support.pages import blocks

PAGES = [path for path in tracked_files() if re.match(r"docs/(?:recipes|migrate)/", path)]
PAGES += ["README.md", "docs/quickstart.md", "docs/security.md"]
IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\) +# (.*)$", re.MULTILINE)


def test_there_are_pages() -> None:
    assert len(PAGES) >= 11


@pytest.mark.parametrize("page", mostly_campaign(PAGES, 0))
def test_a_page_runs(page: str) -> None:
    program = "\n".join(blocks(page, "python"))
    needed = {*IMPORT.findall(program), "transformers", "pydantic"} - {"stackmask"}
    if "TestClient" in program:
        needed.add("httpx")
    for name in sorted(needed):
        pytest.importorskip(name)
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = PRINTED.findall(program)
    assert printed
    assert done.stdout.splitlines() == printed


def test_examples_of_the_readme_are_short() -> None:
    examples = blocks("README.md", "python")
    assert examples
    assert [example for example in examples if len(example.splitlines()) > 20] == []
