"""Time the bundled JSON grammar beside XGrammar's and llguidance's, on one machine, in one run.

    python lab/benchmarks/json_grammar.py --data PATH_TO_DATA_PACK

Per engine: what the vocabulary costs, compile, first mask, and per token of real JSON documents the mask, the accept call
and the mask that a fresh process sees (cold: the first pass over the documents). Engines run in turn, each in
a process of its own, one thread. Every engine must accept every document: a fast wrong engine fails.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from record import DATA, cpu_model, use_checkout, write_result

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 120
PASSES = 3


def load_tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("tokenizer_class", None)
    with lzma.open(folder / "tokenizer.json.xz") as file:
        text = file.read().decode()
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(text), **config)


def documents(data: Path, tokenizer: Any) -> list[list[int]]:
    """Return real JSON documents (MaskBench's valid instances), tokenized; a seeded sample of 50 to 2,000 tokens."""
    rng = random.Random(7)
    with lzma.open(data / "maskbench_dev.jsonl.xz", "rt") as lines:
        records = [json.loads(line) for _, line in zip(range(4000), lines, strict=False)]
    rng.shuffle(records)
    found = []
    for record in records:
        for test in record["tests"]:
            if test["valid"] and isinstance(test["data"], dict | list):
                ids = tokenizer.encode(json.dumps(test["data"], ensure_ascii=False), add_special_tokens=False)
                if 50 <= len(ids) <= 2000:
                    found.append(ids)
                    break
        if len(found) == DOCUMENTS:
            return found
    return found


class Stackmask:
    def __init__(self, tokenizer: Any) -> None:
        import stackmask as sm

        self.sm = sm
        self.vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
        self.compiler = sm.Compiler(self.vocabulary)
        self.mask = sm.allocate_token_bitmask(1, self.vocabulary.size)
        self.grammar_text = (ROOT / "grammars" / "json.ebnf").read_text()
        sm.Grammar.from_ebnf("root ::= 'a'")  # the parser of grammars, once per process

    def compile(self) -> None:
        grammar = self.sm.Grammar.from_ebnf(self.grammar_text)
        self.compiled = self.compiler.compile(grammar)

    def reset(self) -> None:
        self.matcher = self.compiled.matcher()

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token: int) -> bool:
        return bool(self.matcher.accept_token(token))


class Builtin(Stackmask):
    """Any JSON value, in which no object has a key twice. Its first mask is made with the compiler, in ``setup``."""

    def compile(self) -> None:
        self.compiled = self.compiler.compile(self.sm.Grammar.json())


class XGrammar:
    def __init__(self, tokenizer: Any) -> None:
        import xgrammar as xgr

        self.xgr = xgr
        info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self.compiler = xgr.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = xgr.allocate_token_bitmask(1, len(tokenizer))

    def compile(self) -> None:
        self.compiled = self.compiler.compile_builtin_json_grammar()

    def reset(self) -> None:
        self.matcher = self.xgr.GrammarMatcher(self.compiled)

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token: int) -> bool:
        return bool(self.matcher.accept_token(token))


class LLGuidance:
    def __init__(self, tokenizer: Any) -> None:
        import llguidance
        import llguidance.hf
        from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

        self.llg, self.fill_row = llguidance, fill_next_token_bitmask
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self.mask = allocate_token_bitmask(1, self.tokenizer.vocab_size)

    def compile(self) -> None:
        self.compiled = self.llg.LLMatcher(self.tokenizer, self.llg.LLMatcher.grammar_from_json_schema("{}"))
        if self.compiled.is_error():
            raise RuntimeError(self.compiled.get_error())

    def reset(self) -> None:
        self.matcher = self.compiled.deep_copy()

    def fill(self) -> None:
        self.fill_row(self.matcher, self.mask, 0)

    def accept(self, token: int) -> bool:
        return bool(self.matcher.consume_token(token))


ENGINES = {"stackmask": Stackmask, "builtin": Builtin, "llguidance": LLGuidance, "xgrammar": XGrammar}


def measure(name: str, folder: str, data: str) -> dict[str, float]:
    use_checkout()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = load_tokenizer(Path(folder))
    texts = documents(Path(data), tokenizer)
    clock = time.perf_counter_ns
    begin = clock()
    engine: Any = ENGINES[name](tokenizer)
    setup = clock() - begin
    begin = clock()
    engine.compile()
    compiled = clock() - begin
    engine.reset()
    begin = clock()
    engine.fill()
    first = clock() - begin
    cold: list[int] = []
    fills: list[int] = []
    accepts: list[int] = []
    for number in range(PASSES):
        for ids in texts:
            engine.reset()
            for token in ids:
                a = clock()
                engine.fill()
                b = clock()
                ok = engine.accept(token)
                c = clock()
                if not ok:
                    raise SystemExit(f"{name} refuses a valid document at token {token}")
                (fills if number else cold).append(b - a)
                if number:
                    accepts.append(c - b)
    return {
        "vocabulary_ms": setup / 1e6,
        "compile_ms": compiled / 1e6,
        "first_mask_us": first / 1e3,
        "all_to_first_mask_ms": (setup + compiled + first) / 1e6,
        "cold_mask_mean_us": statistics.fmean(cold) / 1e3,
        "mask_mean_us": statistics.fmean(fills) / 1e3,
        "mask_p50_us": statistics.median(fills) / 1e3,
        "mask_p99_us": statistics.quantiles(fills, n=100)[98] / 1e3,
        "mask_max_us": max(fills) / 1e3,
        "accept_mean_us": statistics.fmean(accepts) / 1e3,
        "accept_p99_us": statistics.quantiles(accepts, n=100)[98] / 1e3,
        "tokens": len(cold),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--engines", default="stackmask,builtin,llguidance,xgrammar")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each engine; medians are reported")
    args = parser.parse_args()
    folder = args.data / "tokenizers" / args.tokenizer
    if not folder.is_dir():
        sys.exit(f"no tokenizer at {folder}: give the data pack with --data")
    names = args.engines.split(",")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    use_checkout()
    from stackmask.runtime.child import Child

    for _ in range(args.rounds):
        for name in names:
            child = Child("importlib:import_module", "json_grammar", seconds=900)
            runs[name].append(child.ask("measure", name, str(folder), str(args.data)))
            child.end()
    medians = {
        name: {key: round(statistics.median(run[key] for run in results), 3) for key in results[0]}
        for name, results in runs.items()
    }
    versions = {name: metadata.version(name) for name in names if name not in ("stackmask", "builtin")}
    command = f"python lab/benchmarks/json_grammar.py --tokenizer {args.tokenizer} --rounds {args.rounds} --engines {args.engines}"
    result = {"tokenizer": args.tokenizer, "documents": DOCUMENTS, "engines": medians}
    write_result("json_grammar", command, result, **versions)
    print(cpu_model())
    keys = list(next(iter(medians.values())))
    print(f"{'':20}" + "".join(f"{name:>14}" for name in names))
    for key in keys:
        print(f"{key:20}" + "".join(f"{medians[name][key]:14.2f}" for name in names))


if __name__ == "__main__":
    main()
