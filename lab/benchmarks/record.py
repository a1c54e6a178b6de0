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
DATA = Path(os.environ.get("STACKMASK_DATA", REPO.parent / "shared" / "data"))  # the data pack
NOT_KEPT = REPO / "build" / "results"

FORMS = "grammar/ebnf grammar/ir grammar/normalize grammar/notation"
SCHEMAS = "grammar/ir grammar/json_schema grammar/normalize grammar/regex"
SQL = f"{FORMS} grammar/sql"
MASKS = "pda runtime/matching runtime/vocabulary"
KERNELS = "runtime/kernels"
LOOPS = f"{MASKS} {KERNELS} runtime/generation"
# the results that a table of a page or a test reads, each with the folders and files whose code it measures
INPUTS: dict[str, str] = {
    "ablation": f"{SCHEMAS} {SQL} {MASKS}",
    "audit": f"{SCHEMAS} {MASKS} runtime/comparison",
    "drafts": f"{SCHEMAS} grammar/turns pda runtime/jump_forward runtime/matching",
    "drafts_vllm": "grammar pda runtime",
    "embedded_accuracy": f"{SQL} grammars/sql.ebnf runtime/embedded runtime/generation lab/training",
    "engine": f"{SCHEMAS} {FORMS} {MASKS}",
    "generation_campaign": f"{FORMS} grammars {MASKS}",
    "first_visits": f"{FORMS} grammar/lark grammar/sql grammars {MASKS}",
    "gpu_apply": KERNELS,
    "gpu_loop": f"{MASKS} {KERNELS}",
    "gpu_output": KERNELS,
    "gpu_sampling": KERNELS,
    "gpu_sending": KERNELS,
    "json_grammar": f"{FORMS} grammars/json.ebnf {MASKS}",
    "json_schema_any": f"{SCHEMAS} {MASKS}",
    "jump_forward": f"{SCHEMAS} pda runtime/jump_forward runtime/matching",
    "kernels_cpu": KERNELS,
    "large_schemas": f"{SCHEMAS} {MASKS}",
    "limits": f"grammar {MASKS}",
    "maskbench_ratio": f"{SCHEMAS} {MASKS}",
    "pda_vs_fsm": f"{FORMS} grammars pda runtime/fsm runtime/matching",
    "serving_campaign": "grammar pda runtime",
    "serving_campaign_033": "grammar pda runtime",
    "serving_memory": "grammar pda runtime",
    "serving_sglang_tests": "grammar pda runtime/matching runtime/serving",
    "serving_steps": f"{MASKS} runtime/serving",
    "serving_thoughts": "grammar pda runtime",
    "serving_vllm_tests": "grammar pda runtime/matching runtime/serving",
    "sql": f"{FORMS} grammars/sql.ebnf {MASKS}",
    "sql_postgres": f"{SQL} {MASKS}",
    "sql_schema": f"{SQL} {MASKS}",
    "threads": f"{SCHEMAS} {MASKS}",
    "tools": f"{SCHEMAS} grammar/turns {MASKS}",
    "vocabulary": "pda/vocabulary runtime/vocabulary",
    "waiting_rows": f"{FORMS} grammar/lark grammar/sql {MASKS}",
}


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


def path_of(name: str) -> Path:
    """Return the file of a result: in ``results/`` where a table or a test reads it, else in ``build/results/``."""
    return (RESULTS if name in INPUTS else NOT_KEPT) / f"{name}.json"


def write_result(name: str, command: str, result: dict[str, Any], **versions: str) -> Path:
    """Write the file of a result; ``versions`` are those of the tools that the numbers depend on."""
    try:
        versions = {"stackmask": metadata.version("stackmask"), **versions}
    except metadata.PackageNotFoundError:
        versions = {"stackmask": "checkout", **versions}
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
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


def changed_since(commit: str, inputs: str, folder: Path = REPO) -> str:
    """Return what git says of the lines that changed in some places since a commit; "" if none did."""
    done = subprocess.run(
        ["git", "-C", str(folder), "diff", "--shortstat", commit, "--", *inputs.split()],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    return "its commit is not in this repository" if done.returncode else done.stdout.strip()


def main() -> None:
    """Print the results whose inputs have changed since they were measured."""
    stale = 0
    for name, inputs in INPUTS.items():
        found = json.loads(path_of(name).read_text("utf-8"))
        commit = found.get("commit", "unknown")
        if change := changed_since(commit, inputs):
            stale += 1
            dirty = " (with changes)" if found.get("dirty") is True else ""
            print(
                f"{name}: {found['date']}, {commit[:10]}{dirty}: {change}\n    in {' '.join(dict.fromkeys(inputs.split()))}"
            )
    print(f"{stale} of {len(INPUTS)} results: what they measure has changed since")


if __name__ == "__main__":
    main()
