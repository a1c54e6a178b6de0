"""A model of bytes and launches per decoding step, for batches and vocabularies; prints a table for ``docs/gpu.md``.

    python benchmarks/gpu_model.py

Nothing is measured here. Times are bytes over bandwidth plus launches times what one costs, under the assumptions below;
``benchmarks/gpu.py`` measures the same steps on a GPU.
"""

from __future__ import annotations

DEVICE = 4.3e12  # bytes a second, read and written: what copies reach on an H200
HOST = 50e9  # bytes a second from pinned memory, PCIe 5
LAUNCH = 2.5e-6  # seconds a launch costs inside a captured graph
COPY = 8e-6  # seconds that a copy from the host takes at least

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


def main() -> None:
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
