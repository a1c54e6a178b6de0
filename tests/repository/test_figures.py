"""Figures of the pages are those of their result files, rounded as the page rounds them.

A page is read for its tables. Each check names a row by its first cell, a column by its head, and where the value stands
in a file of ``benchmarks/results``. When a result file is written anew, the page that cites it must follow.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
from repository.tree import REPO

UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "KiB": 1024.0, "%": 0.01}
NUMBER = re.compile(r"(-?[\d,]+(?:\.\d+)?) ?(µs|ms|s|KiB|%)?(?![\w.])")


class Figure(NamedTuple):
    """A figure of a page. Its table is the first one with a row and a column of these names, from ``section`` on."""

    page: str
    row: str
    column: str
    value: float
    """In seconds, bytes or shares where the cell has a unit, else as it is."""

    number: int = 0
    """Which number of the cell."""

    section: str = ""


@cache
def result(name: str) -> Any:
    return json.loads((REPO / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


@cache
def tables(page: str, section: str) -> tuple[tuple[list[str], dict[str, list[str]]], ...]:
    """Return the tables of a page from a text on: heads of columns, and the cells of each row by the first one."""
    text = (REPO / page).read_text(encoding="utf-8")
    assert section in text, f"{page} has no {section!r}"
    found: list[tuple[list[str], dict[str, list[str]]]] = []
    is_inside = False
    for line in text[text.index(section) :].splitlines():
        if not line.startswith("|"):
            is_inside = False
        elif not is_inside:
            found.append((cells_of(line), {}))
            is_inside = True
        elif not re.fullmatch(r"[|\-: ]+", line):
            cells = cells_of(line)
            found[-1][1].setdefault(cells[0].strip("*"), cells)
    return tuple(found)


def shown(figure: Figure) -> str:
    """Return the cell of a figure."""
    for heads, rows in tables(figure.page, figure.section):
        if figure.column in heads and figure.row in rows:
            return rows[figure.row][heads.index(figure.column)]
    raise AssertionError(f"{figure.page}: no table has row {figure.row!r} and column {figure.column!r}")


def is_rounded(cell: str, number: int, value: float) -> bool:
    """Tell whether a number of a cell is the value, to the digits that it has."""
    written, unit = NUMBER.findall(cell)[number]
    digits = len(written.partition(".")[2])
    scaled = value / UNITS[unit] if unit else value
    return bool(abs(float(written.replace(",", "")) - scaled) <= 0.5000001 * 10.0**-digits)


def readme() -> Iterator[Figure]:
    engines, page = result("json_grammar")["engines"], "README.md"
    audit, outlines = result("audit")["engines"], result("audit_outlines")["engines"]["outlines-core"]
    for column, name in (("stackmask", "stackmask"), ("XGrammar", "xgrammar"), ("llguidance", "llguidance")):
        row = "mask of the JSON grammar at a place seen before, mean µs"
        yield Figure(page, row, column, engines[name]["mask_mean_us"])
        builtin = "builtin" if name == "stackmask" else name
        yield Figure(page, "first mask of builtin JSON, µs", column, engines[builtin]["first_mask_us"])
        yield Figure(page, "compile the JSON grammar, ms", column, engines[name]["compile_ms"])
        row, cases = "MaskBench schemas compiled, of those audited", audit[name]["cases"]
        yield Figure(page, row, column, cases["compiled"])
        yield Figure(page, row, column, sum(cases.values()), 1)
        affected = audit[name]["cases_affected"].get("over: value", 0)
        yield Figure(page, "schemas with a valid value that could not be generated", column, affected)
    row, column = "MaskBench schemas compiled, of those audited", "outlines-core, 100 schemas"
    yield Figure(page, row, column, outlines["cases"]["compiled"])
    yield Figure(page, row, column, sum(outlines["cases"].values()), 1)
    affected = outlines["cases_affected"]["over: value"]
    yield Figure(page, "schemas with a valid value that could not be generated", column, affected)


def json_grammar() -> Iterator[Figure]:
    rows = {
        "vocabulary and compiler from the tokenizer, ms": "vocabulary_ms",
        "compile (stackmask: grammar text included), ms": "compile_ms",
        "first mask, µs": "first_mask_us",
        "mask over the first pass (cold), mean µs": "cold_mask_mean_us",
        "mask, mean µs": "mask_mean_us",
        "mask, median µs": "mask_p50_us",
        "mask, p99 µs": "mask_p99_us",
        "mask, worst µs": "mask_max_us",
        "accept_token, mean µs": "accept_mean_us",
    }
    engines = result("json_grammar")["engines"]
    columns = {"stackmask": "stackmask", "`Grammar.json()`": "builtin"}
    for column, name in {**columns, "llguidance": "llguidance", "XGrammar": "xgrammar"}.items():
        for row, field in rows.items():
            yield Figure("docs/benchmarks.md", row, column, engines[name][field])


def jump_loops() -> Iterator[Figure]:
    page, section = "docs/benchmarks.md", "`generate` itself, from the call"
    for model, name in (("random Llama, 100 M", "random_100m"), ("embedded", "embedded")):
        for task, found in result("jump_loops")[name].items():
            row = f"{model}: {'3 schemas' if name == 'random_100m' and 'schemas' in task else task}"
            seconds = found["seconds"]
            yield Figure(page, row, "calls, of so many tokens", found["model_calls"], 0, section)
            yield Figure(page, row, "calls, of so many tokens", found["tokens"], 1, section)
            faster = seconds["off"] / seconds["canonical"]
            yield Figure(page, row, 'as fast as `jump="off"`', faster, 0, section)
            yield Figure(page, row, "off beside free", seconds["off"] / seconds["free"] - 1, 0, section)


def audit() -> Iterator[Figure]:
    page = "docs/audit.md"
    engines = {
        **result("audit")["engines"],
        "outlines-core": result("audit_outlines")["engines"]["outlines-core"],
    }
    for column, name in (
        ("stackmask", "stackmask"),
        ("XGrammar", "xgrammar"),
        ("llguidance", "llguidance"),
        ("outlines-core", "outlines-core"),
    ):
        found = engines[name]
        yield Figure(page, "schemas compiled", column, found["cases"]["compiled"])
        yield Figure(page, "refused, with a reason", column, found["cases"].get("refused", 0))
        yield Figure(page, "masks compared", column, found["masks"])
        yield Figure(page, "differences judged", column, found["judged"])
        yield Figure(page, "of them decided", column, found["decided"] / found["judged"])
        affected = found["cases_affected"]
        yield Figure(
            page, "with a valid value that could not be written", column, affected.get("over: value", 0)
        )
        yield Figure(page, "only in declared order", column, affected.get("over: order", 0))
        yield Figure(page, "only in another spelling", column, affected.get("over: spelling", 0))


def two_modes() -> Iterator[Figure]:
    kinds = {
        "compile": ("compile_ms", 1e-3),
        "first mask": ("first_mask_us", 1e-6),
        "mask at first visit, mean": ("first_pass_mean_us", 1e-6),
        "mask later, mean": ("again_mean_us", 1e-6),
        "memory": ("memory_bytes", 1.0),
    }
    for language, found in result("pda_vs_fsm")["languages"].items():
        for engine, measured in found["engines"].items():
            for kind, (field, unit) in kinds.items():
                value = measured.get(field)
                if field == "memory_bytes" and value is None:
                    value = measured.get("process_growth_bytes")
                if measured.get("refusal") is None and not measured.get("depth") and value is not None:
                    yield Figure("docs/pda-vs-fsm.md", language, engine, value * unit, 0, f"| {kind} |")


def embedded() -> Iterator[Figure]:
    page, accuracy = "docs/embedded-model.md", result("embedded_accuracy")
    rows = {
        "200 held out: sentence frames that training never used, and no wording that it drew": "held_out",
        "100 written by hand, from no frame, before the model was seen": "handwritten_first",
        "50 more written by hand, after it was seen": "handwritten_second",
        "the 200, sampled at temperature 1.5 and not greedily": "held_out_sampled",
    }
    for row, name in rows.items():
        for column, key in (("with `sql.ebnf`", "with_grammar"), ("without a grammar", "without_grammar")):
            found = accuracy[name][key]
            yield Figure(page, row, column, found["right"])
            yield Figure(page, row, column, found["right"] / found["questions"], 1)
    museum = result("embedded_museum")
    for row, name in (
        ("in the grammar of `stackmask sql`", "stackmask_sql"),
        ("in `sql.ebnf`", "sql_ebnf"),
        ("without a grammar", "without_grammar"),
    ):
        yield Figure(page, row, "right", museum[name]["right"])
        yield Figure(page, row, "do not run", museum[name]["does_not_run"])


PAGES_OF_SERVERS = {"serve": "docs/serving/serve.md", "SGLang": "docs/serving/sglang.md"}


def serving() -> Iterator[Figure]:
    page, tests, section = "docs/serving/vllm.md", result("serving_vllm_tests"), "## vLLM's own tests"
    files = {
        "`test_structured_output_manager.py`": ("test_structured_output_manager",),
        "`test_structural_tag_registry.py`": ("test_structural_tag_registry",),
        "`test_abstract_parser.py`": ("test_abstract_parser", "TestToolChoice_Plus_ResponseFormat"),
        "`test_backend_xgrammar_lark.py`": ("test_backend_xgrammar_lark",),
        "`test_backend_xgrammar_stop_tokens.py`": ("test_backend_xgrammar_stop_tokens",),
        "`test_validation.py`": ("test_validation",),
    }
    for row, names in files.items():
        for column, engine in (("XGrammar", "xgrammar"), ("stackmask", "stackmask")):
            passed = sum(tests[engine][name].get("passed", 0) for name in names)
            yield Figure(page, row, column, passed, 0, section)
    for name, found in result("serving_campaign")["configurations"].items():
        where, counts = PAGES_OF_SERVERS.get(name.partition(" ")[0], page), found["counts"]
        yield Figure(where, name, "requests", found["rounds"] * 500, 0, "Asked for")
        yield Figure(where, name, "valid", counts["honest: valid"], 0, "Asked for")
        yield Figure(where, name, "cut at `max_tokens`", counts.get("honest: cut", 0), 0, "Asked for")
        yield Figure(where, name, "at fault", len(found["faults"]), 0, "Asked for")
        if name != "serve":  # whose metrics do not tell
            yield Figure(
                where, name, "left in the server", found["requests_left_in_the_server"], 0, "Asked for"
            )
        yield Figure(
            where, name, "MB after the last round", found["memory_mb_after_each_round"][-1], 0, "Asked for"
        )


def sglang_kits() -> Iterator[Figure]:
    tests = result("serving_sglang_tests")
    page, section = PAGES_OF_SERVERS["SGLang"], "## SGLang's own tests"
    for column, engine in (("XGrammar", "xgrammar"), ("stackmask", "stackmask")):
        rounds_passed = tests["rounds_passed"][engine]
        for row, count in Counter(case.partition(":")[0] for case in rounds_passed).items():
            yield Figure(page, row, "cases", count, 0, section)
        always = (case for case, rounds in rounds_passed.items() if rounds == tests["rounds"])
        for row, count in Counter(case.partition(":")[0] for case in always).items():
            yield Figure(page, row, column, count, 0, section)


CHECKED = (readme, json_grammar, jump_loops, audit, two_modes, embedded, serving, sglang_kits)


@pytest.mark.parametrize("figures", CHECKED, ids=lambda each: each.__name__)
def test_figures_are_those_of_the_results(figures: Any) -> None:
    wrong = []
    checked = 0
    for figure in figures():
        cell = shown(figure)
        checked += 1
        if cell == "–" or not is_rounded(cell, figure.number, figure.value):
            wrong.append(f"{figure.page}: {figure.row} / {figure.column}: {cell!r}, not {figure.value:.6g}")
    assert checked > 5
    assert wrong == []


@pytest.mark.parametrize("name", ["maskbench_ratio", "engine", "density"])
def test_tables_that_a_benchmark_writes_stand_in_the_page(name: str) -> None:
    page = (REPO / "docs" / "performance.md").read_text(encoding="utf-8")
    assert [line for line in result(name)["table"] if line not in page] == []


def test_the_prose_of_the_readme() -> None:
    text = " ".join((REPO / "README.md").read_text(encoding="utf-8").split())
    held_out = result("embedded_accuracy")["held_out"]
    words = (
        f"answers {held_out['with_grammar']['right']} of 200 held-out questions correctly with the grammar and "
        f"{held_out['without_grammar']['right']} without"
    )
    assert words in text
    assert f"one thread, {result('json_grammar')['date']}" in text
    assert f"Audit: {result('audit')['date']}" in text


def test_rounding_is_to_the_digits_that_are_shown() -> None:
    assert is_rounded("**0.38**", 0, 0.381) and not is_rounded("0.38", 0, 0.386)
    assert is_rounded("2.5 ms", 0, 0.00254) and is_rounded("≈ 1,502 KiB", 0, 1502.4 * 1024)
    assert is_rounded("191 (95.5 %)", 1, 0.955) and is_rounded("-2.8 %", 0, -0.0283)
    assert not is_rounded("7.6 s", 0, 7.7)
