"""What inputs share, and what is done in threads: faults of several inputs are found with those that they need."""

from __future__ import annotations

import pytest
from repository.tree import REPO

import stackmask as sm


def test_inputs_share_a_compiler_until_it_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzz import checks, company

    monkeypatch.setattr(company, "MOST_INPUTS", 3)
    company.company.drop()
    vocabulary = checks.make_vocabulary()
    seen = []
    for number in range(5):
        company.run_input(lambda _: seen.append(checks.compiler_of(vocabulary)), bytes([number]))
    assert seen[0] is seen[1] is seen[2] is not seen[3] is seen[4]
    assert checks.compiler_of(vocabulary, alone=True) is not checks.compiler_of(vocabulary)
    company.company.drop()


def test_the_inputs_that_a_fault_needs_are_found() -> None:
    from fuzz import checks, company

    company.company.drop()
    vocabulary = checks.make_vocabulary()
    seen: dict[int, set[bytes]] = {}
    compilers: list[sm.Compiler] = []  # their numbers must not come again

    def run(data: bytes) -> None:
        compilers.append(checks.compiler_of(vocabulary))
        before = seen.setdefault(id(compilers[-1]), set())
        if data == b"9" and {b"2", b"6"} <= before:
            raise checks.Fault("after others")
        if data == b"8":
            raise checks.Fault("by itself")
        before.add(data)

    for number in range(8):
        company.run_input(run, b"%d" % number)
    with pytest.raises(checks.Fault):
        company.run_input(run, b"9")
    assert company.needed_before(run, b"9") == [b"2", b"6"]
    company.company.begin(b"8")
    assert company.needed_before(run, b"8") == []
    company.company.begin(b"7")
    assert company.needed_before(run, b"7") is None
    assert str(company.fault_of(run, b"9", [b"6", b"2"])) == "after others"


def test_threads_on_one_compiler_get_the_same_masks() -> None:
    from fuzz import threads

    run = threads.Run(threads.make_vocabulary(300), float("inf"), most_walks=40)
    threads.in_threads(run.work, 3)
    assert run.wrong == [] and run.walks >= 40 and run.masks > 40


def test_turns_of_a_target_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPO / "lab" / "benchmarks"))
    from fuzz.run import joined

    row = {
        **dict.fromkeys(("executions", "seconds", "processor seconds", "found"), 10),
        "edges": 7,
        "blocks of compiled code": 5,
        "seconds without a new edge": 4,
    }
    quiet = joined(row, row | {"seconds": 20})
    assert quiet["executions"] == 20 and quiet["seconds"] == 30 and quiet["edges"] == 7
    assert quiet["seconds without a new edge"] == 24
    better = joined(row, row | {"edges": 8, "seconds without a new edge": 1, "blocks of compiled code": 3})
    assert better["edges"] == 8 and better["seconds without a new edge"] == 1
    assert better["blocks of compiled code"] == 5 and joined({}, row) is row
