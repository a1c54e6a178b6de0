"""Hold the model profile of JSON to its promise: what random models write under it, and what it lets through.

    python lab/benchmarks/json_profile.py --data PATH_TO_DATA_PACK [--schemas 200] [--texts 5] [--judged 0] --write

Random texts: with random logits over a real vocabulary, ``--texts`` texts under each of ``--schemas`` schemas, those of
``tests/support/json_profile_checks.py`` and a seeded sample of MaskBench. Each must be valid (``jsonschema``, for which an integer is
digits), have no blanks but one or a line break with its indentation, and strings as ``json.dumps(ensure_ascii=False)``
writes them. Each has a budget of tokens, so that every one comes to its end.

Verdicts: each MaskBench instance (of ``--judged`` schemas, 0 for all) as ``json.dumps`` writes it in five layouts, under
both profiles, keys in any order: valid ones must be accepted, invalid ones refused. Instances with a float that is an
integer (``1.0``) are none that the profile promises; those that it refuses are counted by themselves.
Exits with 1 if anything fails.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import time
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from json_grammar import load_tokenizer
from record import DATA, use_checkout, write_result

MOST = 600  # tokens of a random text
CALM = 40  # tokens after which what closes is favoured
SHOWN = 20
TOGETHER = 200  # schemas of one compiler


def sampled(data: Path, records: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Return what was found in random texts."""
    from support.json_profile_checks import SHIPPED, Sampler, escaped_keys, faults, judge_of

    import stackmask as sm

    vocabulary = sm.Vocabulary.from_huggingface(load_tokenizer(data / "tokenizers" / options.tokenizer))
    sampler = Sampler(vocabulary)
    compiler = sm.Compiler(vocabulary)
    counts: Counter[str] = Counter()
    examples: list[str] = []
    schemas = [*SHIPPED.items(), *((record["id"], record["schema"]) for record in records)]
    for number, (name, schema) in enumerate(schemas):
        if counts["schemas"] == options.schemas:
            break
        try:
            compiled = compiler.compile(sm.Grammar.from_json_schema(schema, profile="model"))
        except sm.StackmaskError:
            counts["schemas refused"] += 1
            continue
        judge = judge_of(schema)
        rng = np.random.default_rng([options.seed, number])
        counts["schemas"] += 1
        for _ in range(options.texts):
            text = sampler.text(compiled, rng, MOST, CALM)
            try:
                found = faults(text, judge)
            except Exception as error:  # noqa: BLE001 - of the judge: references that it cannot follow, its patterns
                counts["texts that jsonschema cannot judge"] += 1
                examples.append(f"{name}: judge: {error!r:.120}")
                continue
            counts["texts"] += 1
            counts["keys that need an escape"] += escaped_keys(text)
            counts["texts with a fault"] += bool(found)
            examples += [f"{name}: {fault} in {text[:200]!r}" for fault in found]
    return {**counts, "examples": examples[:SHOWN]}


def judged(records: list[dict[str, Any]], profile: str, dumps: Any) -> dict[str, Any]:
    """Return the verdicts on instances under a profile."""
    from support.json_profile_checks import has_whole_floats

    import stackmask as sm

    vocabulary = sm.Vocabulary(
        [bytes([b]) for b in range(256)] + [b"<eos>"], stop_ids=[256], special_ids=[256]
    )
    counts: Counter[str] = Counter()
    examples: list[str] = []
    front: list[float] = []
    for number, record in enumerate(records):
        if number % TOGETHER == 0:
            compiler = sm.Compiler(vocabulary)
        start = time.process_time()
        try:
            grammar = sm.Grammar.from_json_schema(record["schema"], property_order="any", profile=profile)
            compiled = compiler.compile(grammar)
        except sm.StackmaskError:
            counts["schemas refused"] += 1
            continue
        front.append(time.process_time() - start)
        counts["schemas"] += 1
        right = True
        for test in record["tests"]:
            valid, data = test["valid"], test["data"]
            for layout in dumps:
                matcher = compiled.matcher()
                text = json.dumps(data, ensure_ascii=False, **layout).encode(errors="surrogatepass")
                accepted = matcher.accept_string(text) and matcher.is_accepting()
                if accepted == valid:
                    counts["valid accepted" if valid else "invalid refused"] += 1
                elif valid and has_whole_floats(data):
                    counts["valid refused, with a float that is an integer"] += 1
                else:
                    right = False
                    counts["valid refused" if valid else "invalid accepted"] += 1
                    if len(examples) < SHOWN:
                        examples.append(f"{record['id']} {layout}: {matcher.refusal} in {text[:200]!r}")
        counts["schemas right"] += right
    front.sort()
    return {
        **counts,
        "rules_and_automaton_ms": {
            f"p{int(100 * p)}": round(1e3 * front[int(p * (len(front) - 1))], 2) for p in (0.5, 0.9, 0.99)
        },
        "examples": examples,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--schemas", type=int, default=200)
    parser.add_argument("--texts", type=int, default=5)
    parser.add_argument("--judged", type=int, default=0)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    from support.json_profile_checks import DUMPS

    with lzma.open(options.data / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    random.Random(options.seed).shuffle(records)
    result: dict[str, Any] = {"tokenizer": options.tokenizer, "seed": options.seed}
    result["random_texts"] = sampled(options.data, records, options)
    print(json.dumps(result["random_texts"], indent=1, ensure_ascii=False), flush=True)
    chosen = records[: options.judged or None]
    result["model"] = judged(chosen, "model", DUMPS)
    print(json.dumps(result["model"], indent=1, ensure_ascii=False), flush=True)
    result["exact"] = judged(chosen, "exact", DUMPS)
    print(json.dumps(result["exact"], indent=1, ensure_ascii=False), flush=True)
    if options.write:
        command = (
            f"python lab/benchmarks/json_profile.py --data DATA --schemas {options.schemas} --texts {options.texts}"
            f" --judged {options.judged} --write"
        )
        write_result("json_profile", command, result, jsonschema=metadata.version("jsonschema"))
    model = result["model"]
    wrong = result["random_texts"].get("texts with a fault", 0)
    return int(bool(wrong or model.get("valid refused") or model.get("invalid accepted")))


if __name__ == "__main__":
    sys.exit(main())
