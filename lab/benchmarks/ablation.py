"""Measure what each optimisation of masks is worth: run the same work with one of them switched off.

    python lab/benchmarks/ablation.py --data PATH_TO_DATA_PACK --write

All layers are on but one (``all off``: none), each time on a new compiler. Instructions are counted by callgrind, in fills
and in compiles: they do not depend on how busy the machine is. Memory is what the compiler holds afterwards. A run that
takes more of the processor than the limit is cut off. All masks must be equal.

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
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ablation_workloads import SIZES, WORKLOADS, Sizes, make_workload
from pack import load_tokenizer
from record import RESULTS, cpu_model, use_checkout, write_result

use_checkout()

import stackmask as sm
from stackmask.pda.masks import layers
from stackmask.pda.masks.layers import LAYERS

BASE, NONE = "all on", "all off"
WORTH = 3.0  # percent on one figure, for a layer to be worth its code
TOGGLES = 1000  # of the counter, to know what toggling costs
REQUESTS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; }
void toggle(void) { CALLGRIND_TOGGLE_COLLECT; }
void dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
"""

Figures = dict[str, float]
Counts = dict[str, dict[str, Figures]]  # by workload and layer


# --- one run, in a process of its own ---------------------------------------------------------------


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
    layers.switch(LAYERS, True)
    if layer != BASE:
        layers.switch(LAYERS if layer == NONE else layer.split("+"), False)
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
    fills = checksum = 0
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
                checksum = zlib.crc32(mask[0], checksum)
                if not matcher.accept_token(token):
                    break
    requests.dump(b"fills")
    memory = compiler.stats()["bytes"]
    return {
        "pid": os.getpid(), "compiles": len(pairs), "fills": fills, "checksum": checksum, "memory": memory,
    }  # fmt: skip


# --- all runs ---------------------------------------------------------------------------------------


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


def count_all(given: dict[str, Any]) -> Counts:
    """Return the figures by workload and layer. Raises: SystemExit where masks differ."""
    results: Counts = {}
    checksums: dict[str, int] = {}
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
            if found.get("checksum") not in (None, checksums.setdefault(name, found.get("checksum", 0))):
                raise SystemExit(f"{name}: masks differ with {layer} off")
            totals = dumped(folder, found["pid"]) if "pid" in found else {}
            figures = figures_of(found, totals)
            results.setdefault(name, {})[layer] = figures
            print(f"{name:20} {layer:20} {found['seconds']:6.1f} s  {figures}", flush=True)
        if run.wait():
            raise SystemExit("valgrind failed")
    return results


def figures_of(found: dict[str, int], totals: dict[str, int]) -> Figures:
    """Return the instructions of a compile and of a fill, without those of the counter itself, and the memory."""
    each = totals.get("toggles", 0) / TOGGLES
    if "pid" not in found:
        return {"fill instructions": math.inf}  # it ran into the limit
    instructions = {
        f"{what} instructions": round(totals[f"{what}s"] / found[f"{what}s"] - each, 1)
        for what in ("compile", "fill")
        if totals.get(f"{what}s") and found.get(f"{what}s")
    }
    return {**instructions, "memory": found["memory"]}


def best_of(counts: Counts, layer: str) -> dict[str, Any]:
    """Return where a layer saves most, and whether that is worth its code."""
    changes = [
        (100 * (value / by_layer[BASE][figure] - 1), name, figure)
        for name, by_layer in counts.items()
        for figure, value in by_layer.get(layer, {}).items()
        if 0 < by_layer[BASE].get(figure, 0) < math.inf
    ]
    change, name, figure = max(changes)
    shown = "over the limit" if change == math.inf else f"{change:+.1f} %"
    return {"worth it": change >= WORTH, "workload": name, "figure": figure, "change": shown}


def with_limits_as(other: float | None, counts: Any) -> Any:
    """Return counts with ``other`` for those that ran into the limit, since JSON has no infinity."""
    return {
        name: {
            layer: {k: other if v in (None, math.inf) else v for k, v in own.items()}
            for layer, own in by_layer.items()
        }
        for name, by_layer in counts.items()
    }


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
    parser.add_argument("--sample", type=float, default=1.0, help="factor on the sizes of all workloads")
    parser.add_argument(
        "--limit", type=float, default=100.0, help="seconds of a run; what is left is cut off"
    )
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
    tokenizer = load_tokenizer(options.data / "tokenizers" / options.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    sizes = scaled(SIZES, options.sample)
    given = {
        "vocabulary": {"tokens": vocabulary.tokens, "stop_ids": vocabulary.stop_ids},
        "workloads": {name: make_workload(name, options.data, tokenizer, sizes) for name in names},
        "layers": [BASE, *some],
        "limit_s": options.limit,
    }
    counts = count_all(given)
    commands = ""
    if options.keep:
        kept = json.loads((RESULTS / "ablation.json").read_text("utf-8"))
        commands = kept["command"] + " && "
        counts = with_limits_as(math.inf, kept["instructions"]) | counts
    verdicts = {layer: best_of(counts, layer) for layer in some}
    print(cpu_model())
    for layer, found in verdicts.items():
        print(f"{layer:20} {found}")
    if options.write:
        flags = f"--sample {options.sample:g} --limit {options.limit:g}" + " --keep" * options.keep
        flags += f" --workloads '{options.workloads}'" if options.workloads else ""
        flags += f" --layers {options.layers}" if options.layers else ""
        result = {"instructions": with_limits_as(None, counts), "verdicts": verdicts}
        write_result(
            "ablation", f"{commands}python lab/benchmarks/ablation.py --data PATH {flags} --write", result
        )


if __name__ == "__main__":
    main()
