"""Time the first mask of the schemas of a family on one compiler: the first, the second, the hundredth, one that comes again.

    python lab/benchmarks/schema_family.py --data PATH_TO_DATA_PACK --write

A family is what an application sends: objects of the same members, some of which another schema of the family leaves out,
requires, or has with other words, bounds and descriptions. Families are made by rule, each of other members. The time is
from the schema, as a dict, to the first mask: reading, compiling, a matcher and its mask, in microseconds of the
processor; medians over families. All families are on one compiler, which has seen one schema before, as on a server.

``tools``: a hundred schemas of tools of about 350 bytes, none of which was seen before: the sum over all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

from json_grammar import load_tokenizer
from record import use_checkout, write_result

MEMBERS = 100  # schemas of a family
WARM_UP = {"type": "object", "properties": {"text": {"type": "string"}, "number": {"type": "number"}}}
PARTS = (
    "user",
    "order",
    "item",
    "start",
    "end",
    "price",
    "city",
    "unit",
    "page",
    "owner",
    "total",
    "color",
    "phone",
)
KINDS = ("id", "name", "date", "count", "code", "type", "note", "status", "address", "limit", "label")


def made_value(rng: random.Random, depth: int) -> dict[str, Any]:
    """Return the schema of a member, of a kind that most schemas are made of."""
    kind = rng.randrange(8 if depth else 6)
    if kind == 0:
        return {"type": "integer", "minimum": rng.choice((0, 1)), "maximum": rng.choice((10, 100, 1000))}
    if kind == 1:
        words = rng.sample(PARTS, rng.randint(2, 5))
        return {"type": "string", "enum": words}
    if kind == 2:
        return {"type": "number"}
    if kind == 3:
        return {"type": ["boolean", "null"]}
    if kind == 6:
        return {"type": "array", "items": made_value(rng, depth - 1)}
    if kind == 7:
        return made_object(rng, depth - 1)
    return {"type": "string"}


def made_object(rng: random.Random, depth: int) -> dict[str, Any]:
    """Return the schema of an object."""
    names = [f"{part}_{kind}" for part, kind in zip(rng.sample(PARTS, 5), rng.sample(KINDS, 5), strict=True)]
    return {
        "type": "object",
        "properties": {name: {**made_value(rng, depth), "description": f"The {name}."} for name in names},
        "required": names[: rng.randint(1, 5)],
        "additionalProperties": rng.random() < 0.3,
    }


def family(seed: int) -> list[dict[str, Any]]:
    """Return the schemas of a family, the same for the same seed."""
    rng = random.Random(f"family {seed}")
    first = made_object(rng, 2)
    found = [first]
    for number in range(1, MEMBERS):
        schema = json.loads(json.dumps(first))
        names = list(schema["properties"])
        changed = rng.choice(names)
        schema["properties"][changed] = {**made_value(rng, 1), "description": f"Number {number}."}
        if rng.random() < 0.5:
            del schema["properties"][rng.choice(names)]
        schema["required"] = [name for name in schema["properties"] if rng.random() < 0.5]
        found.append(schema)
    return found


def tool_schema(rng: random.Random) -> dict[str, Any]:
    """Return the schema of a tool's arguments, of about 350 bytes."""
    while True:
        schema = made_object(rng, 0)
        if 330 <= len(json.dumps(schema)) <= 480:
            return schema


def first_mask(compiler: Any, schema: dict[str, Any], mask: Any) -> float:
    """Return the microseconds of the processor from the schema to its first mask."""
    import stackmask as sm

    begin = time.process_time()
    compiler.compile(sm.Grammar.from_json_schema(schema)).matcher().fill_next_token_bitmask(mask)
    return 1e6 * (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--families", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="sets of tools")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    import stackmask as sm

    tokenizer = load_tokenizer(arguments.data / "tokenizers" / arguments.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    compiler = sm.Compiler(vocabulary)
    first_mask(compiler, WARM_UP, mask)
    gc.collect()
    gc.freeze()  # what was imported is no garbage, and would be looked at in one of the calls
    times: dict[str, list[float]] = {"first": [], "second": [], "hundredth": [], "again": []}
    for seed in range(arguments.families):
        schemas = family(seed)
        taken = [first_mask(compiler, schema, mask) for schema in schemas]
        times["first"].append(taken[0])
        times["second"].append(taken[1])
        times["hundredth"].append(taken[-1])
        times["again"].append(first_mask(compiler, json.loads(json.dumps(schemas[-1])), mask))
    result: dict[str, Any] = {
        name: {"p50_us": round(statistics.median(found), 1), "worst_us": round(max(found), 1)}
        for name, found in times.items()
    }
    rng = random.Random("tools")
    sums, sizes = [], []
    for _ in range(arguments.rounds):
        schemas = [tool_schema(rng) for _ in range(100)]
        sizes += [len(json.dumps(schema)) for schema in schemas]
        sums.append(sum(first_mask(compiler, schema, mask) for schema in schemas) / 1e3)
    result["tools"] = {
        "count": 100,
        "bytes_mean": round(statistics.mean(sizes)),
        "all_ms": round(statistics.median(sums), 2),
    }
    for name, figures in result.items():
        print(f"{name:10} {figures}")
    if arguments.write:
        command = "python lab/benchmarks/schema_family.py --data PATH_TO_DATA_PACK --write"
        write_result(
            "schema_family",
            command,
            {"tokenizer": arguments.tokenizer, "families": arguments.families, **result},
        )


if __name__ == "__main__":
    main()
