"""Draw what was measured on a GPU, from ``results/gpu_*.json``: time against batch for each way, beside the model.

python lab/benchmarks/gpu_plot.py            # writes docs/gpu.svg
"""

from __future__ import annotations

import json
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from record import REPO, RESULTS

COLOURS = {
    "stackmask": "#1f6feb",
    "from the table": "#7cb3ff",
    "XGrammar, CUDA": "#d1242f",
    "XGrammar, Triton": "#f28b93",
    "FlashInfer": "#bc6c00",
    "PyTorch": "#57606a",
    "bytes alone": "#1a7f37",
    "model": "#1a7f37",
}


# what a fused draw takes by its bytes and launches: measured on an H100 (``results/gpu_apply.json``)
DEVICE = 2.43e12  # bytes a second, read and written, that copies reach
LAUNCHES = 2 * 1.0e-6  # seconds of two empty launches inside a captured graph
VOCABULARY = 128_256


def fused_us(rows: int) -> float:
    """Return the microseconds in which masks and bf16 logits are read once."""
    return 1e6 * (rows * (-(-VOCABULARY // 32) * 4 + 2 * VOCABULARY) / DEVICE + LAUNCHES)


def cases_of(section: str, **wanted: Any) -> list[dict[str, Any]]:
    """Return the cases of a section that have these values, by batch."""
    cases = json.loads((RESULTS / f"gpu_{section}.json").read_text("utf-8"))["cases"]
    found = [case for case in cases if all(case[key] == value for key, value in wanted.items())]
    return sorted(found, key=lambda case: case["rows"])


def draw(axis: Any, title: str, lines: dict[str, tuple[list[float], list[float]]]) -> None:
    """Draw lines of (rows, µs) on two logarithmic scales."""
    for label, (rows, times) in lines.items():
        name = label.split(" (")[0]
        style = ":" if name in ("bytes alone", "model") else "-"
        axis.loglog(rows, times, style, marker="o", markersize=3.5, color=COLOURS[name], label=label)
    rows = sorted({row for each, _ in lines.values() for row in each})
    axis.set_xticks(rows, [str(int(row)) for row in rows])
    axis.minorticks_off()
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("sequences")
    axis.set_ylabel("µs")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7.5)


def lines_of(cases: list[dict[str, Any]], keys: dict[str, str]) -> dict[str, tuple[list[float], list[float]]]:
    return {
        label: ([case["rows"] for case in cases], [case[key] for case in cases])
        for label, key in keys.items()
    }


def main() -> None:
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.6))
    applied = {
        "stackmask": "us",
        "from the table": "table_us",
        "XGrammar, CUDA": "xgrammar_cuda_us",
        "XGrammar, Triton": "xgrammar_triton_us",
        "PyTorch": "torch_us",
        "bytes alone": "floor_us",
    }
    for axis, allowed, what in (
        (axes[0, 0], "structure", "0.05% allowed"),
        (axes[0, 1], "half", "half allowed"),
        (axes[0, 2], "free text", "98% allowed"),
    ):
        cases = cases_of("apply", type="bfloat16", vocab=VOCABULARY, allowed=allowed)
        draw(axis, f"masking, {what}", lines_of(cases, applied))
    sent = cases_of("sending")
    sent_lines = lines_of(
        sent, {"stackmask (bitmaps sent)": "bitmap_us", "from the table (entries sent)": "table_us"}
    )
    draw(axes[1, 0], "sending and masking, 0.05% allowed", sent_lines)
    peers = {"stackmask": "us", "FlashInfer": "flashinfer_us", "PyTorch": "torch_us"}
    for axis, kind, what in (
        (axes[1, 1], "sample", "temperature alone"),
        (axes[1, 2], "top_k", "top-k 50"),
    ):
        cases = cases_of("sampling", logits="peaked", allowed="half", draw=kind)
        lines = lines_of(cases, peers)
        if kind == "sample":
            rows = [case["rows"] for case in cases]
            lines["model"] = (rows, [fused_us(row) for row in rows])
        draw(axis, f"mask and draw, half allowed, {what}", lines)
    figure.suptitle("NVIDIA H100, bf16 logits of 128,256 tokens, replayed CUDA graphs", fontsize=11)
    figure.tight_layout()
    figure.savefig(REPO / "docs" / "gpu.svg")


if __name__ == "__main__":
    main()
