"""Break the engine on purpose, once for each invariant, and see that its tests notice.

    python benchmarks/mutations.py             # all mutations
    python benchmarks/mutations.py --write     # and keep the verdicts in benchmarks/results/mutations.json

Each mutation is made in a copy of the checkout, never in the checkout itself.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from record import REPO, write_result


@dataclass(frozen=True)
class Mutation:
    invariant: str
    what: str
    file: str
    old: str
    new: str
    tests: str


RANDOM = "tests/exactness/test_random_grammars.py"
MUTATIONS = (
    Mutation(
        "1 exact",
        "follow restrictions are forgotten",
        "pda/lowering/entry.py",
        "return terms.guard(ALL_BYTES & ~mask)",
        "return terms.guard(ALL_BYTES)",
        f"{RANDOM}::test_masks_equal_the_oracle",
    ),
    Mutation(
        "1 exact",
        "a token that ends with a restriction pending is taken without a look below",
        "pda/masks/engine.pyx",
        "                    if config.ends & 1:\n",
        "                    if config.ends:\n",
        f"{RANDOM}::test_restrictions_that_cross_returns",
    ),
    Mutation(
        "2 no dead ends",
        "empty intersections are not recognised",
        "grammar/normalize/emptiness.py",
        "    if is_empty(expr):\n",
        "    if False:\n",
        RANDOM,
    ),
    Mutation(
        "3 mask and accept agree",
        "accept forgets one token of each token terminal",
        "pda/automaton.py",
        "[frozenset(ids) for ids",
        "[frozenset(ids[1:]) for ids",
        f"{RANDOM}::test_masks_equal_the_oracle",
    ),
    Mutation(
        "3 a refused token changes nothing",
        "a refused token is kept in the history",
        "runtime/matching/matcher.pyx",
        "                self.refused = (config, 0, token)\n                return False\n            self.terminated",
        "                self.history.push_back(self.history[0])\n                return False\n            self.terminated",
        f"{RANDOM}::test_masks_equal_the_oracle",
    ),
    Mutation(
        "4 no dependence on history",
        "masks of remainders are remembered without the return state",
        "pda/masks/engine.pyx",
        "key = (<uint64_t>group << 32) | <uint64_t>rest",
        "key = (<uint64_t>group << 32) | <uint64_t>1",
        "tests/exactness/test_history.py",
    ),
    Mutation(
        "4 no dependence on history",
        "rollback does not take a stop token back",
        "runtime/matching/matcher.pyx",
        "            self.history.resize(self.history.size() - <size_t>count)\n            self.terminated = False\n",
        "            self.history.resize(self.history.size() - <size_t>count)\n",
        "tests/exactness/test_history.py",
    ),
    Mutation(
        "5 special tokens are never text",
        "a special token is text as well",
        "runtime/matching/compiler.py",
        "    texts = vocabulary.tokens\n",
        "    texts = list(vocabulary.tokens)\n"
        "    for name, i in vocabulary.special_names.items():\n        texts[i] = name.encode()\n",
        "tests/exactness/test_special_tokens.py",
    ),
    Mutation(
        "5 end of sequence where the text may end",
        "stop tokens are always allowed",
        "runtime/matching/matcher.pyx",
        "        if self.family.configs[config].accepting:\n            for token in self.stop_ids:",
        "        if True:\n            for token in self.stop_ids:",
        "tests/exactness/test_special_tokens.py",
    ),
)


def caught(mutation: Mutation, work: Path) -> bool:
    """Apply a mutation to a fresh copy and tell whether the tests fail."""
    copy = work / "checkout"
    shutil.rmtree(copy, ignore_errors=True)
    skip = shutil.ignore_patterns(".git", "__pycache__", ".mypy_cache", ".ruff_cache", "training", "view")
    shutil.copytree(REPO, copy, ignore=skip, symlinks=True)
    path = copy / mutation.file
    text = path.read_text("utf-8")
    if text.count(mutation.old) != 1:
        raise SystemExit(
            f"{mutation.file} has changed: {mutation.what!r} fits {text.count(mutation.old)} times"
        )
    path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    view = copy / "build" / "view" / "stackmask"
    view.mkdir(parents=True)
    for folder in ("grammar", "pda", "runtime", "grammars"):
        (view / folder).symlink_to(copy / folder, target_is_directory=True)
    for entry in (copy / "api").iterdir():
        (view / entry.name).symlink_to(entry)
    if path.suffix == ".pyx":
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(build, cwd=copy, check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(view.parent), "STACKMASK_DATA": os.devnull}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutation.tests.split()]
    done = subprocess.run(command, check=False, cwd=copy, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return done.returncode == 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/mutations.json")
    args = parser.parse_args()
    verdicts = []
    with tempfile.TemporaryDirectory() as work:
        for mutation in MUTATIONS:
            found = caught(mutation, Path(work))
            print(f"{'caught' if found else 'MISSED'}: {mutation.invariant}: {mutation.what}", flush=True)
            verdicts.append({**asdict(mutation), "caught": found})
    if args.write:
        print(write_result("mutations", "python benchmarks/mutations.py --write", {"mutations": verdicts}))
    return not all(v["caught"] for v in verdicts)


if __name__ == "__main__":
    sys.exit(main())
