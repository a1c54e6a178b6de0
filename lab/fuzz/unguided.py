"""Fuzz without coverage: mutations of the corpora, for builds with sanitizers and for machines without atheris.

    PYTHONPATH=build/view python lab/fuzz/unguided.py [TARGET …] --seconds 60

Exits with 1, or as the sanitizer says, if something was found; the input is in ``lab/fuzz/found/`` then.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
LAST = REPO / "build" / "last-input"  # what ran when a sanitizer ended the process


def mutated_bytes(data: bytes, source: random.Random) -> bytes:
    """Return an input that differs in one to four places."""
    changed = bytearray(data or b"0")
    for _ in range(source.choice((1, 1, 2, 4))):
        at = source.randrange(len(changed))
        way = source.random()
        if way < 0.5:
            changed[at] = source.choice(
                (0, 1, 255, source.randrange(256), changed[at] ^ 1 << source.randrange(8))
            )
        elif way < 0.75:
            changed[at:at] = source.randbytes(source.randint(1, 8))
        elif len(changed) > 8:
            del changed[at : at + source.randint(1, 8)]
    return bytes(changed)


def fuzz(name: str, seconds: float, seed: int) -> tuple[int, int]:
    """Fuzz one target. Return how many executions there were and how many found something."""
    from fuzz import targets
    from fuzz.company import needed_before, run_input
    from fuzz.inputs import Found, add_found, corpus_of

    target, source = targets.load(name), random.Random(seed)
    pool = [*corpus_of(name), *target.seeds()]
    mutate = getattr(target, "mutate", mutated_bytes)
    executions = found = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = source.choice(pool)
        for _ in range(source.choice((1, 1, 2, 3))):
            data = mutate(data, source)[: target.MAX_LENGTH]
        LAST.write_bytes(name.encode() + b"\n" + data)
        try:
            run_input(target.run, data)
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            after = needed_before(target.run, data)
            said = f"{'not again: ' if after is None else ''}{type(error).__name__}: {error}"
            add_found(name, Found(data, said[:300], tuple(after or ())))
            found += 1
        executions += 1
        if executions % 64 == 0:
            print(
                f"\r{name:12} {executions:>9,} executions {end - time.monotonic():5.0f} s left, {found} found",
                end="",
                flush=True,
            )
    print(f"\r{name:12} {executions:>9,} executions, {found} found" + " " * 20)
    return executions, found


def main() -> int:
    sys.path[:0] = [str(REPO / "tests")]
    sys.path.append(str(REPO / "lab"))
    from fuzz.targets import NAMES

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=60, help="for each target (60)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    LAST.parent.mkdir(exist_ok=True)
    print(f"seed {options.seed}")
    counts = [fuzz(name, options.seconds, options.seed) for name in options.targets or NAMES]
    print(f"{sum(executions for executions, _ in counts):,} executions in all")
    return bool(sum(found for _, found in counts))


if __name__ == "__main__":
    sys.exit(main())
