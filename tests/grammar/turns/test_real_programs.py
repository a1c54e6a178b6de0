"""Slices of two comparisons with programs of others: what chat templates write, and what parsers of servers read.

They skip without the programs. ``STACKMASK_TEMPLATES`` names a folder of chat templates, such as ``models/templates`` of
llama.cpp; ``STACKMASK_VLLM`` and ``STACKMASK_SGLANG`` the Python of an environment with that engine.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from repository.tree import REPO

# templates that write no end of the section after a single call
UNFINISHED = {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B"}


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(REPO / "lab" / "benchmarks"), *sys.path])
    name: str = request.param
    found = importlib.import_module(name)
    for other in (name, "record", "tool_turns"):
        monkeypatch.delitem(sys.modules, other, raising=False)
    return found


@pytest.mark.parametrize("benchmark", ["chat_templates"], indirect=True)
def test_what_templates_write_is_in_the_grammar(benchmark: ModuleType) -> None:
    pytest.importorskip("jinja2")
    folders = [Path(os.environ["STACKMASK_TEMPLATES"])] if "STACKMASK_TEMPLATES" in os.environ else []
    if not folders and find_spec("cohere_melody") is None:
        pytest.skip(
            "STACKMASK_TEMPLATES names no folder of chat templates, and no package that writes turns is there"
        )
    rows = benchmark.judge(folders)["templates"]
    assert {row["template"]: row["wrong"] for row in rows if row["wrong"]}.keys() <= UNFINISHED
    assert sum(row["turns"] for row in rows) > 6


@pytest.mark.parametrize("benchmark", ["tool_turns"], indirect=True)
def test_random_turns_are_the_same_for_the_same_seed(benchmark: ModuleType) -> None:
    walker = benchmark.Walker()
    turns = list(walker.turns("qwen_3_coder", 8, 0))
    assert len(turns) == 8
    assert turns == list(walker.turns("qwen_3_coder", 8, 0))
    assert turns != list(walker.turns("qwen_3_coder", 8, 1))


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("benchmark", ["tool_parsers"], indirect=True)
def test_parsers_of_servers_read_the_calls(benchmark: ModuleType, engine: str) -> None:
    python = os.environ.get(f"STACKMASK_{engine.upper()}")
    if python is None:
        pytest.skip(f"STACKMASK_{engine.upper()} names no Python of an environment with {engine}")
    walker = benchmark.Walker()
    for style in ("hermes", "qwen_3_coder", "kimi"):
        turns = list(walker.turns(style, 12, 0))
        rows = benchmark.read_turns(engine, python, {style: turns})[1]
        assert (rows[style]["lost"], rows[style]["invented"]) == (0, 0)


@pytest.mark.parametrize("benchmark", ["tool_parsers"], indirect=True)
@pytest.mark.parametrize(
    ("made", "theirs", "lost", "invented"),
    [
        ([("f", {"a": 1})], [("f", {"a": 1.0})], 0, 0),
        ([("f", {"a": 1})], [("f", {"a": True})], 1, 1),
        ([("f", {}), ("g", {})], [("g", {})], 1, 0),
        ([("f", {})], [("f", {}), ("f", {})], 0, 1),
        ([("f", {"a": [{"b": None}]})], [("f", {"a": [{"b": None}]})], 0, 0),
        ([("f", {"a": "1"})], [("f", '{"a": "1"')], 1, 1),
    ],
)
def test_calls_that_were_lost_and_invented(
    benchmark: ModuleType, made: list[Any], theirs: list[Any], lost: int, invented: int
) -> None:
    assert benchmark.count_differences(made, theirs) == (lost, invented)
