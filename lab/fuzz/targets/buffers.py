"""Arrays of any type, shape, stride and alignment, where a mask or logits are asked for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import stackmask as sm
from fuzz.checks import NAMED_ERRORS, POISON, expect, make_vocabulary
from fuzz.choices import Choices
from stackmask.runtime.kernels.errors import BitmaskError

MAX_LENGTH = 64
DTYPES = (
    *(
        "int32",
        "int32",
        "int32",
        "int32",
        "uint32",
        "int64",
        "int16",
        "int8",
        "uint8",
        "float32",
        "float64",
        "float16",
    ),
    *(">i4", "bool", "complex64", "O", "S4", "V4", "datetime64[s]", "U1"),
)
BYTES = 4096  # of the memory that all arrays lie in
vocabulary = make_vocabulary()
WORDS = -(-vocabulary.size // 32)


def seeds() -> Iterator[bytes]:
    source = random.Random(0)
    for _ in range(80):
        yield source.randbytes(30)


@cache
def matcher() -> Any:
    return sm.Compiler(vocabulary).compile(sm.Grammar.json()).matcher()


@cache
def mask() -> bytes:
    words = np.zeros((1, WORDS), np.int32)
    matcher().fill_next_token_bitmask(words)
    return words.tobytes()


def array_of(choices: Choices) -> tuple[Any, np.ndarray]:
    """Return an array or something else, and the memory that it lies in."""
    memory = np.full(BYTES // 4, POISON, np.int32)
    kind = choices.below(10)
    if kind == 9:
        return choices.pick(
            (None, 3, "mask", b"mask", [0] * WORDS, memoryview(memory), bytearray(64), {}, object)
        ), memory
    dtype = np.dtype(choices.pick(DTYPES))
    if dtype.hasobject:
        return np.empty((2, WORDS), object), memory
    offset = choices.pick((64, 64, 64, 68, 65, 66, 72, 96, 67))
    rows = choices.pick((1, 1, 2, 3, 0, 8))
    width = choices.pick(
        (WORDS, WORDS, WORDS, WORDS, WORDS + 1, WORDS - 1, 0, 1, WORDS * 2, vocabulary.size // 8)
    )
    shape: tuple[int, ...] = choices.pick(
        ((rows, width), (rows, width), (width,), (width, rows), (1, rows, width), ())
    )
    itemsize = max(dtype.itemsize, 1)
    strides = [itemsize * int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    if strides:
        way = choices.below(8)
        if way == 1:
            strides[-1] *= 2
        elif way == 2:
            strides[0] = -strides[0]
        elif way == 3:
            strides[0] = 0
        elif way == 4:
            strides[0] += choices.byte()
        elif way == 5:
            strides[-1] = choices.byte()
    reach = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) + itemsize
    under = sum(max(0, (n - 1) * -s) for n, s in zip(shape, strides, strict=True))
    offset += under
    if offset + reach > BYTES or (shape and 0 in shape and offset > BYTES):
        return None, memory
    array: Any = np.ndarray(shape, dtype, memory.data, offset, strides)
    if kind == 1:
        array.flags.writeable = False
    elif kind in (2, 3, 4) and dtype.isnative and dtype.kind in "iufb" and dtype.name not in ("uint32",):
        import torch

        if (
            min(strides, default=0) >= 0
            and all(s % itemsize == 0 for s in strides)
            and offset % itemsize == 0
        ):
            array = torch.from_numpy(array)
            if kind == 3:
                array = (
                    array.requires_grad_()
                    if array.is_floating_point()
                    else array.to_sparse()
                    if array.ndim
                    else array
                )
            elif kind == 4:
                array = torch.empty(shape, dtype=array.dtype, device="meta")
    elif kind == 5:
        array = array.view(type("Sub", (np.ndarray,), {}))
    return array, memory


def run(data: bytes) -> None:
    choices = Choices(data)
    array, memory = array_of(choices)
    way = choices.below(6)
    row = choices.below(8) - 2
    before = memory.copy()
    try:
        if way in (0, 1):
            matcher().fill_next_token_bitmask(array, row) if way else matcher().fill_next_token_bitmask(array)
            check_row(array, memory, max(row, 0) if way else 0)
        elif way == 2:
            tokens = [choices.below(vocabulary.size) for _ in range(choices.below(3))]
            matcher().fill_draft_bitmask(tokens, [choices.below(4) - 2 for _ in tokens], array)
            check_row(array, memory, 0)
        elif way == 3:
            matchers = [choices.pick((matcher(), None)) for _ in range(choices.below(4))]
            rows = [choices.below(10) - 1 for _ in matchers] if choices.below(2) else None
            sm.fill_next_token_bitmask(matchers, array, rows, threads=choices.below(4))
        elif way == 4:
            logits = np.zeros((choices.pick((1, 2)), vocabulary.size), np.float32)
            sm.apply_token_bitmask_inplace(
                logits, array, vocab_size=choices.pick((None, vocabulary.size, 31, 0, -1))
            )
            expect(bool((memory == before).all()), "applying a mask changed it")
        else:
            words = np.full((2, WORDS), choices.pick((0, -1, POISON)), np.int32)
            sm.apply_token_bitmask_inplace(
                array,
                words[: choices.pick((1, 2))],
                indices=choices.pick((None, [0], [1, 0], [0, 0], [5], [-1])),
            )
    except (*NAMED_ERRORS, BitmaskError, TypeError):
        expect(way in (2, 3) or bool((memory == before).all()), "a refused array was written to")
        return
    check_outside(array, memory, before)


def check_row(array: Any, memory: np.ndarray, row: int) -> None:
    """Check that a row of an array that was taken holds the mask."""
    words = np.asarray(array.detach() if hasattr(array, "detach") else array)
    words = words if words.ndim == 1 else words[row]
    expect(words.dtype == np.int32 and words[:WORDS].tobytes() == mask(), "the mask in an odd array", words)
    expect(not words[WORDS:].any() or bool((words[WORDS:] == POISON).all()), "words after the mask", words)


def check_outside(array: Any, memory: np.ndarray, before: np.ndarray) -> None:
    """Check that the memory outside of an array is as before."""
    if not hasattr(array, "shape") or not hasattr(array, "dtype") or getattr(array, "is_meta", False):
        return
    touched = np.zeros(BYTES, bool)
    view: Any = np.asarray(array.detach() if hasattr(array, "detach") else array)
    if view.size == 0:
        expect(bool((memory == before).all()), "an empty array was written to")
        return
    bounds = np.lib.array_utils.byte_bounds(view)
    begin = bounds[0] - memory.ctypes.data
    if 0 <= begin < BYTES:
        touched[begin : bounds[1] - memory.ctypes.data] = True
    changed = memory.view(np.uint8) != before.view(np.uint8)
    expect(
        not bool((changed & ~touched).any()),
        "memory outside of an array was written to",
        view.shape,
        view.strides,
    )
