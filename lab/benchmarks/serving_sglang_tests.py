"""Run SGLang's own kits of tests against real servers of it, with this engine as their backend, and with XGrammar.

Run it with the Python of an environment that has SGLang, openai and httpx; ``./dev build`` must have been run:

    SGLANG_PYTHON lab/benchmarks/serving_sglang_tests.py [--rounds N] [--write]

The kits come with SGLang and are imported from there. They ask a server for texts of a JSON Schema, a grammar, a pattern or
a JSON object, and servers with a reasoning parser also for thoughts and answers apart.
The models are tiny and made up (``serving_models``), with the tokenizer of GPT-2 from STACKMASK_DATA, so a case may fail
because a text that means nothing goes on until its 128 tokens are over: what counts is whether it does with both engines.
Most cases sample, so a case near the edge may differ from run to run: ``--rounds`` asks for all of them again.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import tempfile
import unittest
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from record import write_result
from serving_models import MARKS, NEVER, make_model, tokenizer_of
from serving_servers import Server, sglang_server

ROUNDS = 1


class Kits(NamedTuple):
    """A server, and the kits that it is asked: classes by their module below ``sglang.test.kits``."""

    classes: tuple[tuple[str, str], ...]
    likely: dict[str, float]
    arguments: tuple[str, ...] = ()
    backends: tuple[str, ...] = ("xgrammar", "stackmask")


THINKING = (
    ("reasoning_kit", "ReasoningTokenUsageMixin"),
    ("reasoning_kit", "SeparateReasoningMixin"),
    ("json_constrained_kit", "JSONConstrainedMixin"),
    ("json_mode_kit", "JSONModeMixin"),
)
THINKS = {"end": 8.0, "</think>": 11.5, "<tool_call>": NEVER}
GROUPS = {
    "structured outputs": Kits(
        (
            ("json_constrained_kit", "JSONConstrainedMixin"),
            ("ebnf_constrained_kit", "EBNFConstrainedMixin"),
            ("regex_constrained_kit", "RegexConstrainedMixin"),
            ("json_mode_kit", "JSONModeMixin"),
        ),
        {"end": 14.0, "</think>": NEVER, "<tool_call>": NEVER},
    ),
    "reasoning": Kits(THINKING, THINKS, ("--reasoning-parser", "qwen3")),
    # without a GPU SGLang's own adapter of XGrammar raises where thoughts are filtered, and the server dies
    "strict reasoning": Kits(
        THINKING, THINKS, ("--reasoning-parser", "qwen3", "--enable-strict-thinking"), ("stackmask",)
    ),
}


def suites(group: Kits, server: Server, model: Path) -> list[tuple[str, unittest.TestSuite]]:
    """Return the cases of a group by the name of their kit."""
    import openai

    found = []
    for module, name in group.classes:
        kit: Any = getattr(importlib.import_module(f"sglang.test.kits.{module}"), name)
        given = {
            "base_url": server.url,
            "model": str(model) if name == "ReasoningTokenUsageMixin" else "tiny",
            "api_key": "none",
            "client": openai.Client(api_key="none", base_url=f"{server.url}/v1", max_retries=2),
            "reasoning_parser_name": "qwen3",
        }
        case = type(name.removesuffix("Mixin"), (kit, unittest.TestCase), given)
        if name == "ReasoningTokenUsageMixin":
            case.init_reasoning_token_verifier()
        found.append((case.__name__, unittest.defaultTestLoader.loadTestsFromTestCase(case)))
    return found


def run_group(label: str, group: Kits, backend: str, rounds: int, work: Path) -> dict[str, int]:
    """Ask one server all that its kits ask, in rounds; return how many times each case passed."""
    model = make_model(
        work / f"hub-{label}", "tiny", tokenizer_of("gpt2-50k", MARKS, readable=True), group.likely
    )
    server = sglang_server(model, work, f"{backend} {label}", backend, group.arguments)
    passed: dict[str, int] = {}
    try:
        print(f"{backend}, {label}: up after {server.wait():.0f} s", flush=True)
        for _ in range(rounds):
            for kit, suite in suites(group, server, model):
                result = unittest.TestResult()
                names = [test.id().rpartition(".")[2] for test in suite]
                with contextlib.redirect_stdout(io.StringIO()):
                    suite.run(result)
                failed = {
                    test.id().rpartition(".")[2]: text for test, text in (*result.failures, *result.errors)
                }
                for name in names:
                    case = f"{label}: {kit}.{name}"
                    passed[case] = passed.get(case, 0) + (name not in failed)
                for name, text in failed.items():
                    print(f"{backend}: {kit}.{name}: {text.strip().splitlines()[-1][:200]}", flush=True)
        if not server.alive():
            raise SystemExit(f"the server died:\n{server.log.read_text()[-3000:]}")
    finally:
        server.stop()
    return passed


def main() -> None:
    """Run both, and write what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=list(GROUPS), help="one group alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many times each server is asked")
    parser.add_argument("--write", action="store_true", help="write results/serving_sglang_tests.json")
    given = parser.parse_args()
    found: dict[str, dict[str, int]] = {"xgrammar": {}, "stackmask": {}}
    with tempfile.TemporaryDirectory() as folder:
        for label, group in GROUPS.items():
            if given.only in (None, label):
                for backend in group.backends:
                    found[backend] |= run_group(label, group, backend, given.rounds, Path(folder))
    theirs, ours = found["xgrammar"], found["stackmask"]
    rounds = given.rounds
    both = [case for case in ours if case in theirs]
    result: dict[str, Any] = {
        "rounds": rounds,
        "cases_of_both": len(both),
        "always_pass_of_these": {
            name: sum(passed[case] == rounds for case in both) for name, passed in found.items()
        },
        "always_pass_with_xgrammar_only": [c for c in both if theirs[c] == rounds > ours[c]],
        "always_pass_with_stackmask_only": [c for c in both if ours[c] == rounds > theirs[c]],
        "fail_with_both": [c for c in both if ours[c] < rounds and theirs[c] < rounds],
        "rounds_passed": found,
    }
    for name, value in result.items():
        print(name, value)
    if given.write:
        versions = {name: metadata.version(name) for name in ("sglang", "xgrammar", "torch")}
        command = "SGLANG_PYTHON lab/benchmarks/serving_sglang_tests.py --write"
        print(write_result("serving_sglang_tests", command, result, **versions))


if __name__ == "__main__":
    main()
