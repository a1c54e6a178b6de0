"""Judge JSON Schemas on a corpus: verdicts, refusals by keyword, and what front end and compile cost.

    python benchmarks/json_schema.py --data PATH_TO_DATA_PACK [--sample 1000] [--order any|schema] [--save NAME]

Verdicts come from a vocabulary of single bytes, without masks, so that thousands of schemas take minutes. An
instance is judged right if the text is accepted exactly when the corpus calls it valid. A refusal counts as such, by
error, keyword and reason; nothing is left out.

Every instance is judged once more with the keys of all its objects shuffled. In any order that must change nothing.
In declared order no invalid instance may become valid, and a valid one that is rejected must be out of order and
nothing else: its keys are put into the order that the grammar takes (``in_order``), and then it must be accepted.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

TIMEOUT = 30  # seconds for one schema with its instances


class Timeout(Exception):
    """A schema took too long."""


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Return quantiles in milliseconds."""
    ordered = sorted(seconds) or [0.0]
    last = len(ordered) - 1
    return {f"p{p}": round(1e3 * ordered[min(last, len(ordered) * p // 100)], 3) for p in (50, 90, 99, 100)}


def dumped(value: Any) -> bytes:
    """Return the JSON text of a value, as the corpus has it."""
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")


def shuffled(value: Any, rng: random.Random) -> Any:
    """Return the value with the keys of all its objects in another order."""
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    members = [(key, shuffled(item, rng)) for key, item in value.items()]
    rng.shuffle(members)
    return dict(members)


def in_order(matcher: Any, value: Any) -> bool:
    """Feed a value with its keys in an order that the grammar takes; tell whether there is one.

    Of the keys that may come next, the one comes after which all the others still may. That finds an order where
    keys have a fixed one; the matcher is left somewhere else if there is none.
    """
    if isinstance(value, list):
        for i, item in enumerate(value):
            if not matcher.accept_string(b", " if i else b"[") or not in_order(matcher, item):
                return False
        return bool(matcher.accept_string(b"]" if value else b"[]"))
    if not isinstance(value, dict) or not value:
        return bool(matcher.accept_string(dumped(value)))
    left = dict(value)
    before = b"{"
    while left:
        fits = [key for key in left if matcher.fork().accept_string(before + dumped(key) + b": ")]
        for key in fits:
            after = matcher.fork()
            if (
                after.accept_string(before + dumped(key) + b": ")
                and in_order(after, left[key])
                and all(
                    after.fork().accept_string(b", " + dumped(other) + b": ")
                    for other in fits
                    if other != key
                )
            ):
                break
        else:
            return False
        matcher.accept_string(before + dumped(key) + b": ")
        in_order(matcher, left.pop(key))
        before = b", "
    return bool(matcher.accept_string(b"}"))


def judge(compiled: Any, tests: list[dict[str, Any]], any_order: bool, seed: str) -> dict[str, list[int]]:
    """Return the numbers of the instances with a wrong verdict, by what is wrong."""
    wrong: dict[str, list[int]] = {}
    rng = random.Random(seed)

    def accepts(value: Any) -> bool:
        matcher = compiled.matcher()
        return bool(matcher.accept_string(dumped(value))) and bool(matcher.is_accepting())

    for i, test in enumerate(tests):
        data, valid = test["data"], test["valid"]
        kinds = set()
        for name, value in (("", data), ("shuffled: ", shuffled(data, rng))):
            accepted = accepts(value)
            if accepted and not valid:
                kinds.add(name + "invalid accepted")
            elif valid and not accepted:
                if any_order:
                    kinds.add(name + "valid rejected")
                else:
                    matcher = compiled.matcher()
                    ordered = in_order(matcher, data) and matcher.is_accepting()
                    kinds.add(name + ("out of order" if ordered else "valid rejected"))
        for kind in kinds:
            wrong.setdefault(kind, []).append(i)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0, help="schemas (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--order", choices=("any", "schema"), default="any")
    parser.add_argument("--ids", help="only these schemas, separated by commas")
    parser.add_argument("--failures", type=Path, help="write what did not pass, as JSONL")
    parser.add_argument("--save", help="name of the file in benchmarks/results")
    options = parser.parse_args()
    use_checkout()
    import stackmask as sm

    with lzma.open(options.data / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    random.Random(options.seed).shuffle(records)
    if options.ids:
        records = [record for record in records if record["id"] in options.ids.split(",")]
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

    def stop(*_: Any) -> None:
        raise Timeout

    signal.signal(signal.SIGALRM, stop)
    for number, record in enumerate(records):
        if number % 200 == 0:
            compiler = sm.Compiler(vocabulary)  # what schemas share is bounded here, not the point
        signal.alarm(TIMEOUT)
        try:
            start = time.process_time()
            grammar = sm.Grammar.from_json_schema(record["schema"], property_order=options.order)
            made = time.process_time()
            compiled = compiler.compile(grammar)
            compiling.append(time.process_time() - made)
            front.append(made - start)
            wrong = judge(compiled, record["tests"], options.order == "any", record["id"])
        except sm.StackmaskError as error:
            verdicts["refused"] += 1
            reason = getattr(error, "reason", str(error))
            refusals[f"{type(error).__name__} {getattr(error, 'keyword', '')}: {reason[:80]}"] += 1
            failures.append({"id": record["id"], "error": str(error)})
            continue
        except Exception as error:
            kind = "timeout" if isinstance(error, Timeout) else "crash"
            verdicts[kind] += 1
            failures.append({"id": record["id"], kind: repr(error)})
            continue
        finally:
            signal.alarm(0)
        for kind in wrong:
            verdicts[kind] += 1
        if not any("out of order" not in kind for kind in wrong):
            verdicts["passing"] += 1
        if wrong:
            failures.append({"id": record["id"], **wrong})
    both = [a + b for a, b in zip(front, compiling, strict=True)]
    result = {
        "schemas": len(records),
        "instances": sum(len(record["tests"]) for record in records),
        "order": options.order,
        "verdicts": dict(verdicts),
        "refusals": dict(refusals.most_common()),
        "front_ms": quantiles(front),
        "compile_ms": quantiles(compiling),
        "both_ms": quantiles(both),
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
