"""Each kernel against its reference on odd shapes, before anything is timed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import torch

import stackmask as sm
from stackmask.runtime.kernels.gpu.apply import launch_apply
from stackmask.runtime.kernels.mask_table import ENTRY, DeviceMaskTable, expand_entries
from stackmask.runtime.kernels.output_layer import BLOCK, MaskedOutputLayer
from stackmask.runtime.kernels.reference import apply_reference
from stackmask.runtime.kernels.sampling import MaskedSampler, may_cut, sample_masked

TYPES = (torch.float32, torch.float16, torch.bfloat16)
DEFAULTS: dict[str, Any] = {
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "seeds": 0,
    "steps": 0,
}


def masks_of(rng: np.random.Generator, rows: int, vocab: int, share: float) -> torch.Tensor:
    """Return a random bitmask whose rows allow about a share of the tokens, and one at least."""
    bits = rng.random((rows, -(-vocab // 32) * 32), dtype=np.float32) < share
    bits[np.arange(rows), rng.integers(0, vocab, rows)] = True
    return torch.from_numpy(np.packbits(bits, axis=1, bitorder="little").view(np.int32).copy())


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    kind = torch.int16 if one.element_size() == 2 else torch.int32
    return torch.equal(one.contiguous().view(kind), other.contiguous().view(kind))


def check_apply(device: str, widths: tuple[int, ...]) -> int:
    """Masks and tables of masks, with rows chosen and columns past the vocabulary; bit for bit."""
    rng = np.random.default_rng(0)
    checked = 0
    for width in widths:
        for dtype in TYPES:
            for columns in {width, max(1, width - 267), max(1, width // 2)}:
                logits = torch.randn(5, width + 3).to(dtype).to(device)[:, 1 : width + 1]
                logits[0, 0], logits[4, width - 1] = float("nan"), float("inf")
                masks = masks_of(rng, 5, width, float(rng.choice([0.0, 0.01, 0.5, 1.0]))).to(device)
                chosen = [None, torch.tensor([3, 0], device=device)][checked % 2]
                wanted = logits.clone()
                apply_reference(wanted, masks, columns=columns, chosen=chosen)
                launch_apply(logits, masks, columns=columns, chosen=chosen)
                assert same_bits(logits, wanted), ("apply", width, dtype, columns)
                entries = torch.full((5, ENTRY), -1, dtype=torch.int32)
                entries[:, :3] = torch.from_numpy(rng.integers(-1, 5, (5, 3)).astype(np.int32))
                flips = rng.choice(width, min(5, width), replace=False).astype(np.int32)
                entries[:, 4 : 4 + len(flips)] = torch.from_numpy(flips)
                entries = entries.to(device)
                logits = torch.randn(5, width).to(dtype).to(device)
                wanted = logits.clone()
                apply_reference(wanted, expand_entries(masks, entries), columns=columns)
                launch_apply(logits, masks, columns=columns, entries=entries)
                assert same_bits(logits, wanted), ("table", width, dtype, columns)
                checked += 2
    return checked


def check_sample(device: str, widths: tuple[int, ...], types: tuple[torch.dtype, ...] = TYPES) -> int:
    """Draws with the same random numbers; a difference must be one of rounding."""
    rng = np.random.default_rng(1)
    options: list[dict[str, Any]] = [
        {"temperature": 0.0},
        {},
        {"temperature": 0.7, "top_p": 0.9},
        {"top_k": 40},
        {"temperature": 1.5, "top_k": 100, "top_p": 0.95, "min_p": 0.02},
    ]
    checked = differing = 0
    for width in widths:
        for dtype in types:
            for option in options:
                logits = (3 * torch.randn(6, width)).to(dtype)
                logits[1::3] -= logits[1::3].max(1, keepdim=True).values  # as log-probabilities have it
                logits[2::3] = logits[2::3].round()  # many ties
                masks = masks_of(rng, 6, width, float(rng.choice([0.001, 0.3, 1.0])))
                given = DEFAULTS | {"seeds": list(range(6)), "steps": checked, **option}
                wanted = sample_masked(logits, masks, **given)
                sampler = MaskedSampler(6, width, device)
                parameters = {name: sampler._parameter(name, value, 6) for name, value in given.items()}
                drawn = sampler._launch(
                    logits.to(device), masks.to(device), width, parameters, may_cut(given)
                )
                same = drawn.tokens.cpu() == wanted.tokens
                differing += int((~same).sum())
                assert torch.allclose(drawn.logprobs.cpu()[same], wanted.logprobs[same], atol=2e-3), (
                    width,
                    dtype,
                )
                checked += 6
    # sums in another order move a bound by a few millionths, and a draw now and then
    assert differing <= max(1, checked // 50), f"{differing} of {checked} draws differ"
    return checked


def check_output(device: str, vocabularies: tuple[int, ...], size: int) -> int:
    """The kernels of the output layer, within the type's rounding."""
    rng = np.random.default_rng(2)
    checked = 0
    for vocab in vocabularies:
        for rows in (1, 3, 16, 33, 64):
            dtype = TYPES[checked % 3]
            hidden = torch.randn(rows, size).to(dtype).to(device)
            weight = (torch.randn(vocab, size) / size**0.5).to(dtype).to(device)
            masks = masks_of(rng, rows, vocab, float(rng.choice([0.001, 0.1, 1.0]))).to(device)
            layer = MaskedOutputLayer(weight)
            exact = hidden.double() @ weight.double().T
            apply_reference(exact, masks, columns=vocab)
            logits = torch.empty(rows, vocab, dtype=dtype, device=device)
            layer._launch(hidden, masks, logits, vocab)
            assert torch.equal(logits.isinf(), exact.isinf()), (vocab, rows)
            finite = ~exact.isinf()
            assert torch.allclose(logits[finite].double(), exact[finite], atol=0.03, rtol=0.02), vocab
            checked += 1
    return checked


def check_table(device: str, steps: int) -> int:
    """The table through its own streams, with growth and eviction, against the matchers' bitmaps."""
    rng = np.random.default_rng(3)
    letters = [bytes([b]) for b in range(256)]
    pairs = [bytes([a, b]) for a in b'abc",:{}[] 019' for b in b'xyz",:{}[] 019']
    vocabulary = sm.Vocabulary([*letters, *pairs, None], stop_ids=[256 + len(pairs)])
    size = vocabulary.size
    compiler = sm.Compiler(vocabulary)
    grammars = [compiler.compile(sm.Grammar.bundled(name)) for name in ("json", "arithmetic", "csv", "regex")]
    matchers = [grammar.matcher() for grammar in grammars for _ in range(3)]
    table = DeviceMaskTable(size, device, first_rows=20, max_rows=40, first_staging=1, max_staging=3)
    for _ in range(steps):
        bitmaps = sm.allocate_token_bitmask(len(matchers), size, like="torch")
        sm.fill_next_token_bitmask(matchers, bitmaps)
        entries = table.entries(matchers)
        logits = torch.randn(len(matchers), size + 5, device=device)
        wanted = logits.clone()
        apply_reference(wanted, bitmaps.to(device), columns=size)
        table.apply(logits, entries)
        assert same_bits(logits, wanted), "table"
        assert torch.equal(table.bitmask(entries).cpu(), bitmaps), "table as bitmap"
        for matcher, row in zip(matchers, bitmaps.numpy(), strict=True):
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            if not len(allowed):
                matcher.reset()
            else:
                matcher.accept_token(int(rng.choice(allowed)))
    assert table.version > 0
    return steps


Check = tuple[str, Callable[..., Any], tuple[Any, ...]]  # what is checked, the function, its arguments


def run_check(check: Check) -> tuple[str, Any]:
    torch.manual_seed(0)
    name, function, arguments = check
    found = function(*arguments)
    print(f"agreed: {name} {found}", flush=True)
    return name, found


def at_once(checks: list[Check]) -> dict[str, Any]:
    """Run checks in processes of their own, since compiling takes most of the time; add up counts of one name."""
    results: dict[str, Any] = {}
    with ProcessPoolExecutor(12, mp_context=multiprocessing.get_context("spawn")) as pool:
        for name, found in pool.map(run_check, checks):
            results[name] = results[name] + found if name in results else found
    return results


def check_all(device: str) -> dict[str, int]:
    """Return how many cases of each kernel agreed; the first one that does not raises AssertionError."""
    if device == "cpu":  # the interpreter takes its time
        checks: list[Check] = [
            ("apply", check_apply, (device, (1, 31, 33, 300))),
            ("sample", check_sample, (device, (33,))),
            ("output", check_output, (device, (33, 3 * BLOCK), 40)),
            ("table", check_table, (device, 50)),
        ]
        return dict(map(run_check, checks))
    checks = [
        ("sample", check_sample, (device, (width,), (kind,)))
        for width in (128_256, 5000, 33, 1)
        for kind in TYPES
    ]
    checks += [("apply", check_apply, (device, (width,))) for width in (1, 31, 32, 33, 1000, 151_936)]
    checks += [("output", check_output, (device, (vocab,), 200)) for vocab in (1, 33, 1000, 32_000)]
    return at_once([*checks, ("table", check_table, (device, 200))])
