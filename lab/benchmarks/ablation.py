"""Measure what each optimisation of masks is worth: run the same work with one of them switched off.

    python lab/benchmarks/ablation.py --data PATH_TO_DATA_PACK --write

Each run is a process with a new compiler, all layers on but one (``all off``: none). *Clock*: the layers take turns,
round by round; the time of a mask is the least of all rounds, and quantiles are over masks. A mask of the MaskBench sample
is fill and accept, TTFM is schema to first mask, as in its protocol; elsewhere fills alone. *Instructions*: counted by
callgrind, in fills and in compiles, on smaller samples; they do not depend on how busy the machine is. A run that takes
more of the processor than the limit is cut off, its masks are compared with the same masks of the base, and its memory with
nothing. All masks must be equal. ``all on, again`` is a control: what it differs by is noise.

A change is (layer off / all on - 1): positive where the layer is worth something.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ablation_workloads import CLOCK, COUNTED, WORKLOADS, Item, Sizes, make_workload
from pack import load_tokenizer
from record import RESULTS, cpu_model, use_checkout, write_result

use_checkout()

import numpy as np

import stackmask as sm
from stackmask.pda.masks import layers
from stackmask.pda.masks.layers import LAYERS

BASE, NONE = "all on", "all off"
CONTROL = "all on, again"  # tells how far figures differ by themselves
WORTH = 3.0  # percent on one figure, for a layer to be worth its code
COUNT_LIMIT = 25  # times the limit, for what runs under callgrind
TOGGLES = 1000  # of the counter, to know what toggling costs
REQUESTS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; }
void toggle(void) { CALLGRIND_TOGGLE_COLLECT; }
void dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
"""

clock = time.perf_counter_ns
Figures = dict[str, float]
Change = tuple[str, str, float]  # workload, figure, percent


# --- one run, in a process of its own ---------------------------------------------------------------


def switch_off(layer: str) -> None:
    layers.switch(LAYERS, True)
    if layer not in (BASE, CONTROL):
        layers.switch(LAYERS if layer == NONE else layer.split("+"), False)


class Timed:
    """The times of a run."""

    def __init__(
        self, items: list[Item], vocabulary: sm.Vocabulary, with_accept: bool, until_s: float
    ) -> None:
        self.items, self.with_accept = items, with_accept
        self.compiler = sm.Compiler(vocabulary)
        self.mask = sm.allocate_token_bitmask(1, vocabulary.size)
        self.end = time.process_time() + until_s  # not of the clock: the machine may be busy
        self.firsts: list[int] = []
        self.masks: list[int] = []
        self.checksum: list[int] = []  # of all masks, after each text
        self.crc = 0

    def run(self) -> dict[str, Any]:
        compiled = None
        for item in self.items:
            if self.is_late():
                break
            begin = clock()
            try:
                compiled = self.compiler.compile(item.grammar())
                compiled.matcher().fill_next_token_bitmask(self.mask)
            except sm.StackmaskError:
                continue
            self.firsts.append(clock() - begin)
            for ids in item.texts:
                if not self.follow(compiled, ids):
                    break
                self.checksum.append(self.crc)
        stats = self.compiler_stats(compiled)
        return {
            "firsts": self.firsts,
            "masks": self.masks,
            "checksum": self.checksum,
            "memory": stats,
            "whole": not self.is_late(),
        }

    def is_late(self) -> bool:
        return time.process_time() > self.end

    def follow(self, compiled: sm.CompiledGrammar, ids: list[int]) -> bool:
        """Time the masks of a text; return False if it was cut off."""
        matcher, mask, row = compiled.matcher(), self.mask, self.mask[0]
        fill, accept = matcher.fill_next_token_bitmask, matcher.accept_token
        for token in ids:
            a = clock()
            fill(mask)
            b = clock()
            ok = accept(token)
            c = clock()
            self.masks.append((c if self.with_accept else b) - a)
            self.crc = zlib.crc32(row, self.crc)
            if not ok:
                break
            if self.is_late():
                return False
        return True

    @staticmethod
    def compiler_stats(compiled: sm.CompiledGrammar) -> dict[str, int]:
        stats = compiled.stats()
        return {
            "masks": stats["mask_bytes"],
            "walks": stats["walk_bytes"],
            "all": stats["mask_bytes"] + stats["walk_bytes"] + stats["term_bytes"],
        }


def in_child(work: Callable[[], Any], limit_s: float) -> Any:
    """Run ``work`` in a fork; return what it returns, None if it takes longer (of the processor).

    Raises: RuntimeError if it fails in another way.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 10))
            with os.fdopen(writer, "wb") as out:
                pickle.dump(work(), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as received:
        answer = received.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return None
    if status:
        raise RuntimeError(f"a run ended with status {status}")
    return pickle.loads(answer)


# --- instructions -----------------------------------------------------------------------------------


def count(job: Path) -> None:
    """Run everything once under callgrind, one fork for each layer and workload. Runs inside of valgrind."""
    given = pickle.loads(job.read_bytes())
    requests = ctypes.CDLL(str(job.parent / "requests.so"))
    vocabulary = sm.Vocabulary(**given["vocabulary"])
    sm.Compiler(vocabulary)
    for name, items in given["workloads"].items():
        pairs = []
        for item in items:
            try:
                pairs.append((item.grammar(), item.texts))
            except sm.StackmaskError:
                continue
        gc.freeze()
        for layer in given["layers"]:
            begin = time.monotonic()

            def work(pairs: Any = pairs, layer: str = layer) -> dict[str, int]:
                return counted(requests, vocabulary, pairs, layer)

            found = in_child(work, given["limit_s"]) or {}
            found["seconds"] = round(time.monotonic() - begin, 1)
            print(json.dumps([name, layer, found]), flush=True)


def counted(requests: Any, vocabulary: sm.Vocabulary, pairs: Any, layer: str) -> dict[str, int]:
    """Count compiles, then fills; callgrind writes a file for each."""
    switch_off(layer)
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    toggle = requests.toggle
    requests.begin()
    for _ in range(TOGGLES):
        toggle()
        toggle()
    requests.dump(b"toggles")
    compiled = []
    for grammar, texts in pairs:
        try:
            toggle()
            made = compiler.compile(grammar)
            toggle()
            compiled.append((made, texts))
        except sm.StackmaskError:
            toggle()
    requests.dump(b"compiles")
    fills = 0
    for made, texts in compiled:
        for ids in texts:
            matcher = made.matcher()
            for token in ids:
                toggle()
                try:
                    matcher.fill_next_token_bitmask(mask)
                except sm.StackmaskError:  # over a limit; the same for each layer, or `fills` tells
                    break
                finally:
                    toggle()
                fills += 1
                if not matcher.accept_token(token):
                    break
    requests.dump(b"fills")
    return {"pid": os.getpid(), "compiles": len(pairs), "fills": fills}


def dumped(folder: Path, pid: int) -> dict[str, int]:
    """Return what callgrind counted in a process, by the names of its dumps."""
    found = {}
    for path in folder.glob(f"out.{pid}.*"):
        text = path.read_text("utf-8", "replace")
        name = re.search(r"^desc: Trigger: Client Request: (\w+)", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if name and total:
            found[name[1]] = int(total[1])
    return found


def count_instructions(given: dict[str, Any]) -> dict[str, dict[str, Figures]]:
    """Return instructions for a compile and for a fill, by workload and layer."""
    results: dict[str, dict[str, Figures]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "requests.c").write_text(REQUESTS)
        library = ["-shared", "-fPIC", "-O1", "-o", str(folder / "requests.so"), str(folder / "requests.c")]
        subprocess.run(["cc", *library], check=True)
        (folder / "job").write_bytes(pickle.dumps(given))
        tool = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no"]
        command = [*tool, f"--callgrind-out-file={folder}/out.%p", sys.executable, __file__]
        run = subprocess.Popen(
            [*command, "--count", str(folder / "job")],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        assert run.stdout is not None
        for line in run.stdout:
            if not line.startswith("["):
                continue
            name, layer, found = json.loads(line)
            totals = dumped(folder, found["pid"]) if "pid" in found else {}
            figures = instructions_each(found, totals)
            results.setdefault(name, {})[layer] = figures
            print(f"instructions  {name:20} {layer:20} {found['seconds']:6.1f} s  {figures}", flush=True)
        if run.wait():
            raise SystemExit("valgrind failed")
    return results


def instructions_each(found: dict[str, int], totals: dict[str, int]) -> Figures:
    """Return instructions each, without those of the counter itself."""
    each = totals.get("toggles", 0) / TOGGLES
    if "pid" not in found:
        return {"fill instructions": math.inf}  # it ran into the limit
    return {
        f"{what} instructions": round(totals[f"{what}s"] / found[f"{what}s"] - each, 1)
        for what in ("compile", "fill")
        if totals.get(f"{what}s") and found.get(f"{what}s")
    }


# --- clock ------------------------------------------------------------------------------------------


def time_rounds(
    workloads: dict[str, list[Item]],
    vocabulary: sm.Vocabulary,
    chosen: list[str],
    rounds: int,
    limit_s: float,
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the runs of each workload and layer. The layers take turns, in another order each round."""
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in workloads}
    order = list(chosen)
    for turn in range(rounds):
        for name, items in workloads.items():
            random.Random(turn).shuffle(order)
            begin = time.monotonic()
            for layer in order:

                def work(items: list[Item] = items, name: str = name, layer: str = layer) -> dict[str, Any]:
                    switch_off(layer)
                    return Timed(items, vocabulary, name.startswith("schemas"), limit_s).run()

                found = in_child(work, 3 * limit_s)
                if found is None:
                    print(f"round {turn + 1}  {name:20} {layer}: failed", flush=True)
                    continue
                runs[name].setdefault(layer, []).append(found)
            print(f"round {turn + 1}  {name:20} {time.monotonic() - begin:6.1f} s", flush=True)
    return runs


def least(runs: list[dict[str, Any]], what: str) -> np.ndarray:
    """Return the least time of every mask, in µs, up to where the shortest run was cut off."""
    size = min(len(run[what]) for run in runs)
    return np.min([run[what][:size] for run in runs], axis=0) / 1e3


def quantiles(times: np.ndarray, prefix: str, points: Iterable[str]) -> Figures:
    found = {"mean": float(times.mean())} | {
        point: float(np.percentile(times, float(point[1:]))) for point in points if point != "mean"
    }
    return {f"{prefix} {point}": round(found[point], 3) for point in points}


def clock_figures(name: str, runs: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return the figures of every layer beside those of the base over the same masks."""
    found = {}
    for layer, own in runs.items():
        right = runs[BASE][0]["checksum"]
        if any(a != b for run in own for a, b in zip(run["checksum"], right, strict=False)):
            raise SystemExit(f"{name}: masks differ with {layer}")
        sides = {}
        for side, some in (("off", own), ("on", runs[BASE])):
            masks, firsts = least(some, "masks"), least(some, "firsts")
            masks = masks[: min(len(run["masks"]) for run in own + runs[BASE])]
            firsts = firsts[: min(len(run["firsts"]) for run in own + runs[BASE])]
            points = ["mean", "p50", "p99"] + ["p99.9"] * (len(masks) >= 20_000)
            figures = quantiles(masks, "TBM" if name.startswith("schemas") else "fill", points)
            if name.startswith("schemas"):
                figures |= quantiles(firsts, "TTFM", ("mean", "p50", "p99"))
            if all(run["whole"] for run in own + runs[BASE]):
                memory = some[0]["memory"]
                figures |= {
                    "memory masks+walks": memory["masks"] + memory["walks"],
                    "memory held": memory["all"],
                }
            sides[side] = figures
        size = min(len(run["masks"]) for run in own)
        found[layer] = {"masks": size, "cut off": not all(run["whole"] for run in own), **sides}
    return found


# --- tables -----------------------------------------------------------------------------------------


def changes(
    counts: dict[str, dict[str, Figures]], timed: dict[str, dict[str, dict[str, Any]]], layer: str
) -> Iterator[tuple[str, str, float]]:
    """Yield (workload, figure, change in percent) of a layer, instructions first."""
    for name, by_layer in counts.items():
        base = by_layer.get(BASE, {})
        for figure, value in by_layer.get(layer, {}).items():
            if 0 < base.get(figure, 0) < math.inf:
                yield name, figure, 100 * (value / base[figure] - 1)
    for name, rows in timed.items():
        if layer in rows:
            for figure, value in rows[layer]["off"].items():
                yield name, figure, 100 * (value / rows[layer]["on"][figure] - 1)


def tables(
    counts: dict[str, dict[str, Figures]], timed: dict[str, dict[str, dict[str, Any]]], chosen: list[str]
) -> tuple[list[str], dict[str, Any]]:
    """Return Markdown tables of changes, and for each layer where it is worth the most."""
    lines: list[str] = []
    by_layer = {layer: list(changes(counts, timed, layer)) for layer in chosen if layer != BASE}
    names = [*dict.fromkeys([*counts, *timed])]
    for name in names:
        columns = [*dict.fromkeys(f for found in by_layer.values() for n, f, _ in found if n == name)]
        base = dict(counts.get(name, {}).get(BASE, {}))
        if timed.get(name):
            base |= timed[name][BASE]["off"]
            lines += ["", f"**{name}** ({timed[name][BASE]['masks']:,} masks)", ""]
        else:
            lines += ["", f"**{name}**", ""]
        lines.append(f"| off | {' | '.join(columns)} |")
        lines.append("|---|" + "--:|" * len(columns))
        lines.append(f"| {BASE} | {' | '.join(f'{base.get(c, 0):,.6g}' for c in columns)} |")
        for layer, found in by_layer.items():
            own = {figure: change for n, figure, change in found if n == name}
            cells = [shown(own[c]) if c in own else "" for c in columns]
            note = f" (first {timed[name][layer]['masks']:,})" if is_cut(timed, name, layer) else ""
            lines.append(f"| {layer}{note} | {' | '.join(cells)} |")
    noise = by_layer.get(CONTROL, [])
    return lines, {layer: verdict(found, noise) for layer, found in by_layer.items() if layer != CONTROL}


def limits_as(other: float | None, counts: Any) -> Any:
    """Return counts with ``other`` for those that ran into the limit, since JSON has no infinity."""
    return {
        name: {
            layer: {k: other if v in (None, math.inf) else v for k, v in own.items()}
            for layer, own in by_layer.items()
        }
        for name, by_layer in counts.items()
    }


def shown(change: float) -> str:
    return "over the limit" if change == math.inf else f"{change:+.1f} %"


def is_cut(timed: dict[str, dict[str, dict[str, Any]]], name: str, layer: str) -> bool:
    return bool(timed.get(name, {}).get(layer, {}).get("cut off"))


def verdict(found: list[Change], noise: list[Change]) -> dict[str, Any]:
    """Return whether a layer is worth its code, and where: by instructions, else by memory, else by the clock.

    Noise is the most that the control differs by on any figure of that kind: the best of many figures of the
    clock is often some percent better by chance.
    """
    best: dict[str, Any] = {}
    for title in ("instructions", "memory", "clock"):
        rows = [row for row in found if kind_of(row[1]) == title]
        if not rows:
            continue
        apart = max((abs(change) for _, figure, change in noise if kind_of(figure) == title), default=0.0)
        name, figure, change = max(rows, key=lambda row: row[2])
        best[title] = {"workload": name, "figure": figure, "change": shown(change)}
        best[title]["worth it"] = change - apart >= WORTH
    return {"worth it": any(own["worth it"] for own in best.values()), **best}


def kind_of(figure: str) -> str:
    if figure.endswith("instructions"):
        return "instructions"
    return "memory" if figure.startswith("memory") else "clock"


# --- command line -----------------------------------------------------------------------------------


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument(
        "--layers",
        help=f"some of {', '.join(LAYERS)}, {NONE}; separated by commas; + between those that are off together",
    )
    parser.add_argument("--workloads", help=f"some of {'; '.join(WORKLOADS)}; separated by semicolons")
    parser.add_argument("--rounds", type=int, default=3, help="0 for instructions alone")
    parser.add_argument("--sample", type=float, default=1.0, help="factor on the sizes of all workloads")
    parser.add_argument("--instructions", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds of a run; what is left is cut off")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep what the result has of other workloads")
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.count and not options.data:
        parser.error("--data is needed")
    return options


def scaled(sizes: Sizes, factor: float) -> Sizes:
    names = ("schemas", "documents", "queries", "scoped", "patterns")
    return replace(sizes, **{name: max(1, round(getattr(sizes, name) * factor)) for name in names})


def main() -> None:
    options = read_options()
    if options.count:
        count(options.count)
        return
    names = [n.strip() for n in options.workloads.split(";")] if options.workloads else list(WORKLOADS)
    some = [n.strip() for n in options.layers.split(",")] if options.layers else [*LAYERS, NONE]
    if unknown := (set(names) - set(WORKLOADS)) | (
        {one for name in some for one in name.split("+")} - {*LAYERS, NONE}
    ):
        raise SystemExit(f"no layers or workloads: {', '.join(sorted(unknown))}; see --help")
    chosen = [BASE, CONTROL, *some]
    tokenizer = load_tokenizer(options.data / "tokenizers" / options.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    sm.Compiler(vocabulary)  # what is made once for a vocabulary
    counts: dict[str, dict[str, Figures]] = {}
    if options.instructions:
        sizes = scaled(COUNTED, options.sample)
        given = {
            "vocabulary": {"tokens": vocabulary.tokens, "stop_ids": vocabulary.stop_ids},
            "workloads": {name: make_workload(name, options.data, tokenizer, sizes) for name in names},
            "layers": chosen,
            "limit_s": COUNT_LIMIT * options.limit,
        }
        counts = count_instructions(given)
    timed: dict[str, dict[str, dict[str, Any]]] = {}
    if options.rounds:
        sizes = scaled(CLOCK, options.sample)
        workloads = {name: make_workload(name, options.data, tokenizer, sizes) for name in names}
        gc.collect()
        gc.freeze()
        runs = time_rounds(workloads, vocabulary, chosen, options.rounds, options.limit)
        timed = {name: clock_figures(name, found) for name, found in runs.items()}
    commands = ""
    if options.keep:
        kept = json.loads((RESULTS / "ablation.json").read_text("utf-8"))
        commands = kept["command"] + " && "
        counts = limits_as(math.inf, kept["instructions"]) | counts
        timed = kept["clock"] | timed
    measured = dict.fromkeys(
        [*chosen, *(layer for kind in (counts, timed) for own in kind.values() for layer in own)]
    )
    lines, verdicts = tables(counts, timed, list(measured))
    print(cpu_model(), *lines, "", sep="\n")
    for layer, found in verdicts.items():
        print(f"{layer:20} {found}")
    if options.write:
        some_flags = " --no-instructions" * (not options.instructions) + " --keep" * options.keep
        some_flags += f" --workloads '{options.workloads}'" if options.workloads else ""
        some_flags += f" --layers {options.layers}" if options.layers else ""
        flags = f"--rounds {options.rounds} --sample {options.sample:g} --limit {options.limit:g}{some_flags}"
        result = {
            "instructions": limits_as(None, counts),
            "clock": timed,
            "verdicts": verdicts,
            "table": lines,
        }
        write_result(
            "ablation", f"{commands}python lab/benchmarks/ablation.py --data PATH {flags} --write", result
        )


if __name__ == "__main__":
    main()
