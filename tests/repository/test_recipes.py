"""The recipes and the quickstart run: the blocks of a page are one program, which prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from repository.tree import REPO, tracked_files
from support.campaign import mostly_campaign

PAGES = [path for path in tracked_files() if path.startswith("docs/recipes/") or path == "docs/quickstart.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def test_there_are_recipes() -> None:
    assert len(PAGES) >= 4


@pytest.mark.parametrize("page", mostly_campaign(PAGES, 0))
def test_a_recipe_runs(page: str) -> None:
    program = "\n".join(BLOCK.findall((REPO / page).read_text(encoding="utf-8")))
    needed = {*IMPORT.findall(program), "transformers"} - {"stackmask"}
    if "TestClient" in program:
        needed.add("httpx")
    for name in sorted(needed):
        pytest.importorskip(name)
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = PRINTED.findall(program)
    assert printed
    assert done.stdout.splitlines() == printed
