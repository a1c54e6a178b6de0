"""The table of masks on the device: what it names equals the bitmap, whatever was evicted, grown or dropped."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask.runtime.kernels.bitmask import BitmaskError
from stackmask.runtime.kernels.mask_table import (
    ENTRY,
    ENTRY_TOKENS,
    DeviceMaskTable,
    StepEntries,
    expand_entries,
)
from stackmask.runtime.kernels.sampling import MaskedSampler, sample_masked

GRAMMARS = {
    "json": sm.Grammar.bundled("json"),
    "xml": sm.Grammar.bundled("xml"),  # tokens that are run on the real configuration
    "words": sm.Grammar.from_ebnf('root ::= word (" " word)*\nword ::= [a-z]{1,20} | [0-9]+ "px"'),
    "keys": sm.Grammar.from_json_schema(
        {
            "type": "object",
            "properties": {"ab": {"type": "integer"}},
            "additionalProperties": {"type": "string"},
        }
    ),
}


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    """Bytes, and random pieces of letters, digits and punctuation; two stop tokens; 1 token short of a word's end."""
    rng = random.Random(5)
    pieces = {bytes([b]) for b in range(256)}
    while len(pieces) < 1500:
        alphabet = rng.choice(["abcxyz ", "0123456789", '{}[]",: ', "</>ab", "abcdefghijklmnopqrstuvwxyz"])
        pieces.add("".join(rng.choices(alphabet, k=rng.randint(2, 6))).encode())
    tokens: list[bytes | None] = [*sorted(pieces), *[None] * 35]
    return sm.Vocabulary(tokens, stop_ids=[1501, 1534])


@pytest.fixture(scope="module")
def compiler(vocabulary: sm.Vocabulary) -> sm.Compiler:
    return sm.Compiler(vocabulary)


def bitmap(matchers: list[Any], size: int) -> torch.Tensor:
    mask = sm.allocate_token_bitmask(len(matchers), size, like="torch")
    sm.fill_next_token_bitmask(matchers, mask)
    return mask


def walk(matchers: list[Any], size: int, steps: int, seed: int) -> Iterator[int]:
    """Move each matcher by a random allowed token, again and again; those that end begin anew."""
    rng = np.random.default_rng(seed)
    for step in range(steps):
        yield step
        mask = bitmap(matchers, size).numpy()
        for row, matcher in enumerate(matchers):
            if matcher is None:
                continue
            allowed = np.flatnonzero(np.unpackbits(mask[row].view(np.uint8), bitorder="little"))
            if not len(allowed):
                matcher.reset()
            else:
                assert matcher.accept_token(int(rng.choice(allowed)))


def unfolded(mask: Any, source: Any) -> Any:
    """Return the words that ``MaskRows`` stands for, with the rows copied out of the engine."""
    from stackmask.runtime.matching.row_references import copy_row

    if mask.words is not None:
        return np.frombuffer(mask.words, dtype=np.int32)
    words = np.zeros(source[1], dtype=np.int32)
    for row in mask.rows:
        target = np.empty_like(words)
        assert copy_row(source[0], mask.epoch, row, target.ctypes.data)
        words |= target
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    for token in mask.tokens:
        bits[token] ^= 1
    return np.packbits(bits, bitorder="little").view(np.int32)


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize(("most_rows", "most_tokens"), [(4, 12), (1, 1), (0, 3), (2, 0)])
def test_what_is_named_is_the_mask(
    compiler: sm.Compiler, name: str, most_rows: int, most_tokens: int
) -> None:
    size = compiler.vocabulary.size
    matchers = [compiler.compile(GRAMMARS[name]).matcher() for _ in range(3)]
    kinds = set()
    for _ in walk(matchers, size, 40, seed=most_rows):
        wanted = bitmap(matchers, size).numpy()
        for row, matcher in enumerate(matchers):
            mask = matcher.mask_rows(most_rows, most_tokens)
            assert len(mask.rows) <= most_rows and len(mask.tokens) <= most_tokens
            assert mask.is_empty() == matcher.is_terminated()
            assert np.array_equal(unfolded(mask, (matcher, wanted.shape[1])), wanted[row])
            kinds.add((len(mask.rows) > 0, len(mask.tokens) > 0, mask.words is not None))
    if (most_rows, most_tokens) == (4, 12):
        assert (True, False, False) in kinds


def test_rows_of_an_epoch_that_is_over_are_not_copied(vocabulary: sm.Vocabulary) -> None:
    small = sm.Compiler(vocabulary, cache_bytes=1 << 12)
    matcher = small.compile(GRAMMARS["json"]).matcher()
    table = DeviceMaskTable(vocabulary.size, "cpu", first_rows=8, max_rows=64)
    epochs = set()
    for _ in walk([matcher], vocabulary.size, 150, seed=3):
        epochs.add(matcher.mask_rows().epoch)
        entries = table.entries([matcher])
        assert torch.equal(table.bitmask(entries), bitmap([matcher], vocabulary.size))
    assert len(epochs) > 1


@pytest.fixture(params=["operations", "kernels"])
def apply(request: pytest.FixtureRequest) -> Any:
    """Return apply(table, logits, entries, columns): with torch operations, or with the kernel that gathers."""
    if request.param == "operations":
        return lambda table, logits, entries, columns: table.apply(logits, entries, vocab_size=columns)
    device = request.getfixturevalue("device")
    from stackmask.runtime.kernels.gpu.apply import launch_apply

    def kernel(table: DeviceMaskTable, logits: torch.Tensor, entries: StepEntries, columns: int) -> None:
        table.wait(entries)
        there = logits.to(device)
        launch_apply(there, table.rows.to(device), columns=columns, entries=entries.tensor.to(device))
        if there is not logits:
            logits.copy_(there)

    return kernel


@pytest.mark.parametrize("columns", mostly_campaign([33, 1535, 1500], 1))
def test_applied_entries_equal_applied_bitmaps(compiler: sm.Compiler, apply: Any, columns: int) -> None:
    size = compiler.vocabulary.size
    grammars = [compiler.compile(grammar) for grammar in GRAMMARS.values()]
    matchers = [None, *(grammar.matcher() for grammar in grammars)]
    table = DeviceMaskTable(size, "cpu", first_rows=4, max_rows=512)
    for step in walk(matchers, size, 8, seed=columns):
        generator = torch.Generator().manual_seed(step)
        logits = torch.randn(len(matchers), 1600, generator=generator)
        wanted = logits.clone()
        sm.apply_token_bitmask_inplace(wanted, bitmap(matchers, size), vocab_size=columns)
        entries = table.entries(matchers)
        apply(table, logits, entries, columns)
        assert torch.equal(logits, wanted)
    assert table.version > 0


def test_a_table_on_the_device(compiler: sm.Compiler, device: str) -> None:
    size = compiler.vocabulary.size
    matchers = [compiler.compile(grammar).matcher() for grammar in GRAMMARS.values()]
    table = DeviceMaskTable(size, device, first_rows=8, max_rows=24, first_staging=1, max_staging=2)
    out = torch.zeros(6, ENTRY, dtype=torch.int32, device=device)
    for _ in walk(matchers, size, 40, seed=4):
        entries = table.entries(matchers, out=out)
        logits = torch.zeros(len(matchers), size, device=device)
        table.apply(logits, entries)
        wanted = torch.zeros(len(matchers), size)
        sm.apply_token_bitmask_inplace(wanted, bitmap(matchers, size))
        assert torch.equal(logits.cpu(), wanted)
    assert table.version > 0 and table.evictions > 0


@pytest.mark.campaign
def test_random_entries(device: str) -> None:
    from stackmask.runtime.kernels.gpu.apply import launch_apply

    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.integers(-(2**31), 2**31, (20, 79)).astype(np.int32))
    entries = torch.full((30, ENTRY), -1, dtype=torch.int32)
    for line in entries:
        count = int(rng.integers(0, 5))
        line[:count] = torch.from_numpy(rng.choice(20, count, replace=False).astype(np.int32))
        flips = int(rng.integers(0, ENTRY_TOKENS + 1))
        line[4 : 4 + flips] = torch.from_numpy(rng.choice(79 * 32, flips, replace=False).astype(np.int32))
    # none at all, and the tokens at both ends of words
    entries[0] = -1
    entries[1, 4:8] = torch.tensor([0, 31, 32, 2527])
    logits = torch.randn(30, 2600, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    wanted = logits.clone()
    sm.apply_token_bitmask_inplace(wanted, expand_entries(rows, entries), vocab_size=2520)
    there = logits.to(device)
    launch_apply(there, rows.to(device), columns=2520, entries=entries.to(device))
    assert torch.equal(there.cpu(), wanted)


def test_a_step_sends_64_bytes_a_sequence_once_rows_are_there(compiler: sm.Compiler) -> None:
    table = DeviceMaskTable(compiler.vocabulary.size, "cpu")
    matchers = [compiler.compile(GRAMMARS["words"]).matcher() for _ in range(7)]
    for _ in range(3):
        before = table.sent_bytes
        for matcher in matchers:
            matcher.reset()
        table.entries(matchers)
    assert table.sent_bytes - before == 7 * 64


def test_a_buffer_for_a_larger_batch_allows_all_after_the_matchers(compiler: sm.Compiler) -> None:
    # a graph reads all of its rows: what was there before may name rows that are gone
    size = compiler.vocabulary.size
    table = DeviceMaskTable(size, "cpu")
    matcher = compiler.compile(GRAMMARS["json"]).matcher()
    out = torch.full((4, ENTRY), 2**30, dtype=torch.int32)
    entries = table.entries([matcher], out=out)
    assert len(entries.tensor) == 1
    assert torch.equal(expand_entries(table.rows, out), bitmap([matcher, None, None, None], size))


def test_entries_keep_the_table_that_they_were_made_for(compiler: sm.Compiler) -> None:
    # one batch is named, then another that makes the table grow: the first must not read rows on their way
    size = compiler.vocabulary.size
    table = DeviceMaskTable(size, "cpu", first_rows=2, max_rows=64)
    one = [compiler.compile(GRAMMARS["json"]).matcher()]
    first = table.entries(one)
    others = [compiler.compile(grammar).matcher() for grammar in GRAMMARS.values()]
    second = table.entries(others)
    assert table.version > first.version
    assert first.rows is not table.rows and second.rows is table.rows
    assert torch.equal(table.bitmask(first), bitmap(one, size))
    assert torch.equal(table.bitmask(second), bitmap(others, size))


def test_threads_share_a_table(compiler: sm.Compiler) -> None:
    # with so few rows each thread's steps write over those of the other
    size = compiler.vocabulary.size
    table = DeviceMaskTable(size, "cpu", first_rows=12, max_rows=12)

    def work(name: str) -> int:
        matchers = [compiler.compile(GRAMMARS[name]).matcher() for _ in range(2)]
        gone = 0
        for _ in walk(matchers, size, 40, seed=len(name)):
            entries = table.entries(matchers)
            try:
                found = table.bitmask(entries)
            except BitmaskError:
                gone += 1
                continue
            assert torch.equal(found, bitmap(matchers, size))
        return gone

    with ThreadPoolExecutor(2) as pool:
        assert all(gone < 40 for gone in pool.map(work, ["json", "keys"]))


def test_eviction_and_old_entries(compiler: sm.Compiler) -> None:
    size = compiler.vocabulary.size
    grammars = [compiler.compile(grammar) for grammar in GRAMMARS.values()]
    matchers = [grammar.matcher() for grammar in grammars]
    table = DeviceMaskTable(size, "cpu", first_rows=18, max_rows=18)
    first = table.entries(matchers)
    for _ in walk(matchers, size, 60, seed=9):
        entries = table.entries(matchers)
        assert torch.equal(table.bitmask(entries), bitmap(matchers, size))
    assert table.evictions > 0 and table.version == 0
    with pytest.raises(BitmaskError, match="entries is of step 1, but rows that were last used in step"):
        table.bitmask(first)


def test_sampling_from_entries(compiler: sm.Compiler, device: str) -> None:
    size = compiler.vocabulary.size
    matchers = [None, *(compiler.compile(grammar).matcher() for grammar in GRAMMARS.values())]
    table = DeviceMaskTable(size, "cpu")
    sampler = MaskedSampler(len(matchers), 1600)
    logits = torch.randn(len(matchers), 1600, generator=torch.Generator().manual_seed(2))
    for step in walk(matchers, size, 3, seed=1):
        for matcher in matchers:
            if matcher is not None and matcher.is_terminated():
                matcher.reset()
        entries = table.entries(matchers)
        options: dict[str, Any] = {"seeds": list(range(len(matchers))), "steps": step, "temperature": 0.8}
        wanted = sample_masked(logits, bitmap(matchers, size), vocab_size=size, **options)
        drawn = table.sample(sampler, logits, entries, **options)
        assert drawn.tokens.tolist() == wanted.tokens.tolist()
        there = MaskedSampler(len(matchers), 1600, device)
        found = there.launch_with_table(
            logits.to(device), table.rows.to(device), entries.tensor.to(device), size, options
        )
        assert found.tokens.tolist() == wanted.tokens.tolist()
        assert torch.allclose(found.logprobs.cpu(), wanted.logprobs, atol=1e-4)


def test_misfits_are_named(compiler: sm.Compiler) -> None:
    size = compiler.vocabulary.size
    matcher = compiler.compile(GRAMMARS["words"]).matcher()
    with pytest.raises(BitmaskError, match="first_rows is 1, must be 2 or more"):
        DeviceMaskTable(size, "cpu", first_rows=1)
    with pytest.raises(BitmaskError, match="max_rows is 100 and max_staging 256, but first_rows is 256"):
        DeviceMaskTable(size, "cpu", max_rows=100)
    with pytest.raises(
        BitmaskError, match=r"matchers\[1\] has a vocabulary of 1535, but the table is for 64"
    ):
        DeviceMaskTable(64, "cpu").entries([None, matcher])
    table = DeviceMaskTable(size, "cpu", first_rows=2, max_rows=2)
    with pytest.raises(BitmaskError, match=r"out is \(1, 3\) on cpu, must be \(1, 16\) on cpu"):
        table.entries([matcher], out=torch.zeros(1, 3, dtype=torch.int32))
    with pytest.raises(BitmaskError, match=r"out has dtype torch\.int64, must be torch\.int32"):
        table.entries([matcher], out=torch.zeros(1, ENTRY, dtype=torch.int64))
    with pytest.raises(BitmaskError, match=r"out has strides \(20, 1\), must have \(16, 1\)"):
        table.entries([matcher] * 2, out=torch.zeros(2, 20, dtype=torch.int32)[:, :ENTRY])
    other = compiler.compile(GRAMMARS["json"]).matcher()
    assert other.accept_string('{"')
    with pytest.raises(BitmaskError, match="max_rows is 2, but this step needs more: at least 3 rows"):
        table.entries([matcher, other])
    entries = table.entries([matcher])
    with pytest.raises(BitmaskError, match=r"logits is \(2, 1535\), but entries are for 1 sequences"):
        table.apply(torch.zeros(2, size), entries)
    with pytest.raises(BitmaskError, match="logits is on meta, but the table is on cpu"):
        table.apply(torch.zeros(1, size, device="meta"), entries)
    with pytest.raises(BitmaskError, match="vocab_size is 1536, but the table is for 1535 tokens"):
        table.apply(torch.zeros(1, 1600), entries, vocab_size=1536)
    with pytest.raises(TypeError, match="unexpected parameters: heat"):
        MaskedSampler(1, size).launch_with_table(
            torch.zeros(1, size), table.rows, entries.tensor, size, {"heat": 1}
        )


def test_a_sequence_without_tokens_is_named_before_the_launch(compiler: sm.Compiler) -> None:
    matcher = compiler.compile(sm.Grammar.from_ebnf('root ::= "a"')).matcher()
    assert matcher.accept_string("a") and matcher.accept_token(1534)
    table = DeviceMaskTable(compiler.vocabulary.size, "cpu")
    entries = table.entries([None, matcher])
    logits = torch.zeros(2, compiler.vocabulary.size)
    with pytest.raises(BitmaskError, match="entries allow no token for sequence 1: 0 of 1535"):
        table.sample(MaskedSampler(2, compiler.vocabulary.size), logits, entries)
    table.apply(logits, entries)
    assert logits[0].eq(0).all() and logits[1].eq(float("-inf")).all()
