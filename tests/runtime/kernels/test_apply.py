"""Masks applied to logits: the CPU kernel, the Triton kernel and the reference against booleans, bit for bit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.campaign import mostly_campaign
from support.kernel_masks import DENSITIES, FLOATS, SIZES, bits_of, random_logits, random_masks

from stackmask.runtime.kernels import apply as apply_module
from stackmask.runtime.kernels.bitmask import BitmaskError, apply_token_bitmask_inplace
from stackmask.runtime.kernels.reference import apply_reference

Apply = Callable[..., None]
WAYS = ["public", "plain", "reference", "triton"]


@pytest.fixture(params=WAYS)
def apply(request: pytest.FixtureRequest) -> Apply:
    """Return apply(logits, masks, chosen, columns) in one of the ways there are."""
    way = request.param

    def plain(logits: Any, masks: Any, chosen: Any, columns: int) -> None:
        numbers = None if chosen is None else np.array(chosen, dtype=np.int64)
        apply_module._apply_on_cpu(logits, masks, numbers, columns, plain=True)

    def public(logits: Any, masks: Any, chosen: Any, columns: int) -> None:
        apply_token_bitmask_inplace(logits, masks, indices=chosen, vocab_size=columns)

    def reference(logits: Any, masks: Any, chosen: Any, columns: int) -> None:
        apply_reference(logits, masks, chosen=chosen, columns=columns)

    if way != "triton":
        return {"plain": plain, "public": public, "reference": reference}[way]
    device = request.getfixturevalue("device")
    from stackmask.runtime.kernels.gpu.apply import launch_apply

    def triton(logits: Any, masks: Any, chosen: Any, columns: int) -> None:
        there = logits.to(device)
        numbers = None if chosen is None else torch.tensor(chosen, dtype=torch.int64)
        launch_apply(there, masks.to(device), columns=columns, chosen=numbers)
        if there is not logits:
            logits.copy_(there)

    return triton


def expected(logits: torch.Tensor, allowed: torch.Tensor, chosen: list[int] | None = None) -> torch.Tensor:
    """Return what must come out, token by token."""
    rows = range(len(logits)) if chosen is None else chosen
    result = logits.clone()
    for row in rows:
        for token in range(logits.shape[1]):
            if token >= allowed.shape[1] or not allowed[row, token]:
                result[row, token] = float("-inf")
    return result


@pytest.mark.parametrize("dtype", [*FLOATS, torch.float64])
@pytest.mark.parametrize("vocab", mostly_campaign(SIZES[:-1], 8))
def test_odd_sizes_with_nan_and_infinities(apply: Apply, vocab: int, dtype: torch.dtype) -> None:
    masks, allowed = random_masks(vocab, 5, vocab, extra_words=2)
    logits = random_logits(vocab, 5, vocab, dtype)
    wanted = expected(logits, allowed)
    apply(logits, masks, None, vocab)
    assert torch.equal(bits_of(logits), bits_of(wanted))


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_density(apply: Apply, density: float, dtype: torch.dtype) -> None:
    masks, allowed = random_masks(3, 2, 3001, density)
    logits = random_logits(4, 2, 3001, dtype)
    wanted = logits.masked_fill(~allowed, float("-inf"))
    apply(logits, masks, None, 3001)
    assert torch.equal(bits_of(logits), bits_of(wanted))


@pytest.mark.campaign
def test_a_real_vocabulary_in_wider_logits(apply: Apply) -> None:
    vocab, width, dtype = 151_669, 151_936, torch.bfloat16
    masks, allowed = random_masks(7, 2, vocab)
    masks[1], allowed[1] = random_masks(8, 1, vocab, 0.99)[0][0], random_masks(8, 1, vocab, 0.99)[1][0]
    logits = random_logits(9, 2, width, dtype)
    wanted = logits.clone()
    wanted[:, :vocab].masked_fill_(~allowed, float("-inf"))
    wanted[:, vocab:] = float("-inf")
    apply(logits, masks, None, vocab)
    assert torch.equal(bits_of(logits), bits_of(wanted))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("chosen", [[], [0], [3, 1], [4, 4, 0]])
def test_rows_columns_and_strides(apply: Apply, chosen: list[int], dtype: torch.dtype) -> None:
    masks, allowed = random_masks(11, 5, 200)
    wide_masks = torch.full((5, 9), -1, dtype=torch.int32)
    wide_masks[:, 1:8] = masks
    storage = random_logits(12, 10, 333, dtype)
    logits = storage[::2, 3:253]
    wanted = storage.clone()
    wanted[::2, 3:253] = expected(logits, allowed, chosen)
    apply(logits, wide_masks[:, 1:8], chosen, 200)
    assert torch.equal(bits_of(storage), bits_of(wanted))


def test_long_runs_past_the_cache() -> None:
    # large enough for stores that go past the cache, with runs that begin off their alignment
    masks, allowed = random_masks(5, 40, 70_001, 0.001)
    for dtype in FLOATS:
        storage = random_logits(6, 40, 70_005, dtype, special=False)
        logits = storage[:, 3:70_004]
        wanted = storage.clone()
        wanted[:, 3:70_004].masked_fill_(~allowed, float("-inf"))
        apply_token_bitmask_inplace(logits, masks)
        assert torch.equal(storage, wanted)


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("like", ["numpy", "torch"])
def test_draft_rows(even: bool, like: str) -> None:
    masks, allowed = random_masks(1, 6, 70)
    storage = random_logits(2, 8, 70, torch.float32, special=False).view(2, 4, 70)
    logits = storage[:, :3] if not even else storage.reshape(-1)[: 6 * 70].view(2, 3, 70).clone()
    wanted = logits.clone().masked_fill(~allowed.view(2, 3, 70), float("-inf"))
    some = logits.clone() if even else storage.clone()[:, :3]
    chosen = wanted.clone()
    chosen[0, 1] = some[0, 1]
    chosen[1, 2] = some[1, 2]
    words = masks.view(2, 3, -1)
    if like == "numpy":
        apply_token_bitmask_inplace(logits.numpy(), words.numpy())
        apply_token_bitmask_inplace(some.numpy(), words.numpy(), indices=[0, 2, 3, 4])
    else:
        apply_token_bitmask_inplace(logits, words)
        apply_token_bitmask_inplace(some, words, indices=torch.tensor([4, 3, 2, 0]))
    assert torch.equal(logits, wanted)
    assert torch.equal(some, chosen)


def test_a_mask_that_may_only_be_read() -> None:
    masks, allowed = random_masks(1, 2, 50)
    words = masks.numpy()
    words.flags.writeable = False
    logits = torch.zeros(2, 50)
    apply_token_bitmask_inplace(logits, words)
    assert torch.equal(logits == 0, allowed)


def test_no_rows_and_a_gradient() -> None:
    apply_token_bitmask_inplace(torch.zeros(0, 40), torch.zeros(0, 2, dtype=torch.int32))
    logits = torch.zeros(1, 3, requires_grad=True)
    apply_token_bitmask_inplace(logits, torch.tensor([[0b010]], dtype=torch.int32))
    assert logits.detach().tolist() == [[-np.inf, 0.0, -np.inf]]


def test_numbers_that_are_no_rows_change_nothing_on_the_device(device: str) -> None:
    from stackmask.runtime.kernels.gpu.apply import launch_apply

    logits = torch.zeros(2, 40, device=device)
    masks = torch.zeros(2, 2, dtype=torch.int32, device=device)
    launch_apply(
        logits, masks, columns=40, chosen=torch.tensor([-1, 2, 1, 99, 2**32, -(2**32)], device=device)
    )
    assert logits[0].eq(0).all() and logits[1].eq(float("-inf")).all()


def test_the_last_position_of_a_longer_output_is_one_part() -> None:
    # rows far apart, one position each: what a model's last position looks like
    masks, allowed = random_masks(3, 4, 40)
    logits = torch.zeros(4, 5, 40)[:, -1:]
    parts = apply_module._flat_parts(logits, masks[:, None], None)
    assert [part.shape for part, _, _ in parts] == [(4, 40)]
    apply_token_bitmask_inplace(logits, masks[:, None], indices=[0, 3])
    assert torch.equal(logits[[0, 3], 0] == 0, allowed[[0, 3]])
    assert logits[1:3].eq(0).all()


@pytest.mark.parametrize("shape", ["row repeated", "rows that overlap", "drafts that overlap"])
@pytest.mark.parametrize("like", ["numpy", "torch"])
def test_rows_that_share_memory_are_named(shape: str, like: str) -> None:
    storage = torch.zeros(200)
    logits = {
        "row repeated": storage[:40].expand(2, 40),
        "rows that overlap": storage.as_strided((2, 40), (39, 1)),
        "drafts that overlap": storage.as_strided((2, 2, 40), (79, 40, 1)),
    }[shape]
    masks = torch.zeros(*logits.shape[:-1], 2, dtype=torch.int32)
    there = np.lib.stride_tricks.as_strided(
        storage.numpy(), logits.shape, [4 * step for step in logits.stride()]
    )
    with pytest.raises(BitmaskError, match="its rows must not share memory"):
        if like == "torch":
            apply_token_bitmask_inplace(logits, masks)
        else:
            apply_token_bitmask_inplace(there, masks.numpy())
    assert storage.eq(0).all()


def test_rows_in_reverse_and_between_each_other() -> None:
    masks, allowed = random_masks(3, 4, 40)
    storage = np.zeros((4, 100), dtype=np.float32)
    apply_token_bitmask_inplace(storage[::-1, :40], masks.numpy())
    assert np.array_equal(storage[::-1, :40] == 0, allowed.numpy())
    # two halves of one buffer, rows by turns
    turns = torch.zeros(4, 2, 40).transpose(0, 1)
    words = masks.repeat(2, 1).view(2, 4, -1)
    apply_token_bitmask_inplace(turns, words)
    assert torch.equal(turns[0] == 0, allowed) and torch.equal(turns[1] == 0, allowed)


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(*shape, dtype=dtype)


MASK = torch.zeros(2, 2, dtype=torch.int32)
BAD: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "devices": (ones(2, 40), MASK.to("meta"), {}, "logits is on cpu, but bitmask is on meta"),
    "logits type": (
        ones(2, 40, dtype=torch.int32),
        MASK,
        {},
        "logits has dtype torch.int32, must be one of float16, bfloat16",
    ),
    "complex logits": (ones(2, 40, dtype=torch.complex64), MASK, {}, "logits has dtype torch.complex64"),
    "mask type": (ones(2, 40), MASK.long(), {}, "bitmask has dtype torch.int64, must be int32"),
    "width": (ones(2, 65), MASK, {}, r"bitmask has 2 words \(64 tokens\), but 65 tokens need 3"),
    "rows": (ones(3, 40), MASK, {}, "logits has 3 rows, but bitmask has 2"),
    "draft rows": (ones(2, 3, 40), MASK[None], {}, "logits has 2 x 3 rows, but bitmask has 1 x 2"),
    "dimensions": (ones(2, 40), MASK[0], {}, "logits has 2 dimensions and bitmask 1"),
    "vocab_size": (ones(2, 40), MASK, {"vocab_size": 41}, "vocab_size is 41, but logits has 40 columns"),
    "no columns": (ones(2, 40), MASK, {"vocab_size": 0}, "vocab_size is 0, but logits has 40 columns"),
    "indices": (ones(2, 40), MASK, {"indices": [0, -1]}, "indices has row -1, but logits has 2 rows"),
    "indices tensor": (
        ones(2, 40),
        MASK,
        {"indices": torch.tensor([2])},
        "indices has row 2, but logits has 2 rows",
    ),
    "indices type": (
        ones(2, 40),
        MASK,
        {"indices": [0.5]},
        "indices has dtype float64, must contain integers",
    ),
    "indices device": (
        ones(2, 40),
        MASK,
        {"indices": torch.zeros(1, dtype=torch.int64, device="meta")},
        "indices is on meta, but logits is on cpu",
    ),
    "logits apart": (
        ones(2, 80)[:, ::2],
        MASK,
        {},
        "logits has stride 2 in its last dimension, must have 1",
    ),
    "sparse words": (
        ones(1, 32),
        ones(1, 1, dtype=torch.int32).to_sparse(),
        {},
        "bitmask has layout torch.sparse_coo",
    ),
    "words apart": (
        ones(2, 40),
        torch.zeros(2, 4, dtype=torch.int32)[:, ::2],
        {},
        "bitmask has stride 2 in its last dimension, must have 1",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_changes_nothing(case: str) -> None:
    logits, masks, options, message = BAD[case]
    with pytest.raises(BitmaskError, match=message):
        apply_token_bitmask_inplace(logits, masks, **options)
    assert logits.eq(1).all()


def test_read_only_and_foreign_arrays_are_named() -> None:
    logits = np.ones((1, 8), dtype=np.float32)
    logits.flags.writeable = False
    with pytest.raises(ValueError, match="logits is read-only"):
        apply_token_bitmask_inplace(logits, np.zeros((1, 1), np.int32))
    with pytest.raises(ValueError, match="logits has dtype >f4"):
        apply_token_bitmask_inplace(np.ones((1, 8), dtype=">f4"), np.zeros((1, 1), np.int32))
    raw = np.zeros(4 * 8 + 1, dtype=np.uint8)[1:].view(np.float32).reshape(1, 8)
    with pytest.raises(ValueError, match="logits is not aligned"):
        apply_token_bitmask_inplace(raw, np.zeros((1, 1), np.int32))
    words = np.zeros(5, dtype=np.uint8)[1:].view(np.int32).reshape(1, 1)
    with pytest.raises(ValueError, match="bitmask is not aligned"):
        apply_token_bitmask_inplace(np.zeros((1, 8), np.float32), words)


@pytest.mark.campaign
@pytest.mark.parametrize("options", [{}, {"vocab_size": 90}, {"indices": [0, 2]}], ids=str)
def test_compiled_functions_take_it_without_a_break(options: dict[str, Any]) -> None:
    def work(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        y = x * 2
        apply_token_bitmask_inplace(y, mask, **options)
        return y + 1

    masks, _ = random_masks(7, 4, 100)
    logits = random_logits(8, 4, 100, torch.float32, special=False)
    compiled = torch.compile(work, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(logits, masks), work(logits, masks))


@pytest.mark.campaign
def test_exported_programs_hold_it() -> None:
    class Masked(torch.nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            y = x * 2
            apply_token_bitmask_inplace(y, mask)
            return y

    masks, allowed = random_masks(7, 4, 100)
    logits = random_logits(8, 4, 100, torch.float32, special=False)
    for strict in (False, True):
        found = torch.export.export(Masked(), (logits, masks), strict=strict).module()(logits, masks)
        assert torch.equal(found, (logits * 2).masked_fill(~allowed, -torch.inf))


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_a_thread_masks_while_another_one_compiles(kind: str) -> None:
    entered, leave = threading.Event(), threading.Event()

    def backend(graph: Any, _: Any) -> Any:
        entered.set()
        leave.wait(60)
        return graph.forward

    compiled = torch.compile(lambda x: x.sin() + 1, backend=backend)
    thread = threading.Thread(target=compiled, args=(torch.ones(3),))
    thread.start()
    try:
        assert entered.wait(60)
        logits, masks = torch.zeros(2, 40), torch.zeros(2, 2, dtype=torch.int32)
        if kind == "numpy":
            apply_token_bitmask_inplace(logits.numpy(), masks.numpy())
        else:
            apply_token_bitmask_inplace(logits, masks)
        assert logits.isinf().all()
    finally:
        leave.set()
        thread.join(60)
