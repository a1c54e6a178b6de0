"""A real browser for pages, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def page_after_scripts(address: str, folder: Path, milliseconds: int = 2_000) -> str:
    """Return the HTML of a page after its scripts have run; skip without a browser."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    done = subprocess.run(
        [found, *options, f"--virtual-time-budget={milliseconds}", "--dump-dom", address],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout
