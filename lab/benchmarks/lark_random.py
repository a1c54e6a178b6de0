"""Random Lark grammars against Lark's Earley parser with the lexer "dynamic_complete", on all short texts.

python lab/benchmarks/lark_random.py [--count N] [--seed N] [--length N] [--changed] [--write]

``--changed``: with imports, and definitions that extend and override others.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import lark
from record import use_checkout, write_result

use_checkout()

from support.lark_checks import compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="grammars")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--length", type=int, default=4, help="characters of the longest texts")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    begin = time.monotonic()
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    wrong = []
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        outcome = compare(seed, arguments.length, arguments.changed)
        if outcome.refused:
            refused[outcome.refused] += 1
            continue
        counts["grammars"] += 1
        counts["verdicts"] += outcome.verdicts
        counts["accepted"] += outcome.accepted
        if outcome.wrong:
            wrong.append({"seed": seed, "grammar": outcome.text, "texts": list(outcome.wrong[:5])})
            print(f"seed {seed}: {outcome.wrong[:5]}\n{outcome.text}\n")
    result = {**counts, "refused": dict(refused.most_common()), "wrong": wrong}
    print(result)
    if arguments.write:
        command = f"python lab/benchmarks/lark_random.py --count {arguments.count} --seed {arguments.seed} --length {arguments.length}"
        command += " --changed" if arguments.changed else ""
        result["seconds"] = round(time.monotonic() - begin)
        print(write_result("lark_random", command, result, lark=lark.__version__))


if __name__ == "__main__":
    main()
