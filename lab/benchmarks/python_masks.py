"""Masks of the bundled grammar of Python along files of the standard library, with Llama-3's vocabulary.

    python lab/benchmarks/python_masks.py [--files N] [--version 3.13] [--seed N] [--write]

Each file is read twice: the first pass meets states that no file before it has met, the second one has seen them all.
Times are of the mask of each token, in microseconds of this thread. The tokenizer is that of the data pack.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import time
import tokenize
from array import array
from pathlib import Path
from typing import Any

from pack import load_tokenizer
from record import DATA, use_checkout, write_result

use_checkout()

from judges.python import interpreter

import stackmask as sm

TOKENIZER = "llama3-128k"
LARGEST = 200_000  # bytes of a file


def library(version: str) -> list[Path]:
    """Return the files of the standard library."""
    command = [interpreter(version), "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]
    folder = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    found = [
        path for path in sorted(folder.rglob("*.py")) if not {"site-packages", "lib2to3"} & set(path.parts)
    ]
    return [path for path in found if path.stat().st_size < LARGEST and "bad" not in path.name]


def resident() -> float:
    """Return the memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def measure(version: str, count: int, seed: int) -> dict[str, Any]:
    """Return the figures of the masks along ``count`` files, drawn at random."""
    tokenizer = load_tokenizer(DATA / "tokenizers" / TOKENIZER)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    paths = random.Random(seed).sample(library(version), count)
    compiler = sm.Compiler(vocabulary)
    sm.Grammar.bundled("json")
    begin = time.perf_counter()
    grammar = sm.Grammar.bundled("python", version=version)
    compiled = compiler.compile(grammar)
    load = time.perf_counter() - begin
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    before = resident()
    first, seen = array("f"), array("f")  # lists would take more memory than the masks
    means: list[float] = []
    refused = []
    for path in paths:
        try:
            with tokenize.open(path) as file:
                tokens = tokenizer.encode(file.read(), add_special_tokens=False)
        except (SyntaxError, UnicodeDecodeError):
            continue
        for into in (first, seen):
            matcher = compiled.matcher()
            times = []
            for token in tokens:
                begin = time.thread_time_ns()
                matcher.fill_next_token_bitmask(mask)
                times.append((time.thread_time_ns() - begin) / 1e3)
                if not matcher.accept_token(token):
                    refused.append(path.name)
                    break
            if into is first and times:
                means.append(statistics.mean(times))
            into.extend(times)
    return {
        "files": len(paths),
        "tokens": len(first),
        "refused": sorted(set(refused)),
        "load ms": round(load * 1e3, 1),
        "first mean us": round(statistics.mean(first), 1),
        "first p99 us": round(statistics.quantiles(first, n=100)[98], 1),
        "first worst ms": round(max(first) / 1e3, 2),
        "first over 15 ms": sum(each > 15_000 for each in first),
        "first mean us of the last quarter": round(statistics.mean(means[-len(means) // 4 :]), 1),
        "seen mean us": round(statistics.mean(seen), 2),
        "seen p99 us": round(statistics.quantiles(seen, n=100)[98], 1),
        "memory MiB": round(resident() - before, 1),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--version", default="3.13")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write results/python_masks.json")
    options = parser.parse_args()
    found = measure(options.version, options.files, options.seed)
    print(json.dumps(found, indent=2))
    if options.write:
        command = f"python_masks.py --files {options.files} --version {options.version}"
        print(write_result("python_masks", command, found, tokenizer=TOKENIZER))


if __name__ == "__main__":
    main()
