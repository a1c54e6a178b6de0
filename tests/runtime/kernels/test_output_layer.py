"""The output layer for masked tokens: every form against the dense product in fp64, and the rule that chooses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from support.kernel_masks import FLOATS, random_masks

from stackmask.runtime.kernels.bitmask import BitmaskError
from stackmask.runtime.kernels.output_layer import (
    BLOCK,
    FORMS,
    Costs,
    MaskedOutputLayer,
    choose_form,
    count_wanted,
)

# of sums of 100 products of standard normal numbers, rounded to the type
TOLERANCE = {torch.float32: 2e-5, torch.float16: 0.02, torch.bfloat16: 0.15}


def layer_case(
    seed: int, rows: int, vocab: int, size: int, dtype: torch.dtype, density: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (hidden, weight, bitmask, booleans); each row allows a token."""
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(rows, size, generator=generator).to(dtype)
    weight = torch.randn(vocab, size, generator=generator).to(dtype)
    masks, allowed = random_masks(seed, rows, vocab, density)
    masks[:, 0] |= 1
    allowed[:, 0] = True
    return hidden, weight, masks, allowed


def assert_masked_product(
    logits: torch.Tensor, hidden: torch.Tensor, weight: torch.Tensor, allowed: torch.Tensor
) -> None:
    exact = (hidden.double() @ weight.double().T).masked_fill(~allowed, -math.inf)
    assert torch.equal(logits.cpu().isinf(), ~allowed)
    assert torch.allclose(
        logits.cpu()[allowed].double(), exact[allowed], atol=TOLERANCE[hidden.dtype], rtol=0.01
    )


def launched(layer: MaskedOutputLayer, hidden: Any, masks: Any, columns: int) -> torch.Tensor:
    """Run the kernels, wherever they run here."""
    logits = torch.empty(len(hidden), layer.vocab, dtype=hidden.dtype, device=hidden.device)
    return layer._launch(hidden, masks, logits, columns)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vocab", [1, 31, 32, 33, 700])
def test_every_form_in_torch(form: Any, vocab: int) -> None:
    hidden, weight, masks, allowed = layer_case(vocab, 5, vocab, 100, torch.float32, 0.03)
    layer = MaskedOutputLayer(weight)
    assert_masked_product(layer(hidden, masks, form=form), hidden, weight, allowed)
    assert_masked_product(layer(hidden, masks), hidden, weight, allowed)


@pytest.mark.parametrize(
    ("rows", "vocab", "size", "density"),
    [
        (1, 1, 16, 1.0),
        (1, 33, 100, 0.0),
        (3, 31, 64, 0.5),
        (17, 500, 100, 0.002),
        (64, 161, 130, 0.01),
        (2, 160, 100, 1.0),
    ],
)
def test_kernels_give_the_masked_product(
    device: str, rows: int, vocab: int, size: int, density: float
) -> None:
    dtype = FLOATS[(rows + vocab) % 3]
    hidden, weight, masks, allowed = layer_case(rows, rows, vocab, size, dtype, density)
    layer = MaskedOutputLayer(weight.to(device))
    logits = launched(layer, hidden.to(device), masks.to(device), vocab)
    assert_masked_product(logits, hidden, weight, allowed)


@pytest.mark.parametrize("dtype", FLOATS)
def test_kernels_in_every_type_with_fewer_columns(device: str, dtype: torch.dtype) -> None:
    hidden, weight, masks, allowed = layer_case(3, 4, 300, 70, dtype, 0.1)
    allowed[:, 250:] = False
    storage = torch.zeros(4, 90, dtype=dtype)
    storage[:, 7:77] = hidden
    layer = MaskedOutputLayer(weight.to(device))
    logits = launched(layer, storage.to(device)[:, 7:77], masks.to(device), 250)
    assert_masked_product(logits, hidden, weight, allowed)


@pytest.mark.parametrize("far", ["hidden", "masks"])
def test_rows_may_lie_further_apart_than_32_bits_count(device: str, far: str) -> None:
    # the last position of 33 long sequences; no page between the rows is ever touched
    rows, step = 33, 2**26 + 64
    hidden, weight, masks, allowed = layer_case(5, rows, 64, 32, torch.float32, 0.2)
    near = hidden if far == "hidden" else masks
    try:
        storage = torch.empty((rows - 1) * step + near.shape[1], dtype=near.dtype, device=device)
    except RuntimeError:
        pytest.skip("8.6 GB of addresses are not to be had here")
    apart = storage.as_strided(near.shape, (step, 1)).copy_(near)
    layer = MaskedOutputLayer(weight.to(device))
    given = (apart, masks.to(device)) if far == "hidden" else (hidden.to(device), apart)
    logits = launched(layer, *given, 64)
    assert_masked_product(logits, hidden, weight, allowed)


def test_counts_are_those_of_the_union() -> None:
    masks, allowed = random_masks(4, 6, 1000, 0.003)
    assert count_wanted(masks, 1000) == int(allowed.any(0).sum())
    assert count_wanted(masks.to("meta"), 1000) is None


def test_the_rule() -> None:
    case = (4096, 2)
    assert choose_form(1, 128_256, *case, 200) == "gather"
    assert choose_form(8, 128_256, *case, 128_000) == "dense"
    assert choose_form(8, 128_256, *case, None) == "dense"
    assert choose_form(65, 128_256, *case, 1) == "dense"
    # a small matrix is read faster than kernels are launched
    assert choose_form(1, 1000, 64, 2, 1) == "dense"
    slow = Costs(bandwidth=1e8)
    assert choose_form(1, 1000, 64, 2, 1, slow) == "gather"


def test_the_rule_takes_what_was_faster() -> None:
    """In the times that were measured on a GPU; ``lab/benchmarks/gpu.py`` writes them."""
    result = json.loads(
        (Path(__file__).parents[3] / "lab/benchmarks/results/gpu_output.json").read_text("utf-8")
    )
    ratios = []
    for case in result["cases"]:
        blocks = max(1, int(case["blocks"] * (128_256 // BLOCK)))
        form = choose_form(case["rows"], 128_256, 4096, 2, blocks * case["tokens_in_block"])
        ratios.append(case[f"{form}_us"] / min(case[f"{name}_us"] for name in FORMS))
    assert len(ratios) == 48
    assert max(ratios) == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_an_output_buffer_is_used(form: Any) -> None:
    hidden, weight, masks, allowed = layer_case(3, 2, 100, 20, torch.float32, 0.2)
    out = torch.full((2, 100), math.nan)
    assert MaskedOutputLayer(weight)(hidden, masks, form=form, out=out) is out
    assert_masked_product(out, hidden, weight, allowed)


def test_misfits_are_named() -> None:
    hidden, weight, masks, _ = layer_case(3, 2, 100, 20, torch.float32, 0.2)
    layer = MaskedOutputLayer(weight)
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((hidden[:, :19], masks), {}, r"hidden is \(2, 19\), but weight has rows of 20"),
        ((hidden.half(), masks), {}, "hidden has dtype torch.float16, but weight has torch.float32"),
        ((hidden.to("meta"), masks), {}, "hidden has device meta, but weight has cpu"),
        ((torch.zeros(2, 40)[:, ::2], masks), {}, "hidden has stride 2 in its last dimension"),
        ((hidden, masks.to("meta")), {}, "hidden is on cpu, but bitmask is on meta"),
        ((hidden, masks[:1]), {}, "logits has 2 rows, but bitmask has 1"),
        ((hidden, masks), {"form": "sparse"}, "form is 'sparse', must be auto or one of dense"),
        (
            (hidden, masks),
            {"out": torch.zeros(2, 99)},
            r"out is \(2, 99\) torch.float32 on cpu, must be \(2, 100\)",
        ),
        (
            (hidden, masks),
            {"out": torch.zeros(1, 100).expand(2, 100)},
            "its rows must not share memory",
        ),
        ((hidden, masks), {"vocab_size": 101}, "vocab_size is 101, but logits has 100 columns"),
        ((hidden, masks * 0), {}, "bitmask allows no token in row 0: 0 of 100"),
        (
            (hidden.repeat(40, 1), masks.repeat(40, 1)),
            {"form": "gather"},
            "hidden has 80 rows, but the form gather takes at most 64",
        ),
    ]
    for arguments, options, message in cases:
        with pytest.raises(BitmaskError, match=message):
            layer(*arguments, **options)
    with pytest.raises(BitmaskError, match=r"weight is \(20, 100\) with strides \(1, 20\)"):
        MaskedOutputLayer(weight.T)
    with pytest.raises(BitmaskError, match=r"weight has dtype torch\.float64, must be float32"):
        MaskedOutputLayer(weight.double())
