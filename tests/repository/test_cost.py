"""``./dev cost``: the table, what may rise, and what callgrind writes. Counting itself takes minutes, and valgrind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repository.test_equal import load

OLD = {"import": 100_000_000, "seen: SQL": 50_000_000, "gone": 1_000_000}


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Any:
    return load("lab/benchmarks/cost/compare.py", monkeypatch)


def test_the_table(compare: Any) -> None:
    text, risen = compare.table(OLD, {"import": 101_900_000, "seen: SQL": 25_000_000, "new": 2_000_000}, {})
    assert text.splitlines() == [
        "millions of instructions         old         new  ratio",
        "import         100.00      101.90  1.0190",
        "seen: SQL       50.00       25.00  0.5000",
        "new                 –        2.00",
        "gone             1.00           –",
    ]
    assert risen == []


def test_more_than_two_percent_fails_unless_it_is_allowed(compare: Any) -> None:
    new = {"import": 102_100_000, "seen: SQL": 53_000_000}
    assert compare.table(OLD, new, {})[1] == ["import", "seen: SQL"]
    text, risen = compare.table(OLD, new, compare.read_allowed(["seen: SQL=7%"]))
    assert risen == ["import"] and "more than +2%" in text and "up to +7% is allowed" in text
    assert compare.table(OLD, new, compare.read_allowed(["seen: SQL=5"]))[1] == ["import", "seen: SQL"]


def test_an_allowance_has_a_number(compare: Any) -> None:
    with pytest.raises(SystemExit, match="'import' is not NAME=PERCENT"):
        compare.read_allowed(["import"])


def test_what_callgrind_writes_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = load("lab/benchmarks/cost/measure.py", monkeypatch)
    written = "version: 1\ndesc: Trigger: Client Request: first visits: SQL, postgres\nevents: Ir\nsummary: 1234\n\n0 5\ntotals: 1234\n"
    (tmp_path / "counts.77.1").write_text(written)
    (tmp_path / "counts.77").write_text("desc: Trigger: Program termination\nsummary: 9\n")
    assert measure._read(tmp_path) == {"first visits: SQL, postgres": 1234}


def test_kept_counts_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = load("lab/benchmarks/cost/measure.py", monkeypatch)
    counted: list[Path] = []
    monkeypatch.setattr(measure, "key_of", lambda prepared: "key")
    monkeypatch.setattr(
        measure, "measure", lambda view, prepared, names: counted.append(view) or {"import": 7}
    )
    monkeypatch.setattr(measure, "view_of_commit", Path)
    monkeypatch.setenv("STACKMASK_ENGINES", str(tmp_path))
    for _ in range(2):
        assert measure.kept("abc", tmp_path) == {"import": 7}
    assert counted == [Path("abc")]
