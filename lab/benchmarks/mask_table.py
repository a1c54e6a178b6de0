"""What a step sends to a device: a table of masks against bitmaps, over real JSON documents.

    python lab/benchmarks/mask_table.py --data PATH_TO_DATA_PACK

Replays MaskBench's valid instances, 32 at a time, under the JSON grammar and under their own schemas, with the Llama-3
vocabulary. Counts bytes; the device is the CPU, where the same bytes are copied. Every eighth step the masks that the
table stands for are compared with the bitmaps.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from pathlib import Path
from typing import Any

import torch
from record import use_checkout, write_result

use_checkout()

from json_grammar import load_tokenizer

import stackmask as sm
from stackmask.runtime.kernels.mask_table import DeviceMaskTable

BATCH = 32
DOCUMENTS = 320


def documents(
    data: Path, compiler: sm.Compiler, tokenizer: Any
) -> list[tuple[sm.CompiledGrammar, list[int]]]:
    """Return a seeded sample of (compiled schema, tokens of a valid instance)."""
    rng = random.Random(11)
    with lzma.open(data / "maskbench_dev.jsonl.xz", "rt") as lines:
        records = [json.loads(line) for _, line in zip(range(2000), lines, strict=False)]
    rng.shuffle(records)
    found: list[tuple[sm.CompiledGrammar, list[int]]] = []
    for record in records:
        test = next((t for t in record["tests"] if t["valid"] and isinstance(t["data"], dict | list)), None)
        if test is None or len(found) == DOCUMENTS:
            continue
        ids = tokenizer.encode(json.dumps(test["data"], ensure_ascii=False), add_special_tokens=False)
        if not 20 <= len(ids) <= 1000:
            continue
        try:
            compiled = compiler.compile(sm.Grammar.from_json_schema(record["schema"]))
        except sm.StackmaskError:
            continue
        matcher = compiled.matcher()
        if all(matcher.accept_token(token) for token in ids):
            found.append((compiled, ids))
    return found


def replay(requests: list[tuple[sm.CompiledGrammar, list[int]]], size: int) -> dict[str, Any]:
    """Replay requests in a continuous batch; return what was sent, and how masks were named."""
    table = DeviceMaskTable(size, "cpu", max_rows=4096)
    waiting = list(requests)
    live: list[list[Any]] = []
    kinds = {"one row": 0, "several rows": 0, "tokens alone": 0, "whole words": 0, "with flipped tokens": 0}
    rows = steps = 0
    bitmaps = sm.allocate_token_bitmask(BATCH, size, like="torch")
    seconds = {"entries": 0.0, "bitmaps": 0.0}
    while waiting or live:
        while waiting and len(live) < BATCH:
            compiled, ids = waiting.pop()
            live.append([compiled.matcher(), ids, 0])
        matchers = [item[0] for item in live]
        for matcher in matchers:
            mask = matcher.mask_rows()
            kind = "several rows" if len(mask.rows) > 1 else "one row" if mask.rows else "tokens alone"
            kinds["whole words" if mask.words is not None else kind] += 1
            kinds["with flipped tokens"] += bool(mask.rows and mask.tokens)
        start = time.process_time()
        entries = table.entries(matchers)
        between = time.process_time()
        sm.fill_next_token_bitmask(matchers, bitmaps, rows=range(len(live)))
        seconds["bitmaps"] += time.process_time() - between
        seconds["entries"] += between - start
        if steps % 8 == 0:
            assert torch.equal(table.bitmask(entries), bitmaps[: len(live)])
        rows += len(live)
        steps += 1
        for item in live:
            assert item[0].accept_token(item[1][item[2]])
            item[2] += 1
        live = [item for item in live if item[2] < len(item[1])]
    words = bitmaps.shape[1]
    return {
        "masks": rows,
        "steps": steps,
        "bitmap_bytes_a_mask": 4 * words,
        "table_bytes_a_mask": round(table.sent_bytes / rows, 1),
        "rows_sent": (table.sent_bytes - 64 * rows) // (4 * words),
        "table_rows": len(table.rows),
        "evictions": table.evictions,
        "named_as": kinds,
        "entries_us_a_mask": round(1e6 * seconds["entries"] / rows, 2),
        "bitmap_us_a_mask": round(1e6 * seconds["bitmaps"] / rows, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    tokenizer = load_tokenizer(data / "tokenizers" / "llama3-128k")
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    compiler = sm.Compiler(vocabulary)
    requests = documents(data, compiler, tokenizer)
    grammar = compiler.compile(sm.Grammar.bundled("json"))
    result = {
        "json grammar, first pass": replay([(grammar, ids) for _, ids in requests], vocabulary.size),
        "json grammar, again": replay([(grammar, ids) for _, ids in requests], vocabulary.size),
        "schemas": replay(requests, vocabulary.size),
    }
    for name, row in result.items():
        print(name, row)
    command = "python lab/benchmarks/mask_table.py --data PATH_TO_DATA_PACK"
    print(write_result("mask_table", command, {"requests": len(requests), **result}, torch=torch.__version__))


if __name__ == "__main__":
    main()
