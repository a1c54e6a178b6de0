"""The site of the pages: its navigation has each page once, as docs/README.md sorts them, and it builds without warnings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository.tree import REPO, tracked_files

MADE = re.compile(r"api/\w+\.md|errors\.md")  # pages that docs/site/reference.py makes
PAGES = [path.removeprefix("docs/") for path in tracked_files() if re.match(r"docs/.*\.md$", path)]


def navigation() -> dict[str, list[str]]:
    """Return the pages of each part of the navigation, read without a library for YAML."""
    parts: dict[str, list[str]] = {}
    text = (REPO / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    for line in text.splitlines():
        if part := re.fullmatch(r"  - (.+):", line):
            parts[part[1]] = []
        elif page := re.fullmatch(r" {6,}- (?:.*: )?(\S+\.md)", line):
            list(parts.values())[-1].append(page[1])
    return parts


def test_every_page_is_in_one_of_four_parts() -> None:
    parts = navigation()
    assert list(parts) == ["Start here", "Guides", "Reference", "Contributing"]
    shown = sorted(page for pages in parts.values() for page in pages if not MADE.fullmatch(page))
    assert shown == sorted(PAGES)


def test_the_index_sorts_pages_as_the_navigation_does() -> None:
    sections = re.split(
        r"^## (.*)$", (REPO / "docs" / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    listed = {
        part: sorted(set(re.findall(r"\]\((?!\.\./)([^)#]+\.md)\)", body)))
        for part, body in zip(sections[1::2], sections[2::2], strict=True)
    }
    # decisions/README.md lists the decisions
    elsewhere = {"README.md", *(page for page in PAGES if re.match(r"decisions/\d", page))}
    wanted = {
        part: sorted(page for page in {*pages} - elsewhere if not MADE.fullmatch(page))
        for part, pages in navigation().items()
    }
    assert listed == wanted


@pytest.mark.campaign
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    if not (REPO / "build" / "view").is_dir():
        pytest.skip("the reference is read from build/view, which ./dev build makes")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        check=False,
        capture_output=True,
        text=True,
        cwd=REPO,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    loaded = re.compile(r"<(?:script|img)[^>]*src=\"https?:|<link[^>]*rel=\"stylesheet\"[^>]*href=\"https?:")
    assert [page for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
    engine = (tmp_path / "site" / "api" / "engine.html").read_text(encoding="utf-8")
    assert 'id="stackmask.Matcher.fill_next_token_bitmask"' in engine, "extensions are read from their stubs"
    assert "Write the tokens that may come next into a row of the mask" in engine
