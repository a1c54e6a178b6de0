"""Bitmasks: allocation and application, NumPy and torch alike; test_apply has more of the latter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmask.runtime.kernels.bitmask import (
    BitmaskError,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    bitmask_shape,
    reset_token_bitmask,
)
from stackmask.runtime.kernels.reference import apply_reference

NUMPY_FLOATS = (np.float16, np.float32, np.float64)


def random_mask(rng: np.random.Generator, rows: int, vocab: int, extra_words: int = 0) -> tuple[Any, Any]:
    """Return a mask and the booleans that it holds, built bit by bit."""
    allowed = rng.random((rows, vocab)) < rng.choice([0.02, 0.5, 0.98])
    mask = np.zeros((rows, -(-vocab // 32) + extra_words), dtype=np.uint32)
    for row, column in zip(*np.nonzero(allowed), strict=True):
        mask[row, column // 32] |= np.uint32(1 << (int(column) % 32))
    return mask.view(np.int32), allowed


@pytest.mark.parametrize(("vocab", "words"), [(1, 1), (31, 1), (32, 1), (33, 2), (128_256, 4008)])
def test_shape(vocab: int, words: int) -> None:
    assert bitmask_shape(3, vocab) == (3, words)


@pytest.mark.parametrize("vocab", [1, 31, 32, 33, 63, 64, 100])
@pytest.mark.parametrize("like", ["numpy", "torch"])
def test_a_new_mask_has_all_bits_set(vocab: int, like: Any) -> None:
    mask = allocate_token_bitmask(2, vocab, like=like)
    assert str(mask.dtype) in ("int32", "torch.int32")
    assert tuple(mask.shape) == bitmask_shape(2, vocab)
    assert (
        np.asarray(mask).tolist() == [[-1] * (-(-vocab // 32))] * 2
    )  # padding bits too, as other kernels expect


@pytest.mark.parametrize("vocab", [None, 1, 70, 128])
def test_reset_sets_all_bits(vocab: int | None) -> None:
    mask = np.zeros((1, 4), dtype=np.int32)
    reset_token_bitmask(mask, vocab_size=vocab)
    assert mask.tolist() == [[-1] * 4]


def test_reset_refuses_rows_that_are_too_short() -> None:
    with pytest.raises(BitmaskError, match="128 bits, too few for 129"):
        reset_token_bitmask(np.zeros((1, 4), dtype=np.int32), vocab_size=129)


@pytest.mark.parametrize("dtype", NUMPY_FLOATS)
@pytest.mark.parametrize("vocab", [1, 31, 32, 33, 257])
def test_numpy_forbids_exactly_the_clear_bits(dtype: Any, vocab: int) -> None:
    rng = np.random.default_rng(vocab)
    mask, allowed = random_mask(rng, 3, vocab, extra_words=1)
    logits = rng.normal(size=(3, vocab)).astype(dtype)
    expected = np.where(allowed, logits, -np.inf).astype(dtype)
    apply_token_bitmask_inplace(logits, mask)
    assert np.array_equal(logits, expected)


@settings(deadline=None, derandomize=True)
@given(
    st.integers(1, 5),
    st.integers(1, 130),
    st.integers(0, 2**32),
    st.data(),
    st.sampled_from(["numpy", "torch", "device"]),
)
def test_rows_and_padding(rows: int, vocab: int, seed: int, data: st.DataObject, like: str) -> None:
    rng = np.random.default_rng(seed)
    mask, allowed = random_mask(rng, rows, vocab)
    columns = data.draw(st.integers(1, vocab))
    indices = data.draw(st.none() | st.lists(st.integers(0, rows - 1), unique=True))
    logits = rng.normal(size=(rows, vocab)).astype(np.float32)
    expected = logits.copy()
    for row in range(rows) if indices is None else indices:
        expected[row, ~allowed[row]] = -np.inf
        expected[row, columns:] = -np.inf
    given_logits: Any = torch.from_numpy(logits.copy()) if like != "numpy" else logits
    if like == "device":  # what runs on accelerators without a kernel, here on the CPU
        apply_reference(given_logits, torch.from_numpy(mask), chosen=indices, columns=columns)
    else:
        apply_token_bitmask_inplace(given_logits, mask, indices=indices, vocab_size=columns)
    assert np.array_equal(np.asarray(given_logits), expected)


@pytest.mark.parametrize("wrap", [np.asarray, torch.from_numpy])
def test_one_row_and_views(wrap: Callable[[Any], Any]) -> None:
    mask = np.array([0b101], dtype=np.int32)
    wide = np.zeros((2, 6), dtype=np.float32)
    apply_token_bitmask_inplace(wrap(wide)[1, 2:5], wrap(mask))
    assert wide.tolist() == [[0.0] * 6, [0.0, 0.0, 0.0, -np.inf, 0.0, 0.0]]


@pytest.mark.parametrize("wrap", [np.asarray, torch.from_numpy])
def test_misfits_are_named(wrap: Any) -> None:
    floats, words = wrap(np.zeros((2, 40), np.float32)), wrap(np.zeros((2, 2), np.int32))
    for logits, mask, options, message in (
        (wrap(np.zeros((2, 40), np.int64)), words, {}, "logits has dtype .*int64"),
        (floats, wrap(np.zeros((2, 2), np.int64)), {}, "bitmask has dtype .*int64"),
        (floats, words, {"indices": [2]}, "indices has row 2, but logits has 2 rows"),
        (floats[0], words[0], {"indices": [0]}, "logits has 1 dimension"),
    ):
        with pytest.raises(BitmaskError, match=message):
            apply_token_bitmask_inplace(logits, mask, **options)


def test_logits_must_be_an_array() -> None:
    with pytest.raises(BitmaskError, match="logits is list"):
        apply_token_bitmask_inplace([0.0], np.zeros(1, np.int32))


def test_bad_sizes_are_named() -> None:
    with pytest.raises(BitmaskError, match="batch is -1"):
        bitmask_shape(-1, 5)
    with pytest.raises(BitmaskError, match="vocab_size is 0"):
        bitmask_shape(1, 0)
    with pytest.raises(BitmaskError, match="like is 'jax'"):
        allocate_token_bitmask(1, 5, like="jax")  # type: ignore[call-overload]


def test_numpy_users_do_not_pay_for_torch() -> None:
    code = (
        "import sys, numpy as np\n"
        "from stackmask.runtime.kernels.bitmask import *\n"
        "apply_token_bitmask_inplace(np.zeros((1, 5), np.float32), allocate_token_bitmask(1, 5))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run(
        [
            sys.executable,
            "-c",
            code.replace("import *", "import allocate_token_bitmask, apply_token_bitmask_inplace"),
        ],
        check=True,
    )
