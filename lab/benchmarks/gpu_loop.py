"""Time a decoding loop on a GPU with and without grammars: a transformers model with random weights, batch after batch.

    python lab/benchmarks/gpu_loop.py --data PATH_TO_DATA_PACK

A loop is what a server does: the forward pass is a captured graph, masking and drawing another one, tokens go to the host
in every step. With grammars the host accepts the tokens of the last step and makes the masks of the next one while
the forward pass runs. Ways by turns, round after round, in one process; ``more`` is the median of a round's time a step over that of
the loop without grammars in the same round, less one. Every token that is drawn under one of our masks is checked by its matcher.

ways: ``free`` draws from all tokens; ``bitmask`` sends bitmasks; ``table`` names rows that the device has; ``fused`` draws
with the fused sampler under bitmasks.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import torch
from record import DATA, use_checkout, write_result

use_checkout()

from gpu_timing import captured, device_facts, rounded
from pack import load_tokenizer, maskbench

import stackmask as sm
from stackmask.runtime.kernels.mask_table import ENTRY, DeviceMaskTable
from stackmask.runtime.kernels.sampling import MaskedSampler
from stackmask.runtime.matching.step import StepMask, step

SIZES = {  # as Llama 3.2 1B and Llama 3 8B have them
    "1B": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "head_dim": 64},
    "8B": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "head_dim": 128},
}  # fmt: skip
TOOL = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}  # fmt: skip
TOOL_TEXT = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [
            {"begin": "<tool_call>", "content": {"type": "json_schema", "json_schema": TOOL}, "end": "</tool_call>"}
        ],
    },
}  # fmt: skip


def model_of(size: str, vocab: int) -> Any:
    """Make a model with random weights on the device, in bf16."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=vocab, num_key_value_heads=8, max_position_embeddings=8192, **SIZES[size])
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(torch.float32)


class Forward:
    """The forward pass of one token for each row, as a graph: reads ``ids``, leaves ``logits``."""

    def __init__(self, model: Any, rows: int, context: int) -> None:
        from transformers import StaticCache

        cache = StaticCache(config=model.config, max_cache_len=context)
        self.ids = torch.zeros(rows, 1, dtype=torch.int64, device="cuda")
        place = torch.full((1,), context - 2, dtype=torch.int64, device="cuda")
        vocab = model.config.vocab_size
        self.logits = torch.empty(rows, vocab, dtype=torch.bfloat16, device="cuda")

        def run() -> None:
            if lengths := [layer.cumulative_length for layer in cache.layers if layer.is_initialized]:
                torch._foreach_copy_(lengths, [place[0]] * len(lengths))  # the cache counts its tokens
            with torch.no_grad():
                found = model(
                    self.ids,
                    past_key_values=cache,
                    cache_position=place,
                    position_ids=place[None].expand(rows, 1),
                )
                self.logits.copy_(found.logits[:, -1])

        self.graph, _ = captured(run, runs=2)  # the first run makes the cache
        self._read_by_graph = (model, cache, place)


class Way(Protocol):
    """How a loop masks: what the host does between two steps, and what is captured for the device."""

    def prepare(self, tokens: list[int] | None) -> None:
        """Take the tokens of the last step; see to it that the masks of this step are on their way."""

    def mask(self, logits: torch.Tensor) -> None:
        """Forbid tokens, or nothing."""

    def draw(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the tokens (rows,)."""


def draw_plainly(logits: torch.Tensor) -> torch.Tensor:
    """Draw with PyTorch, as ``torch.multinomial`` does without its check."""
    p = logits.float().softmax(-1)
    return p.div_(torch.empty_like(p).exponential_()).argmax(-1)


class Free:
    """No grammar."""

    def prepare(self, tokens: list[int] | None) -> None:
        pass

    def mask(self, logits: torch.Tensor) -> None:
        pass

    def draw(self, logits: torch.Tensor) -> torch.Tensor:
        return draw_plainly(logits)


class Requests:
    """The matchers of a batch; one that has ended makes room for the next request."""

    def __init__(self, grammars: list[sm.CompiledGrammar], rows: int) -> None:
        self._next: Iterator[sm.CompiledGrammar] = itertools.cycle(grammars)
        self.matchers = [next(self._next).matcher() for _ in range(rows)]

    def replace_ended(self) -> None:
        for row, matcher in enumerate(self.matchers):
            if matcher.is_terminated():
                self.matchers[row] = next(self._next).matcher()


class Bitmask:
    """Bitmasks, written by ``step`` and sent in every step."""

    def __init__(self, grammars: list[sm.CompiledGrammar], rows: int, vocab: int, threads: int = 1) -> None:
        self._requests = Requests(grammars, rows)
        self._masks = StepMask(rows, vocab)
        words = torch.empty(self._masks.array.shape, dtype=torch.int32)
        self._host = [torch.empty_like(words).pin_memory() for _ in range(2)]
        self._there = torch.full_like(words, -1, device="cuda")
        self._stream = torch.cuda.Stream()
        self._threads, self._turn = threads, 0

    def prepare(self, tokens: list[int] | None) -> None:
        matchers = self._requests.matchers
        given = [None] * len(matchers) if tokens is None else tokens
        found = step(matchers, given, self._masks, threads=self._threads)
        assert all(found.accepted) and not found.errors
        if True in found.ended:
            self._requests.replace_ended()
            step(self._requests.matchers, [None] * len(matchers), self._masks, threads=self._threads)
        self._turn ^= 1
        host = self._host[self._turn]
        host.numpy()[:] = self._masks.array
        main = torch.cuda.current_stream()
        with torch.cuda.stream(self._stream):
            # not before the last step has read its masks: its tokens are here
            self._there.copy_(host, non_blocking=True)
        main.wait_stream(self._stream)

    def mask(self, logits: torch.Tensor) -> None:
        sm.apply_token_bitmask_inplace(logits, self._there)

    def draw(self, logits: torch.Tensor) -> torch.Tensor:
        return draw_plainly(logits)


class Fused(Bitmask):
    """Bitmasks, and the sampler that reads them."""

    def __init__(self, grammars: list[sm.CompiledGrammar], rows: int, vocab: int) -> None:
        super().__init__(grammars, rows, vocab)
        self._sampler = MaskedSampler(rows, vocab, "cuda")
        self._seeds = torch.arange(rows, device="cuda")
        self._steps = torch.zeros(rows, dtype=torch.int64, device="cuda")

    def mask(self, logits: torch.Tensor) -> None:
        pass

    def draw(self, logits: torch.Tensor) -> torch.Tensor:
        self._steps += 1
        return self._sampler(logits, self._there, seeds=self._seeds, steps=self._steps).tokens


class Table:
    """Rows of masks on the device, named in every step."""

    def __init__(self, grammars: list[sm.CompiledGrammar], rows: int, vocab: int) -> None:
        self._requests = Requests(grammars, rows)
        self._table = DeviceMaskTable(vocab, "cuda", first_rows=8192, max_rows=8192)
        self._out = torch.full((rows, ENTRY), -1, dtype=torch.int32, device="cuda")
        self._entries = self._table.entries(self._requests.matchers, out=self._out)
        self._table.wait(self._entries)

    def prepare(self, tokens: list[int] | None) -> None:
        if tokens is not None:
            self._table.mark_read()
            for matcher, token in zip(self._requests.matchers, tokens, strict=True):
                assert matcher.accept_token(token), matcher.refusal
            self._requests.replace_ended()
        self._entries = self._table.entries(self._requests.matchers, out=self._out)
        self._table.wait(self._entries)

    def mask(self, logits: torch.Tensor) -> None:
        self._table.apply(logits, self._entries)

    def draw(self, logits: torch.Tensor) -> torch.Tensor:
        return draw_plainly(logits)


class Loop:
    """One way around one forward pass."""

    def __init__(self, forward: Forward, way: Way) -> None:
        self._forward, self._way = forward, way
        rows = len(forward.ids)
        self._tokens = torch.zeros(rows, dtype=torch.int64).pin_memory()
        self._arrived: torch.cuda.Event | None = None
        way.prepare(None)
        masked = torch.empty_like(forward.logits)

        def last() -> None:
            masked.copy_(forward.logits)  # capturing runs it more than once
            way.mask(masked)
            way.draw(masked)

        def real() -> None:
            way.mask(forward.logits)
            forward.ids[:, 0] = way.draw(forward.logits)

        captured(last)
        self._graph, _ = captured(real)
        self.host_seconds = 0.0

    def run(self, steps: int) -> float:
        """Return the seconds of a step."""
        torch.cuda.synchronize()
        self.host_seconds = 0.0
        begun = time.perf_counter()
        for _ in range(steps):
            self._forward.graph.replay()
            tokens = None
            if self._arrived is not None:
                self._arrived.synchronize()
                tokens = self._tokens.tolist()
            at = time.perf_counter()
            self._way.prepare(tokens)
            self.host_seconds += time.perf_counter() - at
            self._graph.replay()
            self._tokens.copy_(self._forward.ids[:, 0], non_blocking=True)
            self._arrived = torch.cuda.current_stream().record_event()
        torch.cuda.synchronize()
        return (time.perf_counter() - begun) / steps


def schemas_of(data: Path, count: int) -> list[Any]:
    """Return schemas of MaskBench, in an order of chance."""
    return [record["schema"] for record in maskbench(data, 7)[:count]]


def workloads(compiler: sm.Compiler, schemas: list[Any], rows: int) -> dict[str, list[sm.CompiledGrammar]]:
    """Return the grammars of each workload, one a request by turns."""
    found: list[sm.CompiledGrammar] = []
    for schema in schemas:
        if len(found) == rows:
            break
        try:
            found.append(compiler.compile(sm.Grammar.from_json_schema(schema)))
        except sm.StackmaskError:
            continue
    return {
        "a schema each": found,
        "sql": [compiler.compile(sm.Grammar.bundled("sql"))],
        "text until a tool call": [compiler.compile(sm.Grammar.from_structural_tag(TOOL_TEXT))],
    }


def compare(loops: dict[str, Loop], steps: int, rounds: int) -> dict[str, Any]:
    """Run the loops by turns; return milliseconds a step, and how much more than without grammars."""
    for loop in loops.values():
        loop.run(steps)
    times: dict[str, list[float]] = {name: [] for name in loops}
    hosts: dict[str, list[float]] = {name: [] for name in loops}
    for number in range(rounds):
        order = list(loops.items())
        for name, loop in order if number % 2 else reversed(order):
            times[name].append(1000 * loop.run(steps))
            hosts[name].append(1e6 * loop.host_seconds / steps)
    found: dict[str, Any] = {}
    for name in loops:
        found[name] = {"ms": statistics.median(times[name]), "host_us": statistics.median(hosts[name])}
        ratios = [mine / free for mine, free in zip(times[name], times["free"], strict=True)]
        found[name]["more"] = statistics.median(ratios) - 1
        found[name]["more_least"], found[name]["more_most"] = min(ratios) - 1, max(ratios) - 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--sizes", nargs="*", default=["8B"], choices=sorted(SIZES))
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 32, 256])
    parser.add_argument(
        "--most", type=int, default=64, help="batches above this one run the first workload alone"
    )
    parser.add_argument("--context", type=int, default=128, help="tokens that each row attends to")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.data / "tokenizers" / options.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    compiler = sm.Compiler(vocabulary)
    schemas = schemas_of(options.data, 2 * max(options.batches))
    started = time.monotonic()
    cases: list[dict[str, Any]] = []
    for size in options.sizes:
        model = model_of(size, vocabulary.size)
        for rows in options.batches:
            forward = Forward(model, rows, options.context)
            loops: dict[str, Loop] = {}
            works = list(workloads(compiler, schemas, rows).items())
            for work, grammars in works if rows <= options.most else works[:1]:
                loops = {"free": Loop(forward, Free())}
                for way in (Bitmask, Table, Fused):
                    loops[way.__name__.lower()] = Loop(forward, way(grammars, rows, vocabulary.size))
                found = compare(loops, options.steps, options.rounds)
                cases.append({"size": size, "rows": rows, "work": work, "ways": found})
                for name, row in found.items():
                    print(f"{size} {rows:4} {work:24} {name:20} {rounded(row)}", flush=True)
            del forward, loops
            gc.collect()
            torch.cuda.empty_cache()
            write(options, cases, time.monotonic() - started)
        del model
        gc.collect()


def write(options: argparse.Namespace, cases: list[dict[str, Any]], seconds: float) -> None:
    """Write what has been measured so far."""
    import transformers

    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    result = {**device_facts(), "context": options.context, "seconds": seconds, "cases": cases}
    command = " ".join(["python lab/benchmarks/gpu_loop.py", *sys.argv[1:]]).replace(
        str(options.data), "PATH"
    )
    print(write_result("gpu_loop", command, rounded(result), **versions))


if __name__ == "__main__":
    main()
