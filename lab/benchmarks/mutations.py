"""Break the engine on purpose, one fault at a time, and see that its tests notice.

    python lab/benchmarks/mutations.py                      # all mutants
    python lab/benchmarks/mutations.py --room pda/stack     # those of one room, or of a stage such as pda
    python lab/benchmarks/mutations.py --only exit-guard offset
    python lab/benchmarks/mutations.py --jobs 2 --write     # and keep the verdicts in build/results/mutations.json

With ``--only`` or ``--room``, ``--write`` exchanges the verdicts of these mutants and keeps the others; each has the
commit that it was found on.

The mutants are listed in ``tests/mutants``. Each is made in a copy of the checkout, with its build, so that only what
the fault changes is compiled. First all the tests that are named run without a fault, and must pass.

Verdicts: caught (a test failed), survived (none did), not run (all were skipped), broken (the fault is not valid
source, or the tests cannot be loaded), crashed, timeout. Only what is caught counts as noticed, and a timeout where
the table says that the fault hangs.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from record import REPO, checkout_state, path_of, use_checkout, write_result

use_checkout()

from mutants.mutant import Mutant
from mutants.table import MUTANTS, marked_lines, mutated
from repository.tree import STAGES, files_of

TEST_SECONDS = 180  # the tests of a mutant take less than a minute by themselves
BUILD_SECONDS = 900
FOLDER = re.compile(r"(?<![\w:/])/(?:[\w.+-]+/)+")  # of this machine
# what a failing test says of a fault that is not valid source
NO_SOURCE = ("NameError", "SyntaxError", "ImportError", "ModuleNotFoundError", "UnboundLocalError")
PYTEST = (sys.executable, "-m", "pytest", "-q", "--all", "-p", "no:cacheprovider", "--tb=no", "-rfE")


@dataclass(slots=True)
class Verdict:
    """What became of a mutant. ``by``: the first test that failed, ``error``: what it said."""

    name: str
    file: str
    breaks: str
    verdict: str
    noticed: bool
    by: str = ""
    error: str = ""
    build_seconds: float = 0.0
    test_seconds: float = 0.0
    commit: str | bool = ""
    dirty: str | bool = ""


@dataclass(slots=True)
class Copy:
    """A copy of the checkout to break things in. ``origin``: one that stays whole, to repair this one from."""

    root: Path
    origin: Path

    def repair(self) -> None:
        """Make every file of the origin here what it is there, with its time: what was built from it fits again."""
        self.root.mkdir(exist_ok=True)
        for path in self.origin.rglob("*"):
            here = self.root / path.relative_to(self.origin)
            if path.is_dir():
                here.mkdir(parents=True, exist_ok=True)
                continue
            new, old = path.stat(), here.stat() if here.exists() else None
            if old is None or (old.st_mtime_ns, old.st_size) != (new.st_mtime_ns, new.st_size):
                shutil.copy2(path, here)

    def build(self) -> str:
        """Compile what is older than its sources. Return what went wrong, or nothing."""
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        try:
            done = subprocess.run(
                command, check=False, cwd=self.root, capture_output=True, text=True, timeout=BUILD_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"more than {BUILD_SECONDS} s"
        return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-2000:] or "failed"

    def run(self, tests: Iterable[str], *options: str, seconds: float | None) -> tuple[int, str]:
        """Run tests; return the exit status of pytest and what it printed. Raises: TimeoutExpired."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "build" / "view"),
            "STACKMASK_DATA": os.devnull,  # the verdicts do not depend on what data there is
            "COLUMNS": "240",
        }
        done = subprocess.run(
            [*PYTEST, *options, *tests],
            check=False,
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        return done.returncode, done.stdout + done.stderr


def copy_checkout(target: Path) -> None:
    """Copy the files of the checkout, and what was compiled from them."""
    built = [path for stage in STAGES for path in (REPO / stage).rglob("*.so")]
    for folder in ("cython", "lib.*"):
        built += [path for top in (REPO / "build").glob(folder) for path in top.rglob("*") if path.is_file()]
    for path in (*files_of(REPO), *(str(path.relative_to(REPO)) for path in built)):
        here = target / path
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPO / path, here)


def summary(output: str) -> list[tuple[str, str]]:
    """Return the tests that failed, each with what it said."""
    lines = [line.removeprefix("FAILED ") for line in output.splitlines() if line.startswith("FAILED ")]
    return [(test, error) for test, _, error in (line.partition(" - ") for line in lines)]


def judge(status: int, output: str) -> tuple[str, str, str]:
    """Return (verdict, test, error) from what pytest said."""
    if status < 0 or status > 128:
        return "crashed", "", f"signal {-status if status < 0 else status - 128}"
    failed = summary(output)
    if status == 1 and failed:
        test, error = failed[0]
        return ("broken" if error.startswith(NO_SOURCE) else "caught"), test, FOLDER.sub("…/", error)[:200]
    if status == 0:
        return ("survived" if " passed" in output else "not run"), "", ""
    return "broken", "", output.strip()[-500:]


def try_mutant(mutant: Mutant, path: str, copy: Copy) -> Verdict:
    """Make a fault in a copy, build, run its tests, and repair the copy."""
    found = Verdict(mutant.name, path, mutant.breaks, "broken", False)
    source = copy.root / path
    source.write_text(mutated(source.read_text("utf-8"), mutant), "utf-8")
    start = time.monotonic()
    try:
        found.error = "" if path.endswith((".py", ".ebnf")) else copy.build()
        found.build_seconds = round(time.monotonic() - start, 1)
        if not found.error:
            start = time.monotonic()
            try:
                status, output = copy.run(mutant.tests, "-x", seconds=TEST_SECONDS)
                found.verdict, found.by, found.error = judge(status, output)
            except subprocess.TimeoutExpired:
                found.verdict = "timeout"
            found.test_seconds = round(time.monotonic() - start, 1)
    finally:
        copy.repair()
    found.noticed = found.verdict == "caught" or (found.verdict == "timeout" and mutant.hangs)
    return found


def check_whole(copies: list[Copy], chosen: list[Mutant]) -> list[str]:
    """Run all the tests that are named, without a fault; return what failed."""
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    parts = [tests[i :: len(copies)] for i in range(len(copies))]

    def run(copy: Copy, part: list[str]) -> list[str]:
        if problem := copy.build():
            return [f"the build failed: {problem}"]
        if not part:
            return []
        status, output = copy.run(part, seconds=None)
        failed = [f"{test}: {error}" for test, error in summary(output)]
        return failed or ([] if status == 0 else [output.strip()[-2000:]])

    with ThreadPoolExecutor(len(copies)) as pool:
        return [problem for found in pool.map(run, copies, parts) for problem in found]


def choose(only: list[str] | None, room: str | None, files: dict[str, str]) -> list[Mutant]:
    """Return the mutants that were asked for; ``files`` has the source of each."""
    if unknown := set(only or ()) - {mutant.name for mutant in MUTANTS}:
        raise SystemExit(f"no mutant is called {', '.join(sorted(unknown))}")
    chosen = [
        mutant
        for mutant in MUTANTS
        if (not only or mutant.name in only) and (not room or re.match(rf"{room}[/.]", files[mutant.name]))
    ]
    if not chosen:
        raise SystemExit("there are no such mutants")
    return chosen


def write(verdicts: list[Verdict]) -> Path:
    """Write the verdicts, beside what is known of the other mutants of the table."""
    known: dict[str, dict[str, Any]] = {}
    if path_of("mutations").exists():
        document = json.loads(path_of("mutations").read_text("utf-8"))
        known = {row["name"]: row for row in document.get("mutants", ())}
    known |= {found.name: asdict(found) for found in verdicts}
    rows = [known[mutant.name] for mutant in MUTANTS if mutant.name in known]
    command = f"python lab/benchmarks/mutations.py {' '.join(sys.argv[1:])}".strip()
    counts = Counter(row["verdict"] for row in rows)
    return write_result("mutations", command, {"counts": dict(counts), "mutants": rows})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutants")
    parser.add_argument("--room", help="the mutants of a room, such as pda/stack, or of a stage")
    parser.add_argument("--jobs", type=int, default=1, help="copies to work in at the same time")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("--write", action="store_true", help="write build/results/mutations.json")
    args = parser.parse_args()
    files = {line.name: line.path for line in marked_lines(REPO, files_of(REPO))}
    chosen = choose(args.only, args.room, files)
    state = checkout_state()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        origin = Path(folder) / "origin"
        copy_checkout(origin)
        copies = [Copy(Path(folder) / f"copy{n}", origin) for n in range(max(1, args.jobs))]
        for copy in copies:
            copy.repair()
        if args.unchecked:
            problems = [problem for copy in copies if (problem := copy.build())]
        else:
            problems = check_whole(copies, chosen)
        if problems:
            raise SystemExit("without any fault:\n" + "\n".join(problems))
        whole = "were not run" if args.unchecked else "pass"
        print(f"{len(chosen)} mutants; without a fault their tests {whole}", flush=True)
        free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in copies:
            free.put(copy)

        def run(mutant: Mutant) -> Verdict:
            copy = free.get()
            try:
                found = try_mutant(mutant, files[mutant.name], copy)
            finally:
                free.put(copy)
            found.commit, found.dirty = state["commit"], state["dirty"]
            times = f"{found.build_seconds:5.1f} s {found.test_seconds:5.1f} s"
            print(f"{found.verdict:9} {times}  {found.name}: {found.by or found.error}", flush=True)
            return found

        verdicts = []
        with ThreadPoolExecutor(len(copies)) as pool:
            for found in pool.map(run, chosen):
                verdicts.append(found)
                if args.write:
                    write(verdicts)
    counts = Counter(found.verdict for found in verdicts)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    return 0 if all(found.noticed for found in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
