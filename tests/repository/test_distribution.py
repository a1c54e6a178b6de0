"""The package's description fits its contents. The archives themselves are compared by ``.ci/run``."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from importlib import metadata

import pytest
from repository.tree import REPO, package_files, tracked_files

import stackmask

if sys.version_info >= (3, 11):
    import tomllib

    PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
else:
    pytest.skip("reading pyproject.toml needs Python 3.11", allow_module_level=True)

COMPILED = (".py", ".pyx")


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_-]", requirement)[0].lower() for requirement in requirements}


def test_core_needs_numpy_and_lark_only() -> None:
    assert names(PROJECT["project"]["dependencies"]) == {"numpy", "lark"}


def test_extras_bring_what_the_errors_say() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert {"cli", "hf", "sql", "gpu", "test", "bench"} <= set(extras)
    assert names(extras["cli"]) == {"typer", "rich"}
    assert names(extras["hf"]) == {"torch", "transformers", "safetensors", "pydantic"}
    for extra in ("test", "bench"):
        (own,) = [requirement for requirement in extras[extra] if requirement.startswith("stackmask[")]
        assert {"hf", "cli"} <= set(re.findall(r"\w+", own.partition("[")[2]))


def test_package_data_names_every_file() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    left_out = [
        path
        for path in package_files()
        if not path.endswith((*COMPILED, ".pxd", ".h"))
        and not any(fnmatch(path.rpartition("/")[2], p) for p in patterns)
    ]
    assert left_out == []


def test_the_version_is_said_once() -> None:
    changes = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "version" in PROJECT["project"]["dynamic"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "stackmask.__version__"}
    assert f"## {stackmask.__version__}" in changes


def test_constraints_pin_torch() -> None:
    lines = (REPO / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins
    wanted = names(PROJECT["project"]["dependencies"])
    for extra in ("cli", "hf", "test"):
        wanted |= names(PROJECT["project"]["optional-dependencies"][extra])
    assert wanted - names(pins) == {"stackmask"}


def test_nothing_that_is_built_is_kept() -> None:
    assert [path for path in tracked_files() if path.endswith((".so", ".c", ".cpp", ".pyc"))] == []


def test_the_command_is_installed() -> None:
    scripts = metadata.entry_points(group="console_scripts", name="stackmask")
    assert not scripts or {script.value for script in scripts} == {"stackmask.runtime.cli:main"}
