"""Fuzz one target or all, show how far it is, and keep what was found.

    ./dev fuzz                          all targets, a minute each
    ./dev fuzz ebnf --seconds 3600      one of them
    ./dev fuzz --total 7200             all in turns, for so long together; who finds new edges comes more often
    ./dev fuzz --write                  and add the figures to build/results/fuzz.json
    ./dev fuzz ebnf --keep              choose the smallest inputs that cover the same for lab/fuzz/corpus/

What is found goes to ``lab/fuzz/found/TARGET.jsonl``, which the tests replay: fix it, and leave it there.
Exits with 1 if something was found.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "lab" / "benchmarks")]
sys.path.append(str(REPO / "lab"))

from record import checkout_state, path_of, write_result

from fuzz.inputs import FOUND, Found, add_found
from fuzz.targets import NAMES

BUILD = REPO / "build" / "fuzz"
PENDING = BUILD / "pending.json"
LINE = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)/")
MOST_FOUND = 20  # of one run and target, then it stops
TIMEOUT = (
    300  # seconds on the clock for one execution: an engine at fault hangs, one on a busy machine does not
)
MEMORY_MB = 3000
SHORTEST_TURN = 20  # seconds: a worker takes some to begin
AGING = 1.3  # by how much a target that waits counts for more, for each turn of another


class Campaign:
    """Runs the worker of one target again and again until the time is over, and counts."""

    def __init__(self, name: str, seconds: float, engine: Path) -> None:
        self.name = name
        self.engine = engine
        self.seconds = seconds
        self.corpus = BUILD / "corpus" / name
        self.artifacts = BUILD / "artifacts" / name
        self.status = BUILD / f"{name}.status"
        self.executions = 0
        self.edges = 0
        self.native = 0
        self.size = 0
        self.found = 0
        self.first_edges = 0  # of the corpus
        self.processor = 0.0
        self.begun = self.last_new = self.ended = time.monotonic()

    def prepare(self) -> None:
        """Make the folders; the worker lays out the corpus."""
        for folder in (self.corpus, self.artifacts):
            folder.mkdir(parents=True, exist_ok=True)
        for stale in self.artifacts.iterdir():
            stale.unlink()

    def run(self) -> None:
        """Fuzz until the time is over or too much was found."""
        self.prepare()
        self.begun = self.last_new = time.monotonic()
        while self.left() > 1 and self.found < MOST_FOUND:
            before = self.executions
            code = self.run_worker()
            self.take_artifacts(code)
            if code == 0 or self.executions == before:
                break
        self.ended = time.monotonic()
        self.show("\n")

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.seconds - (time.monotonic() - self.begun)

    def run_worker(self) -> int:
        """Run one process to its end, which comes early if something is found. Return its status."""
        self.status.unlink(missing_ok=True)
        command = [
            *(
                sys.executable,
                str(Path(__file__).with_name("worker.py")),
                self.name,
                str(self.status),
                str(self.engine),
                str(self.artifacts / "company"),
            ),
            *(
                f"-max_total_time={max(1, int(self.left()))}",
                f"-timeout={TIMEOUT}",
                f"-rss_limit_mb={MEMORY_MB}",
            ),
            *(f"-artifact_prefix={self.artifacts}/", "-print_final_stats=1", str(self.corpus)),
        ]
        before, shown, log = self.executions, 0.0, []
        processor = self.processor
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=REPO
        ) as process:
            assert process.stdout
            try:
                for line in process.stdout:
                    log.append(line)
                    del log[:-200]
                    self.read_line(line)
                    if time.monotonic() - shown > 1:
                        shown = time.monotonic()
                        self.read_status(before, processor)
                        self.show("\r")
            except KeyboardInterrupt:
                process.terminate()
                raise
            code = process.wait()
        self.read_status(before, processor)
        if code:
            (self.artifacts / "log").write_text("".join(log))
            print(f"\n{''.join(line for line in log if not line.startswith(('INFO', '#')))}", file=sys.stderr)
        return code

    def read_line(self, line: str) -> None:
        """Read a line of libFuzzer's."""
        match = LINE.match(line)
        if match is None:
            return
        edges, now = int(match[3]), time.monotonic()
        self.size = int(match[5])
        if match[2] == "INITED":
            self.first_edges = self.first_edges or edges
        if edges > self.edges:
            self.edges, self.last_new = edges, now

    def read_status(self, before: int, processor: float) -> None:
        """Read what the worker counted, beyond what earlier ones did."""
        if self.status.exists():
            lines = self.status.read_text().splitlines()
            if lines and lines[-1].endswith("}"):
                values = json.loads(lines[-1])
                self.executions = before + values["executions"]
                self.processor = processor + values["processor"]
                self.native = max(self.native, values["native"])

    def show(self, end: str) -> None:
        """Print the line of progress."""
        quiet = time.monotonic() - self.last_new
        rate = self.executions / max(1e-9, self.processor)
        print(
            f"{self.name:14} {self.executions:>11,} executions {rate:6,.0f}/s of processor time {self.edges:>7,} edges "
            f"corpus {self.size:>5,} {quiet:5.0f} s since the last new edge, {self.found} found",
            end=end,
            flush=True,
        )

    def take_artifacts(self, code: int) -> None:
        """Move what ended the worker to the tree."""
        for path in sorted(self.artifacts.iterdir()):
            if path.name.startswith(("crash-", "timeout-", "oom-", "leak-")):
                log = (self.artifacts / "log").read_text() if (self.artifacts / "log").exists() else ""
                reason = [
                    line
                    for line in log.splitlines()
                    if re.match(r"\s*(\w+\.)*\w*(Error|Fault|Exception|Interrupt)\b", line)
                ]
                said = reason[0].strip() if reason else path.name.partition("-")[0]
                after = self.needed_before()
                if after is None:
                    said = f"not again: {said}"
                add_found(self.name, Found(path.read_bytes(), said[:300], tuple(after or ())))
                path.unlink()
                self.found += 1

    def needed_before(self) -> list[bytes] | None:
        """Return what the worker wrote about inputs that must run before the latest one that found something."""
        path = self.artifacts / "company"
        if not path.exists():
            return []
        read = json.loads(path.read_text())
        path.unlink()
        return None if read is None else [text.encode("latin-1") for text in read]

    def row(self) -> dict[str, Any]:
        """Return the figures of the run."""
        return {
            "date": time.strftime("%Y-%m-%d"),
            "commit": checkout_state()["commit"],
            "seconds": round(self.ended - self.begun),
            "processor seconds": round(self.processor),
            "executions": self.executions,
            "edges": self.edges,
            "blocks of compiled code": self.native,
            "corpus": self.size,
            "seconds without a new edge": round(self.ended - self.last_new),
            "found": self.found,
        }


ADDED = ("executions", "seconds", "processor seconds", "found")  # over turns, and over runs


def joined(before: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of two turns of a target as those of one run."""
    if not before:
        return row
    made = row | {key: before[key] + row[key] for key in ADDED}
    if row["edges"] <= before["edges"]:
        made["edges"] = before["edges"]
        made["seconds without a new edge"] = before["seconds without a new edge"] + row["seconds"]
    made["blocks of compiled code"] = max(before["blocks of compiled code"], row["blocks of compiled code"])
    return made


def add_pending(row: dict[str, Any], name: str) -> None:
    """Keep the figures of a turn until they are written to the result, also where the run is ended early."""
    rows = pending()
    rows[name] = joined(rows.get(name, {}), row)
    PENDING.write_text(json.dumps(rows))


def pending() -> dict[str, dict[str, Any]]:
    """Return figures that were not written to the result, by target."""
    rows: dict[str, dict[str, Any]] = json.loads(PENDING.read_text()) if PENDING.exists() else {}
    return rows


def run_turn(name: str, seconds: float, engine: Path) -> Campaign:
    """Fuzz a target for some time, and keep the figures."""
    campaign = Campaign(name, seconds, engine)
    campaign.run()
    add_pending(campaign.row(), name)
    return campaign


def in_turns(names: Sequence[str], total: float, turn: float, engine: Path) -> int:
    """Fuzz targets in turns: each once, then those that found most new edges a second lately, but none never.

    Return how many inputs found something.
    """
    found = 0
    worth = dict.fromkeys(names, float("inf"))
    end = time.monotonic() + total
    while (left := end - time.monotonic()) > SHORTEST_TURN:
        name = max(names, key=lambda name: worth[name])
        campaign = run_turn(name, min(turn, left), engine)
        found += campaign.found
        for other in names:
            worth[other] *= AGING
        new = campaign.edges - campaign.first_edges
        worth[name] = (new + 1) / max(1.0, campaign.ended - campaign.begun)
    return found


def write(rows: dict[str, dict[str, Any]], engine: Path) -> None:
    """Add the figures to the result; those of targets that did not run stay, and executions add up."""
    path = path_of("fuzz")
    known = json.loads(path.read_text(encoding="utf-8"))["targets"] if path.exists() else {}
    for name, row in rows.items():
        before = known.get(name, {})
        for key in ADDED:
            row[f"{key} in all runs"] = before.get(f"{key} in all runs", 0) + row[key]
        known[name] = row
    total = sum(row["executions in all runs"] for row in known.values())
    reached, blocks = compiled_code(engine)
    result = {"executions in all": total, "blocks reached": reached, "blocks": blocks, "targets": known}
    print(
        f"{total:,} executions in all; {reached:,} of {blocks:,} basic blocks of the compiled code were reached"
    )
    write_result("fuzz", "./dev fuzz --write", result, atheris=metadata.version("atheris"))


def compiled_code(engine: Path) -> tuple[int, int]:
    """Return how many basic blocks of the extensions all targets reached together, and how many there are."""
    sites = set()
    for path in BUILD.glob("*.sites"):
        sites.update(path.read_text().splitlines())
    blocks = 0
    if shutil.which("objdump"):
        for stage in ("grammar", "pda", "runtime"):
            for extension in (engine / stage).rglob("*.so"):
                code = subprocess.run(
                    ["objdump", "-d", str(extension)], capture_output=True, text=True, check=True
                )
                blocks += len(re.findall(r"call.*<__sanitizer_cov_trace_pc", code.stdout))
    return len(sites), blocks


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=60, help="for each target (60)")
    parser.add_argument("--total", type=float, help="fuzz in turns, for so many seconds together")
    parser.add_argument("--write", action="store_true", help="add the figures to build/results/fuzz.json")
    parser.add_argument(
        "--engine", type=Path, default=REPO / "build" / "edges", help="the copy that was compiled for it"
    )
    parser.add_argument(
        "--keep", action="store_true", help="fuzz nothing, but choose inputs for lab/fuzz/corpus/"
    )
    options = parser.parse_args()
    unknown = [name for name in options.targets if name not in NAMES]
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    names = options.targets or NAMES
    if options.keep:
        from fuzz.keep import keep_smallest

        for name in names:
            print(f"{name:12} {keep_smallest(name, BUILD / 'corpus' / name, options.engine)} inputs kept")
        return 0
    if options.total:
        found = in_turns(names, options.total, options.seconds, options.engine)
    else:
        found = sum(run_turn(name, options.seconds, options.engine).found for name in names)
    if options.write:
        write(pending(), options.engine)
        PENDING.unlink(missing_ok=True)
    if found:
        print(f"{found} inputs found something: see {FOUND}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
