"""Time what a process does before its first grammar: vocabulary and compiler from a tokenizer, beside two peers.

    python lab/benchmarks/vocabulary.py --data PATH_TO_DATA_PACK

Each run is a process of its own that has the tokenizer and the engine's modules loaded; runs of the engines
alternate, and medians are reported. Memory is what the resident set grows by from there.
``load`` reads a file that ``Vocabulary.save`` wrote, without any tokenizer.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import statistics
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from pack import load_tokenizer
from record import DATA, cpu_model, use_checkout, write_result

ROOT = Path(__file__).resolve().parents[2]
TOKENIZERS = ("llama3-128k", "gemma3-262k")
TEXT = '{"name": "Ada Lovelace", "born": 1815, "tags": ["mathematics", "poetry", null, true], "ü": {"x": -1.5e3}}'


def resident() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Watch:
    """Measure time and growth of the resident set; what the tokenizer left free goes back to the system before."""

    def __init__(self) -> None:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        self.memory = resident()
        self.begin = time.perf_counter()

    def milliseconds(self) -> float:
        return (time.perf_counter() - self.begin) * 1e3

    def megabytes(self) -> float:
        return resident() - self.memory


def check(engine: str, is_accepted: bool) -> None:
    """End the program where an engine refuses a valid document."""
    if not is_accepted:
        raise SystemExit(f"{engine} refuses a valid document")


def run_stackmask(tokenizer: Any, file: str, out: dict[str, float]) -> None:
    import stackmask as sm

    watch = Watch()
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    out["vocabulary_ms"] = watch.milliseconds()
    compiler = sm.Compiler(vocabulary)
    out["total_ms"] = watch.milliseconds()
    out["memory_mb"] = watch.megabytes()
    check("stackmask", compiler.compile(sm.Grammar.bundled("json")).matcher().accept_string(TEXT))
    vocabulary.save(file)


def run_load(tokenizer: Any, file: str, out: dict[str, float]) -> None:
    import stackmask as sm

    watch = Watch()
    vocabulary = sm.Vocabulary.load(file)
    out["vocabulary_ms"] = watch.milliseconds()
    compiler = sm.Compiler(vocabulary)
    out["total_ms"] = watch.milliseconds()
    out["memory_mb"] = watch.megabytes()
    check("load", compiler.compile(sm.Grammar.bundled("json")).matcher().accept_string(TEXT))


def run_llguidance(tokenizer: Any, file: str, out: dict[str, float]) -> None:
    import llguidance
    import llguidance.hf

    watch = Watch()
    engine = llguidance.hf.from_tokenizer(tokenizer)
    out["vocabulary_ms"] = out["total_ms"] = watch.milliseconds()
    out["memory_mb"] = watch.megabytes()
    matcher = llguidance.LLMatcher(engine, llguidance.LLMatcher.grammar_from_json_schema("{}"))
    check("llguidance", matcher.consume_tokens(tokenizer.encode(TEXT, add_special_tokens=False)))


def run_xgrammar(tokenizer: Any, file: str, out: dict[str, float]) -> None:
    import xgrammar as xgr

    watch = Watch()
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
    out["vocabulary_ms"] = watch.milliseconds()
    compiler = xgr.GrammarCompiler(info, max_threads=1)
    out["total_ms"] = watch.milliseconds()
    out["memory_mb"] = watch.megabytes()
    matcher = xgr.GrammarMatcher(compiler.compile_builtin_json_grammar())
    check("xgrammar", matcher.accept_string(TEXT))


RUNS = {"stackmask": run_stackmask, "load": run_load, "llguidance": run_llguidance, "xgrammar": run_xgrammar}


def measure(name: str, folder: str, file: str) -> dict[str, float]:
    use_checkout()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    out: dict[str, float] = {}
    RUNS[name](load_tokenizer(Path(folder)), file, out)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizers", default=",".join(TOKENIZERS))
    parser.add_argument("--engines", default=",".join(RUNS))
    parser.add_argument("--rounds", type=int, default=5, help="runs of each engine; medians are reported")
    args = parser.parse_args()
    names = args.engines.split(",")
    use_checkout()
    from stackmask.runtime.child import Child

    tables: dict[str, dict[str, dict[str, float]]] = {}
    for tokenizer in args.tokenizers.split(","):
        folder = args.data / "tokenizers" / tokenizer
        if not folder.is_dir():
            sys.exit(f"no tokenizer at {folder}: give the data pack with --data")
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        with tempfile.TemporaryDirectory() as scratch:
            for _ in range(args.rounds):
                for name in names:
                    child = Child("importlib:import_module", "vocabulary", seconds=300)
                    file = str(Path(scratch) / "vocabulary")
                    runs[name].append(child.ask("measure", name, str(folder), file))
                    child.end()
        tables[tokenizer] = {
            name: {key: round(statistics.median(run[key] for run in found), 2) for key in found[0]}
            for name, found in runs.items()
        }
    versions = {
        name: metadata.version(name)
        for name in (*(n for n in names if n in ("llguidance", "xgrammar")), "transformers", "tokenizers")
    }
    command = f"python lab/benchmarks/vocabulary.py --tokenizers {args.tokenizers} --rounds {args.rounds}"
    write_result("vocabulary", command, {"rounds": args.rounds, "tokenizers": tables}, **versions)
    print(cpu_model())
    for tokenizer, table in tables.items():
        print(tokenizer)
        for name, values in table.items():
            print(f"  {name:12}" + "  ".join(f"{key} {value:.1f}" for key, value in values.items()))


if __name__ == "__main__":
    main()
