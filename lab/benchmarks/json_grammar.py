"""Time the bundled JSON grammar beside XGrammar's and llguidance's, on one machine, in one run.

    python lab/benchmarks/json_grammar.py --data PATH_TO_DATA_PACK

Per engine: compile, first mask, and per token of real JSON documents the mask, the accept call
and the mask that a fresh process sees (cold: the first pass over the documents). Engines run in turn, each in
a process of its own, one thread. Every engine must accept every document: a fast wrong engine fails.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engines import ENGINES, bundled, versions
from pack import DOCUMENTS, documents, load_tokenizer
from record import DATA, cpu_model, use_checkout, write_result

PASSES = 3

# way → the engine, and what compiles JSON with it
WAYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "stackmask": ("stackmask", lambda engine: engine.compile_grammar(bundled("json"))),
    # any JSON value, in which no object has a key twice; its first mask is made with the compiler
    "builtin": ("stackmask", lambda engine: engine.compiler.compile(engine.sm.Grammar.json())),
    "llguidance": ("llguidance", lambda engine: engine.compile_json()),
    "xgrammar": ("xgrammar", lambda engine: engine.compile_json()),
}


def measure(name: str, folder: str, data: str) -> dict[str, float]:
    use_checkout()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = load_tokenizer(Path(folder))
    texts = documents(Path(data), tokenizer)
    clock = time.perf_counter_ns
    kind, compile_json = WAYS[name]
    engine: Any = ENGINES[kind](tokenizer)
    engine.fresh()
    begin = clock()
    compiled = compile_json(engine)
    compile_ns = clock() - begin
    fill = engine.filler(engine.matcher(compiled))
    begin = clock()
    fill()
    first = clock() - begin
    cold: list[int] = []
    fills: list[int] = []
    accepts: list[int] = []
    for number in range(PASSES):
        for ids in texts:
            matcher = engine.matcher(compiled)
            fill, accept = engine.filler(matcher), engine.accepter(matcher)
            for token in ids:
                a = clock()
                fill()
                b = clock()
                ok = accept(token)
                c = clock()
                if not ok:
                    raise SystemExit(f"{name} refuses a valid document at token {token}")
                (fills if number else cold).append(b - a)
                if number:
                    accepts.append(c - b)
    return {
        "compile_ms": compile_ns / 1e6,
        "first_mask_us": first / 1e3,
        "cold_mask_mean_us": statistics.fmean(cold) / 1e3,
        "mask_mean_us": statistics.fmean(fills) / 1e3,
        "mask_p50_us": statistics.median(fills) / 1e3,
        "mask_p99_us": statistics.quantiles(fills, n=100)[98] / 1e3,
        "mask_max_us": max(fills) / 1e3,
        "accept_mean_us": statistics.fmean(accepts) / 1e3,
        "accept_p99_us": statistics.quantiles(accepts, n=100)[98] / 1e3,
        "tokens": len(cold),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--engines", default="stackmask,builtin,llguidance,xgrammar")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each engine; medians are reported")
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if not folder.is_dir():
        sys.exit(f"no tokenizer at {folder}: give the data pack with --data")
    names = args.engines.split(",")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    use_checkout()
    from stackmask.runtime.child import Child

    for _ in range(args.rounds):
        for name in names:
            child = Child("importlib:import_module", "json_grammar", seconds=900)
            runs[name].append(child.ask("measure", name, str(folder), str(args.data)))
            child.end()
    medians = {
        name: {key: round(statistics.median(run[key] for run in results), 3) for key in results[0]}
        for name, results in runs.items()
    }
    command = f"python lab/benchmarks/json_grammar.py --tokenizer {args.tokenizer} --rounds {args.rounds} --engines {args.engines}"
    result = {"tokenizer": args.tokenizer, "documents": DOCUMENTS, "engines": medians}
    write_result("json_grammar", command, result, **versions([name for name in names if name != "builtin"]))
    print(cpu_model())
    keys = list(next(iter(medians.values())))
    print(f"{'':20}" + "".join(f"{name:>14}" for name in names))
    for key in keys:
        print(f"{key:20}" + "".join(f"{medians[name][key]:14.2f}" for name in names))


if __name__ == "__main__":
    main()
