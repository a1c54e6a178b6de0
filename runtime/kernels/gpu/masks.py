"""What the Triton kernels share: how a tile of a mask is read, and how launches are sized.

A kernel sees a row of a mask as 32-bit words, bit i of word w being token 32 * w + i. Words are loaded once a token,
by address ``token // 32``: neighbours read the same word from the first-level cache, the compiler knows that 32
tokens in a row share it, and no layout has to be exchanged between threads.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl

# a row of a step's entries for the mask table: rows to or, then tokens to flip; -1 where there is none
ENTRY_ROWS = 4
ENTRY_TOKENS = 12
ENTRY = ENTRY_ROWS + ENTRY_TOKENS  # int32: 64 bytes

_ENTRY_ROWS = tl.constexpr(ENTRY_ROWS)
_ENTRY_TOKENS = tl.constexpr(ENTRY_TOKENS)
_ENTRY = tl.constexpr(ENTRY)


@triton.jit
def cut_words(words, word_ids, columns):
    """Clear the bits of tokens from ``columns`` on."""
    edge = columns // 32
    kept = ~(-1 << (columns % 32))  # mutant: kernel-edge
    words = tl.where(word_ids == edge, words & kept, words)
    return tl.where(word_ids > edge, 0, words)


@triton.jit
def load_words(mask_ptr, mask_stride, entry_ptr, row, tokens, first, count, columns, TABLE: tl.constexpr):
    """Return the mask word of each of the ``tokens`` first … first + count, for one row.

    Without ``TABLE`` row ``row`` of a bitmask is read; with it, the rows of the table that the row's entry names
    are or-ed, and the tokens that it names are flipped.
    """
    word_ids = tokens // 32
    is_there = word_ids < (columns + 31) // 32
    if TABLE:
        entry = entry_ptr + row.to(tl.int64) * _ENTRY
        words = tl.zeros_like(tokens)
        for k in tl.static_range(_ENTRY_ROWS):
            named = tl.load(entry + k).to(tl.int64)
            if named >= 0:
                words |= tl.load(mask_ptr + named * mask_stride + word_ids, mask=is_there, other=0)
        for k in tl.static_range(_ENTRY_TOKENS):
            token = tl.load(entry + _ENTRY_ROWS + k)
            if (token >= first) & (token < first + count):
                words ^= tl.where(word_ids == token // 32, 1 << (token % 32), 0)
    else:
        words = tl.load(mask_ptr + row.to(tl.int64) * mask_stride + word_ids, mask=is_there, other=0)
    return cut_words(words, word_ids, columns)


def interpreted() -> bool:
    """Tell whether kernels run in Triton's interpreter, on CPU tensors (TRITON_INTERPRET=1)."""
    return bool(triton.knobs.runtime.interpret)


def on_device(tensor: torch.Tensor) -> Any:
    """Make the tensor's device the current one, as launches need it."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def block_for(rows: int, width: int) -> tuple[int, int]:
    """Return (tokens a program, warps): small tiles while the device is not full, larger ones then.

    The bound is two programs for each of the 132 multiprocessors of an H100 or H200.
    """
    if rows * triton.cdiv(width, 4096) >= 264:
        return 4096, 8
    return 1024, 4
