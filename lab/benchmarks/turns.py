"""Compare the speed of two builds of the engine by turns, on MaskBench's schemas.

    python lab/benchmarks/turns.py --data PATH_TO_DATA_PACK --before PATH_TO_OTHER_CHECKOUT --rounds 9

The other checkout must be built in place. Each round runs both builds, one after the other, in processes of their own; a
ratio is of one round, so that a slow minute of the machine falls on both. Printed: the median ratio of each figure, now
to before, with the least and the greatest. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from json_grammar import load_tokenizer
from record import REPO, write_result

FIGURES = ("mean", "p50", "p99", "p99.9", "first mask p50", "first mask p99")


def quantile(values: list[int], q: float) -> int:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def measure(data: Path, tokenizer_name: str, sample: int, seed: int) -> dict[str, float]:
    """Return the figures of the build that is imported, in microseconds."""
    import stackmask as sm

    tokenizer = load_tokenizer(data / "tokenizers" / tokenizer_name)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    with lzma.open(data / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    random.Random(seed).shuffle(rows)
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    steps: list[int] = []
    firsts: list[int] = []
    for row in rows[:sample]:
        begun = time.process_time_ns()
        try:
            compiled = compiler.compile(sm.Grammar.from_json_schema(row["schema"]))
        except sm.StackmaskError:
            continue
        compiled.matcher().fill_next_token_bitmask(mask)
        firsts.append(time.process_time_ns() - begun)
        for test in row["tests"]:
            if not test["valid"]:
                continue
            matcher = compiled.matcher()
            for token in tokenizer.encode(json.dumps(test["data"]), add_special_tokens=False):
                begun = time.perf_counter_ns()
                matcher.fill_next_token_bitmask(mask)
                accepted = matcher.accept_token(token)
                steps.append(time.perf_counter_ns() - begun)
                if not accepted:
                    break
    found = [statistics.fmean(steps), *(quantile(steps, q) for q in (0.5, 0.99, 0.999))]
    found += [quantile(firsts, q) for q in (0.5, 0.99)]
    return {name: value / 1000 for name, value in zip(FIGURES, found, strict=True)}


def run(view: Path, extra: list[str]) -> dict[str, float]:
    """Measure one build in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(view)}
    command = [sys.executable, __file__, "--worker", *extra]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--before", type=Path, help="the other checkout, built in place")
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.data, options.tokenizer, options.sample, options.seed)))
        return
    if options.before is None:
        parser.error("--before is missing")
    extra = ["--data", str(options.data), "--tokenizer", options.tokenizer]
    extra += ["--sample", str(options.sample), "--seed", str(options.seed)]
    ratios: dict[str, list[float]] = {name: [] for name in FIGURES}
    last: dict[str, Any] = {}
    for number in range(options.rounds):
        views = [("before", options.before / "build" / "view"), ("now", REPO / "build" / "view")]
        for name, view in views if number % 2 else reversed(views):
            last[name] = run(view, extra)
        for name in FIGURES:
            ratios[name].append(last["now"][name] / last["before"][name])
        print(
            f"round {number + 1}: {last['now']['mean']:.1f} µs, before {last['before']['mean']:.1f}",
            flush=True,
        )
    rows = {
        name: {"median": statistics.median(found), "least": min(found), "greatest": max(found)}
        for name, found in ratios.items()
    }
    for name, row in rows.items():
        print(f"{name:16} {row['median']:.3f}  ({row['least']:.3f} to {row['greatest']:.3f})")
    if options.write:
        command = f"python lab/benchmarks/turns.py --data PATH --before PATH --rounds {options.rounds}"
        command += f" --sample {options.sample} --seed {options.seed}"
        write_result("turns", command, {"ratios": rows, "last round": last})


if __name__ == "__main__":
    main()
