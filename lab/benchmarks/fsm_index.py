"""Build the token index of real patterns with the finite-state mode and with outlines-core, side by side.

    python lab/benchmarks/fsm_index.py [--sample N] [--seconds S] [--megabytes M] [--tokenizer NAME] [--write]

The patterns are those of JSONSchemaBench, read by both as Rust's regex syntax and as full matches (outer anchors
taken off, which outlines-core refuses). Every build runs in a process of its own, forked after vocabularies, modules and
tables are there, with a limit on time and memory. Time is processor time from the pattern's text to the finished index.
Memory is what the finished index takes: for stackmask its arrays; for outlines-core its hash tables, as counted from
their entries (8 bytes and a control byte per bucket, 8/7 of the entries rounded up to a power of two), or the growth
of the process where these are too many to count. Growth of the process is given for both as well. Where both
build, the tokens that may come first are compared: outlines-core leaves some out, such as single digits under
`([0-9]{8})?` and some tokens that end within a character.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import lzma
import multiprocessing
import os
import random
import re
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from json_grammar import load_tokenizer
from record import DATA, use_checkout, write_result

use_checkout()

import stackmask as sm

COUNTED = 256 << 20  # bytes of growth up to which entries are counted one by one
NAMED = ["^.{1,256}$", "^z9((.){10,10}){10,10}z9$", "a{1000}{1000}", "(.{100}){100}", "(a+)+$", "(.*)*b"]


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def full_match(pattern: str) -> str:
    """Take outer anchors off, where they are outer ones for certain."""
    if pattern.startswith("^") and "|" not in pattern:
        pattern = pattern[1:]
    if pattern.endswith("$") and "|" not in pattern and not re.search(r"(?<!\\)(\\\\)*\\\$$", pattern):
        pattern = pattern[:-1]
    return pattern


class Ours:
    def __init__(self, vocabulary: sm.Vocabulary) -> None:
        self.vocabulary = vocabulary
        # the tables of Unicode are read once per process, and every build has its own process
        sm.fsm.compile(sm.Grammar.from_regex(r"(?i)\w\d\s\W\D\S\bé", flavor="rust"), vocabulary)

    def build(self, pattern: str) -> Any:
        grammar = sm.Grammar.from_regex(pattern, flavor="rust")
        return sm.fsm.compile(grammar, self.vocabulary, memory=512 << 20)

    def facts(self, index: Any, growth: int) -> dict[str, Any]:
        return {
            "bytes": index.nbytes,
            "states": index.dfa.states,
            "first": set(index.index.allowed_tokens(0).tolist()),
        }


class Outlines:
    def __init__(self, vocabulary: sm.Vocabulary) -> None:
        from outlines_core import Index, Vocabulary

        self.index = Index
        texts: dict[bytes, list[int]] = {}
        for token, text in enumerate(vocabulary.token_bytes):
            if text:
                texts.setdefault(text, []).append(token)
        self.end = vocabulary.stop_ids[0]
        self.vocabulary = Vocabulary(self.end, texts)

    def build(self, pattern: str) -> Any:
        return self.index(pattern, self.vocabulary)

    def facts(self, index: Any, growth: int) -> dict[str, Any]:
        first = set(index.get_allowed_tokens(index.get_initial_state())) - {self.end}
        found: dict[str, Any] = {"bytes": growth, "first": first}
        if growth < COUNTED:
            tables = index.get_transitions()
            found["states"] = len(tables)
            found["bytes"] = _table(len(tables), 40) + sum(_table(len(t), 8) for t in tables.values())
        return found


def _table(entries: int, entry: int) -> int:
    """Return the bytes of a hash table of Rust's standard library."""
    buckets = 4
    while buckets * 7 // 8 < entries:
        buckets *= 2
    return buckets * (entry + 1) + 16


def _child(engine: Any, pattern: str, limit: int, out: Any) -> None:
    ctypes.CDLL(None).malloc_trim(0)  # what the parent has freed is no room for this
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + limit, resource.RLIM_INFINITY))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    before = resident()
    started = time.process_time()
    try:
        index = engine.build(pattern)
        seconds = time.process_time() - started
        growth = max(0, resident() - before)
        out.send({"ms": 1e3 * seconds, "growth": growth})
        out.send(engine.facts(index, growth))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the engine's answer
        out.send({"refused": f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"})


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def measure(engine: Any, pattern: str, seconds: float, limit: int) -> dict[str, Any]:
    """Build one index in a forked process."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(engine, pattern, limit, send))
    process.start()
    send.close()
    found: dict[str, Any] = {"refused": "ended by the limit on memory"}
    if receive.poll(seconds):
        with contextlib.suppress(EOFError):
            found = receive.recv()
            if "ms" in found:
                # counting the entries of a table is not building it
                found |= {"bytes": found["growth"], "first": None}
                if receive.poll(60):
                    found |= {k: v for k, v in receive.recv().items() if k != "refused"}
    else:
        found = {"refused": f"more than {seconds:g} s"}
    process.kill()
    process.join()
    return found


def quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at: Callable[[float], float] = lambda q: ordered[min(len(ordered) - 1, int(q * len(ordered)))]
    return {name: round(at(q), 3) for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--sample", type=int, default=0, help="number of patterns, 0 for all")
    parser.add_argument("--seconds", type=float, default=20, help="limit of one build, of the clock")
    parser.add_argument("--megabytes", type=int, default=4096, help="limit of one build")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    vocabulary = sm.Vocabulary.from_huggingface(
        load_tokenizer(options.data / "tokenizers" / options.tokenizer)
    )
    engines = {"stackmask": Ours(vocabulary), "outlines-core": Outlines(vocabulary)}
    # a collection would look through the whole vocabulary's objects in a process that lives for one build
    gc.collect()
    gc.freeze()
    with lzma.open(options.data / "regex" / "jsonschemabench_patterns.jsonl.xz", "rt") as lines:
        patterns = [full_match(json.loads(line)["pattern"]) for line in lines]
    if options.sample:
        patterns = random.Random(0).sample(patterns, options.sample)
    limit = options.megabytes << 20
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    for i, pattern in enumerate(patterns):
        for name, engine in engines.items():
            found[name].append(measure(engine, pattern, options.seconds, limit))
        if i % 100 == 99:
            print(i + 1, file=sys.stderr, flush=True)
    result: dict[str, Any] = {"tokenizer": options.tokenizer, "patterns": len(patterns)}
    built = [i for i in range(len(patterns)) if all("ms" in found[name][i] for name in engines)]
    result["built by both"] = len(built)
    counted: Counter[str] = Counter()
    for i in built:
        ours, theirs = (found[name][i].pop("first") for name in engines)
        kind = "not compared" if theirs is None else "equal" if ours == theirs else "fewer in outlines-core"
        counted[kind if theirs is None or theirs <= ours else f"others: {patterns[i]}"] += 1
    result["tokens that may come first"] = dict(counted)
    for name in engines:
        own = [f for f in found[name] if "ms" in f]
        both = [found[name][i] for i in built]
        result[name] = {
            "built": len(own),
            "not built": dict(
                Counter(f["refused"][:60] for f in found[name] if "refused" in f).most_common(12)
            ),
            "ms": quantiles([f["ms"] for f in own]),
            "ms, built by both": quantiles([f["ms"] for f in both]),
            "KB, built by both": quantiles([f["bytes"] / 1024 for f in both]),
            "growth KB, built by both": quantiles([f["growth"] / 1024 for f in both]),
        }
    for what, key in (("time", "ms"), ("memory", "bytes")):
        ratios = [found["outlines-core"][i][key] / max(found["stackmask"][i][key], 1e-9) for i in built]
        result[f"times less {what}"] = {
            "of quantiles": {
                q: round(
                    result["outlines-core"][f"{'ms' if key == 'ms' else 'KB'}, built by both"][q]
                    / result["stackmask"][f"{'ms' if key == 'ms' else 'KB'}, built by both"][q],
                    1,
                )
                for q in ("p50", "p90", "p99", "max")
            },
            "p1 of the patterns' ratios": round(sorted(ratios)[len(ratios) // 100], 1),
            "p50 of the patterns' ratios": round(sorted(ratios)[len(ratios) // 2], 1),
        }
    result["by name"] = {
        pattern: {
            name: {
                k: v
                for k, v in measure(engine, full_match(pattern), options.seconds, limit).items()
                if k != "first"
            }
            for name, engine in engines.items()
        }
        for pattern in NAMED
    }
    print(json.dumps(result, indent=2, ensure_ascii=False))
    if options.write:
        command = f"python lab/benchmarks/fsm_index.py --sample {options.sample} --write"
        name = "fsm_index_sample" if options.sample else "fsm_index"
        versions = {"outlines_core": metadata.version("outlines_core")}
        print("written:", write_result(name, command, result, **versions))


if __name__ == "__main__":
    main()
