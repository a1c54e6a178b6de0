"""A model of bytes and launches per decoding step, for batches and vocabularies; prints the tables of ``docs/gpu.md``.

    python lab/benchmarks/gpu_model.py

Times are bytes over bandwidth plus launches times what one costs, with the figures below. The first table has beside them what
``lab/benchmarks/gpu.py`` measured for the same steps.
"""

from __future__ import annotations

import json
from pathlib import Path

# as measured on an H100 (``results/gpu_apply.json``, ``results/gpu_sending.json``)
DEVICE = 2.43e12  # bytes a second, read and written, that copies reach
HOST = 50e9  # bytes a second from pinned memory, PCIe 5
LAUNCH = 1.0e-6  # seconds of an empty launch inside a captured graph
COPY = 4e-6  # seconds that a copy from the host takes at least

ENTRY = 64  # bytes a sequence and step, with the table
LOGIT = 2  # bf16
VOCABULARIES = (32_000, 128_256, 151_936, 262_144)
BATCHES = (1, 8, 64, 256, 1024)
SHARES = {
    "structure": 0.0,
    "free text": 1.0,
}  # of groups of 16 bytes with an allowed token; the rest is forbidden

# launches that a mask, a softmax in fp32 and a draw take apart: mask, cast, softmax, division by exponential noise
# (two), argmax
LAUNCHES_APART = 6
LAUNCHES_FUSED = 2


def step(batch: int, vocab: int, share: float) -> dict[str, float]:
    """Return bytes and seconds of a step: masks as bitmaps and work apart, and masks in the table and one fused draw."""
    mask = batch * -(-vocab // 32) * 4
    logits = batch * vocab * LOGIT
    # apart: forbidden logits are written; all are read and written as fp32 three times (cast, softmax, noise), read once
    apart = mask + logits * (1 - share) + logits + 7 * 2 * logits
    fused = mask + logits * share
    return {
        "host_bitmap": mask,
        "host_table": ENTRY * batch,
        "device_apart": apart,
        "device_fused": fused,
        "us_copy_bitmap": 1e6 * (COPY + mask / HOST),
        "us_copy_table": 1e6 * (COPY + ENTRY * batch / HOST),
        "us_apart": 1e6 * (apart / DEVICE + LAUNCHES_APART * LAUNCH),
        "us_fused": 1e6 * (fused / DEVICE + LAUNCHES_FUSED * LAUNCH),
    }


def size(count: float) -> str:
    """Write a number of bytes with a unit."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def measured(batch: int, section: str, **wanted: object) -> float | None:
    """Return a time in µs of a section's result; None if there is none."""
    path = Path(__file__).parent / "results" / f"gpu_{section}.json"
    if not path.exists():
        return None
    key = str(wanted.pop("key"))
    for case in json.loads(path.read_text("utf-8"))["cases"]:
        if case["rows"] == batch and all(case[name] == value for name, value in wanted.items()):
            return float(case[key])
    return None


def print_measured() -> None:
    """Print what the model says beside what was measured, for 128,256 tokens."""
    print(
        "| batch | sending bitmaps and masking µs | measured | with the table | measured | mask, softmax, draw µs | measured "
        "| fused µs | measured |"
    )
    print("|--:|" + "--:|" * 8)
    shares = {"structure": 0.0, "free text": 1 - (1 - 0.98) ** 8}
    for batch in (1, 32, 256):
        cases = {name: step(batch, 128_256, share) for name, share in shares.items()}
        mask = 1e6 * (LAUNCH + batch * 128_256 * LOGIT / DEVICE)
        one = cases["structure"]
        row = [one["us_copy_bitmap"] + mask, measured(batch, "sending", key="bitmap_us")]
        row += [one["us_copy_table"] + mask, measured(batch, "sending", key="table_us")]
        cells = ["" if value is None else f"{value:.0f}" for value in row]
        for model, key in (("us_apart", "torch_us"), ("us_fused", "us")):
            found = [
                measured(batch, "sampling", key=key, logits="peaked", allowed=name, draw="sample")
                for name in shares
            ]
            cells.append("–".join(f"{value:.0f}" for value in sorted(cases[name][model] for name in shares)))
            cells.append(
                "–".join(f"{value:.0f}" for value in sorted(value for value in found if value is not None))
            )
        print(f"| {batch} | {' | '.join(cells)} |")


def main() -> None:
    print_measured()
    print()
    print(
        "| vocabulary | batch | host → device, bitmap | with the table | copy µs | with the table | mask, softmax, draw µs | fused µs |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for vocab in VOCABULARIES:
        for batch in BATCHES:
            cases = [step(batch, vocab, share) for share in SHARES.values()]
            one = cases[0]
            apart, fused = ([case[key] for case in cases] for key in ("us_apart", "us_fused"))
            print(
                f"| {vocab:,} | {batch:,} | {size(one['host_bitmap'])} | {size(one['host_table'])} "
                f"| {one['us_copy_bitmap']:.0f} | {one['us_copy_table']:.0f} "
                f"| {min(apart):.0f}–{max(apart):.0f} | {min(fused):.0f}–{max(fused):.0f} |"
            )


if __name__ == "__main__":
    main()
