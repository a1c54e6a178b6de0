"""Judge JSON Schemas on a corpus, keys in any order: verdicts, refusals by keyword, and what compiling costs.

    python lab/benchmarks/json_schema.py --data PATH_TO_DATA_PACK [--sample 1000] [--save NAME]

Verdicts come from a vocabulary of single bytes, without masks, so that thousands of schemas take minutes. An
instance is judged right if the text is accepted exactly when the corpus calls it valid. A refusal counts as such, by
error, keyword and reason; nothing is left out.

Every instance is judged once more with the keys of all its objects shuffled, which must change nothing. What declared
order takes and refuses, ``stackmask audit`` judges.

What a schema costs is process time of one thread, Python included: ``front_ms`` from the schema to rules, ``compile_ms``
from there to the automaton, and ``megabyte_s`` both for a schema of 1 MB.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pack import maskbench
from record import DATA, use_checkout, write_result

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


def megabyte() -> dict[str, Any]:
    """Return a schema of 1 MB: objects in objects, all different, with the leaves that schemas have."""
    rng = random.Random(1)

    def leaf() -> dict[str, Any]:
        kinds: list[dict[str, Any]] = [
            {"type": "string", "minLength": 1, "maxLength": rng.randint(5, 99)},
            {"type": "integer", "minimum": rng.randint(0, 9), "maximum": rng.randint(10, 10**6)},
            {"enum": [f"v{rng.randint(0, 10**6)}" for _ in range(rng.randint(2, 9))]},
            {"type": "string", "pattern": f"^[a-z]{{{rng.randint(1, 30)}}}-\\d+$"},
            {"type": "string", "format": "date-time"},
            {"type": "array", "items": {"type": "string"}},
            {"type": "boolean"},
            {"type": "number"},
        ]
        return rng.choice(kinds)

    def structure(levels: int) -> dict[str, Any]:
        properties = {
            f"name_{rng.randint(0, 10**7)}": structure(levels - 1)
            if levels and rng.random() < 0.4
            else leaf()
            for _ in range(8)
        }
        for item in properties.values():
            item["description"] = "Some words about this part that say what it is for."
        required = rng.sample(list(properties), 3)
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    parts: dict[str, Any] = {}
    size = 0
    while size < 1_000_000:
        parts[f"part{len(parts)}"] = part = structure(2)
        size += len(json.dumps(part))
    return {"type": "object", "properties": parts}


def judge(compiled: Any, tests: list[dict[str, Any]], seed: str) -> dict[str, list[int]]:
    """Return the numbers of the instances with a wrong verdict, by what is wrong."""
    wrong: dict[str, list[int]] = {}
    rng = random.Random(seed)
    for i, test in enumerate(tests):
        for name, value in (("", test["data"]), ("shuffled: ", shuffled(test["data"], rng))):
            matcher = compiled.matcher()
            accepted = bool(matcher.accept_string(dumped(value))) and bool(matcher.is_accepting())
            if accepted != test["valid"]:
                kind = "invalid accepted" if accepted else "valid rejected"
                wrong.setdefault(name + kind, []).append(i)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sample", type=int, default=0, help="schemas (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ids", help="only these schemas, separated by commas")
    parser.add_argument("--failures", type=Path, help="write what did not pass, as JSONL")
    parser.add_argument("--save", help="name of the file in lab/benchmarks/results")
    options = parser.parse_args()
    use_checkout()
    import stackmask as sm

    records = maskbench(options.data, options.seed)
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
    gc.collect()
    gc.freeze()  # nor is the corpus
    for number, record in enumerate(records):
        if number % 200 == 0:
            compiler = sm.Compiler(vocabulary)  # what schemas share is bounded here, not the point
            gc.collect()  # the one before is garbage of this program, not of a schema
        signal.alarm(TIMEOUT)
        try:
            start = time.process_time()
            grammar = sm.Grammar.from_json_schema(record["schema"], property_order="any")
            made = time.process_time()
            compiled = compiler.compile(grammar)
            compiling.append(time.process_time() - made)
            front.append(made - start)
            wrong = judge(compiled, record["tests"], record["id"])
        except sm.StackmaskError as error:
            verdicts["refused"] += 1
            reason = getattr(error, "reason", str(error))
            refusals[f"{type(error).__name__} {getattr(error, 'keyword', '')}: {reason[:80]}"] += 1
            failures.append({"id": record["id"], "error": str(error)})
            continue
        except Exception as error:  # noqa: BLE001
            kind = "timeout" if isinstance(error, Timeout) else "crash"
            verdicts[kind] += 1
            failures.append({"id": record["id"], kind: repr(error)})
            continue
        finally:
            signal.alarm(0)
        for kind in wrong:
            verdicts[kind] += 1
        if wrong:
            failures.append({"id": record["id"], **wrong})
        else:
            verdicts["passing"] += 1
    large = json.dumps(megabyte())
    start = time.process_time()
    compiler.compile(sm.Grammar.from_json_schema(large, property_order="any"))
    seconds = time.process_time() - start
    both = [a + b for a, b in zip(front, compiling, strict=True)]
    result = {
        "schemas": len(records),
        "instances": sum(len(record["tests"]) for record in records),
        "verdicts": dict(verdicts),
        "refusals": dict(refusals.most_common()),
        "front_ms": quantiles(front),
        "compile_ms": quantiles(compiling),
        "both_ms": quantiles(both),
        "megabyte_s": round(seconds, 2),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
    if options.failures:
        options.failures.write_text("".join(json.dumps(f) + "\n" for f in failures), encoding="utf-8")
    if options.save:
        command = "python lab/benchmarks/json_schema.py --data PATH_TO_DATA_PACK"
        write_result(
            options.save, command + (f" --sample {options.sample}" if options.sample else ""), result
        )


if __name__ == "__main__":
    sys.exit(main())
