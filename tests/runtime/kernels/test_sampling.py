"""Masked sampling: what is drawn, against definitions written out; and the kernels against the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.campaign import mostly_campaign
from support.kernel_masks import FLOATS, random_logits, random_masks

from stackmask.runtime.kernels import sampling
from stackmask.runtime.kernels.bitmask import BitmaskError
from stackmask.runtime.kernels.sampling import (
    MaskedSampler,
    SampledTokens,
    kept_tokens,
    philox,
    sample_masked,
    uniforms,
)

Sample = Callable[..., SampledTokens]
DEFAULTS = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seeds": 0, "steps": 0}


@pytest.fixture(params=["reference", "kernels"])
def sample(request: pytest.FixtureRequest) -> Sample:
    """Return the sampler in one of the ways there are; results on the CPU."""
    if request.param == "reference":

        def reference(logits: torch.Tensor, masks: torch.Tensor, **options: Any) -> SampledTokens:
            return sample_masked(logits, masks, **options)

        return reference
    device = request.getfixturevalue("device")

    def kernels(logits: torch.Tensor, masks: torch.Tensor, **options: Any) -> SampledTokens:
        return launch(device, logits, masks, **options)

    return kernels


def launch(device: str, logits: torch.Tensor, masks: torch.Tensor, **options: Any) -> SampledTokens:
    """Run the kernels, wherever they run here."""
    logits, masks = logits.to(device), masks.to(device)
    given = DEFAULTS | options
    columns = given.pop("vocab_size", None)
    sampler = MaskedSampler(len(logits), logits.shape[1], device)
    columns = sampler._check(logits, masks, columns)
    parameters = {name: sampler._parameter(name, value, len(logits)) for name, value in given.items()}
    drawn = sampler._launch(logits, masks, columns, parameters, sampling.may_cut(given))
    return SampledTokens(drawn.tokens.cpu(), drawn.logprobs.cpu()).check()


def words(text: str) -> list[torch.Tensor]:
    return [torch.tensor([int(word, 16)]) for word in text.split()]


@pytest.mark.parametrize(
    ("counter", "key", "numbers"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_numbers(counter: str, key: str, numbers: str) -> None:
    assert philox(words(counter), words(key)) == words(numbers)


def test_uniforms_depend_on_seed_and_step_alone() -> None:
    seeds = torch.tensor([5, -1, 5, 2**40, 5])
    steps = torch.tensor([0, 0, 1, 0, 0])
    numbers = uniforms(seeds, steps)
    assert torch.equal(numbers[0], numbers[4])
    assert len({tuple(pair) for pair in numbers.tolist()}) == 4
    many = uniforms(torch.arange(20_000), torch.zeros(20_000, dtype=torch.int64))
    assert float(many.min()) >= 0
    assert float(many.max()) < 1
    # means of 20,000 uniform numbers: five standard deviations are 0.0102
    assert (many.mean(0) - 0.5).abs().max() < 0.0102
    assert abs(float((many[:, 0] * many[:, 1]).mean()) - 0.25) < 0.008


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("vocab", [1, 31, 32, 33, 1500])
def test_greedy_is_the_first_of_the_highest(sample: Sample, vocab: int, dtype: torch.dtype) -> None:
    masks, allowed = random_masks(vocab, 4, vocab, 0.5)
    masks[:, 0] |= 1
    allowed[:, 0] = True
    logits = random_logits(1, 4, vocab, dtype, special=False).round()
    drawn = sample(logits, masks, temperature=0)
    inner = logits.float().masked_fill(~allowed, -torch.inf)
    assert drawn.tokens.tolist() == [row.tolist().index(row.max()) for row in inner]
    wanted = inner.log_softmax(-1).gather(1, drawn.tokens[:, None])[:, 0]
    assert torch.allclose(drawn.logprobs, wanted, atol=2e-5)


def test_a_row_with_one_token_has_no_choice(sample: Sample) -> None:
    masks = torch.zeros(3, 100, dtype=torch.int32)
    for row, token in enumerate((0, 1777, 3199)):
        masks[row, token // 32] = torch.tensor(1 << (token % 32)).to(torch.int32)
    logits = random_logits(3, 3, 3200, torch.bfloat16, special=False)
    drawn = sample(logits, masks, temperature=[1.0, 0.0, 0.3], top_p=0.5, seeds=[1, 2, 3])
    assert drawn.tokens.tolist() == [0, 1777, 3199]
    assert drawn.logprobs.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.campaign
def test_what_is_nan_or_minus_infinite_is_not_allowed(sample: Sample) -> None:
    nan, inf = math.nan, math.inf
    logits = torch.tensor([[nan, 1.0, -inf, 0.0], [inf, 3.0, nan, inf], [-inf, nan, -5.0, 9.0]])
    masks = torch.tensor([[0b1111], [0b1111], [0b0111]], dtype=torch.int32)
    greedy = sample(logits, masks, temperature=0)
    assert greedy.tokens.tolist() == [1, 0, 2]
    seen: list[set[int]] = [set(), set(), set()]
    for step in range(10):
        for row, token in enumerate(sample(logits, masks, steps=step, top_k=[0, 2, 0]).tokens.tolist()):
            seen[row].add(token)
    assert seen == [{1, 3}, {0, 3}, {2}]


def test_columns_and_the_logits_after_them(sample: Sample) -> None:
    logits = torch.zeros(1, 100)
    logits[0, 50:] = 100.0
    masks = torch.full((1, 4), -1, dtype=torch.int32)
    drawn = sample(logits, masks, temperature=0, vocab_size=50)
    assert drawn.tokens.tolist() == [0]
    assert drawn.logprobs[0] == pytest.approx(-math.log(50), rel=1e-5)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"temperature": 0.3},
    {"temperature": 5.0, "min_p": 0.05},
    {"top_k": 1},
    {"top_k": 40},
    {"top_p": 0.6},
    {"top_p": 0.999},
    {"top_k": 100, "top_p": 0.9, "min_p": 0.02, "temperature": 0.8},
    {
        "temperature": [0.0, 0.5, 1.0, 1.5, 2.0],
        "top_k": [0, 7, 0, 3, 5000],
        "top_p": [0.1, 0.9, 0.5, 1.0, 0.8],
    },
]


@pytest.mark.parametrize("number", mostly_campaign(range(len(OPTIONS) + 2), 3))
def test_kernels_equal_the_reference(device: str, number: int) -> None:
    options = OPTIONS[number] if number < len(OPTIONS) else {}
    masks, _ = random_masks(2, 5, 2100, 0.7)
    masks[1] &= random_masks(3, 1, 2100, 0.02)[0][0]
    masks[2, 20:] = 0
    logits = random_logits(4, 5, 2100, FLOATS[number % 3], special=False)
    chosen = {**options, "seeds": [11, 22, 33, 44, 55], "steps": number}
    wanted = sample_masked(logits, masks, **chosen)
    drawn = launch(device, logits, masks, **chosen)
    # sums are rounded in another order; with these seeds no draw is that close to a bound
    assert drawn.tokens.tolist() == wanted.tokens.tolist()
    assert torch.allclose(drawn.logprobs, wanted.logprobs, atol=1e-4)


@pytest.mark.parametrize("options", [{"top_k": 2200, "top_p": 0.98}], ids=str)
def test_more_logits_above_the_bound_than_are_listed(device: str, options: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.rand(1, 2300, generator=generator) * 0.5
    masks = torch.full((1, 72), -1, dtype=torch.int32)
    wanted = sample_masked(logits, masks, seeds=[1], **options)
    drawn = launch(device, logits, masks, seeds=[1], **options)
    assert drawn.tokens.tolist() == wanted.tokens.tolist()
    assert torch.allclose(drawn.logprobs, wanted.logprobs, atol=1e-4)


@pytest.mark.campaign
@pytest.mark.parametrize("options", [{"top_p": 0.95}, {"top_k": 1100, "top_p": 0.95}], ids=str)
@pytest.mark.parametrize("highest", [0.0, 3.0])
def test_many_equal_logits_whose_highest_is_zero(
    device: str, options: dict[str, Any], highest: float
) -> None:
    steps = -(torch.arange(20_480) // 64).float()[None] + highest
    masks = torch.full((1, 640), -1, dtype=torch.int32)
    for seed in range(3):
        wanted = sample_masked(steps, masks, seeds=[seed], temperature=0.7, **options)
        drawn = launch(device, steps, masks, seeds=[seed], temperature=0.7, **options)
        assert drawn.tokens.tolist() == wanted.tokens.tolist()
        assert torch.allclose(drawn.logprobs, wanted.logprobs, atol=1e-4)


@pytest.mark.campaign
def test_real_width_and_rows_apart(device: str) -> None:
    masks, _ = random_masks(5, 1, 151_669, 0.9)
    storage = random_logits(6, 1, 2 * 151_936, torch.bfloat16, special=False).view(2, -1)
    options = {"vocab_size": 151_669, "temperature": 0.7, "seeds": [7]}
    wanted = sample_masked(storage[1:], masks, **options)
    drawn = launch(device, storage[1:], masks, **options)
    assert drawn.tokens.tolist() == wanted.tokens.tolist()
    assert torch.allclose(drawn.logprobs, wanted.logprobs, atol=1e-3)


def by_definition(x: torch.Tensor, temperature: float, k: int, p: float, least: float) -> set[int]:
    """Return the tokens that are kept, from the sentences of the documentation."""
    y = (x.double() / temperature).softmax(0)
    kept = set(range(len(x)))
    if k:
        kth = sorted(x.tolist(), reverse=True)[min(k, len(x)) - 1]
        kept = {t for t in kept if x[t] >= kth}
    whole = sum(float(y[t]) for t in kept)
    for bound in sorted({float(x[t]) for t in kept}, reverse=True):
        inside = {t for t in kept if x[t] >= bound}
        if sum(float(y[t]) for t in inside) >= p * whole:
            kept = inside
            break
    return {t for t in kept if y[t] >= least * y.max()}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_is_what_the_documentation_says(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = (3 * torch.randn(60, generator=generator)).round(decimals=seed % 3)
    for temperature, k, p, least in [
        (1.0, 5, 1.0, 0.0),
        (0.7, 0, 0.8, 0.0),
        (2.0, 12, 0.5, 0.1),
        (1.5, 0, 1.0, 0.3),
    ]:
        kept = kept_tokens(x, temperature, k, p, least)
        assert set(kept.nonzero().flatten().tolist()) == by_definition(x, temperature, k, p, least)


def chi_square(counts: torch.Tensor, probabilities: torch.Tensor) -> float:
    expected = probabilities * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize(
    ("options", "draws"),
    mostly_campaign([({}, 2000), ({"temperature": 2.0, "top_k": 9}, 1500), ({"top_p": 0.8}, 1500)], 1),
)
def test_frequencies_are_probabilities(options: dict[str, Any], draws: int) -> None:
    # tokens far apart, so that both random numbers decide
    tokens = torch.arange(12) * 190
    x = torch.linspace(-1.5, 1.5, 12)
    logits = torch.full((draws, 2100), 7.0)
    logits[:, tokens] = x
    masks = torch.zeros(draws, 66, dtype=torch.int32)
    for token in tokens.tolist():
        masks[:, token // 32] |= torch.tensor(1 << (token % 32)).to(torch.int32)
    drawn = sample_masked(logits, masks, seeds=list(range(draws)), steps=17, **options)
    temperature = options.get("temperature", 1.0)
    kept = kept_tokens(x, temperature, options.get("top_k", 0), options.get("top_p", 1.0), 0.0)
    probabilities = (x / temperature).masked_fill(~kept, -torch.inf).double().softmax(0)[kept]
    counts = torch.bincount(drawn.tokens, minlength=2100)[tokens][kept].double()
    assert int(counts.sum()) == draws
    # of 11 degrees of freedom at most: one in a million exceeds 51
    assert chi_square(counts, probabilities) < 51
    wanted = dict(zip(tokens[kept].tolist(), probabilities.log().tolist(), strict=True))
    assert drawn.logprobs.tolist() == pytest.approx([wanted[t] for t in drawn.tokens.tolist()], abs=1e-5)


def test_a_call_repeats_itself_and_batches_do_not_matter(sample: Sample) -> None:
    logits = random_logits(8, 6, 1500, torch.float32, special=False)
    masks, _ = random_masks(9, 6, 1500, 0.8)
    seeds = [3, 1, 4, 1, 5, 9]
    together = sample(logits, masks, seeds=seeds, steps=2).tokens.tolist()
    assert sample(logits, masks, seeds=seeds, steps=2).tokens.tolist() == together
    apart = [
        int(sample(logits[i : i + 1], masks[i : i + 1], seeds=[s], steps=2).tokens[0])
        for i, s in enumerate(seeds)
    ]
    assert apart == together


GOOD = torch.zeros(2, 40)
MASK = torch.full((2, 2), -1, dtype=torch.int32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, "temperature has -1, must be 0 or more"),
        ({"temperature": 1e39}, r"temperature has 1e\+39, must be 0 or more"),
        ({"temperature": math.nan}, "temperature has nan, must be 0 or more"),
        ({"top_k": -1}, "top_k has -1, must be 0"),
        ({"top_k": 1.5}, "top_k has 1.5, must be 0"),
        ({"top_p": 0.0}, "top_p has 0.0, must be more than 0"),
        ({"top_p": [0.5, 1.5]}, "top_p has 1.5, must be more than 0"),
        ({"min_p": 2}, "min_p has 2, must be between 0 and 1"),
        ({"seeds": [1, 2, 3]}, "seeds has 3 values, but logits has 2 rows"),
        ({"seeds": 0.5}, "seeds has 0.5, must be an integer"),
        ({"steps": 2**63}, "steps has 9223372036854775808, must be an integer"),
        ({"vocab_size": 65}, "vocab_size is 65, but logits has 40 columns"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BitmaskError, match=message):
        sample_masked(GOOD, MASK, **options)


def test_bad_tensors_are_named() -> None:
    with pytest.raises(BitmaskError, match="logits is on cpu, but bitmask is on meta"):
        sample_masked(GOOD, MASK.to("meta"))
    with pytest.raises(BitmaskError, match="logits has 1 dimensions, must have 2"):
        sample_masked(GOOD[0], MASK[0])
    with pytest.raises(BitmaskError, match=r"logits has dtype torch\.float64, must be float32"):
        sample_masked(GOOD.double(), MASK)
    with pytest.raises(BitmaskError, match="logits is 2 x 40, but the sampler is for 1 x 40"):
        MaskedSampler(1, 40)(GOOD, MASK)
    with pytest.raises(BitmaskError, match="rows is 0 and width 40"):
        MaskedSampler(0, 40)


def test_a_row_without_tokens_is_named(sample: Sample) -> None:
    masks = MASK.clone()
    masks[1] = 0
    with pytest.raises(BitmaskError, match="bitmask allows no token in row 1: 0 tokens are allowed"):
        sample(GOOD, masks)
    with pytest.raises(BitmaskError, match="bitmask allows no token in row 0"):
        sample(torch.full((1, 40), -math.inf), MASK[:1], temperature=0)


HOSTILE = {
    "temperature": (torch.float32, [math.nan, -3.0, math.inf, 1e-44, 0.0]),
    "top_k": (torch.int32, [-1, -(2**31), 0, 2**31 - 1, 1]),
    "top_p": (torch.float32, [math.nan, -1.0, 0.0, 5.0, math.inf]),
    "min_p": (torch.float32, [math.nan, 2.0, math.inf, -1.0, 1.0]),
}


@pytest.mark.parametrize("dtype", mostly_campaign(FLOATS, 1))
@pytest.mark.parametrize("name", mostly_campaign(HOSTILE, 2))
def test_numbers_that_cannot_be_looked_at_draw_allowed_tokens(
    device: str, name: str, dtype: torch.dtype
) -> None:
    # as tensors on a GPU come to the kernels; a loop that does not end would be a device that hangs
    kind, numbers = HOSTILE[name]
    rows, vocab = len(numbers), 2100
    masks, allowed = random_masks(7, rows, vocab, 0.4)
    allowed[:, :1100] = False
    masks[:, :34] = 0
    masks[:, 34] &= -(1 << 12)
    logits = random_logits(5, rows, vocab, dtype)
    for other in ({}, {"top_k": 30, "min_p": 0.01}, {"top_p": 0.8}):
        given = {**DEFAULTS, **other, "seeds": 3}
        sampler = MaskedSampler(rows, vocab, device)
        parameters = {n: sampler._parameter(n, value, rows) for n, value in given.items()}
        parameters[name] = torch.tensor(numbers, dtype=kind, device=device)
        with np.errstate(over="ignore"):  # differences over 2^-125 are infinite, as they should be
            drawn = sampler._launch(logits.to(device), masks.to(device), vocab, parameters, True)
        tokens = drawn.tokens.cpu()
        assert allowed[torch.arange(rows), tokens].all()
        assert not drawn.logprobs.isnan().any()
        usable = logits.float().masked_fill(~allowed | logits.isnan(), -torch.inf)
        highest = usable.max(1).values
        takes_highest = {"temperature": [0, 1, 4], "top_p": [1, 2], "min_p": [1, 2, 4], "top_k": []}[name]
        assert torch.equal(usable[takes_highest, tokens[takes_highest]], highest[takes_highest])


@pytest.mark.campaign
def test_numbers_of_other_kinds(sample: Sample) -> None:
    masks, _ = random_masks(3, 2, 100, 0.5)
    logits = random_logits(4, 2, 100, torch.float32, special=False)
    wanted = sample(logits, masks, top_p=0.9, top_k=20, temperature=0.5, seeds=[1, 2])
    for kind in (np.float64, torch.tensor, lambda x: [x, np.float64(x)], lambda x: (x, x)):
        drawn = sample(
            logits, masks, top_p=kind(0.9), top_k=np.int64(20), temperature=kind(0.5), seeds=np.array([1, 2])
        )
        assert torch.equal(drawn.tokens, wanted.tokens)


def test_parameters_that_lie_apart_are_named() -> None:
    sampler = MaskedSampler(4, 40)
    sampler._tokens = sampler._tokens.to("meta")
    apart = torch.zeros(4, 2, device="meta")[:, 0]
    with pytest.raises(BitmaskError, match="temperature has stride 2, must have 1: numbers side by side"):
        sampler._parameter("temperature", apart, 4)
    with pytest.raises(BitmaskError, match=r"temperature is \(4,\) torch.int32 on meta, must be \(4,\)"):
        sampler._parameter("temperature", apart.int(), 4)
    with pytest.raises(BitmaskError, match="logits is on cpu, but the sampler is on meta"):
        sampler._check_room(torch.zeros(4, 40))


def test_numbers_of_a_captured_graph_stay() -> None:
    # what a graph reads must not be given back while others come and go
    sampler = MaskedSampler(2, 40)
    kept = sampler._constant("temperature", 0.5, torch.float32)
    first = sampler._constant("temperature", 0.25, torch.float32)
    sampler._captured["temperature", 0.5] = kept
    for number in range(200):
        assert sampler._constant("top_k", number, torch.int32).tolist() == [number, number]
    assert len(sampler._constants) <= sampling.MOST_CONSTANTS
    assert sampler._constant("temperature", 0.5, torch.float32) is kept
    assert sampler._constant("temperature", 0.25, torch.float32) is not first  # given back, and made anew
