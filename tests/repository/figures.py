"""The tables of figures of the pages, each made from result files.

A page holds a table between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; ``TABLES`` has a function for each name.
``pytest tests/repository/test_figures.py --update-goldens`` writes them anew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from repository.tree import REPO

RESULTS = REPO / "lab" / "benchmarks" / "results"
MARKED = re.compile(r"(<!-- table: (\S+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
PEERS_NAMED = ("xgrammar", "XGrammar", "llguidance", "outlines-core", "vllm", "sglang", "flashinfer")
PEERS = {"stackmask": "stackmask", "llguidance": "llguidance", "XGrammar": "xgrammar"}
TABLES: dict[str, Callable[[], list[str]]] = {}
Rows = Iterable[Iterable[object]]


@cache
def result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def figure(value: float | None, unit: str = "") -> str:
    """Return a number with three digits, or all digits of a whole one; a dash for none."""
    if value is None:
        return "–"
    if isinstance(value, int) or value >= 1000:
        shown = f"{value:,.0f}"
    elif value and abs(value) < 0.1:
        shown = f"{value:.2g}"
    else:
        shown = f"{value:.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"
    return shown + (f" {unit}" if unit else "")


def time(seconds: float | None) -> str:
    """Return a time in the unit that suits it."""
    if seconds is None:
        return "–"
    unit, scale = ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3) if seconds < 1 else ("s", 1)
    return figure(seconds * scale, unit)


def size(count: float | None) -> str:
    if count is None:
        return "–"
    unit, scale = ("KB", 1e3) if count < 1e6 else ("MB", 1e6)
    return figure(count / scale, unit)


def percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def best(
    values: list[float | None], write: Callable[[float | None], str], highest: bool = False
) -> list[str]:
    """Return the cells of a row, the best in bold."""
    known = [value for value in values if value is not None]
    top = max(known) if highest else min(known)
    return [f"**{write(value)}**" if value == top else write(value) for value in values]


def source(name: str) -> str:
    """Return one line that says when, where and how a result was measured; the file has the whole command."""
    found = result(name)
    (script,) = re.findall(r"(\w+)\.py", found["command"])[:1]
    versions = [f"{key} {value}" for key, value in found["versions"].items() if key in PEERS_NAMED]
    device = found.get("device", "none")
    where = found["cpu"].replace("(R)", "").replace(" Processor", "") if "none" in device else device
    return f"{', '.join([found['date'], where, *versions])}; `./dev bench {script}`"


def table(name: str, heads: Iterable[object], rows: Rows) -> list[str]:
    cells = list(heads)
    lines = [source(name), "", "| " + " | ".join(map(str, cells)) + " |", "|---|" + "--:|" * (len(cells) - 1)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def made(name: str) -> Callable[[Callable[[], list[str]]], Callable[[], list[str]]]:
    def enter(make: Callable[[], list[str]]) -> Callable[[], list[str]]:
        TABLES[name] = make
        return make

    return enter


def pairs(text: str) -> dict[str, str]:
    """Return titles and keys that are written as ``title=key; …``."""
    return dict(each.strip().rsplit("=", 1) for each in text.split(";"))


class Grid(NamedTuple):
    """A table in which each cell is one value of a result; ``path`` leads to it by the keys of its row and column."""

    result: str
    path: str
    head: str
    columns: str
    rows: str
    bold: bool = False
    """Whether the least value of a row is bold."""

    def lines(self) -> list[str]:
        columns = pairs(self.columns)
        rows = []
        for title, row in pairs(self.rows).items():
            values: list[Any] = []
            for column in columns.values():
                value = result(self.result)
                for key in self.path.format(row=row, column=column).split("/"):
                    value = value and value.get(key)
                values.append(value)
            rows.append([title, *(best(values, figure) if self.bold else map(figure, values))])
        return table(self.result, [self.head, *columns], rows)


GRIDS = {
    "json-grammar": Grid(
        "json_grammar",
        "engines/{column}/{row}",
        "",
        "`json.ebnf`=stackmask; `Grammar.json()`=builtin; llguidance=llguidance; XGrammar=xgrammar",
        "compile, ms=compile_ms; first mask, µs=first_mask_us; mask at a first visit, mean µs=cold_mask_mean_us;"
        "mask later, mean µs=mask_mean_us; mask later, worst µs=mask_max_us; `accept_token`, mean µs=accept_mean_us",
        bold=True,
    ),
    "tools": Grid(
        "tools",
        "first_mask_ms/{column}/{row}",
        "time to the first mask, ms",
        "10 tools=10; 100 tools=100; 500 tools=500",
        "new tools, as dicts=from_dicts; equal dicts again=again; the same `Tool` objects=prepared; XGrammar=xgrammar",
    ),
    "embedded": Grid(
        "embedded_accuracy",
        "{row}/{column}/right",
        "correct answers to questions",
        "grammar of the schema=with_schema; `sql.ebnf`=with_grammar; no grammar=without_grammar",
        "200 held out=held_out; 100 by hand, written before the model was seen=handwritten_first;"
        "50 by hand, written after=handwritten_second; the 200, sampled at temperature 1.5=held_out_sampled",
    ),
}
TABLES.update((name, grid.lines) for name, grid in GRIDS.items())


@made("speed")
def _speed() -> list[str]:
    engines = result("json_grammar")["engines"]

    def row(title: str, field: str, ours: str) -> list[str]:
        return [title, *best([engines[each][field] for each in (ours, "llguidance", "xgrammar")], figure)]

    return table(
        "json_grammar",
        ["the JSON grammar, Llama 3's vocabulary", *PEERS],
        [
            row("mask at a state seen before, mean µs", "mask_mean_us", "stackmask"),
            row("first mask of built-in JSON, µs", "first_mask_us", "builtin"),
            row("compile the grammar, ms", "compile_ms", "stackmask"),
        ],
    )


def _audited(name: str, engines: dict[str, str], titles: dict[str, str]) -> list[str]:
    found = result(name)["engines"]

    def count(each: str, field: str) -> int:
        one = found[each]
        if field in ("compiled", "refused"):
            return int(one["cases"].get(field, 0))
        return int(one[field] if field in one else one["cases_affected"].get(field, 0))

    rows = []
    for title, field in titles.items():
        values = [count(each, field) for each in engines.values()]
        if field in ("refused", "masks", "judged"):
            rows.append([title, *map(figure, values)])
        else:
            rows.append([title, *best(list(values), figure, highest=field == "compiled")])
    faults = [
        sum(n for kind, n in found[each]["cases_affected"].items() if kind.startswith("fault"))
        for each in engines.values()
    ]
    rows.append(["of these with a crash, a hang or an error at run time", *best(list(faults), figure)])
    total = sum(found["stackmask"]["cases"].values())
    return table(name, [f"of {total:,} schemas of MaskBench", *engines], rows)


@made("audit-short")
def _audit_short() -> list[str]:
    titles = {
        "compiled": "compiled",
        "with a proven error": "cases_with_proven_errors",
        "of these with a valid value that cannot be generated": "over: value",
    }
    return _audited("audit", PEERS, titles)


AUDIT = {
    "compiled": "compiled",
    "refused, with a reason": "refused",
    "masks compared": "masks",
    "differences judged": "judged",
    "with a proven error": "cases_with_proven_errors",
    "of these with a valid value that cannot be generated": "over: value",
    "not errors: accepts what only a format forbids": "under: only a format forbids it",
    "accepts a name twice": "under: a name comes twice",
    "accepts valid values in declared order only": "over: order",
    "accepts valid values in one spelling only": "over: spelling",
}


@made("audit")
def _audit() -> list[str]:
    return _audited("audit", PEERS, AUDIT)


FIRST_VISITS = {
    "JSON": "json",
    "C (llama.cpp, GBNF)": "llama.cpp/c.gbnf",
    "C (SynCode, Lark)": "syncode/c.lark",
    "Lark's own grammar (llguidance)": "llguidance/lark.lark",
    "Go (SynCode, Lark)": "syncode/go.lark",
    "SQL (SynCode, Lark)": "syncode/sql.lark",
    "Verilog (Lark)": "lark/verilog.lark",
    "Python (Lark)": "lark/python.lark",
    "`xml`": "xml",
    "`sqlite`, 40 queries of Spider": "sqlite, Spider",
    "`postgres`, 40 queries of Spider": "postgres, Spider",
    "SQL over a schema, 60 new queries": "sql",
}


@made("first-visits")
def _first_visits() -> list[str]:
    found = result("first_visits")["rows"]
    heads = ["masks along strings, with a new compiler"]
    heads += [
        f"{column}, {name}" for name in ("stackmask", "llguidance") for column in ("compile", "mean", "worst")
    ]
    rows = []
    for title, name in FIRST_VISITS.items():
        engines = (found[name]["stackmask"], found[name].get("llguidance") or {})
        scales = {"compile ms": 1e-3, "mean us": 1e-6, "worst us": 1e-6}
        cells = [
            time(row[each] * scale) if each in row else "–"
            for row in engines
            for each, scale in scales.items()
        ]
        rows.append([title, *cells])
    return table("first_visits", heads, rows)


@made("waiting-rows")
def _waiting_rows() -> list[str]:
    worst: dict[str, Any] = {}
    for place in result("waiting_rows")["worst places"]:
        kept = worst.setdefault(place["name"], place)
        if place["step"]["worst ms"] > kept["step"]["worst ms"]:
            worst[place["name"]] = place
    rows = [
        [
            f"`{name}`",
            time(place["us"] / 1e6),
            *(time(place["step"][each] / 1e3) for each in ("p50 ms", "worst ms")),
            figure(place["step"]["steps"]),
        ]
        for name, place in list(worst.items())[:5]
    ]
    return table(
        "waiting_rows", ["63 rows and one of", "its mask at once", "a step, p50", "worst", "steps"], rows
    )


@made("maskbench")
def _maskbench() -> list[str]:
    heads, _, *rows = (line.strip("| ").split(" | ")[:4] for line in result("maskbench_ratio")["table"])
    return table("maskbench_ratio", heads, rows)


def _refusal(figures: dict[str, Any]) -> str:
    error = figures["error"]
    return "over 60 s" if error.startswith("over") else "refused" if "Refused" in error else "fails"


def _engine_rows(name: str, wanted: dict[str, tuple[str, str, float]], first: str) -> list[str]:
    found = result(name)["rows"]
    rows = []
    for title, (row, field, scale) in wanted.items():
        cells = [
            _refusal(found[row][each])
            if "error" in found[row][each]
            else time(found[row][each][field] * scale)
            for each in PEERS.values()
        ]
        rows.append([title, *cells])
    return table(name, [first, *PEERS], rows)


@made("documents")
def _documents() -> list[str]:
    wanted = {
        "mask, JSON, mean": ("warm JSON", "mask_mean_us", 1e-6),
        "mask, SQL, mean": ("warm SQL", "mask_mean_us", 1e-6),
        "mask, XML, mean": ("warm XML", "mask_mean_us", 1e-6),
        "`maxLength` 10,000: compile": ("maxLength 10,000", "compile_ms", 1e-3),
        "enum of 10,000 strings: compile": ("enum of 10,000 strings", "compile_ms", 1e-3),
        "nesting 600 deep: compile": ("nesting 600", "compile_ms", 1e-3),
        "`s ::= s s`, 400 tokens: a step": ("ambiguous s s, 400", "step_mean_us", 1e-6),
        "left recursion, 100,000 tokens: a step": ("left recursion, 100,000", "step_mean_us", 1e-6),
        "right recursion, 100,000 tokens: a step": ("right recursion, 100,000", "step_mean_us", 1e-6),
        "batch of 256, 1 thread: a row": ("batch of 256, 1 thread", "row_mean_us", 1e-6),
    }
    return _engine_rows("engine", wanted, "Llama 3's vocabulary, one thread")


@made("large")
def _large() -> list[str]:
    rows = (
        "24 optional properties",
        "500 optional properties",
        "5,000 optional properties",
        "a schema of FHIR's size",
    )
    kinds = {
        "compile": ("compile_ms", 1e-3),
        "first visits, mean mask": ("mask_mean_us", 1e-6),
        "worst mask": ("mask_worst_us", 1e-6),
    }
    wanted = {f"{row}: {kind}": (row, *of) for row in rows for kind, of in kinds.items()}
    return _engine_rows("large_schemas", wanted, "Llama 3's vocabulary, one thread")


@made("layers")
def _layers() -> list[str]:
    found = result("ablation")["instructions"]
    loads = {
        "schemas": "schemas",
        "any order": "schemas, any order",
        "JSON": "json",
        "regexes": "regexes",
        "SQL": "sql",
        "SQL over a schema": "sql of a schema",
    }
    loads = {title: name for title, name in loads.items() if name in found}
    kept = [
        "runs",
        "subtrees",
        "accepted",
        "prefixes",
        "literals",
        "operand_lists",
        "patched",
        "settled_places",
        "all off",
    ]

    def cell(load: str, layer: str) -> str:
        base = found[load]["all on"]["fill instructions"]
        one = found[load].get(layer)
        return "–" if one is None else f"{100 * (one['fill instructions'] / base - 1):+,.0f}%"

    return table(
        "ablation",
        ["layer off", *loads],
        ([f"`{each}`", *(cell(load, each) for load in loads.values())] for each in kept),
    )


@made("start")
def _start() -> list[str]:
    ways = pairs(
        "stackmask, from the tokenizer=stackmask; stackmask, from its file=load; llguidance=llguidance; XGrammar=xgrammar"
    )
    found = result("vocabulary")["tokenizers"]
    heads = ["vocabulary and compiler", *(f"{name}, {unit}" for name in found for unit in ("ms", "MB"))]
    fields = ("total_ms", "memory_mb")
    rows = (
        [title, *(figure(one[way][field]) for one in found.values() for field in fields)]
        for title, way in ways.items()
    )
    return table("vocabulary", heads, rows)


@made("threads")
def _threads() -> list[str]:
    rows = []
    for title, key in pairs(
        "MaskBench schemas, masks of tens of µs=maskbench; masks of milliseconds=long"
    ).items():
        found = result("threads")[key]
        gains = (figure(found["times as fast as one thread"][way]) for way in ("two", "processes"))
        rows.append([title, *gains, f"{found['released']:.0%}"])
    heads = [
        "requests of one compiler, speedup over one thread",
        "two threads",
        "two processes",
        "work after the first 200 µs of a call",
    ]
    return table("threads", heads, rows)


@made("steps")
def _steps() -> list[str]:
    ways = pairs("no backend=nothing; stackmask=stackmask; XGrammar=xgrammar; guidance=guidance")
    steps = result("serving_steps")["steps"]
    rows = (
        [each["requests"], *(figure(each["milliseconds"][way]) for way in ways.values())] for each in steps
    )
    return table("serving_steps", ["requests: ms of a step", *ways], rows)


@made("limits")
def _limits() -> list[str]:
    rows = []
    for title, found in result("limits")["requests"].items():
        for which, name in (("p50", "median"), ("most", "largest")):
            rows.append(
                [
                    f"{title}, {name} of {found['requests']}",
                    figure(int(found["work"][which])),
                    size(found["memory_bytes"][which]),
                    size(found["mask_bytes"][which]),
                    time(found["milliseconds"][which] / 1e3),
                ]
            )
    return table(
        "limits",
        ["one request with its own compiler", "units of work", "memory", "masks", "CPU time"],
        rows,
    )


@made("jumps")
def _jumps() -> list[str]:
    rows = []
    for name in ("llama3-128k", "qwen3-151k", "gemma3-262k", "mistral-v1-spm-32k"):
        found = result("jump_forward")["tokenizers"][name]
        rows.append(
            [
                name,
                *(
                    f"{found[way]['forced_percent']:.1f}%"
                    for way in ("any", "model", "compact", "model-indented")
                ),
                figure(sum(found[way]["different"] for way in found)),
            ]
        )
    return table(
        "jump_forward",
        [
            "forced tokens of MaskBench's documents",
            "any blanks",
            "profile `model`",
            "compact",
            "`model`, indented",
            "not as the tokenizer encodes",
        ],
        rows,
    )


@made("drafts")
def _drafts() -> list[str]:
    rows = []
    for name, found in result("drafts")["tokenizers"].items():
        shares = (found["all"]["forced_percent"], found["all"]["accepted_percent"])
        rows.append(
            [name, *(f"{share:.1f}%" for share in shares), f"{found['in_batches']['us']['mean']:.0f}"]
        )
    return table("drafts", ["tool calls", "forced", "accepted", "µs in batches"], rows)


def _two_modes(field: str, head: str, scale: float) -> list[str]:
    engines = ("pushdown", "FSM", "outlines-core", "XGrammar", "llguidance")
    rows = []
    for language, found in result("pda_vs_fsm")["languages"].items():
        cells = []
        for engine in engines:
            measured = found["engines"].get(engine, {"refusal": "not run"})
            value = None if measured.get("refusal") is not None else measured.get(field)
            cells.append(time(None if value is None else value * scale))
        rows.append([language, *cells])
    return table("pda_vs_fsm", [head, *engines], rows)


TABLES["modes-compile"] = lambda: _two_modes("compile_ms", "compile", 1e-3)
TABLES["modes-first"] = lambda: _two_modes("first_pass_mean_us", "mask at a first visit, mean", 1e-6)


@made("json-verdicts")
def _json_verdicts() -> list[str]:
    found = result("json_schema_any")
    verdicts, cost = found["verdicts"], found["both_ms"]
    wrong = sum(count for kind, count in verdicts.items() if kind not in ("passing", "refused"))
    rows = [
        (f"correct on all instances ({found['instances']:,})", figure(verdicts["passing"])),
        ("refused with place, keyword and reason", figure(verdicts["refused"])),
        ("wrong on an instance, also with shuffled keys", figure(wrong)),
        ("schema to automaton, p50, p99 ms", f"{figure(cost['p50'])}, {figure(cost['p99'])}"),
        ("a schema of 1 MB, s", figure(found["megabyte_s"])),
    ]
    return table(
        "json_schema_any", [f"{found['schemas']:,} schemas of MaskBench, keys in any order", ""], rows
    )


def _by_dialect(part: str, write: Callable[[dict[str, Any]], str], heads: list[str]) -> list[str]:
    cells: dict[str, dict[str, str]] = {}
    for each in result("sql")[part]:
        title = re.sub(
            "^PostgreSQL's syntax", "syntax", each["set"].replace("SQLite rejects", "the database rejects")
        )
        title = title.replace("PostgreSQL rejects", "the database rejects").replace(
            "are no queries", "are not queries"
        )
        cells.setdefault(title, {})[each["dialect"]] = write(each)
    rows = (
        [title, *(found.get(dialect, "–") for dialect in ("sqlite", "postgres"))]
        for title, found in cells.items()
    )
    return table("sql", heads, rows)


@made("sql-coverage")
def _sql_coverage() -> list[str]:
    heads = ["statements of the database: accepted", "SQLite", "PostgreSQL"]
    return _by_dialect("coverage", lambda each: f"{100 * each['accepted'] / each['statements']:.2f}%", heads)


@made("sql-rejection")
def _sql_rejection() -> list[str]:
    heads = ["statements that must be refused: accepted, of", "SQLite", "PostgreSQL"]
    return _by_dialect("rejection", lambda each: f"{each['accepted']} of {each['statements']:,}", heads)


@made("sql-masks")
def _sql_masks() -> list[str]:
    rows = [
        (
            each["dialect"],
            figure(each["compile_ms"]),
            *(figure(each["warm_mask_us"][q]) for q in ("mean", "p99")),
            *(figure(each["cold_mask_us"][q]) for q in ("mean", "p50", "p99")),
        )
        for each in result("sql")["masks"]
    ]
    return table(
        "sql",
        [
            "along gold queries",
            "compile, ms",
            "seen before, mean µs",
            "p99",
            "first visit, mean µs",
            "p50",
            "p99",
        ],
        rows,
    )


@made("sql-schema")
def _sql_schema() -> list[str]:
    found = result("sql_schema")
    rows = [
        (
            f"{each['set']} gold: accepted",
            figure(each["statements"]),
            percent(each["accepted"] / each["statements"]),
        )
        for each in found["gold"]
    ]
    models = found["models"]
    broken = {key: value for key, value in models.items() if key != "prepared"}
    refused, accepted = (sum(each[key] for each in broken.values()) for key in ("refused", "accepted"))
    rows.append(
        (
            "models' queries that SQLite does not prepare: refused",
            figure(refused + accepted),
            percent(refused / (refused + accepted)),
        )
    )
    good = models["prepared"]
    total = good["accepted"] + good["refused"]
    rows.append(
        ("models' queries that SQLite prepares: accepted", figure(total), percent(good["accepted"] / total))
    )
    masks = found["masks"]
    rows.append(
        (
            "masks at a first visit: mean, p99 ms",
            figure(masks["tokens"]),
            f"{figure(masks['cold_us']['mean'] / 1e3)}, {figure(masks['cold_us']['p99'] / 1e3)}",
        )
    )
    rows.append(
        (
            "masks later: mean, p99 µs",
            figure(masks["tokens"]),
            f"{figure(masks['warm_us']['mean'])}, {figure(masks['warm_us']['p99'])}",
        )
    )
    return table("sql_schema", ["SQLite over a schema", "of", ""], rows)


@made("sql-postgres")
def _sql_postgres() -> list[str]:
    found = result("sql_postgres")
    rows = []
    for each in (*found["gold"], found["models"]):
        wrong = [each[kind] for kind in ("names", "syntax") if kind in each]
        rows.append(
            (
                each["set"],
                f"{each['prepared']['accepted']} of {sum(each['prepared'].values())}",
                f"{sum(one['accepted'] for one in wrong)} of {sum(sum(one.values()) for one in wrong)}",
            )
        )
    return table(
        "sql_postgres",
        [
            "PostgreSQL over a schema: accepted, of what the server",
            "prepares",
            "refuses for names, grouping, syntax",
        ],
        rows,
    )


@made("generations")
def _generations() -> list[str]:
    kinds = ("both accept", "only the grammar accepts", "only the judge accepts")
    rows = []
    for name, found in result("generation_campaign")["grammars"].items():
        mutants = " / ".join(figure(found["mutants"][kind]) for kind in kinds)
        rows.append((f"`{name}`", f"{found['judged']['accepted']} of {found['texts']}", mutants))
    return table(
        "generation_campaign",
        ["grammar", "samples valid", "mutants: both accept / only the grammar / only the judge"],
        rows,
    )


@made("vllm-tests")
def _vllm_tests() -> list[str]:
    tests = result("serving_vllm_tests")
    files = {
        "`test_structured_output_manager.py`": ("test_structured_output_manager",),
        "`test_validation.py`": ("test_validation",),
        "`test_structural_tag_registry.py`": ("test_structural_tag_registry",),
        "`test_abstract_parser.py`": ("test_abstract_parser", "TestToolChoice_Plus_ResponseFormat"),
        "`test_backend_xgrammar_lark.py`": ("test_backend_xgrammar_lark",),
        "`test_backend_xgrammar_stop_tokens.py`": ("test_backend_xgrammar_stop_tokens",),
    }
    return table(
        "serving_vllm_tests",
        ["cases that pass", "XGrammar", "stackmask"],
        (
            [
                title,
                *(
                    sum(tests[engine][name].get("passed", 0) for name in names)
                    for engine in ("xgrammar", "stackmask")
                ),
            ]
            for title, names in files.items()
        ),
    )


@made("sglang-tests")
def _sglang_tests() -> list[str]:
    tests = result("serving_sglang_tests")
    counts = {
        engine: Counter(case.partition(":")[0] for case in found)
        for engine, found in tests["rounds_passed"].items()
    }
    passed = {
        engine: Counter(case.partition(":")[0] for case, rounds in found.items() if rounds == tests["rounds"])
        for engine, found in tests["rounds_passed"].items()
    }
    rows = [
        (
            kind,
            count,
            *(passed[engine][kind] if counts[engine][kind] else "–" for engine in ("xgrammar", "stackmask")),
        )
        for kind, count in counts["stackmask"].items()
    ]
    return table("serving_sglang_tests", ["server", "cases", "XGrammar", "stackmask"], rows)


def _campaign(is_wanted: Callable[[str], bool], file: str = "serving_campaign") -> list[str]:
    rows = []
    for name, found in result(file)["configurations"].items():
        if is_wanted(name):
            counts = found["counts"]
            figures = (
                found["rounds"] * 500,
                counts["honest: valid"],
                counts.get("honest: cut", 0),
                len(found["faults"]),
            )
            rows.append((name.replace("texts", "outputs"), *map(figure, figures)))
    return table(
        file,
        ["configuration", "requests", "valid", "truncated at `max_tokens`", "at fault"],
        rows,
    )


@made("serving-memory")
def _serving_memory() -> list[str]:
    """Resident memory of all processes of a server next to some minutes, and of each after the first and the last round."""
    rows = []
    minutes = (1, 5, 10, 15)
    for name, found in result("serving_memory")["configurations"].items():
        samples = found["memory_mb_by_second"]
        at = [min(samples, key=lambda sample: abs(sample[0] - 60 * minute))[1] for minute in minutes]
        requests = sum(found["counts"].get(kind, 0) for kind in ("honest", "hostile", "cancelled"))
        parts = (found["memory_mb_by_process"][part] for part in ("server", "EngineCore", "Worker"))
        shown = [f"{figure(held[0])}–{figure(held[-1])}" for held in parts]
        rows.append((name.partition(", ")[2] or "stackmask", *map(figure, (requests, *at)), *shown))
    heads = ["MB", "requests", "minute 1", *map(str, minutes[1:]), "front end", "engine", "worker"]
    return table("serving_memory", heads, rows)


TABLES["campaign-serve"] = lambda: _campaign(lambda name: name == "serve")
TABLES["campaign-sglang"] = lambda: _campaign(lambda name: name.startswith("SGLang"))
TABLES["campaign-thoughts"] = lambda: _campaign(lambda _: True, "serving_thoughts")
TABLES["campaign-vllm-033"] = lambda: _campaign(lambda _: True, "serving_campaign_033")
TABLES["campaign-vllm"] = lambda: _campaign(
    lambda name: (
        name not in ("serve", *result("serving_campaign_033")["configurations"])
        and not name.startswith("SGLang")
    )
)


@made("drafts-vllm")
def _drafts_vllm() -> list[str]:
    found, rows = result("drafts_vllm"), []
    names = {"off": "none", "ngram": "vLLM's n-grams of 1 to 3", "on": "of the grammar"}
    for turns in (found["turns"], found["turns_once"]):
        for mode, name in names.items():
            if mode in turns:
                one = turns[mode]
                same = "–" if mode == "off" else f"{one['same_as_without']:,}"
                cells = (figure(one["requests"]), f"{one['steps_percent']:.0f}%", figure(one["accepted"]))
                speed = figure(one["tokens_per_second"]) if turns is found["turns"] else "–"
                rows.append([name, *cells, same, speed])
    heads = ["drafts", "requests", "steps per token", "accepted tokens", "same outputs", "tokens/s"]
    return table("drafts_vllm", heads, rows)


ALLOWED = {"structure": "0.05%", "half": "50%", "text": "98%"}


@made("gpu-apply")
def _gpu_apply() -> list[str]:
    rows = []
    for case in result("gpu_apply")["cases"]:
        if (
            case["type"] == "bfloat16"
            and case["vocab"] == 128_256
            and case["rows"] in (1, 32, 256)
            and case["allowed"] != "half"
        ):
            rows.append(
                [
                    ALLOWED.get(case["allowed"], case["allowed"]),
                    case["rows"],
                    *(
                        figure(case[field])
                        for field in (
                            "floor_us",
                            "us",
                            "table_us",
                            "xgrammar_cuda_us",
                            "xgrammar_triton_us",
                            "torch_us",
                        )
                    ),
                ]
            )
    return table(
        "gpu_apply",
        [
            "tokens allowed; µs, bf16, 128,256 tokens",
            "sequences",
            "bytes alone",
            "stackmask",
            "from the table",
            "XGrammar, CUDA",
            "XGrammar, Triton",
            "PyTorch",
        ],
        rows,
    )


@made("gpu-sampling")
def _gpu_sampling() -> list[str]:
    rows: dict[tuple[str, str, int], dict[str, str]] = {}
    for case in result("gpu_sampling")["cases"]:
        if case["rows"] in (1, 256) and case["allowed"] == "half":
            key = (case["logits"], ALLOWED[case["allowed"]], case["rows"])
            rows.setdefault(key, {})[case["draw"]] = ", ".join(
                figure(case.get(f)) for f in ("us", "flashinfer_us", "torch_us")
            )
    draws = [draw for draw in next(iter(rows.values())) if draw not in ("greedy", "both")]
    return table(
        "gpu_sampling",
        [
            "logits",
            "allowed",
            "sequences",
            *(f"{draw}: stackmask, FlashInfer, PyTorch, µs" for draw in draws),
        ],
        ([*key, *(found.get(draw, "–") for draw in draws)] for key, found in rows.items()),
    )


@made("gpu-loop")
def _gpu_loop() -> list[str]:
    rows = []
    for case in result("gpu_loop")["cases"]:
        ways = case["ways"]
        rows.append(
            [
                case["work"],
                case["rows"],
                figure(ways["free"]["ms"]),
                *(f"{100 * ways[way]['more']:+.2f}%" for way in ("bitmask", "table", "fused")),
                figure(ways["bitmask"]["host_us"] / 1e3),
            ]
        )
    return table(
        "gpu_loop",
        [
            "grammars, Llama 8B",
            "sequences",
            "no grammar, ms",
            "bitmaps",
            "table",
            "fused sampler",
            "host work, ms",
        ],
        rows,
    )


@made("gpu-sending")
def _gpu_sending() -> list[str]:
    cases = result("gpu_sending")["cases"]
    return table(
        "gpu_sending",
        ["sequences: µs to send and apply", *(case["rows"] for case in cases)],
        [
            ["bitmaps", *(figure(case["bitmap_us"]) for case in cases)],
            ["entries of the table", *(figure(case["table_us"]) for case in cases)],
        ],
    )


@made("cpu-kernels")
def _cpu_kernels() -> list[str]:
    cases: dict[str, list[str]] = {}
    found = result("kernels_cpu")["cpu_apply"]
    for case in found["cases"]:
        cases.setdefault(case["allowed"], []).append(f"{figure(case['ms'])}, {figure(case['xgrammar_ms'])}")
    types = list(dict.fromkeys(case["type"] for case in found["cases"]))
    return table(
        "kernels_cpu",
        ["allowed; ms of stackmask, XGrammar for 64 rows", *types],
        ([allowed, *cells] for allowed, cells in cases.items()),
    )
