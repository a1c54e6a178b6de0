"""Front ends count their work, are refused by name, and never depend on what came before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

import stackmask as sm
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import (
    CHECK_EVERY,
    STEP,
    BudgetError,
    CancelledError,
    Work,
    check_text,
    counted,
    measured,
    remembering,
    spend,
    uncounted,
)

CYCLE = "root ::= r0\n" + "".join(f'r{i} ::= r{(i + 1) % 60} "a" | "b" r{i} | [c-d]? \n' for i in range(60))
SOURCES: dict[str, Callable[[sm.Limits | None], sm.Grammar]] = {
    "ebnf": lambda limits: sm.Grammar.from_ebnf(CYCLE, limits=limits),
    "operands": lambda limits: sm.Grammar.from_ebnf(
        "root ::= a & !b\na ::= ([a-y] | 'zz'){3,9}\nb ::= 'a' [b-c]*", limits=limits
    ),
    "regex": lambda limits: sm.Grammar.from_regex(
        r"(?<=a|b)(x[\p{L}--é])*(?=[^ab]c)\b" * 3, flags="v", search=True, limits=limits
    ),
    "json_schema": lambda limits: sm.Grammar.from_json_schema(
        {
            "oneOf": [
                {"properties": {"a": {"pattern": f"^x{i}"}, "b": {"multipleOf": i + 2}}, "required": ["a"]}
                for i in range(6)
            ]
        },
        limits=limits,
    ),
    "choices": lambda limits: sm.Grammar.from_choices([f"v{i}" for i in range(3000)], limits=limits),
    "sql": lambda limits: sm.Grammar.from_sql(
        "sqlite", schema={f"t{i}": [f"c{j}" for j in range(9)] for i in range(30)}, limits=limits
    ),
}


def units(name: str) -> int:
    grammar = SOURCES[name](None)
    assert grammar.normalized
    return grammar.work


@pytest.mark.parametrize("name", SOURCES)
def test_work_that_runs_out_is_a_budget_error(name: str) -> None:
    whole = units(name)
    assert whole > 0
    for part in (3, 10):
        with pytest.raises(BudgetError, match=r"max_work") as caught:
            assert SOURCES[name](sm.Limits(max_work=whole // part)).normalized
        assert caught.value.limit == "max_work"
        assert isinstance(caught.value, sm.BudgetError)
        place, _, reason = str(caught.value).partition(": ")
        assert place
        assert f"more than {whole // part:,}" in reason
        assert "raise it with Limits(max_work=…)" in reason
    # one call may use three quarters
    assert SOURCES[name](sm.Limits(max_work=2 * whole)).normalized


@pytest.mark.parametrize("name", ["ebnf", "operands", "regex", "choices", "sql"])
def test_work_does_not_depend_on_what_came_before(name: str) -> None:
    assert units(name) == units(name)


@pytest.mark.campaign
def test_work_does_not_depend_on_hashes() -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[1])
from test_work import SOURCES, units
print({name: units(name) for name in SOURCES})
"""
    folder = str(Path(__file__).parent)
    said = {
        subprocess.run(
            [sys.executable, "-c", script, folder],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    ("what", "read"),
    [
        ("the grammar", lambda limits: sm.Grammar.from_ebnf('root ::= "' + "é" * 50 + '"', limits=limits)),
        ("the pattern", lambda limits: sm.Grammar.from_regex("a" * 101, limits=limits)),
        ("the pattern", lambda limits: sm.Grammar.from_regex(b"a" * 101, limits=limits)),
        ("the JSON Schema", lambda limits: sm.Grammar.from_json_schema("[" * 101, limits=limits)),
        ("the JSON Schema", lambda limits: sm.Grammar.from_json_schema({"a": "b" * 101}, limits=limits)),
        ("the list of choices", lambda limits: sm.Grammar.from_choices(["a" * 60, "b" * 60], limits=limits)),
        (
            "the schema",
            lambda limits: sm.Grammar.from_sql("sqlite", schema={"t" * 101: ["a"]}, limits=limits),
        ),
        (
            "the schema",
            lambda limits: sm.Grammar.from_sql(
                "sqlite", schema="CREATE TABLE t (" + "a" * 101, limits=limits
            ),
        ),
    ],
)
def test_what_is_too_large_is_not_read(what: str, read: Callable[[sm.Limits], sm.Grammar]) -> None:
    message = (
        rf"{what} has \d+ bytes: more than 100 \(max_input_bytes\); raise it with Limits\(max_input_bytes=…\)"
    )
    with pytest.raises(sm.BudgetError, match=message):
        read(sm.Limits(max_input_bytes=100))


def test_shared_parts_of_a_schema_have_their_size_once() -> None:
    schema: dict[str, object] = {"const": "x" * 30}
    for _ in range(12):
        schema = {"anyOf": [schema, schema]}
    assert sm.Grammar.from_json_schema(schema, limits=sm.Limits(max_input_bytes=1000)).normalized
    endless: dict[str, object] = {}
    endless["not"] = endless
    with pytest.raises(sm.StackmaskError):
        sm.Grammar.from_json_schema(endless)


def test_a_grammar_keeps_its_limits() -> None:
    grammar = sm.Grammar.from_ebnf(CYCLE, limits=sm.Limits(max_work=3 * units("ebnf") // 4))
    for _ in range(2):  # the outcome is the same each time
        with pytest.raises(BudgetError, match="max_work"):
            assert grammar.normalized


def test_limits_are_limits() -> None:
    with pytest.raises(sm.StackmaskError, match="`limits` is a Limits, not dict"):
        sm.Grammar.from_ebnf('root ::= "a"', limits={})  # type: ignore[arg-type]


def test_checks_look_at_time_and_cancellation() -> None:
    event = Event()
    with counted(Work(10**12, 1e9, 10**9, event=event)):
        spend(2 * CHECK_EVERY // STEP)
        event.set()
        with pytest.raises(CancelledError):
            spend(2 * CHECK_EVERY // STEP)
    with counted(Work(10**12, -1.0, 10**9)), pytest.raises(BudgetError, match="max_seconds"):
        spend(2 * CHECK_EVERY // STEP)


def test_nothing_is_counted_without_an_account() -> None:
    spend(10**15)
    check_text("a text", "a" * 10)
    assert measured(lambda: spend(7)) == (None, 7 * STEP)


def test_remembered_answers_are_charged_again() -> None:
    calls = []

    @remembering(2)
    def answer(x: int) -> int:
        calls.append(x)
        spend(10)
        return 2 * x

    with counted(Work(10**9, 1e9, 10**9)) as work:
        assert [answer(1), answer(1), answer(2), answer(3), answer(1)] == [2, 2, 4, 6, 2]
        assert work.done == 50 * STEP
        uncounted(answer)(1)
        assert work.done == 50 * STEP
    assert calls == [1, 2, 3, 1]


def test_similar_names_are_not_looked_for_without_bound() -> None:
    assert similar("item", ["itme", "other"]) == "itme"
    assert similar("a" * 30_000, ["a" * 29_999]) is None
    assert similar("item", [f"itme{i}" for i in range(5000)]) is None
