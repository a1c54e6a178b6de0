"""Statements that other people wrote, as far as the data pack is there (``lab/benchmarks/sql.py`` counts all sets)."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from support.datapack import datapack, needs_datapack

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
GOLD = {
    "sqlite": ("spider/dev.jsonl", "bird/dev.jsonl.xz", "sql-eval/sqlite.jsonl"),
    "postgres": ("sql-eval/postgres.jsonl", "tpc/tpc-h.jsonl", "tpc/tpc-ds.jsonl"),
}
REJECTED = {
    "sqlite": (
        "negatives/sqlite_rejects_mutants.jsonl.xz",
        "negatives/sqlite_rejects_llm.jsonl",
        "negatives/sqlite_side_effects.jsonl",
        "postgres/regress_nonselect.jsonl.xz",
    ),
    "postgres": ("postgres/regress_syntax_errors.jsonl", "postgres/regress_nonselect.jsonl.xz"),
}


def rows(file: str) -> list[dict[str, Any]]:
    pack = datapack()
    assert pack is not None
    path = pack / "sql" / file
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def accepts(dialect: str, **options: Any) -> Callable[[str], bool]:
    compiled = Compiler(BYTES).compile(Grammar.from_sql(dialect, **options))

    def answer(query: str) -> bool:
        matcher = compiled.matcher()
        return bool(matcher.accept_string(query) and matcher.is_accepting())

    return answer


@needs_datapack
@pytest.mark.parametrize(("dialect", "file"), [(d, file) for d, files in GOLD.items() for file in files])
def test_gold_queries_pass(dialect: str, file: str) -> None:
    answer = accepts(dialect) if "tpc" not in file else accepts(dialect, functions="any", allow_comments=True)
    assert [row["query"] for row in rows(file) if not answer(row["query"])] == []


@needs_datapack
@pytest.mark.parametrize(("dialect", "file"), [(d, file) for d, files in REJECTED.items() for file in files])
def test_what_a_database_rejects_or_what_is_no_query_does_not_pass(dialect: str, file: str) -> None:
    for options in ({}, {"functions": "any", "allow_comments": True}):
        answer = accepts(dialect, **options)
        assert [row["query"] for row in rows(file) if answer(row["query"])] == []


@needs_datapack
def test_queries_with_side_effects_do_not_pass() -> None:
    for options in ({}, {"functions": "any", "allow_comments": True}):
        answer = accepts("postgres", **options)
        for row in rows("negatives/pg_select_side_effects.jsonl"):
            # by hand: also queries that only look dangerous, since SQL stands in their text
            assert not answer(row["query"]) or row["side_effects"] == ["hand"], row["query"]
