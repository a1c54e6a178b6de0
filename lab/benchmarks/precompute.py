"""What masks made ahead of time give: walks that texts still ask for, and first fills, with and without.

    python lab/benchmarks/precompute.py --data PATH_TO_DATA_PACK --sample 60

Follows the valid instances of a seeded sample of MaskBench's schemas, each on a compiler of its own, and one document of
each bundled grammar that has a maker of documents. Every fill is timed once, at its first visit, as a request meets it.
"""

from __future__ import annotations

import argparse
import collections
import json
import lzma
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from json_grammar import load_tokenizer
from made_documents import document_of
from record import DATA, cpu_model, use_checkout, write_result

DOCUMENTS = ("json", "xml", "sql")
WITHOUT = ("arithmetic", "csv", "lua", "regex")
TOKENS = 10_000


def samples(data: Path, count: int, tokenizer: Any) -> list[tuple[Any, list[list[int]]]]:
    """Return (schema, valid instances as token ids)."""
    with lzma.open(data / "maskbench_dev.jsonl.xz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    random.Random(1).shuffle(records)
    return [
        (
            record["schema"],
            [
                tokenizer.encode(json.dumps(test["data"], ensure_ascii=False), add_special_tokens=False)
                for test in record["tests"]
                if test["valid"]
            ],
        )
        for record in records[:count]
    ]


class Row:
    """What was found over some grammars, made ahead of time or not."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.seconds: list[float] = []
        self.done: collections.Counter[str] = collections.Counter()
        self.stopped: collections.Counter[str] = collections.Counter()
        self.left: collections.Counter[str] = collections.Counter()

    def follow(self, compiled: Any, documents: list[list[int]], mask: Any, ahead: bool) -> None:
        """Time every fill along some documents, and count their walks."""
        state = "lazy"
        if ahead:
            start = time.process_time()
            done = compiled.precompute()
            self.seconds.append(time.process_time() - start)
            state = done["stopped"] or "complete"
            for key in ("states", "walks", "visits"):
                self.done[key] += done[key]
        self.stopped[state] += 1
        before = compiled.stats()
        for ids in documents:
            matcher = compiled.matcher()
            for token in ids:
                start_ns = time.perf_counter_ns()
                matcher.fill_next_token_bitmask(mask, 0)
                self.times.append((time.perf_counter_ns() - start_ns) / 1e3)
                if not matcher.accept_token(token):
                    break
        after = compiled.stats()
        self.left[state] += after["walks"] - before["walks"]
        self.done["mask_mb"] += after["mask_bytes"] // 1_000_000

    def result(self) -> dict[str, Any]:
        """Return the figures."""
        found: dict[str, Any] = {"grammars": dict(self.stopped), "walks_of_texts": dict(self.left)}
        if self.times:
            p50, p99 = np.percentile(self.times, [50, 99])
            found |= {
                "fills": len(self.times),
                "mean_us": round(float(np.mean(self.times)), 2),
                "p50_us": round(float(p50), 2),
                "p99_us": round(float(p99), 1),
            }
        if self.seconds:
            found["precompute"] = {
                "mean_s": round(float(np.mean(self.seconds)), 3),
                "worst_s": round(max(self.seconds), 2),
                **self.done,
            }
        return found


def measure(name: str, jobs: list[tuple[Callable[[], Any], list[list[int]]]], mask: Any) -> dict[str, Any]:
    """Return the figures of some grammars and their documents, lazily and ahead of time."""
    result = {}
    for way in ("lazy", "ahead"):
        row = Row()
        for compiled, documents in jobs:
            row.follow(compiled(), documents, mask, way == "ahead")
        result[way] = row.result()
        print(f"{name:12} {way:6} {result[way]}", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--sample", type=int, default=60, help="number of schemas")
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if not folder.is_dir():
        sys.exit(f"no tokenizer at {folder}: give the data pack with --data")
    use_checkout()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import stackmask as sm

    tokenizer = load_tokenizer(folder)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)

    def job(grammar: Any, documents: list[list[int]]) -> tuple[Callable[[], Any], list[list[int]]]:
        return lambda: sm.Compiler(vocabulary).compile(grammar), documents

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return ids

    schemas = samples(args.data, args.sample, tokenizer)
    results = {}
    for order in ("schema", "any"):
        jobs = []
        for schema, documents in schemas:
            try:
                grammar = sm.Grammar.from_json_schema(schema, property_order=order)
                sm.Compiler(vocabulary).compile(grammar)
            except sm.StackmaskError:
                continue
            jobs.append(job(grammar, documents))
        results[f"MaskBench, property_order={order!r}"] = measure(order, jobs, mask)
    for name in (*DOCUMENTS, *WITHOUT):
        texts = [document_of(name, TOKENS, encode)] if name in DOCUMENTS else []
        results[f"{name}.ebnf"] = measure(name, [job(sm.Grammar.bundled(name), texts)], mask)
    print(cpu_model())
    command = f"python lab/benchmarks/precompute.py --tokenizer {args.tokenizer} --sample {args.sample}"
    write_result("precompute", command, {"rows": results})


if __name__ == "__main__":
    main()
