"""Jump over forced text along real JSON documents, with real tokenizers, and compare with the tokenizer's own encoding.

    python lab/benchmarks/jump_forward.py --data PATH_TO_DATA_PACK --instances 2000 --write

Valid MaskBench instances are encoded as a whole and followed token by token. At every step the proposal must be the
next tokens of that encoding, with nothing taken back. The share of forced tokens is that of a run in which every
proposal is taken; beside it stands the most that any proposer could take: the share of tokens whose whole text is
forced where they begin (what follows may still change such a token). Each instance is followed in several modes: with blanks
anywhere (``json.dumps``) and compact, fixed texts in one spelling; and under the model profile, as ``json.dumps`` writes
by itself and indented. In declared order; instances in another order or spelling are left out and counted. Exits with 1 if a proposal leaves the text.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pack import load_tokenizer, maskbench
from record import DATA, use_checkout, write_result

MODES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # options of the grammar, and of json.dumps
    "any": ({"spelling": "plain"}, {}),
    "compact": ({"spelling": "plain", "whitespace": "compact"}, {"separators": (",", ":")}),
    "model": ({"profile": "model"}, {}),
    "model-indented": ({"profile": "model"}, {"indent": 2}),
    "model-compact": ({"profile": "model"}, {"separators": (",", ":")}),
    "exact": ({}, {}),
}
TOGETHER = 100  # grammars of one compiler
SHOWN = 20  # differences that are kept


def instances(data: Path, count: int, seed: int) -> list[tuple[str, Any, Any]]:
    """Return (id, schema, value) of a seeded sample of schemas with a valid instance."""
    records = maskbench(data, seed)
    found = []
    for record in records:
        valid = [test["data"] for test in record["tests"] if test["valid"]]
        if valid:
            found.append((record["id"], record["schema"], valid[0]))
        if len(found) == count:
            break
    return found


def split_of(name: str) -> str:
    return re.match(r"BFCL|JME|[^-]+", name)[0]  # some splits have names without a separator


class Run:
    """What was counted along the documents of one tokenizer and mode."""

    def __init__(self) -> None:
        self.steps = self.proposals = self.different = self.tokens = self.left_text = self.rolled_back = 0
        self.inside = 0
        self.shares: list[float] = []  # of the documents
        self.forced: Counter[str] = Counter()
        self.all: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.examples: list[str] = []
        self.cold_us: list[float] = []
        self.warm_us: list[float] = []

    def summary(self) -> dict[str, Any]:
        cold, warm = sorted(self.cold_us), sorted(self.warm_us)
        return {
            "documents": self.skipped["followed"],
            "left_out": {k: n for k, n in self.skipped.items() if k != "followed"},
            "steps": self.steps,
            "proposals": self.proposals,
            "proposed_tokens": self.tokens,
            "different": self.different,
            "taking_back": self.rolled_back,
            "leaving_the_text": self.left_text,
            "equal_percent": round(100 * (1 - self.different / max(1, self.proposals)), 4),
            "forced_percent": round(100 * self.forced.total() / max(1, self.all.total()), 2),
            "forced_percent_per_document": round(100 * sum(self.shares) / max(1, len(self.shares)), 2),
            "forced_text_percent": round(100 * self.inside / max(1, self.all.total()), 2),
            "forced_percent_by_split": {
                k: round(100 * self.forced[k] / n, 2) for k, n in sorted(self.all.items())
            },
            "first_us": {"p50": pick(cold, 0.5), "p99": pick(cold, 0.99)},
            "again_us": {"p50": pick(warm, 0.5), "p99": pick(warm, 0.99)},
            "examples": self.examples,
        }


def pick(values: list[float], part: float) -> float | None:
    return round(values[int(part * (len(values) - 1))], 1) if values else None


def follow(run: Run, name: str, matcher: Any, ids: list[int], texts: Any, data: bytes) -> None:
    """Follow one document; every proposal is checked, and those that a run would take are counted as forced."""
    jump_to = 0
    place = 0
    forced = 0
    for i in range(len(ids)):
        start = time.thread_time_ns()
        plan = matcher.plan_jump(ids[:i])
        middle = time.thread_time_ns()
        run.steps += 1
        text = texts[ids[i]] or b""
        run.inside += matcher.find_jump_forward_string().encode().startswith(text)
        if plan.tokens:
            matcher.plan_jump(ids[:i])
            run.cold_us.append((middle - start) / 1e3)
            run.warm_us.append((time.thread_time_ns() - middle) / 1e3)
            run.proposals += 1
            run.tokens += len(plan.tokens)
            run.rolled_back += plan.rollback > 0
            kept = place - sum(len(texts[t] or b"") for t in ids[i - plan.rollback : i])
            spelled = b"".join(texts[t] or b"" for t in plan.tokens)
            if not data.startswith(spelled, kept):
                run.left_text += 1
            if plan.rollback or tuple(ids[i : i + len(plan.tokens)]) != plan.tokens:
                run.different += 1
                if len(run.examples) < SHOWN:
                    ours = [texts[t] for t in plan.tokens[-4:]]
                    theirs = [texts[t] for t in ids[i : i + len(plan.tokens)][-4:]]
                    run.examples.append(f"{name} at {i}, back {plan.rollback}: {ours} for {theirs}")
            elif i >= jump_to:
                jump_to = i + len(plan.tokens)
                forced += len(plan.tokens)
        else:
            run.reasons[plan.reason] += 1
        if not matcher.accept_token(ids[i]):
            raise AssertionError(f"{name}: a document that was accepted is refused at {i}")
        place += len(text)
    run.forced[split_of(name)] += forced
    run.all[split_of(name)] += len(ids)
    run.shares.append(forced / max(1, len(ids)))


def run_tokenizer(folder: Path, sample: list[tuple[str, Any, Any]], modes: list[str]) -> dict[str, Any]:
    import stackmask as sm

    tokenizer = load_tokenizer(folder)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    texts = vocabulary.token_bytes
    blank = b" " if vocabulary.strip_first_space else b""
    results: dict[str, Any] = {}
    for mode in modes:
        grammar_options, layout = MODES[mode]
        run = Run()
        for number, (name, schema, value) in enumerate(sample):
            if number % TOGETHER == 0:  # what a compiler keeps grows with every grammar
                compiler = sm.Compiler(vocabulary)
            try:
                grammar = sm.Grammar.from_json_schema(schema, **grammar_options)
                compiled = compiler.compile(grammar)
            except sm.StackmaskError:
                run.skipped["refused"] += 1
                continue
            text = json.dumps(value, ensure_ascii=False, **layout)
            ids = tokenizer.encode(text, add_special_tokens=False)
            data = blank + text.encode(errors="surrogatepass")
            if b"".join(texts[i] or b"" for i in ids) != data:
                run.skipped["tokenizer changes the text"] += 1
                continue
            probe = compiled.matcher()
            if not (probe.accept_string(text) and probe.is_accepting()):
                run.skipped["other order or spelling"] += 1
                continue
            run.skipped["followed"] += 1
            follow(run, name, compiled.matcher(), ids, texts, data)
        results[mode] = run.summary()
        print(folder.name, mode, {k: v for k, v in results[mode].items() if k != "examples"}, flush=True)
        for line in run.examples:
            print("   ", line)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--instances", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--tokenizers", nargs="*")
    parser.add_argument(
        "--modes", nargs="*", choices=MODES, default=["any", "compact", "model", "model-indented"]
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    sample = instances(options.data, options.instances, options.seed)
    folders = sorted((options.data / "tokenizers").iterdir())
    if options.tokenizers:
        folders = [folder for folder in folders if folder.name in options.tokenizers]
    found: dict[str, Any] = {}
    for folder in folders:
        found[folder.name] = run_tokenizer(folder, sample, options.modes)
        if options.write:  # after each tokenizer: a run takes an hour
            command = (
                f"python lab/benchmarks/jump_forward.py --data DATA --instances {options.instances} --write"
            )
            write_result("jump_forward", command, {"instances": len(sample), "tokenizers": found})
    return int(any(mode["leaving_the_text"] for modes in found.values() for mode in modes.values()))


if __name__ == "__main__":
    sys.exit(main())
