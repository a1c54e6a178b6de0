"""Where the time of masks goes: by how many tokens a mask allows, on first visit and warm.

    python lab/benchmarks/density.py --data PATH_TO_DATA_PACK --sample 150

Follows the valid instances of a seeded sample of MaskBench's schemas on one compiler. A fill is *cold* if it made
something (a walk of the vocabulary or a mask that was not there), *warm* if all was remembered. The time of a warm
fill is the median of several passes over the same place.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from json_grammar import load_tokenizer
from record import DATA, cpu_model, use_checkout, write_result

CLASSES = (("0", 0), ("1–16", 16), ("17–256", 256), ("257–4k", 4096), ("4k–64k", 65_536), ("more", 1 << 62))
MADE = ("walks", "masks", "joined_masks", "simulations")
WARM_PASSES = 3


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


def kind_of(mask: Any) -> str:
    allowed = int(np.unpackbits(mask.view(np.uint8)).sum())
    return next(name for name, most in CLASSES if allowed <= most)


def follow(
    compiled: Any, documents: list[list[int]], mask: Any, found: dict[str, dict[str, list[float]]]
) -> int:
    """Add the times of all fills along the documents, by class and by whether they made something."""
    clock = time.perf_counter_ns
    refused = 0
    for ids in documents:
        matcher = compiled.matcher()
        places: list[tuple[str, list[int]]] = []
        for token in ids:
            before = compiled.stats()
            start = clock()
            matcher.fill_next_token_bitmask(mask, 0)
            took = clock() - start
            after = compiled.stats()
            made = [key for key in MADE if after[key] > before[key]]
            kind = kind_of(mask[0])
            if made:
                found[kind]["cold"].append(took / 1e3)
                found[kind]["walked"].append(float("walks" in made))
            places.append((kind, []))
            if not matcher.accept_token(token):
                refused += 1
                break
        for _ in range(WARM_PASSES):
            matcher.reset()
            for (_, times), token in zip(places, ids, strict=False):
                start = clock()
                matcher.fill_next_token_bitmask(mask, 0)
                times.append(clock() - start)
                if not matcher.accept_token(token):
                    break
        for kind, times in places:
            found[kind]["warm"].append(statistics.median(times) / 1e3)
    return refused


def row(times: list[float], total: float) -> dict[str, float]:
    if not times:
        return {"fills": 0}
    ordered = sorted(times)
    return {
        "fills": len(ordered),
        "mean_us": round(statistics.fmean(ordered), 2),
        "p50_us": round(ordered[len(ordered) // 2], 2),
        "p99_us": round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 1),
        "worst_us": round(ordered[-1], 1),
        "share_of_time": round(sum(ordered) / total, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--sample", type=int, default=400, help="number of schemas")
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if not folder.is_dir():
        sys.exit(f"no tokenizer at {folder}: give the data pack with --data")
    use_checkout()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import stackmask as sm

    tokenizer = load_tokenizer(folder)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    found: dict[str, dict[str, list[float]]] = {
        name: {"cold": [], "walked": [], "warm": []} for name, _ in CLASSES
    }
    compiled = refused = unsupported = 0
    for schema, documents in samples(args.data, args.sample, tokenizer):
        try:
            grammar = compiler.compile(sm.Grammar.from_json_schema(schema))
        except sm.StackmaskError:
            unsupported += 1
            continue
        compiled += 1
        refused += follow(grammar, documents, mask, found)
    total = {time: sum(sum(by[time]) for by in found.values()) for time in ("cold", "warm")}
    rows = {
        name: {
            "cold": row(by["cold"], total["cold"]),
            "cold_with_a_walk": int(sum(by["walked"])),
            "warm": row(by["warm"], total["warm"]),
        }
        for name, by in found.items()
    }
    print(cpu_model(), f"{compiled} schemas, {unsupported} unsupported, {refused} instances cut short")
    lines = [
        "| tokens allowed | fills | warm mean, p99 µs | cold | of these walked | cold mean, p99, worst µs | share of cold |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, by in rows.items():
        warm, cold = by["warm"], by["cold"]
        if not warm["fills"]:
            lines.append(f"| {name} | 0 | | | | | |")
            continue
        times = f"{cold['mean_us']}, {cold['p99_us']}, {cold['worst_us']}" if cold["fills"] else ""
        lines.append(
            f"| {name} | {warm['fills']:,} | {warm['mean_us']}, {warm['p99_us']} | {cold['fills']:,} "
            f"| {by['cold_with_a_walk']:,} | {times} | {cold.get('share_of_time', 0):.0%} |"
        )
    print("\n".join(lines))
    command = f"python lab/benchmarks/density.py --tokenizer {args.tokenizer} --sample {args.sample}"
    result = {"schemas": compiled, "unsupported": unsupported, "classes": rows, "table": lines}
    write_result("density", command, result)


if __name__ == "__main__":
    main()
