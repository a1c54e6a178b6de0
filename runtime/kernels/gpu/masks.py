"""Shared code of the Triton kernels: reading tiles of a mask, and sizing launches.

A row of a mask consists of 32-bit words; bit i of word w is token 32 * w + i. Kernels process it by groups of tokens whose logits
take 16 bytes, the amount that a thread loads or stores at once: each group loads its word, which its neighbours then read from the
L1 cache, and decisions apply to all lanes of a group, so that the compiler keeps accesses wide.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.sizes import ENTRY, ENTRY_ROWS, ENTRY_TOKENS

_ENTRY_ROWS = tl.constexpr(ENTRY_ROWS)
_ENTRY_TOKENS = tl.constexpr(ENTRY_TOKENS)
_ENTRY = tl.constexpr(ENTRY)


@triton.jit
def wait_for_earlier(EARLY: tl.constexpr):
    """Wait until all work before this launch is finished and visible. A kernel calls it before it accesses memory.

    ``EARLY``: the launch was prepared while that work ended, as ``early`` requests; others begin after it
    anyway.
    """
    if EARLY:
        tl.extra.cuda.gdc_wait()


@triton.jit
def let_next_begin(EARLY: tl.constexpr):
    """Let the next launch be prepared while this one runs, if it requested that (``launch_pdl``). Only for
    short kernels.
    """
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def load_groups(
    mask_ptr,
    mask_stride,
    entry_ptr,
    row,
    starts,
    first,
    count,
    columns,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Return the mask bits of the groups of ``GROUP`` tokens (2, 4 or 8) at ``starts``, for one row.

    Without ``TABLE``, row ``row`` of a bitmask is read; with it, the union of the table rows in the row's entry,
    with the entry's tokens flipped. The groups are those of the tokens first … first + count.
    """
    word_ids = starts // 32
    is_there = starts < columns
    if TABLE:
        entry = entry_ptr + row.to(tl.int64) * _ENTRY
        words = tl.zeros_like(starts)
        for k in tl.static_range(_ENTRY_ROWS):
            named = tl.load(entry + k).to(tl.int64)
            if named >= 0:
                words |= tl.load(mask_ptr + named * mask_stride + word_ids, mask=is_there, other=0)
        groups = (words >> (starts % 32)) & ((1 << GROUP) - 1)
        for k in tl.static_range(_ENTRY_TOKENS):
            token = tl.load(entry + _ENTRY_ROWS + k)
            if (token >= first) & (token < first + count):
                groups ^= tl.where(starts == token // GROUP * GROUP, 1 << (token % GROUP), 0)
    else:
        words = tl.load(mask_ptr + row.to(tl.int64) * mask_stride + word_ids, mask=is_there, other=0)
        groups = (words >> (starts % 32)) & ((1 << GROUP) - 1)
    # tokens from `columns` on are forbidden
    kept = tl.minimum(tl.maximum(columns - starts, 0), GROUP)  # mutant: kernel-edge
    return groups & ((1 << kept) - 1)


def interpreted() -> bool:
    """Return whether kernels run in Triton's interpreter, on CPU tensors (TRITON_INTERPRET=1)."""
    return bool(triton.knobs.runtime.interpret)


@cache
def _starts_early(device: torch.device) -> bool:
    if device.type != "cuda" or torch.version.hip or os.environ.get("STACKMASK_EARLY_LAUNCHES") == "0":
        return False
    return torch.cuda.get_device_capability(device)[0] >= 9


def early(tensor: torch.Tensor) -> dict[str, bool]:
    """Return options for a launch that is prepared while the work before it ends ("programmatic dependent
    launch").

    For NVIDIA devices from Hopper on, unless STACKMASK_EARLY_LAUNCHES is 0. Kernels with EARLY call ``wait_for_earlier``.
    """
    return {"EARLY": True, "launch_pdl": True} if _starts_early(tensor.device) else {"EARLY": False}


def on_device(tensor: torch.Tensor) -> Any:
    """Make the tensor's device the current one, as launches require."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def block_for(rows: int, width: int, *, table: bool) -> tuple[int, int]:
    """Return (tokens per program, warps): small tiles while the device is not full, larger ones then.

    Measured on an H100 (132 multiprocessors). Each program reads the entry of its row, so tables need larger tiles.
    """
    if table and rows * triton.cdiv(width, 8192) >= 264:
        return 8192, 4
    if rows * triton.cdiv(width, 2048) >= 264:
        return 2048, 4
    return 1024, 4
