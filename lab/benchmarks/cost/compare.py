"""Count the instructions of fixed workloads on this working tree's engine and on that of an earlier commit.

    ./dev cost REV [--allow NAME=PERCENT …] [--data PATH]

callgrind counts what about forty workloads take, each by itself; a few instructions in a thousand differ from run to run. A table
says old, new and ratio. Above +2% on any, the status is 1, unless that workload may rise so far: ``--allow``, or a line
``Cost: NAME=PERCENT`` at the end of the message of a commit since REV. The counts of REV are kept beside its build.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from earlier import commit_of
from measure import Counts, kept, measure, prepare
from record import DATA, REPO

MOST = 2.0  # percent


def allowed_by_commits(commit: str) -> list[str]:
    """Return what the messages of the commits since one allow."""
    command = ["git", "log", "--format=%(trailers:key=Cost,valueonly,unfold)", f"{commit}..HEAD"]
    done = subprocess.run(command, cwd=REPO, check=False, capture_output=True, text=True)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def read_allowed(lines: list[str]) -> dict[str, float]:
    """Return the percent by which workloads may rise. Raises: SystemExit for a line that says no such thing."""
    found: dict[str, float] = {}
    for line in lines:
        name, _, percent = line.rpartition("=")
        try:
            found[name.strip()] = max(found.get(name.strip(), 0.0), float(percent.rstrip("% ")))
        except ValueError:
            raise SystemExit(f"{line!r} is not NAME=PERCENT") from None
    return found


def table(old: Counts, new: Counts, allowed: dict[str, float]) -> tuple[str, list[str]]:
    """Return the table, and the workloads that rise more than they may; one that is gone or new has no ratio."""
    width = max(map(len, [*old, *new]))
    lines = [f"{'millions of instructions':{width}}  {'old':>10}  {'new':>10}  ratio"]
    risen = []
    for name in [*new, *(name for name in old if name not in new)]:
        cells = [f"{counts[name] / 1e6:10,.2f}" if name in counts else f"{'–':>10}" for counts in (old, new)]
        line = f"{name:{width}}  {'  '.join(cells)}"
        if name in old and name in new:
            percent = 100 * (new[name] / old[name] - 1)
            line += f"  {new[name] / old[name]:.4f}"
            if percent > max(MOST, allowed.get(name, 0.0)):
                risen.append(name)
                line += f"  more than +{max(MOST, allowed.get(name, 0.0)):g}%"
            elif percent > MOST:
                line += f"  up to +{allowed[name]:g}% is allowed"
        lines.append(line)
    return "\n".join(lines), risen


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev cost", description=__doc__.partition("\n")[0])
    parser.add_argument("rev", help="a commit")
    parser.add_argument(
        "--allow", nargs="+", default=[], metavar="NAME=PERCENT", help="how far a workload may rise"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these workloads alone")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    if not shutil.which("valgrind"):
        raise SystemExit("this needs valgrind")
    commit = commit_of(given.rev)
    allowed = read_allowed([*given.allow, *allowed_by_commits(commit)])
    data = Path(given.data).resolve()
    here = REPO / "build" / "view"
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared"
        prepare(here, data if data.is_dir() else None, prepared)
        old = kept(commit, prepared)
        new = measure(here, prepared, given.only)
    if given.only:
        old = {name: count for name, count in old.items() if name in new}
    text, risen = table(old, new, allowed)
    print(text)
    if not new:
        print("FAILED: no workload was counted")
        return 1
    if risen:
        print(
            f"FAILED: {', '.join(risen)}. Where the rise is worth it, end the message of the commit with `Cost: NAME=PERCENT`"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
