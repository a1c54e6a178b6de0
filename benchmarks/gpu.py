"""Kernels that apply masks: first that they are right, then how fast they are.

    python benchmarks/gpu.py            # under 8 minutes with a GPU; without one, correctness and the CPU kernel

Times are medians of replayed CUDA graphs over rotated buffers, by CUDA events. They are given as ratios to the same work in
PyTorch and in XGrammar's Triton kernel (where it is installed), and as shares of the time that the bytes alone take at
the bandwidth measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

from record import RESULTS, use_checkout, write_result

use_checkout()

from gpu_checks import check_all, masks_of
from gpu_model import step as modelled

from stackmask.runtime.kernels.bitmask import apply_token_bitmask_inplace

VOCAB = 128_256
SHARES = {"structure": 0.0005, "half": 0.5, "free text": 0.98}  # of tokens allowed
Work = Callable[[int], Any]


def xgrammar_apply(backend: str = "cpu") -> Any:
    """Return XGrammar's function with one of its backends, or None."""
    try:
        import xgrammar
    except ImportError:
        return None
    return partial(xgrammar.apply_token_bitmask_inplace, backend=backend)


# -- the CPU kernel ----------------------------------------------------------------------------------------


def processor_ms(work: Callable[[], Any], rounds: int) -> float:
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(1000 * (time.process_time() - start))
    return min(times)


def cpu_apply() -> dict[str, Any]:
    """64 rows of 128,256 logits on one thread: processor time of the best of several rounds."""
    torch.set_num_threads(1)
    theirs = xgrammar_apply()
    rng = np.random.default_rng(0)
    rows = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        logits = torch.randn(64, VOCAB).to(dtype)
        for name, share in {"nothing": 0.0, **SHARES, "all": 1.0}.items():
            masks = (
                masks_of(rng, 64, VOCAB, share) if share else torch.zeros(64, VOCAB // 32, dtype=torch.int32)
            )
            row: dict[str, Any] = {"type": str(dtype).partition(".")[2], "allowed": name}
            row["ms"] = processor_ms(lambda x=logits, m=masks: apply_token_bitmask_inplace(x, m), 30)
            if theirs is not None:
                row["xgrammar_ms"] = processor_ms(lambda x=logits, m=masks: theirs(x, m), 5)
                row["ratio"] = round(row["xgrammar_ms"] / row["ms"], 1)
            rows.append(
                {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
            )
            print("cpu apply", rows[-1])
    return {"rows": 64, "vocab": VOCAB, "cases": rows}


# -- on a GPU ----------------------------------------------------------------------------------------------


def graph_us(work: Work, buffers: int, calls: int = 20, replays: int = 15) -> float:
    """Return the median time of a call in microseconds: ``work(i)`` uses buffer i, ``calls`` to a graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compiles, and warms up
        for i in range(min(buffers, 3)):
            work(i)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            work(i % buffers)
    times = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(1000 * start.elapsed_time(end) / calls)
    return statistics.median(times)


def bandwidth() -> dict[str, float]:
    """Return bytes a second of filling and of copying (bytes read and written) 2 GB."""
    a = torch.empty(1 << 29, device="cuda")
    b = torch.empty_like(a)
    size = a.numel() * 4
    return {
        "fill": size / graph_us(lambda _: a.fill_(1.0), 1, 5) * 1e6,
        "copy": 2 * size / graph_us(lambda _: b.copy_(a), 1, 5) * 1e6,
    }


def rotated(rows: int, width: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Return buffers of logits, 20 at most: from 64 rows on together several times the second-level cache.

    With fewer rows they stay in it, as logits that were just computed do.
    """
    size = rows * width * (2 if dtype != torch.float32 else 4)
    count = max(2, min(20, -(-(1 << 28) // size)))
    return [torch.randn(rows, width, device="cuda").to(dtype) for _ in range(count)]


def time_apply(speeds: dict[str, float]) -> list[dict[str, Any]]:
    from stackmask.runtime.kernels.gpu.apply import launch_apply
    from stackmask.runtime.kernels.reference import apply_reference

    theirs = xgrammar_apply("triton")
    rng = np.random.default_rng(0)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        for rows in (1, 8, 64, 256, 512):
            buffers = rotated(rows, VOCAB, dtype)
            for name, share in SHARES.items():
                masks = masks_of(rng, rows, VOCAB, share).cuda()
                entries = torch.full((rows, 16), -1, dtype=torch.int32, device="cuda")
                entries[:, 0] = torch.arange(rows, device="cuda")
                entries[:, 4] = 7
                n = len(buffers)

                def ours(i: int, buffers: Any = buffers, masks: Any = masks) -> None:
                    apply_token_bitmask_inplace(buffers[i], masks)

                def table(i: int, buffers: Any = buffers, masks: Any = masks, entries: Any = entries) -> None:
                    launch_apply(buffers[i], masks, columns=VOCAB, entries=entries)

                def plain(i: int, buffers: Any = buffers, masks: Any = masks) -> None:
                    apply_reference(buffers[i], masks, columns=VOCAB)

                # written are sectors of 32 bytes with a forbidden logit in them
                each = 32 // buffers[0].element_size()
                written = rows * VOCAB * buffers[0].element_size() * (1 - share**each)
                floor = (written + masks.numel() * 4) / speeds["fill"] * 1e6
                row: dict[str, Any] = {"type": str(dtype)[6:], "rows": rows, "allowed": name}
                row["us"] = graph_us(ours, n)
                row["table_us"] = graph_us(table, n)
                row["torch_us"] = graph_us(plain, n, calls=4)
                row["floor_us"] = floor
                row["over_floor"] = row["us"] / floor
                if theirs is not None:
                    try:
                        row["xgrammar_us"] = graph_us(lambda i, b=buffers, m=masks: theirs(b[i], m), n)
                        row["xgrammar_ratio"] = row["xgrammar_us"] / row["us"]
                    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
                        # a peer that this device or a graph does not suit is no reason to lose our own figures
                        row["xgrammar_error"] = f"{type(error).__name__}: {error}"
                        torch.cuda.synchronize()
                found.append(row)
                print("apply", row)
    return found


def time_sampling() -> list[dict[str, Any]]:
    from stackmask.runtime.kernels.sampling import MaskedSampler

    rng = np.random.default_rng(0)
    found = []
    for rows in (1, 8, 64, 256):
        buffers = rotated(rows, VOCAB, torch.bfloat16)
        spare = [b.clone() for b in buffers]
        n = len(buffers)
        sampler = MaskedSampler(rows, VOCAB, "cuda")
        seeds = torch.arange(rows, device="cuda")
        for name, share in SHARES.items():
            masks = masks_of(rng, rows, VOCAB, share).cuda()
            row: dict[str, Any] = {"rows": rows, "allowed": name}
            for kind, options in (
                ("greedy", {"temperature": 0.0}),
                ("sample", {"temperature": 0.8}),
                ("top_p", {"temperature": 0.8, "top_p": 0.95}),
                ("top_k", {"temperature": 0.8, "top_k": 50}),
            ):
                sampler(buffers[0], masks, seeds=seeds, **options)  # makes the constants

                def ours(
                    i: int, masks: Any = masks, options: Any = options, s: Any = (buffers, sampler, seeds)
                ) -> None:
                    s[1](s[0][i], masks, seeds=s[2], **options)

                row[f"{kind}_us"] = graph_us(ours, n)

            def apart(i: int, masks: Any = masks, spare: Any = spare) -> None:
                # what torch.multinomial does for one draw, less its check, which waits for the device
                apply_token_bitmask_inplace(spare[i], masks)
                p = spare[i].float().softmax(-1)
                p.div_(torch.empty_like(p).exponential_()).argmax(-1)

            row["mask_us"] = graph_us(lambda i, m=masks, s=spare: apply_token_bitmask_inplace(s[i], m), n)
            row["apart_us"] = graph_us(apart, n, calls=6)
            row["over_mask"] = row["sample_us"] / row["mask_us"]
            row["ratio"] = row["apart_us"] / row["sample_us"]
            # of groups of 16 bytes, those with an allowed token are read
            model = modelled(rows, VOCAB, 1 - (1 - share) ** 8)
            row["model_us"], row["model_apart_us"] = model["us_fused"], model["us_apart"]
            found.append(row)
            print("sampling", row)
    return found


def time_output() -> list[dict[str, Any]]:
    from stackmask.runtime.kernels.output_layer import BLOCK, MaskedOutputLayer, Wanted, choose_form

    size = 4096
    weights = [(torch.randn(VOCAB, size, device="cuda") / 64).bfloat16() for _ in range(2)]
    layers = [MaskedOutputLayer(weight) for weight in weights]
    blocks = VOCAB // BLOCK
    rng = np.random.default_rng(0)
    found = []
    for rows in (1, 4, 16, 64):
        hidden = torch.randn(rows, size, device="cuda").bfloat16()
        out = torch.empty(rows, VOCAB, dtype=torch.bfloat16, device="cuda")
        for share in (0.001, 0.01, 0.05, 0.2, 0.5, 1.0):
            for inside in (1, BLOCK // 2):  # tokens allowed in each block
                some = rng.choice(blocks, max(1, int(share * blocks)), replace=False)
                words = np.zeros((rows, blocks), dtype=np.int32)
                words[:, some] = (1 << inside) - 1
                masks = torch.from_numpy(words).cuda()
                wanted = Wanted(len(some) * inside, len(some))
                row: dict[str, Any] = {"rows": rows, "blocks": share, "tokens_in_block": inside}
                for form in ("dense", "blocks", "filter", "gather"):
                    row[f"{form}_us"] = graph_us(
                        lambda i, f=form, h=hidden, m=masks, o=out: layers[i](h, m, form=f, out=o),
                        2,
                        calls=10,
                        replays=9,
                    )
                row["chosen"] = choose_form(rows, VOCAB, size, 2, wanted)
                row["speedup"] = row["dense_us"] / row[f"{row['chosen']}_us"]
                found.append(row)
                print("output", row)
    return found


def targets(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was aimed at on an H200, the worst figure that was measured, and whether it is reached."""
    apply, sampling, output = result["apply"], result["sampling"], result["output"]
    sparse = [r for r in output if r["blocks"] <= 0.01 and r["rows"] <= 16]
    aims: list[tuple[str, float, list[float], bool]] = [
        ("apply, times the bytes alone, 64 rows and more", 1.3, [r["over_floor"] for r in apply if r["rows"] >= 64], False),
        ("apply, times faster than XGrammar", 1.0, [r["xgrammar_ratio"] for r in apply if "xgrammar_ratio" in r], True),
        ("fused draw, times the mask pass", 1.2, [r["over_mask"] for r in sampling], False),
        ("fused draw, times faster than mask, softmax, draw", 3.0, [r["ratio"] for r in sampling], True),
        ("output layer, times faster, at most 1% of blocks", 5.0, [r["speedup"] for r in sparse], True),
        ("output layer, times dense, by the rule", 1.03, [1 / r["speedup"] for r in output], False),
    ]  # fmt: skip
    found = []
    for what, aim, figures, is_least in aims:
        worst = (min if is_least else max)(figures, default=None)
        reached = None if worst is None else (worst >= aim if is_least else worst <= aim)
        found.append({"target": what, "aim": aim, "worst": worst, "reached": reached})
        print("target", found[-1])
    return found


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw times of applying by batch, and of the output layer by share of blocks."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    cases = [r for r in result["apply"] if r["type"] == "bfloat16" and r["allowed"] == "structure"]
    for key, label in (
        ("us", "stackmask"),
        ("table_us", "from the table"),
        ("xgrammar_us", "XGrammar"),
        ("floor_us", "bytes alone"),
    ):
        if all(key in row for row in cases):
            left.loglog([r["rows"] for r in cases], [r[key] for r in cases], marker="o", label=label)
    left.set(xlabel="rows", ylabel="µs", title=f"mask applied, {VOCAB} bf16 logits")
    cases = [r for r in result["output"] if r["rows"] == 4 and r["tokens_in_block"] == 1]
    for form in ("dense", "blocks", "filter", "gather"):
        right.loglog([r["blocks"] for r in cases], [r[f"{form}_us"] for r in cases], marker="o", label=form)
    right.set(
        xlabel="share of blocks with an allowed token", title="output layer, 4 rows, 4096 x 128256 bf16"
    )
    for axis in (left, right):
        axis.legend()
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    started = time.monotonic()
    import triton

    versions = {"torch": torch.__version__, "triton": triton.__version__}
    if xgrammar_apply() is not None:
        versions["xgrammar"] = metadata.version("xgrammar")
    has_gpu = torch.cuda.is_available()
    device = "cuda" if has_gpu else "cpu"
    print(f"correctness, on {torch.cuda.get_device_name() if has_gpu else 'the CPU in the interpreter'}")
    checked = check_all(device)
    print(f"agreed: {checked}")
    result: dict[str, Any] = {"checked": checked}
    if has_gpu:
        from gpu_device import check_device

        result["on_device"] = check_device()
        speeds = bandwidth()
        print(f"bandwidth: {speeds}")
        result |= {"device": torch.cuda.get_device_name(), "bandwidth": speeds, "apply": time_apply(speeds)}
        result |= {"sampling": time_sampling(), "output": time_output()}
        result["targets"] = targets(result)
        plot(result, RESULTS / "gpu.svg")
    else:
        print("no GPU here: times of the CPU kernel alone")
        result |= {"device": "none: Triton's interpreter", "cpu_apply": cpu_apply()}
    result["seconds"] = time.monotonic() - started
    name = "gpu" if has_gpu else "kernels_cpu"
    print(write_result(name, "python benchmarks/gpu.py", rounded(result), **versions))


if __name__ == "__main__":
    main()
