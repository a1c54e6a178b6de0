"""Compare the calls in random turns with what the tool parsers of vLLM and SGLang read.

    python lab/benchmarks/tool_parsers.py --vllm PYTHON --sglang PYTHON --write

The turns are random walks through the grammar of each style (``tool_turns.py``), with calls of made tools; the calls that were
made are those that ``sm.tools.parse`` reads. ``PYTHON`` is the interpreter of an environment that has the engine: no GPU is
needed, but harmony wants its vocabulary where ``TIKTOKEN_ENCODINGS_BASE`` says. A call is lost if the engine does not
read it, and invented if it was not made; one with other arguments is both.

A turn counts as ``spelled`` where a string of an argument spells out a marker of the style, as in ``{"city":
"</tool_call>"}``. The models have these markers as tokens, which are never part of a string, so no such text comes of
decoding unless a model spells it in other tokens. Parsers that search the text are led astray by it: these turns
are listed apart.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from record import use_checkout, write_result
from tool_turns import Made, Walker

CHILD: Final = Path(__file__).with_name("tool_parsers_child.py")
PARSERS: Final[dict[str, dict[str, str]]] = {
    "vllm": {
        "cohere": "cohere_melody",
        "deepseek_r1": "deepseek_v3",
        "deepseek_v3_1": "deepseek_v31",
        "deepseek_v3_2": "deepseek_v32",
        "deepseek_v4": "deepseek_v4",
        "exaone": "hermes",
        "glm_4_7": "glm47",
        "harmony": "openai",
        "hermes": "hermes",
        "kimi": "kimi_k2",
        "kimi_k3": "kimi_k3",
        "llama": "llama3_json",
        "mimo": "mimo",
        "minimax": "minimax_m2",
        "minimax_m3": "minimax_m3",
        "mistral": "mistral",
        "pythonic": "llama4_pythonic",
        "qwen_3": "hermes",
        "qwen_3_5": "qwen3_coder",
        "qwen_3_coder": "qwen3_coder",
    },
    "sglang": {
        "deepseek_r1": "deepseekv3",
        "deepseek_v3_1": "deepseekv31",
        "deepseek_v3_2": "deepseekv32",
        "deepseek_v4": "deepseekv4",
        "exaone": "hermes",
        "glm_4_7": "glm47",
        "harmony": "gpt-oss",
        "hermes": "hermes",
        "kimi": "kimi_k2",
        "kimi_k3": "kimi_k3",
        "llama": "llama3",
        "mimo": "mimo",
        "minimax": "minimax-m2",
        "minimax_m3": "minimax-m3",
        "mistral": "mistral",
        "pythonic": "pythonic",
        "qwen_3": "qwen25",
        "qwen_3_5": "qwen3_coder",
        "qwen_3_coder": "qwen3_coder",
    },
}
EXAMPLES: Final = 2  # of the differences of a style
REASONS: Final[dict[tuple[str, str], str]] = {
    ("sglang", "deepseek_v3_2"): "theirs: it strips blanks from both ends of strings",
    ("sglang", "deepseek_v4"): "theirs: it strips blanks from both ends of strings",
    (
        "sglang",
        "glm_4_7",
    ): "theirs: it finds no call where blanks follow the name, as GLM-4.6 writes a line break there",
    (
        "sglang",
        "harmony",
    ): "theirs: it wants `<|constrain|>`, which the chat template of gpt-oss does not write",
    ("sglang", "mimo"): "theirs: it fails on a schema with a list of types",
    ("vllm", "qwen_3_coder"): "theirs: JSON with a number beyond floats, such as 1e999, stays text",
    ("sglang", "minimax_m3"): "theirs: it strips blanks from both ends of strings",
    ("sglang", "pythonic"): "theirs: it reads no negative numbers",
    ("sglang", "minimax"): "theirs: with a list of types that holds null, it takes numbers for null",
}
_MARKER: Final = re.compile(
    r"<\|[^|<>]*\|>|</?｜[^<>]*?｜(?:[a-z_]+>|>)|\[/?[A-Z_]+\]|</?[a-z_:]+>|\]<\]minimax\[>\[|</?[a-z]+[ =]"
)


class Difference(NamedTuple):
    """A turn that an engine reads otherwise."""

    made: Made
    calls: list[tuple[str, Any]]
    theirs: list[tuple[str, Any]]
    error: str


def markers_of(style: Any) -> list[str]:
    """Return the markers in a style, among them all that its models have as special tokens."""
    from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES

    parts = [*style.section, *style.thinking, style.trigger, style.content[0], *style.content[1], style.glue]
    parts += [style.end, *style.excludes, *(part for call in style.calls for part in call)]
    arguments = ARGUMENT_STYLES.get(style.arguments)
    if arguments is not None:
        parts += [arguments.open, arguments.middle, arguments.close, arguments.item, arguments.item_close]
    found = ["<|python_tag|>"]  # vLLM's parser for Llama asks for it
    found += [marker for part in parts for marker in _MARKER.findall(part)]
    return list(dict.fromkeys(found))


def is_spelled(calls: list[tuple[str, Any]], markers: list[str]) -> bool:
    """Tell whether a marker is spelled out in what calls say."""
    said = json.dumps(calls, ensure_ascii=False)
    return any(json.dumps(marker, ensure_ascii=False)[1:-1] in said for marker in markers)


def read_with(
    engine: str, python: str, jobs: list[dict[str, Any]]
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the versions of an engine, and what it reads of each turn."""
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    command = [python, str(CHILD), engine]
    quiet = {**os.environ, "VLLM_LOGGING_LEVEL": "CRITICAL", "VLLM_NO_USAGE_STATS": "1"}
    done = subprocess.run(
        command,
        input=lines,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env=quiet,
    )
    first, *answers = map(json.loads, done.stdout.splitlines())
    if len(answers) != len(jobs):
        raise RuntimeError(f"{engine} read {len(answers)} of {len(jobs)} turns")
    return first["versions"], answers


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same in JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


def count_differences(calls: list[tuple[str, Any]], theirs: list[tuple[str, Any]]) -> tuple[int, int]:
    """Return how many calls were lost, and how many invented; order matters not."""
    rest = list(theirs)
    lost = 0
    for name, arguments in calls:
        for index, (other, values) in enumerate(rest):
            if name == other and is_same(arguments, values):
                del rest[index]
                break
        else:
            lost += 1
    return lost, len(rest)


def calls_of(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return calls with their arguments as values; arguments that are no JSON stay text."""
    found = []
    for name, text in answer.get("calls", ()):
        try:
            found.append((name, json.loads(text)))
        except (ValueError, TypeError):
            found.append((name, text))
    return found


def compare(
    style: str, turns: list[Made], answers: list[dict[str, Any]], markers: list[str]
) -> tuple[dict[str, Any], list[Difference]]:
    """Return a row of the table, and the turns that differ."""
    import stackmask as sm

    count: Counter[str] = Counter()
    found = []
    for made, answer in zip(turns, answers, strict=True):
        calls = [
            (call.name, call.arguments) for call in sm.tools.parse(style, made.text, tools=made.tools).calls
        ]
        theirs = calls_of(answer)
        lost, invented = count_differences(calls, theirs)
        kind = "spelled_" if is_spelled(calls, markers) else ""
        count[f"{kind}turns"] += 1
        count[f"{kind}calls"] += len(calls)
        count[f"{kind}lost"] += lost
        count[f"{kind}invented"] += invented
        if (lost or invented or "error" in answer) and not kind:
            found.append(Difference(made, calls, theirs, answer.get("error", "")))
    names = [f"{kind}{what}" for kind in ("", "spelled_") for what in ("turns", "calls", "lost", "invented")]
    return {name: count[name] for name in names}, found


def read_turns(
    engine: str, python: str, turns: dict[str, list[Made]], examples: int = EXAMPLES
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the versions of an engine, and a row of the table for each style that turns were made of."""
    import stackmask as sm

    markers = {style: markers_of(sm.tools.style_of(style)) for style in turns}
    known = [style for style in turns if style in PARSERS[engine]]
    jobs = [
        {"parser": PARSERS[engine][style], "special": markers[style], "tools": made.tools, "text": made.text}
        for style in known
        for made in turns[style]
    ]
    installed, answers = read_with(engine, python, jobs)
    rows: dict[str, Any] = {style: {"parser": None} for style in turns if style not in known}
    at = 0
    for style in known:
        read = answers[at : at + len(turns[style])]
        at += len(read)
        row, differences = compare(style, turns[style], read, markers[style])
        shortest = sorted(differences, key=lambda difference: len(difference.made.text))
        row["examples"] = [
            {"text": one.made.text, "made": one.calls, "theirs": one.theirs, "error": one.error}
            for one in shortest[:examples]
        ]
        rows[style] = {"parser": PARSERS[engine][style], **row}
        if differences:
            rows[style]["whose"] = REASONS.get((engine, style), "not explained yet")
    return installed, rows


def show(engine: str, rows: dict[str, Any]) -> None:
    """Print a line for each style, and its examples."""
    for style, row in rows.items():
        figures = ", ".join(f"{name} {value}" for name, value in row.items() if name != "examples")
        print(f"{engine} {style}: {figures}", flush=True)
        for example in row.get("examples", ()):
            print("    ", json.dumps(example, ensure_ascii=False)[:900])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vllm", help="the Python of an environment with vLLM")
    parser.add_argument("--sglang", help="the Python of an environment with SGLang")
    parser.add_argument("--turns", type=int, default=260, help="of each style")
    parser.add_argument("--styles", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=EXAMPLES, help="how many examples of each style")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    import stackmask as sm

    walker = Walker()
    styles = arguments.styles or sm.tools.style_names()
    turns = {style: list(walker.turns(style, arguments.turns, arguments.seed)) for style in styles}
    result: dict[str, Any] = {"seed": arguments.seed, "turns": sum(map(len, turns.values()))}
    versions: dict[str, str] = {}
    pythons = {engine: getattr(arguments, engine) for engine in PARSERS if getattr(arguments, engine)}
    with ThreadPoolExecutor() as both:
        read = {
            engine: both.submit(read_turns, engine, python, turns, arguments.show)
            for engine, python in pythons.items()
        }
    for engine, found in read.items():
        installed, result[engine] = found.result()
        versions |= installed
        show(engine, result[engine])
    if arguments.write:
        command = "python lab/benchmarks/tool_parsers.py --vllm PYTHON --sglang PYTHON --write"
        write_result("tool_parsers", command, result, **versions)


if __name__ == "__main__":
    main()
