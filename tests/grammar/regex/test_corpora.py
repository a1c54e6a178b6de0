"""Patterns that nobody here wrote, with labels that nobody here made."""

from __future__ import annotations

import json
import lzma
import random

from support.byte_matcher import ByteMatcher
from support.datapack import datapack, needs_datapack

from stackmask import Grammar, GrammarError

pytestmark = needs_datapack


def test_patterns_of_json_schemas() -> None:
    pack = datapack()
    assert pack is not None
    with lzma.open(pack / "regex" / "jsonschemabench_patterns.jsonl.xz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    cases = random.Random(17).sample(cases, 300)
    refused = 0
    for case in cases:
        try:
            matcher = ByteMatcher(Grammar.from_regex(case["pattern"], search=True))
        except GrammarError:
            refused += 1
            continue
        assert [text for text in case["accept"] if not matcher.matches(text)] == [], case["pattern"]
        assert [text for text in case["reject"] if matcher.matches(text)] == [], case["pattern"]
    assert refused <= 1


def test_cases_of_the_crate_regex() -> None:
    pack = datapack()
    assert pack is not None
    text = (pack / "regex" / "rust_regex_testdata.jsonl").read_text(encoding="utf-8")
    checked = refused = 0
    for line in text.rstrip("\n").split("\n"):
        case = json.loads(line)
        unusual = ("bounds", "line-terminator", "unescape", "anchored", "compiles")
        if (
            case["file"] == "regex-lite"
            or any(key in case for key in unusual)
            or not case.get("unicode", True)
        ):
            continue
        flags = "i" * bool(case.get("case-insensitive"))
        try:
            grammar = Grammar.from_regex(case["regex"], flavor="rust", flags=flags, search=True)
        except GrammarError:  # (?-u) with pieces of characters
            refused += 1
            continue
        assert ByteMatcher(grammar).matches(case["haystack"]) == bool(case["matches"]), case
        checked += 1
    assert checked > 400
    assert refused < 40
