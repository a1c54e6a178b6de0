"""The files that tests of the repository look at: its own, whatever else lies in the folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from repository.tree import REPO, files_of, tracked_files

OWN = [".gitignore", "pda/terms.pyx", "tests/test_terms.py"]


@pytest.fixture(params=["checkout", "archive"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Make a small tree with this repository's ``.gitignore``, under git or as it is unpacked from an archive."""
    for name in OWN[1:]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    shutil.copyfile(REPO / ".gitignore", tmp_path / ".gitignore")
    if request.param == "checkout":
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_a_virtual_environment_of_any_name_is_left_out(tree: Path) -> None:
    environment = tree / "my env (3.12)"
    (environment / "lib" / "grammar").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = somewhere\n")
    (environment / "lib" / "grammar" / "foreign.py").write_text("")
    assert list(files_of(tree)) == OWN


def test_what_is_built_is_left_out_and_new_files_are_not(tree: Path) -> None:
    (tree / "build").mkdir()
    (tree / "build" / "view.py").write_text("")
    (tree / "pda" / "terms.cpp").write_text("")
    (tree / "pda" / "new.py").write_text("")
    assert list(files_of(tree)) == sorted([*OWN, "pda/new.py"])


def test_a_deleted_file_is_left_out(tree: Path) -> None:
    if (tree / ".git").exists():
        subprocess.run(["git", "-C", str(tree), "add", "."], check=True)
    (tree / "pda" / "terms.pyx").unlink()
    assert "pda/terms.pyx" not in files_of(tree)


def test_this_repository_is_listed() -> None:
    assert {"setup.py", "tests/repository/tree.py", "pyproject.toml"} <= set(tracked_files())
