"""Time transformers' own ``generate`` on a GPU, with our logits processor and without, by turns.

    python lab/benchmarks/gpu_generate.py --data PATH_TO_DATA_PACK

The model has random weights (``gpu_loop.py``), so that texts go on until their limit or until a grammar ends them. A time is
that of a whole call over the tokens of its longest row; ``more`` is the median over rounds of one with a grammar over that of the
call without in the same round, less one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from record import use_checkout, write_result

use_checkout()

from gpu_loop import SIZES, model_of, schemas_of, workloads
from gpu_timing import device_facts, rounded
from json_grammar import load_tokenizer

import stackmask as sm


def step_ms(model: Any, prompts: torch.Tensor, new: int, grammars: list[Any] | None) -> float:
    """Return the milliseconds of a step of one call."""
    processors = [] if grammars is None else [sm.GrammarLogitsProcessor(grammars)]
    torch.manual_seed(0)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    found = model.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=new,
        do_sample=True,
        logits_processor=processors,
        pad_token_id=0,
    )
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begun) / (found.shape[1] - prompts.shape[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--size", default="8B", choices=sorted(SIZES))
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 32])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.data / "tokenizers" / options.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    compiler = sm.Compiler(vocabulary)
    model = model_of(options.size, vocabulary.size)
    model.generation_config.eos_token_id = list(vocabulary.stop_ids)
    cases = []
    for rows in options.batches:
        prompts = torch.randint(0, 1000, (rows, 16), device="cuda")
        works: dict[str, Any] = {"no grammar": None}
        for name, grammars in workloads(compiler, schemas_of(options.data, 2 * rows), rows).items():
            works[name] = [grammars[i % len(grammars)] for i in range(rows)]
        times: dict[str, list[float]] = {name: [] for name in works}
        for number in range(options.rounds + 1):  # the first one warms up
            for name, grammars in works.items() if number % 2 else reversed(works.items()):
                ms = step_ms(model, prompts, options.tokens, grammars)
                if number:
                    times[name].append(ms)
        for name, found in times.items():
            ratios = [mine / plain for mine, plain in zip(found, times["no grammar"], strict=True)]
            row = {
                "rows": rows,
                "work": name,
                "ms": statistics.median(found),
                "more": statistics.median(ratios) - 1,
            }
            row |= {"more_least": min(ratios) - 1, "more_most": max(ratios) - 1}
            cases.append(row)
            print("generate", rounded(row), flush=True)
    import transformers

    result = {**device_facts(), "size": options.size, "tokens": options.tokens, "cases": cases}
    command = " ".join(["python lab/benchmarks/gpu_generate.py", *sys.argv[1:]]).replace(
        str(options.data), "PATH"
    )
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    print(write_result("gpu_generate", command, rounded(result), **versions))


if __name__ == "__main__":
    main()
