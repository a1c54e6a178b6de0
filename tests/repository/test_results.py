"""Results of benchmarks say which sources they were measured on."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from repository import figures
from repository.tree import REPO, tracked_files

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load ``lab/benchmarks/record.py``, which writes into a folder of its own."""
    spec = importlib.util.spec_from_file_location("record", REPO / "lab" / "benchmarks" / "record.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "written")
    monkeypatch.setattr(module, "NOT_KEPT", tmp_path / "written" / "besides")
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a repository with one commit."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "engine.py").write_text("1\n")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
    return folder


def test_a_clean_checkout(record: ModuleType, checkout: Path) -> None:
    state = record.checkout_state(checkout)
    assert len(state["commit"]) == 40
    assert state["dirty"] is False


def test_results_do_not_make_it_dirty_but_sources_do(record: ModuleType, checkout: Path) -> None:
    (checkout / "lab" / "benchmarks" / "results").mkdir(parents=True)
    (checkout / "lab" / "benchmarks" / "results" / "engine.json").write_text("{}")
    assert record.checkout_state(checkout)["dirty"] is False
    (checkout / "engine.py").write_text("2\n")
    assert record.checkout_state(checkout)["dirty"] is True


def test_outside_of_a_repository(record: ModuleType, checkout: Path, tmp_path: Path) -> None:
    inside = checkout / "archive"
    inside.mkdir()
    for folder in (tmp_path, inside):
        assert record.checkout_state(folder) == {"commit": "unknown", "dirty": "unknown"}


def test_a_result_carries_both(record: ModuleType) -> None:
    document = json.loads(record.write_result("made", "a command", {"figure": 1}).read_text())
    assert {"command", "date", "commit", "dirty", "cpu", "versions"} <= set(document)
    assert {key: document[key] for key in ("commit", "dirty")} == record.checkout_state()


def test_kept_results_are_those_that_a_table_or_a_test_reads(
    record: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {"gpu_output"}  # by a test of runtime/kernels

    def result(name: str, known: Any = figures.result) -> Any:
        read.add(name)
        return known(name)

    monkeypatch.setattr(figures, "result", result)
    for lines in figures.TABLES.values():
        lines()
    kept = {Path(path).stem for path in tracked_files() if path.startswith("lab/benchmarks/results/")}
    assert kept == read == set(record.INPUTS)
    assert record.path_of("engine").parent != record.path_of("made").parent


def test_inputs_of_results_are_there(record: ModuleType) -> None:
    inputs = {path for line in record.INPUTS.values() for path in line.split()}
    assert [path for path in sorted(inputs) if not (REPO / path).exists()] == []


def test_a_result_is_stale_when_its_inputs_have_changed(record: ModuleType, checkout: Path) -> None:
    commit = record.checkout_state(checkout)["commit"]
    (checkout / "other").mkdir()
    (checkout / "engine.py").write_text("2\n")
    assert record.changed_since(commit, "other", checkout) == ""
    assert "1 file changed" in record.changed_since(commit, "other engine.py", checkout)
    assert "not in this repository" in record.changed_since("0" * 40, "other", checkout)


def test_commands_are_those_of_any_machine() -> None:
    for path in sorted((REPO / "lab" / "benchmarks" / "results").glob("*.json")):
        command = json.loads(path.read_text("utf-8")).get("command", "")
        words = command.split() if isinstance(command, str) else []
        assert not [word for word in words if word.startswith("/")], path.name
