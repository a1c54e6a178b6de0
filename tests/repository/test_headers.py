"""The headers in C++: each compiles alone without a warning, and does what its program in ``tests/`` checks."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from repository.tree import REPO, STAGES

HEADERS = sorted(str(path.relative_to(REPO)) for stage in STAGES for path in (REPO / stage).rglob("*.h"))
PROGRAMS = sorted(str(path.relative_to(REPO)) for path in (REPO / "tests").rglob("*.cc"))
COMPILER = shlex.split(os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or "")
WARNINGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]

pytestmark = pytest.mark.skipif(not COMPILER, reason="no C++ compiler is installed")


def compile_cpp(*arguments: str) -> None:
    done = subprocess.run(
        [*COMPILER, *WARNINGS, *arguments], cwd=REPO, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_headers_and_programs_are_found() -> None:
    assert len(HEADERS) >= 10
    assert len(PROGRAMS) >= 5


@pytest.mark.parametrize("ids", ["release", "debug"])
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(header: str, ids: str) -> None:
    # as a file that is included: clang takes constants of the file itself for forgotten ones
    options = ["-fsyntax-only", "-I.", "-include", header, "-x", "c++", os.devnull]
    compile_cpp(*(["-DSTACKMASK_DEBUG"] if ids == "debug" else []), *options)


@pytest.mark.campaign
@pytest.mark.parametrize("program", PROGRAMS)
def test_program_finds_nothing_wrong(program: str, tmp_path: Path) -> None:
    binary = str(tmp_path / "program")
    compile_cpp("-O1", "-g", "-pthread", program, "-o", binary)
    done = subprocess.run([binary], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", [*HEADERS, *PROGRAMS])
def test_source_is_formatted(source: str) -> None:
    formatter = shutil.which("clang-format")
    if formatter is None:
        pytest.skip("there is no clang-format")
    done = subprocess.run(
        [formatter, "--dry-run", "--Werror", source], cwd=REPO, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_no_source_holds_cpp_in_a_string() -> None:
    literal = "cdef extern from " + "*"
    sources = [path for stage in STAGES for path in (REPO / stage).rglob("*.p[xy][xd]")]
    assert [str(path) for path in sources if literal in path.read_text(encoding="utf-8")] == []
