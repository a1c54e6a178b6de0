"""The exactness campaign: random grammars and real documents, every mask against the oracle.

    python lab/benchmarks/exactness.py                       # look at the numbers
    python lab/benchmarks/exactness.py --write               # and keep them in build/results/exactness.json

Random grammars: every bit of every mask along random walks, on small vocabularies. Documents: sampled positions
of real documents under the bundled grammars, with the tokenizers of the data pack; a sample of the tokens at
each, and what the engine allows up to a cap. Any disagreement is shrunk and written to ``tests/regressions``.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from record import REPO, use_checkout, write_result

use_checkout()

import numpy
from exactness.regressions import save
from exactness.shrink import shrink
from exactness.walks import Case, Mismatch, check_case, random_case, word_case
from support.datapack import datapack
from tqdm import tqdm

import stackmask


class OutOfTime(BaseException):
    """A grammar took more than its share of processor time."""


@contextmanager
def processor_seconds(limit: float) -> Iterator[None]:
    """Raise OutOfTime when the block has used so much processor time (where the system can tell)."""

    def stop(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def disagrees(case: Case, seed: int, limit: float) -> str:
    """Return what the engine and the oracle disagree on, or nothing."""
    try:
        with processor_seconds(limit):
            check_case(case, seed)
    except Mismatch as error:
        return str(error)
    except (OutOfTime, stackmask.StackmaskError, IndexError):
        return ""
    return ""


def random_grammars(first: int, count: int, limit: float) -> dict[str, Any]:
    """Judge random grammars; return the counts and the seeds of those that did not end well."""
    kinds: Counter[str] = Counter()
    masks = bits = 0
    failed, late = [], []
    constructs: Counter[str] = Counter()
    with tqdm(range(first, first + count), unit="grammar", file=sys.stderr) as bar:
        for seed in bar:
            case = word_case(seed) if seed % 4 == 0 else random_case(seed)
            try:
                with processor_seconds(limit):
                    outcome = check_case(case, seed)
            except Mismatch as error:
                failed.append(seed)
                small = shrink(case, lambda c, seed=seed: bool(disagrees(c, seed, 2)), budget=500)
                path = REPO / "tests" / "regressions" / f"random_{seed}.txt"
                save(path, small, seed, f"{error}")
                tqdm.write(f"seed {seed}: {error}\n  written to {path}", file=sys.stderr)
                continue
            except (OutOfTime, stackmask.BudgetError):
                late.append(seed)
                continue
            kinds[outcome.kind] += 1
            masks += outcome.masks
            bits += outcome.bits
            if outcome.kind == "judged":
                shown = repr(case.rules.rules)
                constructs.update(name for name in CONSTRUCTS if f"{name}(" in shown)
            bar.set_postfix(judged=kinds["judged"], masks=masks, failed=len(failed))
    return {
        "seeds": [first, first + count - 1],
        "outcomes": dict(kinds),
        "grammars_judged": kinds["judged"],
        "with_construct": dict(constructs),
        "masks_compared": masks,
        "bits_compared": bits,
        "disagreements": failed,
        "over_budget": late,
        "processor_seconds_per_grammar": limit,
    }


CONSTRUCTS = ("Intersection", "Complement", "NotFollowedBy", "TokenTerminal", "Capture", "Dynamic", "Scope")


def real_documents(per_pair: int, positions: int, sample: int, cap: int) -> dict[str, Any]:
    """Compare at sampled positions for every bundled grammar and every tokenizer."""
    from exactness.documents import GRAMMARS, LONGEST, SHORTEST, TOKENIZERS, Checker, documents

    rng = random.Random("documents")
    fitting = {g: [d for d in documents(g) if SHORTEST <= len(d) <= LONGEST] for g in GRAMMARS}
    compared = {tokenizer: {"positions": 0, "bits": 0} for tokenizer in TOKENIZERS}
    failed = []
    with tqdm(total=len(TOKENIZERS) * len(GRAMMARS) * per_pair, unit="document", file=sys.stderr) as bar:
        for tokenizer in TOKENIZERS:
            for grammar in GRAMMARS:
                checker = Checker(grammar, tokenizer)
                for document in rng.sample(fitting[grammar], min(per_pair, len(fitting[grammar]))):
                    bar.set_description(checker.name)
                    try:
                        looked_at, bits = checker.check(document, rng, positions, sample, cap)
                    except Mismatch as error:
                        failed.append(str(error))
                        tqdm.write(str(error), file=sys.stderr)
                        continue
                    compared[tokenizer]["positions"] += looked_at
                    compared[tokenizer]["bits"] += bits
                    bar.update()
    return {
        "grammars": list(GRAMMARS),
        "tokenizers": compared,
        "positions_compared": sum(c["positions"] for c in compared.values()),
        "bits_compared": sum(c["bits"] for c in compared.values()),
        "tokens_sampled_per_position": sample,
        "allowed_tokens_tried_per_position_at_most": cap,
        "disagreements": failed,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grammars", type=int, default=1500, help="random grammars to try")
    parser.add_argument("--first-seed", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10, help="processor time for one grammar")
    parser.add_argument("--documents", type=int, default=2, help="for each bundled grammar and tokenizer")
    parser.add_argument("--write", action="store_true", help="write build/results/exactness.json")
    args = parser.parse_args()
    started = time.perf_counter()
    result: dict[str, Any] = {
        "random_grammars": random_grammars(args.first_seed, args.grammars, args.seconds)
    }
    if datapack() is None:
        print("the data pack is not there: real documents are left out", file=sys.stderr)
    elif args.documents:
        result["real_documents"] = real_documents(args.documents, positions=3, sample=2000, cap=1000)
    result["seconds"] = round(time.perf_counter() - started)
    failures = sum(len(part["disagreements"]) for part in result.values() if isinstance(part, dict))
    print(f"{result['random_grammars']['grammars_judged']} random grammars, {failures} disagreements")
    if args.write:
        command = f"python lab/benchmarks/exactness.py --write --grammars {args.grammars} --documents {args.documents}"
        print(write_result("exactness", command, result, numpy=numpy.__version__))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
