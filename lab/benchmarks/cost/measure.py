"""Count the instructions of the workloads on a build, under callgrind."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from earlier import engines_folder, view_of_commit
from record import REPO, cpu_model

FOLDER = Path(__file__).resolve().parent
Counts = dict[str, int]
NAME = re.compile(r"^desc: Trigger: Client Request: (.*)$", re.MULTILINE)
TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def prepare(view: Path, data: Path | None, out: Path) -> None:
    """Write what both engines read: tokens and texts as token ids."""
    command = [
        sys.executable,
        str(FOLDER / "prepare.py"),
        str(out),
        str(REPO),
        *([str(data)] if data else []),
    ]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(view)})


def key_of(prepared: Path) -> str:
    """Return a digest of all but the engine that decides the counts: processor, Python, valgrind, workloads, tokens."""
    valgrind = subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True).stdout
    parts = [cpu_model(), platform.python_version(), valgrind, prepared.read_bytes().hex()]
    parts += [
        (FOLDER / f"{name}.py").read_text("utf-8") for name in ("counting", "measure", "workloads", "texts")
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def measure(view: Path, prepared: Path, names: list[str]) -> Counts:
    """Return the instructions of each workload on the build that lies in ``view``.

    Paths and environment have the same length for every build, since what they take is counted too.
    """
    with tempfile.TemporaryDirectory(prefix="cost-") as name:
        folder = Path(name)
        (folder / "engine").symlink_to(view)
        library = folder / "requests.so"
        source = str(FOLDER / "requests.h")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-x", "c", source, "-o", str(library)], check=True)
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "PYTHONPATH": f"{folder / 'engine'}:{FOLDER}",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        counted = [sys.executable, str(FOLDER / "counting.py"), str(library), str(prepared), *names]
        # once without valgrind: modules that Python has not compiled yet would be counted with what they are for
        subprocess.run(counted, check=True, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no"]
        command = [*valgrind, f"--callgrind-out-file={folder}/counts.%p", *counted]
        done = subprocess.run(
            command, check=False, env=environment, cwd=folder, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}\nthe workloads did not come to their end on {view}")
        return _read(folder)


def _read(folder: Path) -> Counts:
    """Return the counts that callgrind wrote, by the names that were asked for."""
    found = {}
    for path in sorted(folder.glob("counts.*")):
        text = path.read_text("utf-8", errors="replace")
        name, total = NAME.search(text), TOTAL.search(text)
        if name and total:
            found[name[1]] = int(total[1])
    return found


def kept(commit: str, prepared: Path) -> Counts:
    """Return the counts of a commit, built and measured once for each processor, Python and set of workloads."""
    path = engines_folder() / f"{commit[:12]}.cost.{key_of(prepared)}.json"
    if not path.exists():
        path.write_text(json.dumps(measure(view_of_commit(commit), prepared, []), indent=1) + "\n", "utf-8")
    counts: Counts = json.loads(path.read_text("utf-8"))
    return counts
