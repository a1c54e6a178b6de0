"""What only a GPU can show: graphs, launches, allocations, streams, very large batches, and work beside the forward pass.

``gpu.py`` runs it. Results are compared with the CPU path, and the first difference raises AssertionError.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from gpu_checks import TYPES, at_once, masks_of, same_bits
from gpu_timing import captured

import stackmask as sm
from stackmask.runtime.kernels.mask_table import ENTRY, DeviceMaskTable
from stackmask.runtime.kernels.output_layer import MaskedOutputLayer
from stackmask.runtime.kernels.sampling import MaskedSampler, sample_masked

ROWS, VOCAB, SIZE = 6, 5000, 256
LARGE = (17_000, 128_256)  # more than 2^31 logits, in bf16
# with the fill of the logits before the output layer
LAUNCHES = {"apply": 1, "sample": 2, "sample top_p": 2, "table": 1, "gather": 5}


def small_matchers(count: int) -> tuple[int, list[Any]]:
    """Return a vocabulary's size and matchers over bytes, of two grammars by turns."""
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    compiler = sm.Compiler(vocabulary)
    grammars = [compiler.compile(sm.Grammar.bundled(name)) for name in ("json", "arithmetic")]
    return vocabulary.size, [grammars[i % 2].matcher() for i in range(count)]


def works(dtype: torch.dtype) -> tuple[dict[str, Callable[[], Any]], dict[str, Any]]:
    """Return calls that a graph can capture, by name, and the tensors that they work on."""
    rng = np.random.default_rng(0)
    masks = masks_of(rng, ROWS, VOCAB, 0.02)
    size, matchers = small_matchers(ROWS)
    table = DeviceMaskTable(size, "cuda")
    weight = (torch.randn(VOCAB, SIZE) / SIZE**0.5).to(dtype)
    t: dict[str, Any] = {
        "masks": masks,
        "words": masks.cuda(),
        "logits": torch.zeros(ROWS, VOCAB, dtype=dtype, device="cuda"),
        "hidden": torch.zeros(ROWS, SIZE, dtype=dtype, device="cuda"),
        "weight": weight,
        "steps": torch.zeros(ROWS, dtype=torch.int64, device="cuda"),
        "seeds": torch.arange(ROWS, device="cuda"),
        "out": torch.full((ROWS, ENTRY), -1, dtype=torch.int32, device="cuda"),
        "small": torch.zeros(ROWS, size, dtype=dtype, device="cuda"),
        "computed": torch.empty(ROWS, VOCAB, dtype=dtype, device="cuda"),
        "matchers": matchers,
        "table": table,
    }
    layer = MaskedOutputLayer(weight.cuda())
    samplers = {top_p: MaskedSampler(ROWS, VOCAB, "cuda") for top_p in (1.0, 0.9)}
    t["entries"] = table.entries(matchers, out=t["out"])
    table.wait(t["entries"])
    calls: dict[str, Callable[[], Any]] = {
        "apply": lambda: sm.apply_token_bitmask_inplace(t["logits"], t["words"]),
        "table": lambda: table.apply(t["small"], t["entries"]),
    }
    for name, top_p in (("sample", 1.0), ("sample top_p", 0.9)):
        calls[name] = lambda p=top_p: samplers[p](  # type: ignore[misc]
            t["logits"], t["words"], top_p=p, seeds=t["seeds"], steps=t["steps"]
        )
    calls["gather"] = lambda: layer(t["hidden"], t["words"], form="gather", out=t["computed"])
    return calls, t


def check_graphs(dtype: torch.dtype) -> int:
    """Capture each call once, replay it on new data, and compare with the CPU path; return how many replays agreed."""
    checked = 0
    calls, t = works(dtype)
    for name, work in calls.items():
        graph, result = captured(work)
        for step in range(3):
            values = torch.randn(ROWS, VOCAB).to(dtype)
            small = torch.randn(t["small"].shape).to(dtype)
            hidden = torch.randn(ROWS, SIZE).to(dtype)
            for there, new in (("logits", values), ("small", small), ("hidden", hidden)):
                t[there].copy_(new)
            t["steps"].fill_(step)
            if name == "table":
                t["table"].wait(t["table"].entries(t["matchers"], out=t["out"]))
            graph.replay()
            t["table"].mark_read()
            if name == "apply":
                sm.apply_token_bitmask_inplace(values, t["masks"])
                assert same_bits(t["logits"].cpu(), values), (name, dtype)
            elif name == "table":
                bitmaps = sm.allocate_token_bitmask(ROWS, small.shape[1], like="torch")
                sm.fill_next_token_bitmask(t["matchers"], bitmaps)
                sm.apply_token_bitmask_inplace(small, bitmaps)
                assert same_bits(t["small"].cpu(), small), (name, dtype)
                for matcher, text in zip(t["matchers"], ("[", "1") * ROWS, strict=False):
                    assert matcher.accept_string(text)
            elif name.startswith("sample"):
                wanted = sample_masked(
                    values,
                    t["masks"],
                    top_p=0.9 if "top_p" in name else 1.0,
                    seeds=list(range(ROWS)),
                    steps=step,
                )
                assert result.tokens.tolist() == wanted.tokens.tolist(), (name, dtype)
            else:
                exact = hidden.double() @ t["weight"].double().T
                sm.apply_token_bitmask_inplace(exact, t["masks"])
                found = t["computed"].cpu().double()
                assert torch.equal(found.isinf(), exact.isinf()), (name, dtype)
                finite = ~exact.isinf()
                assert torch.allclose(found[finite], exact[finite], atol=0.05, rtol=0.02), (name, dtype)
            checked += 1
    return checked


def count_launches() -> dict[str, Any]:
    """Return kernels and allocations of a warm call of each kind, beside what the documentation says."""
    from torch.profiler import ProfilerActivity, profile

    calls, _ = works(torch.bfloat16)
    found: dict[str, Any] = {}
    for name, work in calls.items():
        work()
        torch.cuda.synchronize()
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            work()
            torch.cuda.synchronize()
        kernels = [
            event.name
            for event in seen.events()
            if event.device_type == torch.autograd.DeviceType.CUDA
            and not event.name.startswith(("Memcpy", "Memset"))
        ]
        found[name] = {
            "launches": len(kernels),
            "documented": LAUNCHES[name],
            "allocations": torch.cuda.memory_stats()["allocation.all.allocated"] - before,
        }
        if len(kernels) != LAUNCHES[name]:
            found[name]["kernels"] = sorted(kernels)
        print("launches", name, found[name])
    return found


def check_streams(steps: int, device: str = "cuda") -> int:
    """Two streams use one table, whose rows are too few for both, without waiting on the host; return masks compared."""
    size, matchers = small_matchers(8)
    halves = [matchers[:4], matchers[4:]]
    table = DeviceMaskTable(size, device, first_rows=8, max_rows=24, first_staging=1, max_staging=2)
    streams = [torch.cuda.Stream() for _ in halves] if device == "cuda" else [None, None]
    rng = np.random.default_rng(5)
    results = []
    for _ in range(steps):
        for half, stream in zip(halves, streams, strict=True):
            bitmaps = sm.allocate_token_bitmask(len(half), size, like="torch")
            sm.fill_next_token_bitmask(half, bitmaps)
            with nullcontext() if stream is None else torch.cuda.stream(stream):
                logits = torch.zeros(len(half), size, device=device)
                table.apply(logits, table.entries(half))
            results.append((logits, bitmaps))
            for matcher, row in zip(half, bitmaps.numpy(), strict=True):
                allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
                if len(allowed):
                    matcher.accept_token(int(rng.choice(allowed)))
                else:
                    matcher.reset()
    for logits, bitmaps in results:
        wanted = torch.zeros(logits.shape)
        sm.apply_token_bitmask_inplace(wanted, bitmaps)
        assert torch.equal(logits.cpu(), wanted), "streams"
    return len(results)


def check_large() -> str | int:
    """More logits than 32 bits count: the last rows of a batch, masked and drawn as on the CPU."""
    rows, vocab = LARGE
    free = torch.cuda.mem_get_info()[0]
    if free < 3 * 2 * rows * vocab:
        return f"left out: {free} bytes are free on the device, {6 * rows * vocab} are needed"
    few = masks_of(np.random.default_rng(6), 50, vocab, 0.01)
    masks = few.repeat(rows // 50, 1)
    last = torch.randn(50, vocab).to(torch.bfloat16)
    logits = torch.zeros(rows, vocab, dtype=torch.bfloat16, device="cuda")
    logits[-50:] = last.cuda()
    sampler = MaskedSampler(rows, vocab, "cuda")
    drawn = sampler(logits, masks.cuda(), top_k=40, seeds=9).tokens[-50:].tolist()
    wanted = sample_masked(last, few, top_k=40, seeds=9).tokens.tolist()
    assert sum(a != b for a, b in zip(drawn, wanted, strict=True)) <= 1, "sampling of a large batch"
    sm.apply_token_bitmask_inplace(logits, masks.cuda())
    sm.apply_token_bitmask_inplace(last, few)
    assert same_bits(logits[-50:].cpu(), last), "applying to a large batch"
    zeros = torch.zeros(50, vocab, dtype=torch.bfloat16)
    sm.apply_token_bitmask_inplace(zeros, few)
    assert same_bits(logits[:50].cpu(), zeros), "applying to a large batch"
    return rows * vocab


def time_overlap(device: str = "cuda", rows: int = 64, size: int = 8192, steps: int = 60) -> dict[str, Any]:
    """Time decoding steps whose masks are made after the forward pass, and beside it; both draw the same tokens.

    The forward pass is a chain of products that leaves random logits; masks are filled, sent and sampled from.
    """
    vocab, _ = small_matchers(0)
    hidden = torch.randn(rows, size, device=device).to(torch.bfloat16)
    weight = (torch.randn(size, size, device=device) / size**0.5).to(torch.bfloat16)
    head = torch.randn(size, vocab, device=device).to(torch.bfloat16)
    seeds = torch.arange(rows, device=device)

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    def loop(beside: bool) -> tuple[list[list[int]], float]:
        _, matchers = small_matchers(rows)
        table = DeviceMaskTable(vocab, device)
        sampler = MaskedSampler(rows, vocab, device)
        tokens, times = [], []
        for step in range(steps):
            start = time.perf_counter()
            state = hidden
            for _ in range(16):
                state = state @ weight
            logits = state @ head
            if not beside:
                wait()
            for matcher in matchers:
                if matcher.is_terminated():
                    matcher.reset()
            entries = table.entries(matchers)
            drawn = table.sample(sampler, logits, entries, seeds=seeds, steps=step).tokens.tolist()
            for matcher, token in zip(matchers, drawn, strict=True):
                assert matcher.accept_token(token), matcher.refusal
            tokens.append(drawn)
            times.append(1000 * (time.perf_counter() - start))
        return tokens, statistics.median(times)

    first, apart = loop(False)
    second, beside = loop(True)
    assert first == second, "tokens differ with overlap"
    print(f"overlap: {apart:.3f} ms a step after the forward pass, {beside:.3f} beside it")
    return {"rows": rows, "steps": steps, "after_ms": apart, "beside_ms": beside}


def check_device() -> dict[str, Any]:
    """Run all of it; what the profiler cannot count is said, since the checks do not hang on it."""
    result = at_once(
        [
            *(("graphs", check_graphs, (dtype,)) for dtype in TYPES),
            ("streams", check_streams, (200,)),
            ("large", check_large, ()),
        ]
    )
    try:
        result["launches"] = count_launches()
    except RuntimeError as error:
        result["launches"] = f"not counted: {error}"
    result["overlap"] = time_overlap()
    return result
