"""The output layer for allowed tokens: products of hidden states with the rows of the matrix that belong to these.

A first launch finds the tokens that some sequence of the batch may choose, a second one (a single program) adds up their numbers,
a third one lists them, and the product processes the list with a fixed number of programs, so the host needs no counts and a graph
can capture everything. The caller first fills the logits with -inf.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.masks import interpreted, on_device

BLOCK = 32  # tokens: a word of the mask


@triton.jit
def _wanted_kernel(mask_ptr, mask_stride, wanted_ptr, counts_ptr, rows, vocab, columns, BLOCK: tl.constexpr):
    """Find which tokens of a block some row may choose, and how many: a program a block."""
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    words = tl.zeros((BLOCK,), tl.int32)
    is_masked = (tokens < vocab) & (tokens < columns)
    for row in range(rows):
        # rows may lie far apart, as those of a slice do: more than 2^31 elements in all
        start = mask_ptr + tl.cast(row, tl.int64) * mask_stride
        words |= tl.load(start + tokens // 32, mask=is_masked, other=0)
    wanted = tl.where(is_masked, (words >> (tokens % 32)) & 1, 0)
    tl.store(wanted_ptr + tokens, wanted.to(tl.int8), mask=tokens < vocab)
    tl.store(counts_ptr + tl.program_id(0), tl.sum(wanted, 0))


@triton.jit
def _start_kernel(counts_ptr, starts_ptr, total_ptr, blocks, BLOCKS: tl.constexpr):
    """Find where the tokens of each block begin in the list of all: a single program."""
    ids = tl.arange(0, BLOCKS)
    counts = tl.load(counts_ptr + ids, mask=ids < blocks, other=0)
    tl.store(starts_ptr + ids, tl.cumsum(counts, 0) - counts, mask=ids < blocks)
    tl.store(total_ptr, tl.sum(counts, 0))


@triton.jit
def _list_kernel(wanted_ptr, starts_ptr, tokens_ptr, vocab, BLOCK: tl.constexpr):
    """Write the wanted tokens of a block to the list of all: a program a block."""
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = tl.load(wanted_ptr + tokens, mask=tokens < vocab, other=0).to(tl.int32)
    at = tl.load(starts_ptr + tl.program_id(0)) + tl.cumsum(wanted, 0) - 1
    tl.store(tokens_ptr + at, tokens, mask=wanted == 1)


@triton.jit
def _product_kernel(
    hidden_ptr,
    hidden_stride,
    weight_ptr,
    weight_stride,
    mask_ptr,
    mask_stride,
    tokens_ptr,
    total_ptr,
    logits_ptr,
    logits_stride,
    rows,
    columns,
    size,
    programs,
    UPCAST: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Multiply all rows with the listed tokens, and forbid the tokens that a row does not allow."""
    total = tl.load(total_ptr)
    row = tl.arange(0, ROWS).to(tl.int64)
    depth = tl.arange(0, DEPTH)
    is_row = row < rows
    for item in range(tl.program_id(0), (total + BLOCK - 1) // BLOCK, programs):
        at = item * BLOCK + tl.arange(0, BLOCK)
        is_there = at < total
        tokens = tl.load(tokens_ptr + at, mask=is_there, other=0)
        sums = tl.zeros((ROWS, BLOCK), tl.float32)
        a_at = hidden_ptr + row[:, None] * hidden_stride + depth[None, :]
        b_at = weight_ptr + tokens.to(tl.int64)[:, None] * weight_stride + depth[None, :]
        for start in range(0, size, DEPTH):
            is_deep = depth < size - start
            a = tl.load(a_at + start, mask=is_row[:, None] & is_deep[None, :], other=0.0)
            b = tl.load(b_at + start, mask=is_there[:, None] & is_deep[None, :], other=0.0)
            if UPCAST:
                a = a.to(tl.float32)
                b = b.to(tl.float32)
            sums = tl.dot(a, tl.trans(b), sums, input_precision="ieee")
        words = tl.load(
            mask_ptr + row[:, None] * mask_stride + (tokens // 32)[None, :],
            mask=is_row[:, None] & (is_there & (tokens < columns))[None, :],
            other=0,
        )
        is_allowed = ((words >> (tokens % 32)[None, :]) & 1) == 1
        value = tl.where(is_allowed, sums, float("-inf")).to(logits_ptr.dtype.element_ty)
        at = logits_ptr + row[:, None] * logits_stride + tokens[None, :]
        tl.store(at, value, mask=is_row[:, None] & is_there[None, :])


def launch_output(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    masks: torch.Tensor,
    logits: torch.Tensor,
    *,
    columns: int,
    workspace: dict[str, torch.Tensor],
) -> None:
    """Write the logits of allowed tokens; other logits must be -inf already.

    Shapes: hidden (rows, size), weight (vocab, size), masks (rows, words), logits (rows, width), each with a contiguous last
        dimension. At most 64 rows.
    """
    rows, size = hidden.shape
    vocab = len(weight)
    blocks = triton.cdiv(vocab, BLOCK)
    w = workspace
    programs = (
        4 * torch.cuda.get_device_properties(hidden.device).multi_processor_count if hidden.is_cuda else 3
    )
    with on_device(hidden):
        _wanted_kernel[(blocks,)](
            masks,
            masks.stride(0),
            w["wanted"],
            w["counts"],
            rows,
            vocab,
            columns,
            BLOCK=BLOCK,
            num_warps=1,
        )
        _start_kernel[(1,)](
            w["counts"],
            w["starts"],
            w["total"],
            blocks,
            BLOCKS=triton.next_power_of_2(blocks),
            num_warps=16,
        )
        _list_kernel[(blocks,)](w["wanted"], w["starts"], w["tokens"], vocab, BLOCK=BLOCK, num_warps=1)
        _product_kernel[(programs,)](
            hidden,
            hidden.stride(0),
            weight,
            weight.stride(0),
            masks,
            masks.stride(0),
            w["tokens"],
            w["total"],
            logits,
            logits.stride(0),
            rows,
            columns,
            size,
            programs,
            UPCAST=interpreted(),  # it has no products of bf16
            ROWS=max(16, triton.next_power_of_2(rows)),
            BLOCK=BLOCK,
            DEPTH=64 if hidden.element_size() == 4 else 128,
            num_warps=4,
            num_stages=4 if hidden.element_size() == 2 else 2,
        )
