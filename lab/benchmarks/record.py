"""Write the result of a benchmark as a small JSON file with what it takes to understand it later."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).resolve().parent / "results"


def cpu_model() -> str:
    """Return the name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def checkout_state(folder: Path = REPO) -> dict[str, str | bool]:
    """Return ``commit`` and ``dirty`` (whether files differ from it); both are "unknown" outside of a git checkout.

    The results themselves do not count: one benchmark after another writes them. Where a checkout was copied without its
    history, to a machine with a GPU say, STACKMASK_COMMIT gives the commit, with "+" at its end if files differ.
    """

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=True, text=True
        )
        return done.stdout.strip()

    try:
        # an archive that was unpacked inside of another repository has no commit of its own
        if Path(git("rev-parse", "--show-toplevel")) == folder.resolve():
            changed = git("status", "--porcelain", "--", ".", ":(exclude)lab/benchmarks/results")
            return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.CalledProcessError):
        pass
    if given := os.environ.get("STACKMASK_COMMIT"):
        return {"commit": given.rstrip("+"), "dirty": given.endswith("+")}
    return {"commit": "unknown", "dirty": "unknown"}


def use_checkout() -> None:
    """Make ``stackmask`` and the test helpers importable when the package is not installed."""
    sys.path.insert(0, str(REPO / "tests"))
    if (REPO / "build" / "view").is_dir():
        sys.path.insert(0, str(REPO / "build" / "view"))


def write_result(name: str, command: str, result: dict[str, Any], **versions: str) -> Path:
    """Write ``results/<name>.json``; ``versions`` are those of the tools that the numbers depend on."""
    try:
        versions = {"stackmask": metadata.version("stackmask"), **versions}
    except metadata.PackageNotFoundError:
        versions = {"stackmask": "checkout", **versions}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = {
        "command": command,
        "date": datetime.date.today().isoformat(),
        **checkout_state(),
        "cpu": cpu_model(),
        "python": platform.python_version(),
        "versions": versions,
        **result,
    }
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return path
