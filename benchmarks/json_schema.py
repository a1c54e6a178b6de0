"""Judge JSON Schemas on a corpus: verdicts, refusals by keyword, and what front end and compile cost.

    python benchmarks/json_schema.py --data PATH_TO_DATA_PACK [--sample 1000] [--order any|schema] [--save NAME]

Verdicts come from a vocabulary of single bytes, without masks, so that thousands of schemas take minutes. An
instance is judged right if the text is accepted exactly when the corpus calls it valid. A refusal counts as such, by
error, keyword and reason; nothing is left out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import use_checkout, write_result


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Return quantiles in milliseconds."""
    ordered = sorted(seconds) or [0.0]
    last = len(ordered) - 1
    return {f"p{p}": round(1e3 * ordered[min(last, len(ordered) * p // 100)], 3) for p in (50, 90, 99, 100)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0, help="schemas (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--order", choices=("any", "schema"), default="any")
    parser.add_argument("--failures", type=Path, help="write what did not pass, as JSONL")
    parser.add_argument("--save", help="name of the file in benchmarks/results")
    options = parser.parse_args()
    use_checkout()
    import stackmask as sm

    with lzma.open(options.data / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    random.Random(options.seed).shuffle(records)
    if options.sample:
        records = records[: options.sample]
    vocabulary = sm.Vocabulary(
        [bytes([b]) for b in range(256)] + [b"<eos>"], stop_ids=[256], special_ids=[256]
    )
    verdicts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    front: list[float] = []
    compiling: list[float] = []
    failures: list[dict[str, Any]] = []
    for number, record in enumerate(records):
        if number % 200 == 0:
            compiler = sm.Compiler(vocabulary)  # what schemas share is bounded here, not the point
        try:
            start = time.perf_counter()
            grammar = sm.Grammar.from_json_schema(record["schema"], property_order=options.order)
            made = time.perf_counter()
            compiled = compiler.compile(grammar)
            compiling.append(time.perf_counter() - made)
            front.append(made - start)
        except sm.StackmaskError as error:
            verdicts["refused"] += 1
            reason = getattr(error, "reason", str(error))
            refusals[f"{type(error).__name__} {getattr(error, 'keyword', '')}: {reason[:80]}"] += 1
            failures.append({"id": record["id"], "error": str(error)})
            continue
        wrong: dict[str, list[int]] = {}
        for i, test in enumerate(record["tests"]):
            matcher = compiled.matcher()
            text = json.dumps(test["data"], ensure_ascii=False).encode(errors="surrogatepass")
            accepted = matcher.accept_string(text) and matcher.is_accepting()
            if accepted != test["valid"]:
                wrong.setdefault("invalid accepted" if accepted else "valid rejected", []).append(i)
        for kind in wrong or ("passing",):
            verdicts[kind] += 1
        if wrong:
            failures.append({"id": record["id"], **wrong})
    result = {
        "schemas": len(records),
        "order": options.order,
        "verdicts": dict(verdicts),
        "refusals": dict(refusals.most_common()),
        "front_ms": quantiles(front),
        "compile_ms": quantiles(compiling),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
    if options.failures:
        options.failures.write_text("".join(json.dumps(f) + "\n" for f in failures), encoding="utf-8")
    if options.save:
        command = f"python benchmarks/json_schema.py --data PATH_TO_DATA_PACK --order {options.order}"
        write_result(
            options.save, command + (f" --sample {options.sample}" if options.sample else ""), result
        )


if __name__ == "__main__":
    sys.exit(main())
