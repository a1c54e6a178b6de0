"""What a step reads where it lies, against torch and plain lists."""

from __future__ import annotations

import math
import random

import pytest

torch = pytest.importorskip("torch")

from stackmask.runtime.generation.tensor_peek import has_choice, next_id
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask


def test_the_next_id_of_a_row_that_goes_on() -> None:
    row = torch.tensor([[5, 6, 7, 8, 9, 2**40]])
    address, length = row.data_ptr(), row.shape[1]
    assert next_id(address, length, [0, 2], [5, 7], [1, 8, 9], 2) == 2**40
    assert next_id(address, length, [], [], [], 0) == 2**40
    assert next_id(address, length, [0, 2], [5, 6], [1, 8, 9], 2) == -1
    assert next_id(address, length, [0, 2], [5, 7], [1, 8, 8], 2) == -1
    assert next_id(address, length, [0, 2], [5, 7], [9], 2) == -1  # fewer tokens than are asked for
    assert next_id(address, 2, [], [], [5, 6], 2) == -1  # fewer ids than are asked for


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 64, 100])
def test_a_choice_is_an_allowed_token_above_minus_infinity(columns: int) -> None:
    rng = random.Random(columns)
    mask = allocate_token_bitmask(1, columns, like="torch")
    for _ in range(300):
        share = rng.choice([0.01, 0.5, 1])
        allowed = [rng.random() < share for _ in range(columns)]
        values = [
            rng.choice([-math.inf, -math.inf, -math.inf, 0.0, math.nan, math.inf]) for _ in range(columns)
        ]
        scores = torch.tensor([values + [1.0] * 40])  # wider than the vocabulary
        mask.fill_(0)
        for i in range(columns):
            if allowed[i]:
                mask[0, i // 32] |= 1 << (i % 32) if i % 32 < 31 else -(1 << 31)
        # bits past the vocabulary do not count
        if columns % 32:
            mask[0, columns // 32] |= -(1 << 31)
        found = any(a and v != -math.inf for a, v in zip(allowed, values, strict=True))
        assert has_choice(scores.data_ptr(), mask.data_ptr(), columns) == found
