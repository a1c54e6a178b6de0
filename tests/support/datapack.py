"""Find the data pack that some tests check against; it is no part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]


def datapack() -> Path | None:
    """Return the folder of the data pack: ``STACKMASK_DATA``, or ``../shared/data`` beside the checkout."""
    path = Path(os.environ.get("STACKMASK_DATA", REPO.parent / "shared" / "data"))
    return path if path.is_dir() else None


needs_datapack = pytest.mark.skipif(
    datapack() is None, reason="the data pack is not there (set STACKMASK_DATA to its folder)"
)
