"""Check that the outcome of a hostile request does not depend on the machine: one core or two, busy or not.

    python lab/benchmarks/outcomes.py --data PATH_TO_DATA_PACK [--only PATTERN] [--every 5] [--write]

Each request (``lab/benchmarks/hostile_requests``) runs five times, in a process and on a compiler of its own: on two cores,
on one, on one that another process uses too, on two that are in use, and on two again. Compared are the outcome (an
answer, or which error), its message, and after how many tokens it came. Exits with 1 if one differs.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hostile import KILL_CPU, load_setting, run_once, selected
from record import DATA, use_checkout, write_result

# cores, and processes beside it that compute without end
MACHINES = ((2, 0), (1, 0), (1, 1), (2, 2), (2, 0))
SEEN = ("outcome", "message", "stage", "tokens")


class Load:
    """Processes that compute without end, on the cores that this one may use."""

    def __init__(self, count: int) -> None:
        self._processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]

    def __enter__(self) -> None:
        """They run already."""

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--only", default="*", help="a pattern of names or families")
    parser.add_argument("--every", type=int, default=1, help="take one request of so many")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    requests = selected(options.only)[:: options.every]
    setting = load_setting(options.data, options.tokenizer)
    gc.collect()
    cores = sorted(os.sched_getaffinity(0))
    seen: dict[str, list[dict[str, Any]]] = {request.name: [] for request in requests}
    for number, (most, beside) in enumerate(MACHINES, 1):
        os.sched_setaffinity(0, cores[:most])
        with Load(beside):
            for k, request in enumerate(requests, 1):
                result = run_once(request, setting, KILL_CPU, False)
                seen[request.name].append({name: result[name] for name in SEEN})
                if sys.stderr.isatty() or k % 25 == 0:
                    print(f"run {number} of {len(MACHINES)}: {k} of {len(requests)}", flush=True)
    os.sched_setaffinity(0, cores)
    differ = {name: found for name, found in seen.items() if any(one != found[0] for one in found)}
    for name, found in differ.items():
        print(name, *found, sep="\n    ")
    print(f"{len(requests)} requests, {len(MACHINES)} runs each: {len(differ)} differ")
    if options.write:
        command = f"python lab/benchmarks/outcomes.py --data PATH --every {options.every} --write"
        machines = [{"cores": most, "busy": beside} for most, beside in MACHINES]
        write_result("outcomes", command, {"requests": len(requests), "machines": machines, "differ": differ})
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
