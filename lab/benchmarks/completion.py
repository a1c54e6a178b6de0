"""What token budgets cost: shortest completions, and masks near the end and away from it.

    python lab/benchmarks/completion.py --data PATH_TO_DATA_PACK --sample 100

Follows the valid instances of a seeded sample of MaskBench's schemas on one compiler, with a 128,000-token vocabulary. At
each place it asks for the shortest completion, twice, and fills the mask under a large budget, and under budgets one, four and sixteen tokens above the need,
twice each; what the mask without a budget takes is subtracted. *cold* is the first time, *warm* the second. ``left_out``: places where a budget of 3,000 tokens
above the need leaves out a token that is allowed without one; there is no reason to.
"""

from __future__ import annotations

import argparse
import collections
import time
from pathlib import Path
from typing import Any

import numpy as np
from json_grammar import load_tokenizer
from precompute import samples
from record import DATA, cpu_model, use_checkout, write_result

SLACK = (1, 4, 16)
FAR = 1_000_000
LARGE = 3_000
MOST_PLACES = 60  # of one document, spread evenly


def microseconds(call: Any) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e3


def leaves_out(matcher: Any, mask: Any, needed: int) -> bool:
    """Tell whether a large budget leaves out a token that is allowed without one."""
    matcher.fill_next_token_bitmask(mask, 0)
    plain = mask[0].copy()
    matcher.fill_next_token_bitmask(mask, 0, budget=needed + LARGE)
    return bool((plain & ~mask[0]).any())


def measure(compiled: Any, ids: list[int], mask: Any, times: dict[str, list[float]]) -> tuple[int, int]:
    """Measure along one document. Return at how many places no completion was found, and tokens were left out."""
    from stackmask import MatcherError

    matcher = compiled.matcher()
    every = max(1, len(ids) // MOST_PLACES)
    missing = left_out = 0
    for at, token in enumerate(ids):
        if at % every == 0:
            matcher.fill_next_token_bitmask(mask, 0)
            plain = microseconds(lambda: matcher.fill_next_token_bitmask(mask, 0))
            try:
                times["completion cold"].append(microseconds(matcher.shortest_completion))
                times["completion warm"].append(microseconds(matcher.shortest_completion))
            except MatcherError:
                missing += 1
            else:
                needed = matcher.needs_at_least()
                for slack in (FAR, *SLACK):
                    name = "far" if slack == FAR else "near"
                    for state in ("cold", "warm"):
                        took = microseconds(
                            lambda budget=needed + slack: matcher.fill_next_token_bitmask(
                                mask, 0, budget=budget
                            )
                        )
                        times[f"{name} {state}"].append(max(0.0, took - plain))
                left_out += leaves_out(matcher, mask, needed)
        if not matcher.accept_token(token):
            break
    return missing, left_out


def main() -> None:
    use_checkout()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--order", choices=("schema", "any"), default="schema")
    args = parser.parse_args()
    import stackmask as sm

    tokenizer = load_tokenizer(Path(args.data) / "tokenizers" / "llama3-128k")
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    # so many masks at each place are more than a request may work
    compiler = sm.Compiler(vocabulary, limits=sm.Limits(max_work=10**10))
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    times: dict[str, list[float]] = collections.defaultdict(list)
    schemas = missing = errors = left_out = 0
    for schema, documents in samples(Path(args.data), args.sample, tokenizer):
        try:
            compiled = compiler.compile(sm.Grammar.from_json_schema(schema, property_order=args.order))
        except sm.StackmaskError:
            continue
        schemas += 1
        for ids in documents[:2]:
            try:
                found = measure(compiled, ids, mask, times)
                missing += found[0]
                left_out += found[1]
            except sm.BudgetError:
                errors += 1
    result: dict[str, Any] = {
        "schemas": schemas,
        "without_completion": missing,
        "limits_met": errors,
        "left_out": left_out,
        "cpu": cpu_model(),
    }
    for name, taken in times.items():
        p50, p90, p99 = np.percentile(taken, (50, 90, 99))
        result[name] = {
            "places": len(taken),
            **{
                f"{key}_us": round(float(value), 2)
                for key, value in (("p50", p50), ("p90", p90), ("p99", p99), ("worst", max(taken)))
            },
        }
        print(
            f"{name:18} {len(taken):6}  p50 {p50:9.2f}  p90 {p90:9.2f}  p99 {p99:10.2f}  worst {max(taken):10.2f} us"
        )
    print(f"{schemas} schemas; no completion at {missing} places; {errors} documents met a limit")
    print(f"tokens were left out far from the end at {left_out} places")
    write_result(
        "completion" if args.order == "schema" else "completion_any",
        f"python lab/benchmarks/completion.py --data PATH_TO_DATA_PACK --sample {args.sample} --order {args.order}",
        result,
    )


if __name__ == "__main__":
    main()
