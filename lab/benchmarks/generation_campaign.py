"""Generate texts under every bundled grammar through token masks, and ask independent judges about each.

    python lab/benchmarks/generation_campaign.py [GRAMMAR...] [--count N] [--mutants N] [--tokenizer NAME|samples] [--write]

The tokenizer is one of the data pack (``gpt2-50k``), or ``samples`` for the small vocabulary of the tests.
The mutants show the other side: texts that are nearly in the language. "only the judge accepts" is what a
grammar leaves out on purpose (``docs/grammars.md``). At each step the token taken is checked to be in the mask and to be accepted; a dead end stops the campaign.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pack import load_tokenizer
from record import use_checkout, write_result

use_checkout()

from campaign.coverage import countable_rules, unused_rules
from campaign.mutants import byte_mutants
from campaign.sampler import Sampler
from campaign.steering import STEERING
from campaign.vocabularies import sample_vocabulary
from judges import JUDGES
from judges.regex import judge_all_with_node, node_available
from judges.samples import load_samples
from support.byte_matcher import ByteMatcher
from support.datapack import datapack

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

TARGETS = (150, 500)  # bytes: where a generation begins to close
SHORT_TARGETS = (10, 80)


def load_vocabulary(name: str) -> Vocabulary:
    """Return the vocabulary of a tokenizer of the data pack, or the small one."""
    if name == "samples":
        return sample_vocabulary()
    pack = datapack()
    if pack is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA, or use --tokenizer samples")
    return Vocabulary.from_huggingface(load_tokenizer(pack / "tokenizers" / name))


def second_judge(name: str, texts: list[bytes]) -> dict[str, int]:
    """Return how many texts a second judge refuses, where there is one on this machine."""
    if name == "regex" and node_available():
        return {"refused by JavaScript": sum(map(bool, judge_all_with_node([t.decode() for t in texts])))}
    if name == "xml" and shutil.which("xmllint"):
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"{i}.xml") for i in range(len(texts))]
            for path, text in zip(paths, texts, strict=True):
                path.write_bytes(text)
            command = ["xmllint", "--noout", "--nonet", *map(str, paths)]
            lines = subprocess.run(command, check=False, capture_output=True, text=True).stderr.splitlines()
        return {"refused by libxml2": len({line.split(":")[0] for line in lines if "parser error" in line})}
    return {}


def compare_mutants(
    name: str, sampler: Sampler, accepts: Callable[[bytes], bool], count: int
) -> dict[str, int]:
    """Ask grammar and judge about mutants of the samples and of short generations."""
    rng = random.Random(f"{name} mutants")
    texts = [sample.data for sample in load_samples(name) if sample.accepted]
    short = (sampler.sample(rng, rng.randrange(*SHORT_TARGETS)) for _ in range(150))
    texts += [text for text in short if text]
    counts = {"both accept": 0, "both refuse": 0, "only the judge accepts": 0, "only the grammar accepts": 0}
    for mutant in byte_mutants(texts, count, rng):
        grammar, judge = accepts(mutant), JUDGES[name](mutant).accepted
        if grammar == judge:
            counts["both accept" if judge else "both refuse"] += 1
        else:
            counts["only the judge accepts" if judge else "only the grammar accepts"] += 1
    return counts


def campaign(name: str, vocabulary: Vocabulary, count: int, mutants: int) -> dict[str, Any]:
    """Generate ``count`` texts under one grammar and ``mutants`` of short ones; return the counts."""
    grammar = Grammar.bundled(name)
    sampler = Sampler(Compiler(vocabulary).compile(grammar), vocabulary, STEERING[name])
    texts: list[bytes] = []
    unfinished = 0
    start = time.process_time()
    for number in range(count):
        rng = random.Random(f"{name} {number}")
        text = sampler.sample(rng, rng.randrange(*TARGETS))
        if text is None:
            unfinished += 1
        else:
            texts.append(text)
    seconds = time.process_time() - start
    mutated = compare_mutants(name, sampler, ByteMatcher(grammar).matches, mutants)
    verdicts: Counter[str] = Counter()
    refused = []
    for text in texts:
        verdict = JUDGES[name](text)
        verdicts["accepted" if verdict.accepted else "refused"] += 1
        if verdict.kind:
            verdicts[f"of which {verdict.kind}"] += 1
        if not verdict.accepted:
            refused.append(f"{verdict.note}: {text!r}"[:300])
    sizes = sorted(map(len, texts))
    return {
        "texts": len(texts),
        "unfinished": unfinished,
        "median bytes": statistics.median(sizes),
        "longest": sizes[-1],
        "steps": sampler.steps,
        "seconds": round(seconds, 1),
        "judged": dict(verdicts) | second_judge(name, texts),
        "refused": refused[:5],
        "mutants": mutated,
        "rules": len(countable_rules(grammar.rules)),
        "unused rules": unused_rules(grammar, texts),
    }


def main() -> None:
    """Run the campaign, print and write the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("grammars", nargs="*", default=sorted(STEERING))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument(
        "--mutants", type=int, default=10_000, help="of samples and short texts, for each grammar"
    )
    parser.add_argument("--tokenizer", default="gpt2-50k")
    parser.add_argument("--write", action="store_true", help="write results/generation_campaign.json")
    options = parser.parse_args()
    vocabulary = load_vocabulary(options.tokenizer)
    results = {}
    for name in options.grammars:
        results[name] = campaign(name, vocabulary, options.count, options.mutants)
        print(name, json.dumps(results[name]), flush=True)
    if options.write:
        command = (
            f"generation_campaign.py --count {options.count} --mutants {options.mutants}"
            f" --tokenizer {options.tokenizer}"
        )
        tokenizer = f"{options.tokenizer}, {vocabulary.size} ids"
        print(write_result("generation_campaign", command, {"grammars": results}, tokenizer=tokenizer))


if __name__ == "__main__":
    main()
