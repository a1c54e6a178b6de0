"""Every case that once failed, walked again."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle.earley import Recognizer

from exactness.regressions import FOLDER, load, save
from exactness.shrink import shrink, size
from exactness.walks import Case, check_case, random_case

FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_regression(path: Path) -> None:
    case, seed = load(path)
    check_case(case, seed)


def test_a_case_survives_its_file(tmp_path: Path) -> None:
    for seed in (3, 43, 2003):
        case = random_case(seed)
        save(tmp_path / "case.txt", case, seed, "two lines\nof text")
        assert load(tmp_path / "case.txt") == (case, seed)


def test_shrinking_keeps_the_failure() -> None:
    def fails(case: Case) -> bool:
        recognizer = Recognizer(case.rules, case.vocabulary.special_names, case.vocabulary.known_ids())
        return recognizer.viable_prefix(b"b") and not recognizer.viable_prefix(b"c")

    seed = next(s for s in range(100) if fails(random_case(s)))
    small = shrink(random_case(seed), fails, budget=400)
    assert fails(small)
    assert size(small) < size(random_case(seed)) / 2
