"""Measure what a turn with tools costs: from the tools to the first mask.

    python lab/benchmarks/tools.py --data PATH_TO_DATA_PACK --write

The tools are made by rule, of the size that function-calling benchmarks have: a few typed parameters, some of them optional,
enumerated or nested. ``from_dicts``: new tools; ``again``: the same ones, as dicts that come with another
request, in another order; ``prepared``: ``Tool`` objects that an earlier grammar had. Each figure is the median of several
sets of tools on one compiler that has seen other ones.

Where XGrammar is installed, it has the same tools in the same process, set by set in turns: from its structural tag of
the same model to its first mask, on one thread, with its cache. Times to a first mask are of the processor.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from pack import load_tokenizer
from record import DATA, use_checkout, write_result

STYLE = "qwen_3"
SIZES = (10, 100, 500)
TYPES: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "number"},
    {"type": "boolean"},
    {"enum": ["celsius", "fahrenheit", "kelvin"]},
    {"type": "array", "items": {"type": "string"}},
    {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
        "required": ["x", "y"],
    },
)
WORDS = ("city", "date", "limit", "query", "unit", "user", "path", "size", "color", "price", "owner", "range")


def made_tools(count: int, seed: int) -> list[dict[str, Any]]:
    """Return tools in the shape of OpenAI, the same for the same seed."""
    rng = random.Random(f"{count} {seed}")
    found = []
    for number in range(count):
        names = rng.sample(WORDS, rng.randint(1, 5))
        parameters = {
            "type": "object",
            "properties": {name: {**rng.choice(TYPES), "description": f"The {name}."} for name in names},
            "required": names[: rng.randint(0, len(names))],
            "additionalProperties": False,
        }
        function = {"name": f"{rng.choice(WORDS)}_{seed}_{number}", "parameters": parameters}
        found.append({"type": "function", "function": function})
    return found


def first_mask(compiler: Any, tools: list[Any], mask: Any) -> float:
    """Return the seconds of the processor from the tools to the first mask."""
    import stackmask as sm

    begin = time.process_time()
    matcher = compiler.compile(sm.tools.grammar(STYLE, tools)).matcher()
    matcher.fill_next_token_bitmask(mask)
    return time.process_time() - begin


def xgrammar_first_mask(tokenizer: Any) -> Any:
    """Return what measures the same with XGrammar; None where it is not installed."""
    try:
        import xgrammar
    except ImportError:
        return None
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)
    mask = xgrammar.allocate_token_bitmask(1, len(tokenizer))

    def measure(tools: list[Any]) -> float:
        begin = time.process_time()
        tag = xgrammar.get_model_structural_tag(STYLE, tools=tools, tool_choice="auto", reasoning="auto")
        matcher = xgrammar.GrammarMatcher(compiler.compile_structural_tag(tag))
        matcher.fill_next_token_bitmask(mask)
        return time.process_time() - begin

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="qwen3-151k")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    import stackmask as sm

    tokenizer = load_tokenizer(arguments.data / "tokenizers" / arguments.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    first_mask(compiler, made_tools(10, -1), mask)
    result: dict[str, Any] = {"tokenizer": arguments.tokenizer, "style": STYLE, "first_mask_ms": {}}
    other = xgrammar_first_mask(tokenizer)
    if other is not None:
        other(made_tools(10, -1))
    for size in SIZES:
        dicts, again, prepared, theirs = [], [], [], []
        for seed in range(arguments.rounds):
            dicts.append(first_mask(compiler, made_tools(size, seed), mask))
            again.append(first_mask(compiler, made_tools(size, seed)[::-1], mask))
            if other is not None:
                theirs.append(other(made_tools(size, seed)))
            objects = [sm.tools.Tool.of(tool) for tool in made_tools(size, 100 + seed)]
            first_mask(compiler, objects, mask)
            prepared.append(first_mask(compiler, objects[::-1], mask))
        figures = {
            "from_dicts": round(1e3 * statistics.median(dicts), 2),
            "again": round(1e3 * statistics.median(again), 2),
            "prepared": round(1e3 * statistics.median(prepared), 2),
        }
        if theirs:
            figures["xgrammar"] = round(1e3 * statistics.median(theirs), 2)
        result["first_mask_ms"][str(size)] = figures
        print(f"{size} tools: {figures}")
    if arguments.write:
        versions = {} if other is None else {"xgrammar": metadata.version("xgrammar")}
        write_result("tools", "python lab/benchmarks/tools.py --data PATH --write", result, **versions)


if __name__ == "__main__":
    main()
