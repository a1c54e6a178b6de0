"""Run the MaskBench protocol beside llguidance, and print how many times faster the masks are.

    python lab/benchmarks/maskbench_ratio.py --maskbench PATH_TO/maskbench.py --sample 400

``maskbench.py`` comes with the data pack (its folder of tools), not with this repository: for each schema it takes the
time from the schema to the first mask (TTFM), and per token of each instance the time of mask and accept (TBM).
Ratios are over the schemas that both engines compiled, in one run; with several rounds the median ratio counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from engines import versions
from record import REPO, cpu_model, write_result

# (group, quantile, how many times faster it should be)
TARGETS = (
    ("tbm_us", "avg", 16.0),
    ("tbm_us", "p50", 30.0),
    ("tbm_us", "p99", 16.0),
    ("tbm_us", "p99.9", 8.0),
    ("ttfm_us", "p50", 6.0),
    ("ttfm_us", "p99", 8.0),
)


def run(script: Path, peer: str, extra: list[str]) -> dict[str, Any]:
    """Return the protocol's summaries of both engines over the schemas that both compiled."""
    view = REPO / "build" / "view"
    paths = [str(view)] * view.is_dir() + [path for path in [os.environ.get("PYTHONPATH")] if path]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "summaries.json"
        command = [sys.executable, str(script), "--engines", f"stackmask,{peer}", "--json", str(out), *extra]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        rows = json.loads(out.read_text("utf-8"))
    common = {row["engine"]: row for row in rows if row.get("common")}
    return {"all": {row["engine"]: row for row in rows if not row.get("common")}, "common": common}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maskbench", type=Path, required=True, help="the protocol's script")
    parser.add_argument("--peer", default="llguidance", choices=["llguidance", "xgrammar"])
    parser.add_argument("--sample", type=int, default=400, help="number of schemas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--save", default="maskbench_ratio", help="the name of the result file")
    args = parser.parse_args()
    extra = ["--sample", str(args.sample), "--seed", str(args.seed)]
    rounds = [run(args.maskbench, args.peer, extra) for _ in range(args.rounds)]
    lines = [
        f"| {rounds[0]['common']['stackmask']['schemas']} schemas | stackmask | {args.peer} | ratio | target | |",
        "|---|--:|--:|--:|--:|---|",
    ]
    ratios = {}
    for group, quantile, target in TARGETS:
        ours = [r["common"]["stackmask"][group][quantile] for r in rounds]
        theirs = [r["common"][args.peer][group][quantile] for r in rounds]
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
        name = f"{group.removesuffix('_us').upper()} {quantile.replace('avg', 'mean')}, µs"
        ratios[name] = round(ratio, 2)
        verdict = "met" if ratio >= target else "missed"
        lines.append(
            f"| {name} | {statistics.median(ours):,.2f} | {statistics.median(theirs):,.2f} "
            f"| {ratio:.1f} | {target:g} | {verdict} |"
        )
    print(cpu_model())
    print("\n".join(lines))
    flags = f"--sample {args.sample} --seed {args.seed} --rounds {args.rounds} --peer {args.peer} --save {args.save}"
    flags += f" --save {args.save}"
    command = f"python lab/benchmarks/maskbench_ratio.py --maskbench PATH {flags}"
    result = {"ratios": ratios, "rounds": rounds, "table": lines}
    write_result(args.save, command, result, **versions([args.peer]))


if __name__ == "__main__":
    main()
