"""Fuzz one target or all, show how far it is, and keep what was found.

    ./dev fuzz                          all targets, a minute each
    ./dev fuzz ebnf --seconds 3600      one of them
    ./dev fuzz --write                  and add the figures to benchmarks/results/fuzz.json
    ./dev fuzz ebnf --keep              choose the smallest inputs that cover the same for fuzz/corpus/

What is found goes to ``fuzz/found/TARGET.jsonl``, which the tests replay: fix it, and leave it there.
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
from importlib import metadata
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO / "benchmarks")]
sys.path.append(str(REPO))

from record import RESULTS, checkout_state, write_result

from fuzz.inputs import FOUND, add_found
from fuzz.targets import NAMES

BUILD = REPO / "build" / "fuzz"
LINE = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)/")
MOST_FOUND = 20  # of one run and target, then it stops
TIMEOUT = 60  # seconds for one execution
MEMORY_MB = 3000


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
        self.begun = self.last_new = time.monotonic()
        self.longest_quiet = 0.0

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
            ),
            *(
                f"-max_total_time={max(1, int(self.left()))}",
                f"-timeout={TIMEOUT}",
                f"-rss_limit_mb={MEMORY_MB}",
            ),
            *(f"-artifact_prefix={self.artifacts}/", "-print_final_stats=1", str(self.corpus)),
        ]
        before, shown, log = self.executions, 0.0, []
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, errors="replace", cwd=REPO
        ) as process:
            assert process.stderr
            try:
                for line in process.stderr:
                    log.append(line)
                    del log[:-200]
                    self.read_line(line)
                    if time.monotonic() - shown > 1:
                        shown = time.monotonic()
                        self.read_status(before)
                        self.show("\r")
            except KeyboardInterrupt:
                process.terminate()
                raise
            code = process.wait()
        self.read_status(before)
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
        if edges > self.edges:
            if match[2] != "INITED":
                self.longest_quiet = max(self.longest_quiet, now - self.last_new)
            self.edges, self.last_new = edges, now

    def read_status(self, before: int) -> None:
        """Read what the worker counted."""
        if self.status.exists():
            lines = self.status.read_text().splitlines()
            if lines and lines[-1].endswith("}"):
                values = json.loads(lines[-1])
                self.executions = before + values["executions"]
                self.native = max(self.native, values["native"])

    def show(self, end: str) -> None:
        """Print the line of progress."""
        quiet = time.monotonic() - self.last_new
        rate = self.executions / max(1e-9, time.monotonic() - self.begun)
        print(
            f"{self.name:12} {self.executions:>11,} executions {rate:6,.0f}/s {self.edges:>7,} edges "
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
                add_found(
                    self.name,
                    path.read_bytes(),
                    (reason[0].strip() if reason else path.name.partition("-")[0])[:300],
                )
                path.unlink()
                self.found += 1

    def row(self) -> dict[str, Any]:
        """Return the figures of the run."""
        quiet = time.monotonic() - self.last_new
        return {
            "date": time.strftime("%Y-%m-%d"),
            "commit": checkout_state()["commit"],
            "seconds": round(time.monotonic() - self.begun),
            "executions": self.executions,
            "edges": self.edges,
            "blocks of compiled code": self.native,
            "corpus": self.size,
            "seconds without a new edge": round(quiet),
            "found": self.found,
        }


def write(rows: dict[str, dict[str, Any]], engine: Path) -> None:
    """Add the figures to the result; those of targets that did not run stay, and executions add up."""
    path = RESULTS / "fuzz.json"
    known = json.loads(path.read_text(encoding="utf-8"))["targets"] if path.exists() else {}
    for name, row in rows.items():
        before = known.get(name, {})
        for key in ("executions", "seconds", "found"):
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
    parser.add_argument(
        "--write", action="store_true", help="add the figures to benchmarks/results/fuzz.json"
    )
    parser.add_argument(
        "--engine", type=Path, default=REPO / "build" / "edges", help="the copy that was compiled for it"
    )
    parser.add_argument(
        "--keep", action="store_true", help="fuzz nothing, but choose inputs for fuzz/corpus/"
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
    rows, found = {}, 0
    for name in names:
        campaign = Campaign(name, options.seconds, options.engine)
        campaign.run()
        rows[name] = campaign.row()
        found += campaign.found
    if options.write:
        write(rows, options.engine)
    if found:
        print(f"{found} inputs found something: see {FOUND}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
