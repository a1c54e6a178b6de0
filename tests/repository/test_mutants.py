"""The table of mutants fits the sources: each is marked once, changes its line, and names tests that exist."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from mutants.mutant import Mutant
from mutants.table import MUTANTS, Marked, marked_lines, mutated
from repository.rooms import ROOMS, module_of, room_of
from repository.tree import REPO, STAGES, package_files

LEAST = 40
MARKED: list[Marked] = marked_lines(
    REPO, [path for path in package_files().values() if path.partition("/")[0] in STAGES]
)
EACH = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


def line_of(mutant: Mutant) -> Marked:
    return next(line for line in MARKED if line.name == mutant.name)


def test_each_mutant_has_one_marker_and_each_marker_a_mutant() -> None:
    assert Counter(line.name for line in MARKED) == Counter(mutant.name for mutant in MUTANTS)
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1


def test_every_room_has_a_mutant() -> None:
    assert len(MUTANTS) >= LEAST
    paths = [line.path for line in MARKED]
    rooms = {"grammars" if path.endswith(".ebnf") else room_of(module_of(path)) for path in paths}
    assert set(ROOMS) - rooms == set(), "rooms without a mutant: see docs/testing.md"


@EACH
def test_the_marked_line_is_changed(mutant: Mutant) -> None:
    line = line_of(mutant)
    assert line.code.count(mutant.old) == 1
    assert line.code.replace(mutant.old, mutant.new) != line.code
    text = (REPO / line.path).read_text(encoding="utf-8")
    changed = mutated(text, mutant).split("\n")
    assert [i for i, (a, b) in enumerate(zip(text.split("\n"), changed, strict=True), 1) if a != b] == [
        line.number
    ]


@EACH
def test_the_invariant_is_a_sentence(mutant: Mutant) -> None:
    assert re.fullmatch(r"[A-Z][^.]*\.", mutant.breaks)


@EACH
def test_the_tests_exist(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        path, _, name = test.partition("::")
        place = REPO / path
        assert list(place.glob("test_*.py")) if place.is_dir() else place.name.startswith("test_")
        assert place.exists(), path
        if name:
            assert re.search(rf"^def {name}\(", place.read_text(encoding="utf-8"), re.MULTILINE), test
