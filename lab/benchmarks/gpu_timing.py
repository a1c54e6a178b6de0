"""Time work on a GPU: medians of replayed CUDA graphs over rotated buffers, and random masks and logits made there."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable
from typing import Any

import torch

Work = Callable[[int], Any]
SPARE = 1 << 28  # bytes of logits that are rotated: several times the second-level cache


def graph_us(work: Work, buffers: int, calls: int = 12, replays: int = 9) -> float:
    """Return the median time of a call in microseconds: ``work(i)`` uses buffer i, ``calls`` to a graph."""
    for i in range(min(buffers, 3)):  # compiles, and warms up
        work(i)

    def many() -> None:
        for i in range(calls):
            work(i % buffers)

    graph, _ = captured(many)
    times = []
    graph.replay()
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(1000 * start.elapsed_time(end) / calls)
    return statistics.median(times)


def captured(work: Callable[[], Any], *, runs: int = 1) -> tuple[torch.cuda.CUDAGraph, Any]:
    """Return a graph of the work, which has been run before, and what the captured call returned."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(runs):
            work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def peer_us(row: dict[str, Any], name: str, work: Work | None, buffers: int, calls: int = 12) -> None:
    """Note a peer's time in ``row`` as ``<name>_us``; where a graph or the device does not suit it, why not."""
    if work is None:
        return
    try:
        row[f"{name}_us"] = graph_us(work, buffers, calls)
    except (RuntimeError, ValueError, TypeError, AttributeError, ImportError) as error:
        row[f"{name}_error"] = f"{type(error).__name__}: {error}"[:200]
        torch.cuda.synchronize()


def speeds() -> dict[str, float]:
    """Return bytes a second of filling and of copying (bytes read and written) 2 GB, and µs of an empty launch."""
    a = torch.empty(1 << 29, device="cuda")
    b = torch.empty_like(a)
    size = a.numel() * 4
    little = torch.empty(32, device="cuda")
    return {
        "fill": size / graph_us(lambda _: a.fill_(1.0), 1, 5) * 1e6,
        "copy": 2 * size / graph_us(lambda _: b.copy_(a), 1, 5) * 1e6,
        "launch_us": graph_us(lambda _: little.fill_(1.0), 1, 50),
    }


def device_facts() -> dict[str, Any]:
    """Return the name of the device, its driver, and the version of CUDA that PyTorch was built for."""
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        driver = "unknown"
    return {"device": torch.cuda.get_device_name(), "driver": driver, "cuda": str(torch.version.cuda)}


def rotated(rows: int, width: int, dtype: torch.dtype, shape: str = "flat") -> list[torch.Tensor]:
    """Return buffers of logits, 20 at most: from 64 rows on together several times the second-level cache.

    With few rows they stay in it, as logits that were just computed do. ``shape``: "flat" is a normal distribution,
    "peaked" has probabilities that fall with the rank to the power of 1.5, as those of a language model do.
    """
    size = rows * width * dtype.itemsize
    count = max(2, min(20, -(-SPARE // size)))
    found = []
    for _ in range(count):
        logits = torch.randn(rows, width, device="cuda")
        if shape == "peaked":
            ranks = logits.argsort(1).argsort(1)  # of each logit, from the lowest
            logits = -1.5 * (width - ranks).float().log()
        found.append(logits.to(dtype))
    return found


def random_masks(rows: int, vocab: int, share: float, seed: int = 0) -> torch.Tensor:
    """Return a bitmask on the device whose rows allow about a share of the tokens, and one at least."""
    generator = torch.Generator("cuda").manual_seed(seed)
    words = -(-vocab // 32)
    masks = torch.zeros(rows, words, dtype=torch.int32, device="cuda")
    for bit in range(32):
        is_set = torch.rand(rows, words, generator=generator, device="cuda") < share
        masks |= is_set.int() << bit
    at = torch.randint(0, vocab, (rows,), generator=generator, device="cuda")
    lines = torch.arange(rows, device="cuda")
    masks[lines, at // 32] |= (torch.ones_like(at) << (at % 32)).to(torch.int32)
    return masks


def rounded(value: Any) -> Any:
    """Round all numbers of a result to four digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value
