"""Draft along recorded tool calls, with real tokenizers, and count the tokens that a model would have accepted.

    python lab/benchmarks/drafts.py --bfcl PATH_TO_bfcl_eval/data --write

The records are questions and answers of the Berkeley function-calling leaderboard (the package ``bfcl-eval``): one call,
one of several tools, several calls, and conversations. Each answer is written as the style `hermes` has it, its keys in declared
order, and followed as a model would write it: the tokens of a draft that are those of the answer are accepted, and then comes
one token of the answer that the model writes itself. ``forced_percent`` counts what jump-forward alone would write.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pack import load_tokenizer
from record import DATA, use_checkout, write_result

SETS = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "multi_turn_base",
)
TOKENIZERS = ("llama3-128k", "qwen3-151k", "mistral-tekken-131k")
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
DOCS = {"GorillaFileSystem": "gorilla_file_system", "MathAPI": "math_api", "MessageAPI": "message_api", "TwitterAPI": "posting_api", "TicketAPI": "ticket_api", "TradingBot": "trading_bot", "TravelAPI": "travel_booking", "VehicleControlAPI": "vehicle_control"}  # fmt: skip
SOURCES = ("forced", "prompt", "earlier")
DRAFT = 16  # tokens of a draft at most
IN_BATCHES = (8, 64)  # tokens of a draft in a batch, and its rows
TIMES = 5  # of which the fastest counts: other programs share the machine


class Turn(NamedTuple):
    """A recorded turn: its tools in the shape of OpenAI, what the model has read, and its calls."""

    name: str
    tools: list[dict[str, Any]]
    prompt: str
    calls: list[dict[str, Any]]


def schema_of(given: Any) -> Any:
    """Return a JSON Schema for the types that the records have."""
    if isinstance(given, list):
        return [schema_of(item) for item in given]
    if not isinstance(given, dict):
        return given
    found = {
        key: schema_of(value) for key, value in given.items() if key not in ("default", "optional", "format")
    }
    if isinstance(given.get("type"), str):
        kind = TYPES.get(given["type"], given["type"])
        found.pop("type")
        if kind is not None:
            found["type"] = kind
        if kind == "object":
            found["additionalProperties"] = not found.get("properties")
    return found


def tool_of(function: dict[str, Any]) -> dict[str, Any]:
    parameters = schema_of(function["parameters"])
    about = {
        "name": function["name"],
        "description": function.get("description", ""),
        "parameters": parameters,
    }
    return {"type": "function", "function": about}


def picked(value: Any) -> Any:
    """Return the first of the answers that count as right, all the way down."""
    if isinstance(value, dict):
        chosen = {key: picked(options[0] if isinstance(options, list) and options else options) for key, options in value.items() if not (isinstance(options, list) and options and options[0] == "")}  # fmt: skip
        return chosen
    if isinstance(value, list):
        return [picked(item) for item in value]
    return value


def written(call: dict[str, Any]) -> str:
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


def in_order(call: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return a call with its arguments in declared order; None if its tool has no such arguments."""
    tool = next((t["function"] for t in tools if t["function"]["name"] == call["name"]), None)
    if tool is None:
        return None
    order = list(tool["parameters"].get("properties", ()))
    if not set(call["arguments"]) <= set(order):
        return None
    return {
        "name": call["name"],
        "arguments": {k: call["arguments"][k] for k in order if k in call["arguments"]},
    }


def answered(data: Path, name: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield the records of a file, each with its answers."""
    with (data / "possible_answer" / f"BFCL_v4_{name}.json").open() as lines:
        answers = {record["id"]: record["ground_truth"] for record in map(json.loads, lines)}
    with (data / f"BFCL_v4_{name}.json").open() as lines:
        for record in map(json.loads, lines):
            yield record, answers.get(record["id"], [])


def single_turns(data: Path, name: str) -> Iterator[Turn]:
    for record, truths in answered(data, name):
        tools = [tool_of(function) for function in record["function"]]
        calls = [
            {"name": called, "arguments": picked(arguments)}
            for each in truths
            for called, arguments in each.items()
        ]
        messages = [f"<|{m['role']}|>\n{m['content']}\n" for turn in record["question"] for m in turn]
        prompt = f"# Tools\n{json.dumps(tools)}\n" + "".join(messages) + "<|assistant|>\n"
        yield Turn(record["id"], tools, prompt, calls)


def conversations(data: Path, name: str) -> Iterator[Turn]:
    """Yield the turns of conversations, each with the calls of those before it in its prompt."""
    for record, truths in answered(data, name):
        tools = []
        for owner in record["involved_classes"]:
            for each in (data / "multi_turn_func_doc" / f"{DOCS[owner]}.json").open():
                tools.append(tool_of(json.loads(each)))
        prompt = f"# Tools\n{json.dumps(tools)}\n"
        for i, (turn, truth) in enumerate(zip(record["question"], truths, strict=True)):
            prompt += "".join(f"<|{m['role']}|>\n{m['content']}\n" for m in turn) + "<|assistant|>\n"
            calls = [call for text in truth if (call := python_call(text, tools)) is not None]
            yield Turn(f"{record['id']}-{i}", tools, prompt, calls)
            prompt += "\n".join(map(written, calls)) + "\n"


def python_call(text: str, tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Read a call that is written as Python has it; None if it is none of the tools'."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func)
    tool = next((t["function"] for t in tools if t["function"]["name"] == name), None)
    if tool is None:
        return None
    names = list(tool["parameters"].get("properties", ()))
    arguments = {key: ast.literal_eval(value) for key, value in zip(names, node.args, strict=False)}
    arguments |= {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
    return {"name": name, "arguments": arguments}


class Count:
    """What was counted along the turns of one tokenizer and set."""

    def __init__(self, length: int = DRAFT, batch: int = 1) -> None:
        self.turns = self.tokens = self.jumped = self.steps = self.drafted = self.guessed = 0
        self.accepted: Counter[int] = Counter()
        self.proposed: Counter[int] = Counter()
        self.skipped: Counter[str] = Counter()
        self.step_us: list[float] = []
        self.length, self.batch = length, batch

    def add(self, other: Count) -> None:
        for name in ("turns", "tokens", "jumped", "steps", "drafted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("accepted", "proposed", "skipped"):
            getattr(self, name).update(getattr(other, name))

    def summary(self) -> dict[str, Any]:
        share = 100 / max(1, self.tokens)
        return {
            "turns": self.turns,
            "left_out": dict(self.skipped),
            "tokens": self.tokens,
            "forced_percent": round(share * self.jumped, 2),
            "accepted_percent": round(share * self.accepted.total(), 2),
            "accepted_percent_by_source": {
                name: round(share * self.accepted[i], 2) for i, name in enumerate(SOURCES)
            },
            "of_proposed_accepted_percent": {
                name: round(100 * self.accepted[i] / max(1, self.proposed[i]), 1)
                for i, name in enumerate(SOURCES)
            },
            "times_forced": round(self.accepted.total() / max(1, self.jumped), 3),
            "model_steps_percent": round(share * self.steps, 2),
        }


def jumped(matcher: Any, ids: list[int]) -> int:
    """Return how many tokens of an answer jump-forward writes; the matcher is at its start, and back there."""
    count = i = 0
    while i < len(ids):
        tokens = matcher.plan_jump((), 0).tokens
        step = 0
        while step < len(tokens) and i + step < len(ids) and tokens[step] == ids[i + step]:
            step += 1
        count += step
        for token in ids[i : i + max(step, 1)]:
            assert matcher.accept_token(token)
        i += max(step, 1)
    matcher.rollback(len(ids))
    return count


def follow(count: Count, matcher: Any, sources: Any, ids: list[int]) -> None:
    """Follow one answer; count what is accepted of each draft."""
    i = 0
    while i < len(ids):
        start = time.thread_time_ns()
        draft = matcher.draft(sources, count.length, batch=count.batch)
        count.step_us.append((time.thread_time_ns() - start) / 1000)
        count.steps += 1
        count.drafted += bool(draft.tokens)
        step = 0
        while step < len(draft.tokens) and i + step < len(ids) and draft.tokens[step] == ids[i + step]:
            count.accepted[draft.sources[step]] += 1
            step += 1
        sources.judge(draft, step)
        count.proposed.update(draft.sources[: step + 1])
        for token in ids[i : i + step + 1]:
            assert matcher.accept_token(token)
        i += step + 1


def followed(turn: Turn, tokenizer: Any, compiler: Any) -> tuple[Any, list[int]] | str:
    """Return a matcher for a turn and the tokens of its answer, or why it is left out."""
    import stackmask as sm

    calls = [in_order(call, turn.tools) for call in turn.calls]
    if not calls or None in calls:
        return "not of the tools"
    text = "\n".join(written(call) for call in calls if call is not None)
    try:
        grammar = sm.tools.grammar(
            "hermes", turn.tools, tool_choice="required", reasoning="off", profile="model"
        )
    except sm.StackmaskError as error:
        return type(error).__name__
    matcher = compiler.compile(grammar).matcher()
    ids = tokenizer.encode(text, add_special_tokens=False)
    if not all(matcher.accept_token(token) for token in ids):
        return "not in the grammar"
    matcher.reset()
    return matcher, ids


def times_of(values: list[float]) -> dict[str, float]:
    """Return mean and percentiles of microseconds."""
    times = sorted(values)
    p50, p99 = times[len(times) // 2], times[int(0.99 * len(times))]
    return {"mean": round(sum(times) / len(times), 1), "p50": round(p50, 1), "p99": round(p99, 1)}


def measure(folder: Path, turns: dict[str, list[Turn]]) -> dict[str, Any]:
    import stackmask as sm
    from stackmask.runtime.jump_forward.drafts import Sources

    tokenizer = load_tokenizer(folder)
    compiler = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer))
    found: dict[str, Any] = {}
    total, in_batch = Count(), Count()
    for name, some in turns.items():
        count = Count()
        for turn in some:
            made = followed(turn, tokenizer, compiler)
            if isinstance(made, str):
                count.skipped[made] += 1
                continue
            matcher, ids = made
            count.turns += 1
            count.tokens += len(ids)
            count.jumped += jumped(matcher, ids)
            follow(count, matcher, Sources(turn.prompt.encode()), ids)
            matcher.reset()
            times = []
            for _ in range(TIMES):
                batch = Count(*IN_BATCHES)
                follow(batch, matcher, Sources(turn.prompt.encode()), ids)
                matcher.reset()
                times.append(batch.step_us)
            in_batch.add(batch)
            in_batch.tokens += len(ids)
            in_batch.jumped += jumped(matcher, ids)
            if len({*map(len, times)}) == 1:
                in_batch.step_us += map(min, zip(*times, strict=True))
        found[name] = count.summary()
        total.add(count)
        total.step_us += count.step_us
        print(name, json.dumps(found[name]), flush=True)
    found["all"] = total.summary()
    found["first_us"] = times_of(total.step_us)
    found["in_batches"] = {**in_batch.summary(), "us": times_of(in_batch.step_us)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bfcl", type=Path, required=True, help="the folder `data` of the package bfcl_eval")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--turns", type=int, default=49, help="of each set")
    parser.add_argument("--tokenizers", nargs="*", default=TOKENIZERS)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    turns = {}
    for name in options.sets:
        read = conversations if name.startswith("multi_turn") else single_turns
        all_turns = list(read(options.bfcl, name))
        random.Random(7).shuffle(all_turns)
        turns[name] = all_turns[: options.turns]
    result = {name: measure(options.data / "tokenizers" / name, turns) for name in options.tokenizers}
    print(
        json.dumps(
            {name: [found["all"], found["first_us"], found["in_batches"]] for name, found in result.items()},
            indent=1,
        )
    )
    if options.write:
        write_result(
            "drafts",
            f"python lab/benchmarks/drafts.py --bfcl PATH_TO_bfcl_eval/data --turns {options.turns} --write",
            {"draft_tokens": DRAFT, "in_batches": IN_BATCHES, "tokenizers": result},
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
