"""Time what a process pays before its first mask: with an empty cache folder, and with the one of an earlier process.

    python lab/benchmarks/cold_start.py --data PATH_TO_DATA_PACK

Each run is a process of its own that has imported stackmask, and nothing else of it; runs of the two kinds alternate, and
medians are reported: elapsed and computing milliseconds, which differ on a busy machine and where threads work at once.

``cold`` has no folder. Its vocabulary is made of the tokens in memory, so that no tokenizer's own time is counted. ``warm``
has ``Vocabulary.cached`` and ``Compiler(cache_dir=…)`` with a folder that holds their files. Both then compile a tool's
schema and fill its first mask, and write a document under the bundled JSON grammar, twice: what its masks take the first
time, less the second, is what masks on disk could save. The masks are compared, so that a wrong one fails the run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import DATA, use_checkout, write_result

RUNS = 15
TEXT = '{"name": "Ada Lovelace", "born": 1815, "tags": ["mathematics", "poetry", null, true], "ü": {"x": -1.5e3}}'
TOOL = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "where to look"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def run(kind: str, folder: Path) -> dict[str, Any]:
    """Do one start, in this process."""
    import stackmask as sm

    _ = sm.Vocabulary, sm.Compiler  # they are imported when they are first named
    tokens, options = pickle.loads((folder / "tokens.pickle").read_bytes())
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    out: dict[str, Any] = {}
    begin = time.perf_counter(), time.process_time()

    def note(name: str) -> None:
        now = time.perf_counter(), time.process_time()
        out[name] = [(b - a) * 1e3 for a, b in zip(begin, now, strict=True)]

    def build() -> sm.Vocabulary:
        return sm.Vocabulary(tokens, **options)

    vocabulary = sm.Vocabulary.cached(cache, "benchmark", build) if kind == "warm" else build()
    note("vocabulary")
    compiler = sm.Compiler(vocabulary, cache_dir=cache if kind == "warm" else None)
    note("compiler")
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    compiler.compile(sm.Grammar.from_json_schema(TOOL)).matcher().fill_next_token_bitmask(mask, 0)
    note("first_mask")
    digest = hashlib.sha256(bytes(memoryview(mask.numpy() if hasattr(mask, "numpy") else mask)))
    compiled = compiler.compile(sm.Grammar.bundled("json"))
    seconds = []
    for _ in range(2):
        matcher = compiled.matcher()
        taken = 0.0
        for byte in TEXT.encode():
            at = time.process_time()
            matcher.fill_next_token_bitmask(mask, 0)
            taken += time.process_time() - at
            digest.update(bytes(memoryview(mask.numpy() if hasattr(mask, "numpy") else mask)))
            if not matcher.accept_string(bytes([byte])):
                raise SystemExit("a valid document is refused")
        seconds.append(taken * 1e3)
    out["document"] = [seconds[0] - seconds[1]] * 2
    out["digest"] = digest.hexdigest()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    use_checkout()
    if arguments.child:
        kind, folder = arguments.child
        print(json.dumps(run(kind, Path(folder))))
        return

    from json_grammar import load_tokenizer

    import stackmask as sm

    vocabulary = sm.Vocabulary.from_huggingface(
        load_tokenizer(arguments.data / "tokenizers" / arguments.tokenizer)
    )
    # compiled modules are written once and read by all later starts
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found: dict[str, list[dict[str, Any]]] = {"cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "stop_ids": vocabulary.stop_ids,
            "special_ids": vocabulary.special_ids,
            "size": vocabulary.size,
        }
        tokens = pickle.dumps((list(vocabulary.tokens), options))
        (Path(folder) / "tokens.pickle").write_bytes(tokens)
        command = [sys.executable, __file__, "--data", str(arguments.data), "--child"]
        for n in range(arguments.runs + 1):
            for kind, results in found.items():
                done = subprocess.run(
                    [*command, kind, folder], capture_output=True, text=True, check=True, env=environment
                )
                if n:  # the first one writes the folder
                    results.append(json.loads(done.stdout))
        nbytes = {path.name.split("-")[0]: path.stat().st_size for path in (Path(folder) / "cache").iterdir()}
    if len({result.pop("digest") for results in found.values() for result in results}) != 1:
        raise SystemExit("the masks differ")
    table = {
        kind: {
            name: {
                unit: round(statistics.median(result[name][k] for result in results), 2)
                for k, unit in enumerate(("elapsed_ms", "cpu_ms"))
            }
            for name in results[0]
        }
        for kind, results in found.items()
    }
    for kind, row in table.items():
        print(kind, "  ".join(f"{name} {at['elapsed_ms']} ({at['cpu_ms']})" for name, at in row.items()))
    write_result(
        "cold_start",
        "python lab/benchmarks/cold_start.py --data PATH_TO_DATA_PACK",
        {"tokenizer": arguments.tokenizer, "runs": arguments.runs, "cache_bytes": nbytes, "starts": table},
    )


if __name__ == "__main__":
    main()
