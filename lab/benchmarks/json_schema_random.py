"""Compare verdicts on random schemas and instances with two validators, and walk at random under masks.

    python lab/benchmarks/json_schema_random.py --cases 100000 [--seed 1000] [--walks 2000] [--write]

Schemas have at least three keywords that act on one another, of all kinds (``tests/support/random_schemas.py``).
With keys in any order the verdict on an instance must be that of `jsonschema` and `jsonschema-rs`. A random walk
takes any token that the mask allows; it must never find nothing allowed, and end in a valid instance.
Exits with 1 at a disagreement.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from record import use_checkout, write_result

BATCH = 100  # schemas of one seed
INSTANCES = 16  # per schema


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--walks", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    here = Path(__file__).resolve().parent
    # a helper of the tests may have the name of a program here, which would come first
    tests = here.parents[1] / "tests"
    folders = [str(tests), str(tests / "grammar" / "json_schema")]
    sys.path = [*folders, *(path for path in sys.path if Path(path).resolve() != here)]
    from test_random_schemas import dead_ends, disagreements

    counts: Counter[str] = Counter()
    wrong = []
    seed = options.seed
    while counts["cases"] < options.cases and len(wrong) < 20:
        found, batch = disagreements(seed, BATCH, INSTANCES)
        counts.update(batch)
        wrong += [json.dumps(case) for case in found]
        counts["schemas"] += BATCH
        seed += 1
    ended = 0
    while ended < options.walks and len(wrong) < 20:
        found_on_walks, more = dead_ends(seed, BATCH, 6)
        ended += more
        wrong += [json.dumps(case) for case in found_on_walks]
        seed += 1
    result = {**counts, "walks": ended, "disagreements": len(wrong), "seeds": [options.seed, seed - 1]}
    print(json.dumps(result, indent=1))
    print("\n".join(wrong))
    if options.write:
        command = f"python lab/benchmarks/json_schema_random.py --cases {options.cases} --write"
        write_result("json_schema_random", command, result)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
