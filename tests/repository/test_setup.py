"""What ``setup.py`` takes for changed."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from repository.tree import REPO

pytest.importorskip("Cython")
pytest.importorskip("setuptools")


@pytest.fixture(scope="module")
def setup() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(REPO)
        patch.setattr("sys.argv", ["setup.py", "--version"])
        return runpy.run_path("setup.py")


def test_files_outside_of_the_tree_are_told_apart_by_their_versions(
    setup: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pip installs Cython and NumPy anew for each command."""
    from Cython.Build import Dependencies

    outside = tmp_path / "stdint.pxd"
    outside.touch()
    os.utime(outside, (2e9, 2e9))
    own = REPO / "pda" / "ids.pxd"
    extension = SimpleNamespace(sources=["pda/ids.pxd"], depends=[str(outside)])
    assert own.stat().st_mtime <= setup["newest"](extension) < 2e9
    monkeypatch.setattr(Dependencies.DependencyTree, "timestamp", None)
    monkeypatch.setattr("Cython.Build.cythonize", lambda extensions, **_: extensions)
    monkeypatch.setitem(setup["translated"].__globals__, "ROOT", tmp_path / "tree")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "own.pyx").touch()
    assert setup["translated"]([]) == []
    timestamp = Dependencies.DependencyTree.timestamp
    assert timestamp(None, str(outside)) == 0.0
    assert timestamp(None, "own.pyx") == (tmp_path / "tree" / "own.pyx").stat().st_mtime
