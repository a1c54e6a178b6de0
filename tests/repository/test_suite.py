"""Which tests run: campaigns with ``--all``, the quick ones of every room, and those that mirror a room."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from repository.tree import REPO, package_files

QUICK = [
    line
    for line in (REPO / "tests" / "quick.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
SUITE = """
import os
from pathlib import Path
import pytest

def note(name):
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    Path(os.environ["SEEN"], f"{name} {worker}").touch()

def test_one():
    note("one")

@pytest.mark.campaign
@pytest.mark.parametrize("case", [1, 2])
def test_many(case):
    note(f"many{case}")
"""
SETTINGS = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nmarkers = ["campaign"]\n'


def run(folder: Path, *arguments: str) -> set[str]:
    """Run a small suite under this suite's options; return what ran, and in which process."""
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "seen").mkdir(exist_ok=True)
    shutil.copy(REPO / "tests" / "conftest.py", folder / "tests")
    (folder / "tests" / "test_it.py").write_text(SUITE)
    (folder / "pyproject.toml").write_text(SETTINGS)
    environment = {**os.environ, "SEEN": str(folder / "seen")}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *arguments],
        cwd=folder, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    return {path.name for path in (folder / "seen").iterdir()}


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        (("tests",), {"one alone"}),
        (("--all", "tests"), {"one alone", "many1 alone", "many2 alone"}),
        (("tests/test_it.py::test_many[2]",), {"many2 alone"}),
        (("-p", "no:xdist"), {"one alone"}),
    ],
)
def test_campaigns_run_when_they_are_named(tmp_path: Path, arguments: tuple[str, ...], ran: set[str]) -> None:
    assert run(tmp_path, *arguments) == ran


@pytest.mark.campaign
def test_the_whole_suite_runs_in_processes(tmp_path: Path) -> None:
    if find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    assert run(tmp_path) in ({"one gw0"}, {"one gw1"})


def test_quick_tests_reach_every_room() -> None:
    folders = {path.rpartition("/")[0] for path in package_files().values()}
    rooms = [folder for folder in folders if [*(REPO / "tests" / folder).glob("**/test_*.py")]]
    assert [
        room for room in sorted(rooms) if not any(path.startswith(f"tests/{room}/") for path in QUICK)
    ] == []
    assert [path for path in QUICK if not (REPO / path).is_file()] == []


@pytest.mark.parametrize(
    ("given", "tests"),
    [
        ("grammar/sql", "tests/grammar/sql"),
        ("grammar/sql/scope", "tests/grammar/sql/test_scope.py tests/grammar/sql/test_scope_postgres.py"),
        ("pda/masks/", "tests/pda/masks"),
        ("runtime/matching/matcher.pyx", "tests/runtime/matching/test_matcher.py"),
        ("pda/forced.pyx", "tests/pda"),
        ("-k grammar -x", "-k grammar -x"),
        ("tests/pda/terms -q", "tests/pda/terms -q"),
    ],
)
def test_a_room_names_the_tests_that_mirror_it(given: str, tests: str) -> None:
    if not shutil.which("bash"):
        pytest.skip("there is no bash")
    done = subprocess.run(
        ["./dev", "test", *given.split()],
        cwd=REPO, env={**os.environ, "PYTHON": "echo"}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["-m", "pytest", *tests.split()]
