"""Count what honest requests take of each limit: work, memory, terms and semantic states, from the source to the last mask.

    python lab/benchmarks/limits.py --data PATH_TO_DATA_PACK --write

Each request has a compiler of its own, with no work of others to share: what a server's request takes at most.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pack import load_tokenizer, maskbench
from record import DATA, use_checkout, write_result


def schemas(data: Path, count: int) -> Iterator[tuple[Any, str]]:
    """Yield schemas of MaskBench, each with a valid instance."""
    for record in maskbench(data, 1)[:count]:
        for test in record["tests"]:
            if test["valid"]:
                yield record["schema"], json.dumps(test["data"], ensure_ascii=False)
                break


def queries(data: Path, count: int) -> Iterator[tuple[Any, str]]:
    """Yield grammars of SQLite over the schemas of Spider, each with a gold query."""
    import stackmask as sm

    found = json.loads((data / "sql" / "spider" / "dev_schemas.json").read_text(encoding="utf-8"))
    lines = (data / "sql" / "spider" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    for line in random.Random(1).sample(lines, count):
        record = json.loads(line)
        tables = {
            table["name"]: [column["name"] for column in table["columns"]]
            for table in found[record["db_id"]]["tables"]
        }
        yield sm.Grammar.from_sql("sqlite", schema=tables, double_quotes="strings"), record["query"]


def taken(vocabulary: Any, source: Any, ids: list[int]) -> dict[str, float] | None:
    """Return what one request takes, or None where its text is not of the grammar."""
    import numpy as np

    import stackmask as sm

    compiler = sm.Compiler(vocabulary)
    begin = time.process_time()
    try:
        matcher = compiler.compile(source).matcher()
    except sm.StackmaskError:
        return None
    account = matcher.account
    mask = np.empty((1, -(-vocabulary.size // 32)), np.int32)
    work = account.allowance - account.left
    memory = account.memory - account.memory_left
    for token in ids:
        before, kept = account.left, account.memory_left
        matcher.fill_next_token_bitmask(mask)
        work += before - account.left
        memory += kept - account.memory_left
        if not matcher.accept_token(
            token
        ):  # which gives units and bytes back, so that what it took is not seen
            return None
    return {
        "work": work,
        "memory_bytes": memory,
        "mask_bytes": compiler.stats()["stores"][0]["bytes"]["masks"],
        "milliseconds": (time.process_time() - begin) * 1e3,
    }


def quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {"p50": 0.5, "p99": 0.99, "most": 1.0}
    return {name: round(ordered[min(len(ordered) - 1, int(len(ordered) * q))], 2) for name, q in at.items()}


def main() -> None:
    use_checkout()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    import stackmask as sm

    tokenizer = load_tokenizer(args.data / "tokenizers" / "llama3-128k")
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    rows: dict[str, Any] = {}
    for name, cases in (
        ("a JSON Schema of MaskBench and its document", schemas(args.data, args.count)),
        ("SQLite over a schema of Spider and a query", queries(args.data, args.count // 10)),
    ):
        found = []
        for source, text in cases:
            took = taken(vocabulary, source, tokenizer.encode(text, add_special_tokens=False))
            if took is not None:
                found.append(took)
        rows[name] = {
            "requests": len(found),
            **{figure: quantiles([each[figure] for each in found]) for figure in found[0]},
        }
        print(name, json.dumps(rows[name]))
    if args.write:
        write_result(
            "limits",
            f"python lab/benchmarks/limits.py --data PATH --count {args.count} --write",
            {"requests": rows},
        )


if __name__ == "__main__":
    main()
