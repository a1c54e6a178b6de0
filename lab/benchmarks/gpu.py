"""Kernels that apply masks: first that they are right, then how fast they are.

    python lab/benchmarks/gpu.py            # some minutes with a GPU; without one, correctness and the CPU kernel (results/kernels_cpu.json)
    python lab/benchmarks/gpu.py --only apply sampling      # sections, on a GPU; the checks are one of them

Times are medians of replayed CUDA graphs over rotated buffers, by CUDA events. They are given beside the same work in
PyTorch, in XGrammar's kernels and in FlashInfer's sampler (where they are installed), and beside what the bytes alone take at
the bandwidth measured in the same run. Each section writes ``results/gpu_<section>.json``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

from record import use_checkout, write_result

use_checkout()

from gpu_checks import check_all, masks_of
from gpu_timing import device_facts, graph_us, peer_us, random_masks, rotated, rounded, speeds

from stackmask.runtime.kernels.bitmask import apply_token_bitmask_inplace

VOCAB = 128_256
SHARES = {"structure": 0.0005, "half": 0.5, "free text": 0.98}  # of tokens allowed
VOCABULARIES = (VOCAB, 262_144)
TYPES = (torch.float32, torch.bfloat16, torch.float16)
APPLY_ROWS = (1, 8, 32, 64, 256, 512)
SECTIONS = ("checks", "apply", "sending", "sampling", "output")


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
            rows.append(
                {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
            )
            print("cpu apply", rows[-1])
    return {"rows": 64, "vocab": VOCAB, "cases": rows}


# -- on a GPU ----------------------------------------------------------------------------------------------


def time_apply(speeds: dict[str, float]) -> list[dict[str, Any]]:
    """Time masking of logits, beside XGrammar's kernels and PyTorch, and beside what the bytes alone take."""
    from stackmask.runtime.kernels.gpu.apply import launch_apply
    from stackmask.runtime.kernels.reference import apply_reference

    triton_peer, cuda_peer = xgrammar_apply("triton"), xgrammar_apply("cuda")
    found = []
    for vocab, dtype, rows in itertools.product(VOCABULARIES, TYPES, APPLY_ROWS):
        buffers = rotated(rows, vocab, dtype)
        n = len(buffers)
        for name, share in SHARES.items():
            masks = random_masks(rows, vocab, share)
            entries = torch.full((rows, 16), -1, dtype=torch.int32, device="cuda")
            entries[:, 0] = torch.arange(rows, device="cuda")
            entries[:, 4] = 7

            def ours(i: int, b: Any = buffers, m: Any = masks) -> None:
                apply_token_bitmask_inplace(b[i], m)

            def table(i: int, b: Any = buffers, m: Any = masks, e: Any = entries, v: int = vocab) -> None:
                launch_apply(b[i], m, columns=v, entries=e)

            def plain(i: int, b: Any = buffers, m: Any = masks, v: int = vocab) -> None:
                apply_reference(b[i], m, columns=v)

            # sectors of 32 bytes with a forbidden logit are written; those with an allowed one too are read before, by the
            # memory if not by a kernel; and the mask is read
            each, size = 32 // dtype.itemsize, rows * vocab * dtype.itemsize
            written = size * (1 - share**each)
            read = written - size * (1 - share) ** each + masks.numel() * 4
            reading = 2 / speeds["copy"] - 1 / speeds["fill"]  # seconds a byte
            bytes_us = (written / speeds["fill"] + read * reading) * 1e6
            row: dict[str, Any] = {"type": str(dtype)[6:], "vocab": vocab, "rows": rows, "allowed": name}
            row |= {"us": graph_us(ours, n), "table_us": graph_us(table, n)}
            row["floor_us"] = bytes_us + speeds["launch_us"]
            peer_us(row, "torch", plain, n, calls=4)
            for label, peer in (("xgrammar_triton", triton_peer), ("xgrammar_cuda", cuda_peer)):
                peer_us(row, label, peer and (lambda i, b=buffers, m=masks, p=peer: p(b[i], m)), n)
            found.append(row)
            print("apply", rounded(row), flush=True)
    return found


def time_sending() -> list[dict[str, Any]]:
    """Time what a device does for a step's masks: bitmaps that are sent and applied, and entries of a warm table."""
    from stackmask.runtime.kernels.gpu.apply import launch_apply

    found = []
    for rows in APPLY_ROWS:
        buffers = rotated(rows, VOCAB, torch.bfloat16)
        there = random_masks(rows, VOCAB, SHARES["structure"])
        masks, room = there.cpu().pin_memory(), torch.empty_like(there)
        entries = torch.full((rows, 16), -1, dtype=torch.int32)
        entries[:, 0] = torch.arange(rows)
        entries, names = entries.pin_memory(), torch.empty(rows, 16, dtype=torch.int32, device="cuda")

        def bitmap(i: int, b: Any = buffers, m: Any = masks, r: Any = room) -> None:
            r.copy_(m, non_blocking=True)
            apply_token_bitmask_inplace(b[i], r)

        def table(i: int, b: Any = buffers, t: Any = there, e: Any = entries, n: Any = names) -> None:
            n.copy_(e, non_blocking=True)
            launch_apply(b[i], t, columns=VOCAB, entries=n)

        row = {
            "rows": rows,
            "bitmap_us": graph_us(bitmap, len(buffers)),
            "table_us": graph_us(table, len(buffers)),
        }
        found.append(row)
        print("sending", rounded(row), flush=True)
    return found


SAMPLERS: dict[str, dict[str, Any]] = {
    "sample": {"temperature": 0.8},
    "top_p": {"temperature": 0.8, "top_p": 0.95},
    "top_k": {"temperature": 0.8, "top_k": 50},
}


def steps_apart(logits: torch.Tensor, masks: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """Mask and draw with PyTorch alone, as servers do without a library: sorted where top-k or top-p cut."""
    apply_token_bitmask_inplace(logits, masks)
    x = logits.float() / options["temperature"]
    if "top_k" in options or "top_p" in options:
        x, order = x.sort(-1, descending=True)
        if "top_k" in options:
            x[:, options["top_k"] :] = float("-inf")
        p = x.softmax(-1)
        if "top_p" in options:
            p = torch.where(p.cumsum(-1) - p < options["top_p"], p, 0.0)
        place = p.div_(torch.empty_like(p).exponential_()).argmax(-1, keepdim=True)
        return order.gather(1, place)
    p = x.softmax(-1)
    # what torch.multinomial does for one draw, less its check, which waits for the device
    return p.div_(torch.empty_like(p).exponential_()).argmax(-1)


def flashinfer_steps(logits: torch.Tensor, masks: torch.Tensor, options: dict[str, Any], seeds: Any) -> Any:
    """Mask, then draw with FlashInfer's kernels; ``seeds`` are (seed, offset) on the device, as graphs need them."""
    from flashinfer import sampling

    apply_token_bitmask_inplace(logits, masks)
    p = sampling.softmax(logits.float(), temperature=options["temperature"])
    k, share = options.get("top_k"), options.get("top_p")
    how = {"seed": seeds[0], "offset": seeds[1]}
    if k:
        return sampling.top_k_sampling_from_probs(p, k, **how)
    if share:
        return sampling.top_p_sampling_from_probs(p, share, **how)
    return sampling.sampling_from_probs(p, **how)


def time_sampling() -> list[dict[str, Any]]:
    """Time the fused draw beside mask and draw apart, in PyTorch and in FlashInfer (where it is installed)."""
    from stackmask.runtime.kernels.sampling import MaskedSampler

    found = []
    for shape, rows in itertools.product(("peaked", "flat"), (1, 32, 256)):
        buffers = rotated(rows, VOCAB, torch.bfloat16, shape)
        spare = [b.clone() for b in buffers]  # masks leave -inf in them
        n = len(buffers)
        sampler = MaskedSampler(rows, VOCAB, "cuda")
        seeds = torch.arange(rows, device="cuda")
        for name, share in SHARES.items():
            masks = random_masks(rows, VOCAB, share)
            for kind, options in SAMPLERS.items():
                row: dict[str, Any] = {"logits": shape, "rows": rows, "allowed": name, "draw": kind}
                sampler(buffers[0], masks, seeds=seeds, **options)  # makes the constants

                def ours(
                    i: int, m: Any = masks, o: Any = options, s: Any = (buffers, sampler, seeds)
                ) -> None:
                    s[1](s[0][i], m, seeds=s[2], **o)

                row["us"] = graph_us(ours, n)
                peer_us(
                    row, "torch", lambda i, m=masks, o=options, s=spare: steps_apart(s[i], m, o), n, calls=6
                )
                if importlib.util.find_spec("flashinfer"):
                    pair = (
                        torch.ones(1, dtype=torch.int64, device="cuda"),
                        torch.zeros(1, dtype=torch.int64, device="cuda"),
                    )

                    def flash(
                        i: int, m: Any = masks, o: Any = options, s: Any = spare, p: Any = pair
                    ) -> None:
                        flashinfer_steps(s[i], m, o, p)

                    peer_us(row, "flashinfer", flash, n, calls=6)
                found.append(row)
                print("sampling", rounded(row), flush=True)
    return found


def time_output() -> list[dict[str, Any]]:
    from stackmask.runtime.kernels.output_layer import BLOCK, MaskedOutputLayer, choose_form

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
                row: dict[str, Any] = {"rows": rows, "blocks": share, "tokens_in_block": inside}
                for form in ("dense", "gather"):
                    row[f"{form}_us"] = graph_us(
                        lambda i, f=form, h=hidden, m=masks, o=out: layers[i](h, m, form=f, out=o),
                        2,
                        calls=10,
                        replays=9,
                    )
                row["chosen"] = choose_form(rows, VOCAB, size, 2, len(some) * inside)
                row["speedup"] = row["dense_us"] / row[f"{row['chosen']}_us"]
                found.append(row)
                print("output", row)
    return found


def run_section(
    section: str, measured: dict[str, float], about: dict[str, Any], versions: dict[str, str]
) -> None:
    """Run one section on a GPU and write its result."""
    from gpu_device import check_device

    started = time.monotonic()
    result: dict[str, Any] = dict(about)
    if section == "checks":
        result |= {"checked": check_all("cuda"), "on_device": check_device()}
        print(f"agreed: {result['checked']}; on the device: {result['on_device']}")
    else:
        works: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "apply": lambda: time_apply(measured),
            "sending": time_sending,
            "sampling": time_sampling,
            "output": time_output,
        }
        result |= {"speeds": measured, "cases": works[section]()}
    result["seconds"] = time.monotonic() - started
    print(
        write_result(
            f"gpu_{section}", f"python lab/benchmarks/gpu.py --only {section}", rounded(result), **versions
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections to run on a GPU"
    )
    sections = parser.parse_args().only
    started = time.monotonic()
    import triton

    versions = {"torch": torch.__version__, "triton": triton.__version__}
    for peer, package in (("xgrammar", "xgrammar"), ("flashinfer", "flashinfer-python")):
        with suppress(ImportError):  # also where a package has no metadata
            versions[peer] = getattr(importlib.import_module(peer), "__version__", None) or metadata.version(
                package
            )
    if not torch.cuda.is_available():
        print("correctness, on the CPU in the interpreter")
        result = {
            "checked": check_all("cpu"),
            "device": "none: Triton's interpreter",
            "cpu_apply": cpu_apply(),
        }
        result["seconds"] = time.monotonic() - started
        print(write_result("kernels_cpu", "python lab/benchmarks/gpu.py", rounded(result), **versions))
        return
    about = device_facts()
    measured = speeds()
    print(about, rounded(measured), flush=True)
    for section in sections:
        run_section(section, measured, about, versions)


if __name__ == "__main__":
    main()
