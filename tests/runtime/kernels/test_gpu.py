"""What only a GPU shows: graphs, streams, allocations, and which device is current."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.kernel_masks import random_logits, random_masks

import stackmask as sm
from stackmask.runtime.kernels.bitmask import BitmaskError
from stackmask.runtime.kernels.mask_table import ENTRY, DeviceMaskTable
from stackmask.runtime.kernels.output_layer import MaskedOutputLayer
from stackmask.runtime.kernels.sampling import MaskedSampler, sample_masked

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
ROWS, VOCAB = 6, 5000


def captured(work: Any) -> torch.cuda.CUDAGraph:
    """Return a graph of the work, which has been run once before."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def test_applying_is_captured_and_allocates_nothing() -> None:
    masks, allowed = random_masks(1, ROWS, VOCAB)
    logits = torch.zeros(ROWS, VOCAB, device="cuda")
    there = masks.cuda()
    chosen = torch.tensor([0, 3], device="cuda")
    sm.apply_token_bitmask_inplace(logits, there, indices=chosen)
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    sm.apply_token_bitmask_inplace(logits, there)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
    graph = captured(lambda: sm.apply_token_bitmask_inplace(logits, there))
    values = random_logits(2, ROWS, VOCAB, torch.float32, special=False)
    logits.copy_(values)
    graph.replay()
    assert torch.equal(logits.cpu(), values.masked_fill(~allowed, float("-inf")))


def test_sampling_is_captured_with_new_steps() -> None:
    masks, _ = random_masks(3, ROWS, VOCAB, 0.5)
    logits = random_logits(4, ROWS, VOCAB, torch.bfloat16, special=False)
    sampler = MaskedSampler(ROWS, VOCAB, "cuda")
    there, words = logits.cuda(), masks.cuda()
    seeds, steps = torch.arange(ROWS, device="cuda"), torch.zeros(ROWS, dtype=torch.int64, device="cuda")
    drawn: list[Any] = []
    graph = captured(lambda: drawn.append(sampler(there, words, top_p=0.9, seeds=seeds, steps=steps)))
    for step in range(5):
        steps.fill_(step)
        graph.replay()
        wanted = sample_masked(logits, masks, top_p=0.9, seeds=list(range(ROWS)), steps=step)
        assert drawn[-1].tokens.tolist() == wanted.tokens.tolist()


def test_launches_after_one_another_keep_their_order() -> None:
    # each may be made ready while the one before it runs
    rows, vocab = 64, 128_256
    first, _ = random_masks(5, rows, vocab, 0.5)
    second, _ = random_masks(6, rows, vocab, 0.5)
    values = random_logits(7, rows, vocab, torch.bfloat16, special=False)
    source, logits, words = (
        values.cuda(),
        torch.empty(rows, vocab, dtype=torch.bfloat16, device="cuda"),
        first.cuda(),
    )
    others, seeds = second.cuda(), torch.arange(rows, device="cuda")
    sampler = MaskedSampler(rows, vocab, "cuda")
    results: list[Any] = []

    def work() -> None:
        logits.copy_(source)
        sm.apply_token_bitmask_inplace(logits, words)
        one = sampler(logits, others, seeds=seeds).tokens.clone()
        sm.apply_token_bitmask_inplace(logits, others)
        results[:] = [one, sampler(logits, words, seeds=seeds, top_k=20).tokens]

    both = first & second
    wanted = [
        sample_masked(values, both, seeds=list(range(rows)), **options).tokens
        for options in ({}, {"top_k": 20})
    ]
    graph = captured(work)
    for run in (work, graph.replay):
        for _ in range(5):
            run()
            for found, right in zip(results, wanted, strict=True):
                assert int((found.cpu() != right).sum()) <= 1  # sums are rounded in another order
    kept = values.clone()
    sm.apply_token_bitmask_inplace(kept, both)
    assert torch.equal(logits.cpu(), kept)


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")
def test_a_graph_keeps_its_numbers_and_refuses_new_ones() -> None:
    masks, _ = random_masks(3, ROWS, VOCAB, 0.5)
    masks[:, 0] |= 1
    logits = random_logits(4, ROWS, VOCAB, torch.float32, special=False)
    sampler = MaskedSampler(ROWS, VOCAB, "cuda")
    there, words = logits.cuda(), masks.cuda()
    drawn: list[Any] = []
    graph = captured(lambda: drawn.append(sampler(there, words, temperature=0.5, seeds=7)))
    # others come and go, and their memory is used for something else
    for number in range(200):
        sampler(there, words, top_k=number + 1)
    spoiled = [torch.full((ROWS,), 9e9, device="cuda") for _ in range(200)]
    graph.replay()
    wanted = sample_masked(logits, masks, temperature=0.5, seeds=7)
    assert drawn[-1].tokens.tolist() == wanted.tokens.tolist()
    assert len(spoiled) == 200
    for options, message in (
        ({"top_p": 0.123}, "which no call had before"),
        ({"seeds": [1] * ROWS}, "a list"),
    ):
        with pytest.raises(BitmaskError, match=message), torch.cuda.graph(torch.cuda.CUDAGraph()):
            sampler(there, words, **options)


def test_two_streams_share_a_table_that_is_too_small_for_both() -> None:
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    # more tokens than an entry may name: masks are rows
    kinds = {"aA": "[a-z] [A-Z]", "1g": "[0-9a-f] [g-z]", "Mn": "[A-M0-9] [n-zN-Z]"}
    compiled = [
        sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf(f"root ::= ({kind})+"))
        for kind in kinds.values()
    ]
    matchers = [grammar.matcher() for grammar in compiled]
    table = DeviceMaskTable(vocabulary.size, "cuda", first_rows=3, max_rows=3, max_staging=2, first_staging=1)
    streams = [torch.cuda.Stream() for _ in matchers]
    results = []
    for step in range(60):
        for text, matcher, stream in zip(kinds, matchers, streams, strict=True):
            with torch.cuda.stream(stream):
                logits = torch.zeros(1, vocabulary.size, device="cuda")
                table.apply(logits, table.entries([matcher]))
            bitmaps = sm.allocate_token_bitmask(1, vocabulary.size, like="torch")
            sm.fill_next_token_bitmask([matcher], bitmaps)
            results.append((logits, bitmaps))
            assert matcher.accept_string(text[step % len(text)])
    assert table.evictions > 0
    for logits, bitmaps in results:
        wanted = torch.zeros(1, vocabulary.size)
        sm.apply_token_bitmask_inplace(wanted, bitmaps)
        assert torch.equal(logits.cpu(), wanted)


def test_a_graph_reads_the_entries_of_each_step() -> None:
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf("root ::= [a-z]+ [0-9]{3}"))
    matchers = [compiled.matcher() for _ in range(3)]
    table = DeviceMaskTable(vocabulary.size, "cuda")
    out = torch.full((3, ENTRY), -1, dtype=torch.int32, device="cuda")
    logits = torch.zeros(3, vocabulary.size, device="cuda")
    entries = table.entries(matchers, out=out)
    table.wait(entries)
    graph = captured(lambda: table.apply(logits, entries))
    for text in ("ab", "c1", "23", ""):
        entries = table.entries(matchers, out=out)
        table.wait(entries)
        logits.zero_()
        graph.replay()
        table.mark_read()
        wanted = torch.zeros(3, vocabulary.size)
        bitmaps = sm.allocate_token_bitmask(3, vocabulary.size, like="torch")
        sm.fill_next_token_bitmask(matchers, bitmaps)
        sm.apply_token_bitmask_inplace(wanted, bitmaps)
        assert torch.equal(logits.cpu(), wanted)
        for matcher in matchers:
            assert matcher.accept_string(text)


def test_the_output_layer_is_captured() -> None:
    masks, allowed = random_masks(5, ROWS, VOCAB, 0.01)
    masks[:, 0] |= 1
    allowed[:, 0] = True
    hidden = torch.randn(ROWS, 256, device="cuda").bfloat16()
    weight = (torch.randn(VOCAB, 256, device="cuda") / 16).bfloat16()
    layer = MaskedOutputLayer(weight)
    out, words = torch.empty(ROWS, VOCAB, dtype=torch.bfloat16, device="cuda"), masks.cuda()
    graph = captured(lambda: layer(hidden, words, form="gather", out=out))
    hidden.normal_()
    graph.replay()
    exact = (hidden.double() @ weight.double().T).cpu()
    assert torch.equal(out.cpu().isinf(), ~allowed)
    assert torch.allclose(out.cpu()[allowed].double(), exact[allowed], atol=0.05, rtol=0.02)


def test_devices_that_differ_are_named() -> None:
    with pytest.raises(BitmaskError, match="logits is on cuda:0, but bitmask is on cpu"):
        sm.apply_token_bitmask_inplace(
            torch.zeros(1, 40, device="cuda"), torch.zeros(1, 2, dtype=torch.int32)
        )


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_the_device_of_the_logits_is_used() -> None:
    logits = torch.zeros(1, 40, device="cuda:1")
    sm.apply_token_bitmask_inplace(logits, torch.zeros(1, 2, dtype=torch.int32, device="cuda:1"))
    assert torch.cuda.current_device() == 0
    assert logits.isinf().all()
