"""Time real patterns on the pushdown engine: compile, first mask, worst mask along strings; peers on a sample.

    python lab/benchmarks/regex_masks.py --data PATH_TO_DATA_PACK

Patterns are those of real JSON schemas, each from a fresh compiler that has done what is done once for a vocabulary;
a pattern matches anywhere in a text. The masks are those along labelled strings that match. Times are of computing, so
that "worst" is the worst place and not the worst moment of a shared machine. Peers see every tenth pattern, in
the same run; there every place is measured several times, each from a fresh compiler, and the best is taken.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import time
from pathlib import Path
from typing import Any

from json_grammar import load_tokenizer
from record import DATA, cpu_model, use_checkout, write_result

use_checkout()

import stackmask as sm
from stackmask.runtime.comparison.engines import (
    Engine,
    Facts,
    LLGuidance,
    Pushdown,
    Unsupported,
    XGrammar,
    empty_mask,
    installed_peers,
)
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.comparison.tokenizer import Encoder, Tokenizer

REPEATS = 3
STRINGS = 3  # labelled strings of a pattern
SAMPLE = 10  # peers see one pattern out of so many
SLOWEST = 12
ENOUGH_S = 1.0  # what took longer is not repeated

clock = time.perf_counter_ns
Times = dict[str, list[float]]


def read_cases(folder: Path) -> list[tuple[str, list[str]]]:
    """Return the patterns with the strings that match."""
    with lzma.open(folder / "regex" / "jsonschemabench_patterns.jsonl.xz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    return [(case["pattern"], case["accept"][:STRINGS]) for case in cases]


def walk(engine: Engine, mask: Any, texts: list[list[int]]) -> tuple[list[int], int]:
    """Return the times of all masks along the texts in ns, and how many texts were refused."""
    times = []
    refused = 0
    for ids in texts or [[]]:
        engine.begin()
        for token in ids:
            times.append(timed_fill(engine, mask))
            if not engine.accept(token):
                refused += 1
                break
        else:
            times.append(timed_fill(engine, mask))
    return times, refused


def timed_fill(engine: Engine, mask: Any) -> int:
    """Fill the mask; return the time in ns, without what other processes took of it."""
    computed = time.thread_time_ns()
    begin = clock()
    engine.fill(mask)
    passed = clock() - begin
    return min(passed, time.thread_time_ns() - computed)


def measure(
    make: Any, pattern: str, texts: list[list[int]], mask: Any, repeats: int
) -> tuple[float, list[float], int]:
    """Return (ms of computing to compile, µs of every mask, texts refused), each the best of some tries."""
    subject = Subject("regex", pattern, search=True)
    compiles, passes, refused = [], [], 0
    started = time.monotonic()
    while not passes or (len(passes) < repeats and time.monotonic() - started < ENOUGH_S):
        engine = make()
        begin = time.process_time_ns()
        engine.compile(subject)
        compiles.append((time.process_time_ns() - begin) / 1e6)
        times, refused = walk(engine, mask, texts)
        passes.append(times)
    return min(compiles), [min(place) / 1e3 for place in zip(*passes, strict=True)], refused


def shares(values: list[float]) -> dict[str, float]:
    """Return the usual points of a distribution."""
    ordered = sorted(values)
    points = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
    found = {name: ordered[min(int(len(ordered) * at), len(ordered) - 1)] for name, at in points.items()}
    found["worst"] = ordered[-1]
    found["mean"] = sum(ordered) / len(ordered)
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def run(
    make: Any, cases: list[tuple[str, list[list[int]]]], mask: Any, repeats: int = REPEATS
) -> dict[str, Any]:
    """Measure one engine on all cases."""
    compiles, firsts, worsts, every = [], [], [], []
    slow: list[dict[str, Any]] = []
    refused = strings_refused = 0
    gc.collect()
    for pattern, texts in cases:
        try:
            compile_ms, times, wrong = measure(make, pattern, texts, mask, repeats)
        except (Unsupported, sm.StackmaskError):
            refused += 1
            continue
        strings_refused += wrong
        compiles.append(compile_ms)
        firsts.append(times[0])
        worsts.append(max(times))
        every += times
        slow.append(
            {
                "pattern": pattern if len(pattern) < 200 else pattern[:197] + "...",
                "compile_ms": round(compile_ms, 3),
                "first_us": round(times[0], 1),
                "worst_us": round(max(times), 1),
            }
        )
    return {
        "patterns": len(firsts),
        "patterns refused": refused,
        "strings refused": strings_refused,
        "compile ms": shares(compiles),
        "first mask us": shares(firsts),
        "worst mask of a pattern us": shares(worsts),
        "all masks us": shares(every),
        "masks": len(every),
        "slowest first masks": sorted(slow, key=lambda row: -row["first_us"])[:SLOWEST],
        "slowest masks": sorted(slow, key=lambda row: -row["worst_us"])[:SLOWEST],
        "slowest compiles": sorted(slow, key=lambda row: -row["compile_ms"])[:SLOWEST],
    }


class Shared(Pushdown):
    """A pushdown engine whose compiler is kept from pattern to pattern, as a server keeps it."""

    compiler_of_all: sm.Compiler | None = None

    def __init__(self, vocabulary: sm.Vocabulary) -> None:
        if Shared.compiler_of_all is None:
            Shared.compiler_of_all = sm.Compiler(vocabulary)
        self.compiler = Shared.compiler_of_all

    def facts(self) -> Facts:
        return Facts()


class Kept:
    """Makes a peer once; its compile forgets what was compiled before."""

    def __init__(self, kind: Any, tokenizer: Tokenizer) -> None:
        self.engine = kind(tokenizer.vocabulary, {"encode": tokenizer.encode})

    def __call__(self) -> Any:
        return self.engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument(
        "--every", type=int, default=1, help="take one pattern out of so many, and write nothing"
    )
    args = parser.parse_args()
    tokenizer = load_tokenizer(args.data / "tokenizers" / args.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    mask = empty_mask(vocabulary)
    cases = [
        (pattern, [list(tokenizer.encode(text, add_special_tokens=False)) for text in texts])
        for pattern, texts in read_cases(args.data)[:: args.every]
    ]
    Pushdown(vocabulary, {}).compile(Subject("regex", "[a-z]+"))  # imports
    ours = {
        "stackmask": run(lambda: Pushdown(vocabulary, {}), cases, mask, 1),
        "stackmask, one compiler for all": run(lambda: Shared(vocabulary), cases, mask, 1),
    }
    sample = cases[::SAMPLE]
    peers = {"stackmask": run(lambda: Pushdown(vocabulary, {}), sample, mask)}
    versions = installed_peers()
    for name, kind in (("XGrammar", XGrammar), ("llguidance", LLGuidance)):
        if name in versions:
            peers[name] = run(
                Kept(kind, Tokenizer(args.tokenizer, vocabulary, Encoder(tokenizer))), sample, mask
            )
    for title, results in (("all patterns", ours), ("sample", peers)):
        for name, found in results.items():
            print(f"{title}: {name}: {found['patterns']} patterns, {found['patterns refused']} refused")
            for key in ("compile ms", "first mask us", "worst mask of a pattern us", "all masks us"):
                print(f"  {key}: {found[key]}")
    print(cpu_model())
    if args.every == 1:
        for found in peers.values():
            for key in [key for key in found if key.startswith("slowest")]:
                del found[key]
        document = {"tokenizer": args.tokenizer, "all patterns": ours, "sample": peers}
        command = f"python lab/benchmarks/regex_masks.py --tokenizer {args.tokenizer}"
        print("written:", write_result("regex_masks", command, document, **versions))
    else:
        print(json.dumps(ours["stackmask"], indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
