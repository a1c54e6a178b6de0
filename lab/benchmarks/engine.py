"""Time the engine on documents, hard schemas and hard grammars, beside two peers.

    python lab/benchmarks/engine.py --data PATH_TO_DATA_PACK

Engines run in turn, each in a process of its own, one thread. Every engine must accept every document: a fast
wrong engine fails. A cold row is measured several times, each from a fresh compiler, and the time of a place in a
document is the best of those: "worst" is then the worst place and not the worst moment of a shared machine. Warm
rows are medians of several passes. Rounds are repeated and medians reported. An engine that needs longer than the limit for a row is recorded with that.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import made_documents as made
from engines import ENGINES, SQL, XML, Grammars, Refused, versions
from pack import load_tokenizer
from record import DATA, cpu_model, use_checkout, write_result

REPEATS = 5
ENOUGH_S = 4.0  # a compile or a walk that took longer is not repeated
STEPS_S = 10.0  # a document is followed no longer than that; how far it went is recorded
BATCH = 256

Figures = dict[str, Any]
clock = time.perf_counter_ns


class Bench:
    """One engine and one tokenizer, in this process."""

    def __init__(self, name: str, folder: Path, data: Path) -> None:
        self.name, self.data = name, data
        self.tokenizer = load_tokenizer(folder)

    @functools.cached_property
    def engine(self) -> Any:
        return ENGINES[self.name](self.tokenizer)

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def follow(
        self, compiled: Any, ids: Sequence[int], until_s: float = STEPS_S
    ) -> tuple[list[int], list[int]]:
        """Return the times of the masks and of the accept calls along a document, in ns."""
        matcher = self.engine.matcher(compiled)
        fill, accept = self.engine.filler(matcher), self.engine.accepter(matcher)
        fills, accepts = [], []
        end = clock() + int(until_s * 1e9)
        for token in ids:
            a = clock()
            fill()
            b = clock()
            ok = accept(token)
            c = clock()
            if not ok:
                raise Refused(f"a valid document at token {len(fills)}")
            fills.append(b - a)
            accepts.append(c - b)
            if c > end:
                break
        return fills, accepts

    def compiled(self, make: Callable[[], Any]) -> tuple[Any, float]:
        """Return what ``make`` makes from a fresh compiler, and the time it took in ms."""
        self.engine.fresh()
        gc.collect()
        begin = clock()
        compiled = make()
        return compiled, (clock() - begin) / 1e6

    def cold(self, make: Callable[[], Any], documents: list[list[int]]) -> Figures:
        """Compile and follow the documents, several times over, each time from nothing."""
        compiles, passes = [], []
        begin = time.monotonic()
        for _ in range(REPEATS):
            compiled, took = self.compiled(make)
            compiles.append(took)
            passes.append([fill for ids in documents for fill in self.follow(compiled, ids)[0]])
            if time.monotonic() - begin > ENOUGH_S:
                break
        size = min(map(len, passes))
        places = [min(times) for times in zip(*(p[:size] for p in passes), strict=True)]
        return {"compile_ms": min(compiles), **summary("mask", places), "tokens": size}

    def warm(self, make: Callable[[], Any], ids: list[int]) -> Figures:
        """Compile, follow the document once for the memory of the engine, and then several times for the clock."""
        compiled, took = self.compiled(make)
        cold, accepts = self.follow(compiled, ids)
        # what is not even followed once has no second pass
        passes = [(cold, accepts)] if len(cold) < len(ids) else []
        begin = time.monotonic()
        for _ in range(0 if passes else REPEATS):
            passes.append(self.follow(compiled, ids))
            if time.monotonic() - begin > ENOUGH_S:
                break
        size = min(len(fills) for fills, _ in passes)
        fills = [statistics.median(times) for times in zip(*(p[0][:size] for p in passes), strict=True)]
        accepts = [statistics.median(times) for times in zip(*(p[1][:size] for p in passes), strict=True)]
        return {
            "compile_ms": took,
            "tokens": size,
            "asked_tokens": len(ids),
            "cold_mean_us": statistics.fmean(cold) / 1e3,
            "cold_worst_us": max(cold) / 1e3,
            **summary("mask", fills),
            **summary("accept", accepts),
        }


def summary(name: str, times: Sequence[float]) -> Figures:
    ordered = sorted(times)
    return {
        f"{name}_mean_us": statistics.fmean(ordered) / 1e3,
        f"{name}_p50_us": ordered[len(ordered) // 2] / 1e3,
        f"{name}_p99_us": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] / 1e3,
        f"{name}_worst_us": ordered[-1] / 1e3,
    }


def warm_json(bench: Bench) -> Figures:
    return bench.warm(bench.engine.compile_json, made.document_of("json", 10_000, bench.encode))


def warm_sql(bench: Bench) -> Figures:
    return bench.warm(
        lambda: bench.engine.compile_grammar(SQL), made.document_of("sql", 10_000, bench.encode)
    )


def warm_xml(bench: Bench) -> Figures:
    return bench.warm(
        lambda: bench.engine.compile_grammar(XML), made.document_of("xml", 10_000, bench.encode)
    )


def schema_row(bench: Bench, schema: Any, texts: Sequence[str]) -> Figures:
    return bench.cold(lambda: bench.engine.compile_schema(schema), [bench.encode(text) for text in texts])


def max_length(length: int) -> Callable[[Bench], Figures]:
    def row(bench: Bench) -> Figures:
        schema = {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": length}},
            "required": ["text"],
            "additionalProperties": False,
        }
        return schema_row(bench, schema, [json.dumps({"text": made.text_of(length)}, ensure_ascii=False)])

    return row


def optional(count: int) -> Callable[[Bench], Figures]:
    def row(bench: Bench) -> Figures:
        schema, text = made.optional_properties(count)
        return schema_row(bench, schema, [text])

    return row


def large(bench: Bench) -> Figures:
    schema, text = made.resources(145, 500)
    return schema_row(bench, schema, [text])


def enumeration(bench: Bench) -> Figures:
    values = list(made.enum_values(10_000))
    texts = [json.dumps(value, ensure_ascii=False) for value in values[::50]]
    return schema_row(bench, {"enum": values}, texts)


def nesting(bench: Bench) -> Figures:
    schema, text = made.nested(600)
    return schema_row(bench, schema, [text])


AMBIGUOUS = Grammars('root ::= root root | "a"', 'root ::= root root | "a"', 'start: start start | "a"')
LEFT = Grammars('root ::= root "a" | "a"', 'root ::= root "a" | "a"', 'start: start "a" | "a"')
RIGHT = Grammars('root ::= "a" root | "a"', 'root ::= "a" root | "a"', 'start: "a" start | "a"')


def recursion(grammars: Grammars, tokens: int) -> Callable[[Bench], Figures]:
    def row(bench: Bench) -> Figures:
        (letter,) = bench.encode("a")
        passes: list[list[int]] = []
        begin = time.monotonic()
        for _ in range(REPEATS):
            compiled, took = bench.compiled(lambda: bench.engine.compile_grammar(grammars))
            fills, accepts = bench.follow(compiled, [letter] * tokens)
            passes.append([fill + accept for fill, accept in zip(fills, accepts, strict=True)])
            if time.monotonic() - begin > ENOUGH_S:
                break
        size = min(map(len, passes))
        steps = [min(times) for times in zip(*(p[:size] for p in passes), strict=True)]
        return {
            "compile_ms": took,
            "tokens": len(steps),
            "asked_tokens": tokens,
            "step_mean_us": statistics.fmean(steps) / 1e3,
        }

    return row


def batch(bench: Bench) -> Figures:
    """Fill the masks of matchers that are each at a place of their own, in one thread."""
    compiled, _ = bench.compiled(bench.engine.compile_json)
    ids = made.document_of("json", 10_000, bench.encode)
    bench.follow(compiled, ids)
    apart = len(ids) * 3 // 4 // BATCH
    matchers = [bench.engine.matcher(compiled) for _ in range(BATCH)]
    accepters = [bench.engine.accepter(matcher) for matcher in matchers]
    for number, accept in enumerate(accepters):
        for token in ids[: number * apart]:
            accept(token)
    fill = bench.engine.batch(matchers, 1)
    times: list[float] = []
    for step in range(60):
        best = []
        for _ in range(3):
            begin = clock()
            fill()
            best.append((clock() - begin) / BATCH)
        times.append(statistics.median(best))
        for number, accept in enumerate(accepters):
            if not accept(ids[number * apart + step]):
                raise Refused("a valid document")
    return summary("row", times)


ROWS: dict[str, Callable[[Bench], Figures]] = {
    "warm JSON": warm_json,
    "warm SQL": warm_sql,
    "warm XML": warm_xml,
    "maxLength 10,000": max_length(10_000),
    "24 optional properties": optional(24),
    "500 optional properties": optional(500),
    "5,000 optional properties": optional(5_000),
    "a schema of FHIR's size": large,
    "enum of 10,000 strings": enumeration,
    "nesting 600": nesting,
    "ambiguous s s, 400": recursion(AMBIGUOUS, 400),
    "left recursion, 100,000": recursion(LEFT, 100_000),
    "right recursion, 100,000": recursion(RIGHT, 100_000),
    "batch of 256, 1 thread": batch,
}


class Worker:
    """Runs rows with one engine, in a process of its own."""

    def __init__(self, name: str, folder: str, data: str) -> None:
        use_checkout()
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self.bench = Bench(name, Path(folder), Path(data))

    def run(self, row: str) -> Figures:
        """Return the figures of a row. Raises: what the engine raises, which is a result."""
        gc.collect()
        return ROWS[row](self.bench)


def run(name: str, folder: Path, data: Path, rows: list[str], limit_s: float) -> dict[str, Figures]:
    """Run rows in processes of one engine; a row that hangs or crashes ends its process and is recorded."""
    use_checkout()
    from stackmask.runtime.child import Child, WorkerFault

    results: dict[str, Figures] = {}
    child = Child("engine:Worker", name, str(folder), str(data), seconds=limit_s, start_seconds=300)
    for row in rows:
        begin = time.monotonic()
        try:
            figures = child.ask("run", row)
        except WorkerFault as fault:
            ended = {"hung": f"over {limit_s:g} s", "crashed": f"exit {fault.status}"}
            figures = {"error": ended.get(fault.kind, str(fault)[:200])}
        results[row] = figures
        print(f"{name:10} {row:27} {time.monotonic() - begin:5.1f} s", file=sys.stderr, flush=True)
    child.end()
    return results


def medians(runs: list[Figures]) -> Figures:
    """Return the medians of figures over rounds; errors count if no round went well."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return runs[0]
    return {key: round(statistics.median(run[key] for run in good), 3) for key in good[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--rounds", type=int, default=3, help="runs of each engine; medians are reported")
    parser.add_argument(
        "--rows", default="", help="only rows with one of these texts in their name, by semicolons"
    )
    parser.add_argument("--limit", type=float, default=60, help="seconds per engine and row")
    parser.add_argument(
        "--save",
        default="engine",
        help="name of the result file; without all rows, none is written to engine",
    )
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if not folder.is_dir():
        sys.exit(f"no tokenizer at {folder}: give the data pack with --data")
    names = args.engines.split(",")
    rows = [row for row in ROWS if not args.rows or any(part in row for part in args.rows.split(";"))]
    runs: dict[str, dict[str, list[Figures]]] = {row: {name: [] for name in names} for row in rows}
    for _ in range(args.rounds):
        for name in names:
            # what took too long once is not asked again
            over = [row for row in rows if any("over" in str(run.get("error")) for run in runs[row][name])]
            found = run(name, folder, args.data, [row for row in rows if row not in over], args.limit)
            for row, figures in found.items():
                runs[row][name].append(figures)
    results = {
        row: {name: medians(found) for name, found in by_name.items()} for row, by_name in runs.items()
    }
    print(cpu_model())
    print(json.dumps(results, indent=1))
    if args.save != "engine" or (not args.rows and args.engines == ",".join(ENGINES)):
        command = f"python lab/benchmarks/engine.py --tokenizer {args.tokenizer} --rounds {args.rounds} --limit {args.limit:g}"
        command += f" --rows '{args.rows}' --save {args.save}" if args.rows else ""
        document = {"tokenizer": args.tokenizer, "rounds": args.rounds, "rows": results}
        write_result(args.save, command, document, **versions(names))


if __name__ == "__main__":
    main()
