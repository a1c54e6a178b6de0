"""Public GBNF and EBNF files load unchanged, and judge every labelled sample as labelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracle.earley import Recognizer
from support.datapack import datapack, needs_datapack

from stackmask.grammar.grammar import Grammar

FOLDER = (datapack() or Path()) / "grammars"
FILES = sorted(p.relative_to(FOLDER).as_posix() for p in FOLDER.glob("*/*.*bnf"))


@needs_datapack
def test_there_are_files() -> None:
    assert len(FILES) >= 12


@needs_datapack
@pytest.mark.parametrize("name", FILES)
def test_samples(name: str) -> None:
    rules = Grammar.from_file(FOLDER / name).rules
    assert rules.start == "root"
    recognizer = Recognizer(rules)
    with (FOLDER / "samples.jsonl").open(encoding="utf-8") as lines:
        samples = [s for s in map(json.loads, lines) if s["grammar"] == name and s["accept"] is not None]
    for sample in samples:
        assert recognizer.accepts(sample["text"].encode()) == sample["accept"], sample["text"]
