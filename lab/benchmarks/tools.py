"""Measure what a turn with tools costs: from the tools to the first mask, and masks along a turn.

    python lab/benchmarks/tools.py --data PATH_TO_DATA_PACK --write

The tools are made by rule, of the size that function-calling benchmarks have: a few typed parameters, some of them optional,
enumerated or nested. ``from_dicts``: new tools; ``again``: the same ones, as dicts that come with another
request, in another order; ``prepared``: ``Tool`` objects that an earlier grammar had. Each figure is the median of several
sets of tools on one compiler that has seen other ones. A turn is a sentence and two calls, in the style qwen_3; a long one is
some 500 words with four calls of new tools, first visits counted: on one compiler that has seen another
turn, and on a new one for each turn, where what all turns share is made too.

Where XGrammar is installed, it has the same tools in the same process, set by set in turns: from its structural tag of
the same model to its first mask, on one thread, with its cache. Times to a first mask are of the processor.
"""

from __future__ import annotations

import argparse
import json
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
TALK = (
    *("the", "weather", "in", "Oslo", "is", "mild", "and", "you", "may", "want", "a", "coat", "when", "it", "rains"),
    *("Let", "me", "see", "what", "I", "can", "find", "about", "this", "trip", "for", "you", "by", "train", "or", "boat"),
)  # fmt: skip
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


def along_turns(compiler: Any, tokenizer: Any, mask: Any, turns: int) -> dict[str, float]:
    """Return the mean µs of a mask in free text and in calls, at the first visit and at the second."""
    import stackmask as sm

    seconds: dict[str, list[float]] = {f"{part}_{visit}": [] for part in ("text", "call") for visit in (1, 2)}
    for seed in range(turns):
        tools = made_tools(20, 1000 + seed)
        call = {"name": tools[0]["function"]["name"], "parameters": tools[0]["function"]["parameters"]}
        arguments = {
            key: _value(call["parameters"]["properties"][key]) for key in call["parameters"]["properties"]
        }
        written = f"<tool_call>\n{json.dumps({'name': call['name'], 'arguments': arguments})}\n</tool_call>"
        text = "Let me look that up for you; this will only take a moment."
        compiled = compiler.compile(sm.tools.grammar(STYLE, tools, reasoning="off"))
        for visit in (1, 2):
            matcher = compiled.matcher()
            for part, piece in (("text", text), ("call", written), ("call", f"\n{written}")):
                for token in tokenizer.encode(piece, add_special_tokens=False):
                    begin = time.perf_counter()
                    matcher.fill_next_token_bitmask(mask)
                    seconds[f"{part}_{visit}"].append(time.perf_counter() - begin)
                    if not matcher.accept_token(token):
                        raise RuntimeError(f"refused: {matcher.refusal}")
    return {name: round(1e6 * statistics.mean(found), 2) for name, found in seconds.items()}


def along_long_turns(vocabulary: Any, tokenizer: Any, turns: int, *, shared: bool) -> dict[str, Any]:
    """Return the mean µs of a mask over long turns, in free text and in calls.

    A turn is some 500 words with calls of four tools between them; what is first visited counts, compiling does not.
    ``shared``: all turns are on one compiler, and the first one is not counted.
    """
    import stackmask as sm

    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    spent: dict[str, list[float]] = {"text": [], "call": []}
    compiler = sm.Compiler(vocabulary)
    for seed in range(-1 if shared else 0, turns):
        if seed == 0:
            spent = {part: [] for part in spent}
        if not shared:
            compiler = sm.Compiler(vocabulary)
        rng = random.Random(seed)
        tools = made_tools(20, 2000 + seed)
        compiled = compiler.compile(sm.tools.grammar(STYLE, tools, reasoning="off"))
        matcher = compiled.matcher()
        pieces = []
        for number in range(4):
            words = " ".join(rng.choice(TALK) for _ in range(120))
            function = tools[number]["function"]
            properties = function["parameters"]["properties"]
            call = {
                "name": function["name"],
                "arguments": {key: _value(properties[key]) for key in properties},
            }
            pieces += [("text", f"{words}. "), ("call", f"<tool_call>\n{json.dumps(call)}\n</tool_call>")]
        for part, piece in pieces:
            for token in tokenizer.encode(piece, add_special_tokens=False):
                begin = time.process_time_ns()
                matcher.fill_next_token_bitmask(mask)
                spent[part].append((time.process_time_ns() - begin) / 1e3)
                if not matcher.accept_token(token):
                    raise RuntimeError(f"refused: {matcher.refusal}")
    found: dict[str, Any] = {}
    for part, each in spent.items():
        found[part] = round(statistics.mean(each), 2)
        found[f"{part}_median"] = round(statistics.median(each), 2)
        found[f"{part}_masks"] = len(each)
    return found


def _value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {"x": 1.5, "y": 2}
    return {"string": "Oslo, Norway", "integer": 7, "number": 2.5, "boolean": True, "array": ["a", "b"]}[
        schema["type"]
    ]


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
    result["masks_us"] = along_turns(compiler, tokenizer, mask, 10)
    print(result["masks_us"])
    for name, shared in (("long_turns_us", True), ("long_turns_new_compiler_us", False)):
        result[name] = along_long_turns(vocabulary, tokenizer, 10, shared=shared)
        print(name, result[name])
    if arguments.write:
        versions = {} if other is None else {"xgrammar": metadata.version("xgrammar")}
        write_result("tools", "python lab/benchmarks/tools.py --data PATH --write", result, **versions)


if __name__ == "__main__":
    main()
