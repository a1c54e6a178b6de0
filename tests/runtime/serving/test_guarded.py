"""The matcher of a server: it never raises, and what fails ends one request alone."""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm
from stackmask.runtime.serving.guarded import GuardedMatcher, Thoughts, fill_batch

END = 256


@pytest.fixture
def compiled() -> sm.CompiledGrammar:
    tokens = [bytes([i]) for i in range(256)]
    compiler = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[END]))
    return compiler.compile(sm.Grammar.from_ebnf('root ::= "abc" | "abd"'))


class Failing:
    """Stands for a matcher whose masks cannot be made."""

    accept_calls = 0

    def fill_next_token_bitmask(self, mask: np.ndarray, row: int) -> bool:
        mask[row] = -1
        raise RuntimeError("no mask")


def guarded(compiled: sm.CompiledGrammar, stop_ids: tuple[int, ...] = (END,)) -> GuardedMatcher:
    return GuardedMatcher(compiled.matcher(), stop_ids, "request 1")


def allowed(row: np.ndarray) -> list[int]:
    return [i for i in range(257) if row[i >> 5] >> (i & 31) & 1]


def test_tokens_after_the_end_are_ignored(compiled: sm.CompiledGrammar) -> None:
    one = guarded(compiled)
    assert one.accept_all([*b"abc", END, 7, 8])
    assert one.is_terminated()
    assert one.valid_prefix([1, 2]) == []
    one.reset()
    assert not one.is_terminated()
    assert one.accept(ord("a"))
    assert not one.accept(ord("x"))


def test_the_first_mask_is_made_where_the_grammar_is_compiled(compiled: sm.CompiledGrammar) -> None:
    one = guarded(compiled)
    one.prepare()
    masks = compiled.stats()["masks"]
    row = np.zeros((1, 9), dtype=np.int32)
    one.fill(row, 0)
    assert allowed(row[0]) == [ord("a")] and compiled.stats()["masks"] == masks
    assert one.accept_all(b"ab")  # the text that must come: the mask after it is there as well
    one.fill(row, 0)
    assert allowed(row[0]) == [ord("c"), ord("d")] and compiled.stats()["masks"] == masks


def test_masks_ahead_end_after_some_work(
    compiled: sm.CompiledGrammar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stackmask.runtime.serving.guarded.AHEAD_WORK", 1)
    one = guarded(compiled)
    one.prepare()
    masks = compiled.stats()["masks"]
    row = np.zeros((1, 9), dtype=np.int32)
    assert one.accept_all(b"ab")
    one.fill(row, 0)
    assert allowed(row[0]) == [ord("c"), ord("d")] and compiled.stats()["masks"] > masks


def test_a_row_that_needs_more_than_a_step_gives_comes_after_the_others() -> None:
    vocabulary = sm.Vocabulary([*(bytes([i]) for i in range(256)), None], stop_ids=[END])
    compiler = sm.Compiler(vocabulary, limits=sm.Limits(max_fill_work=1))
    json = compiler.compile(sm.Grammar.json())
    batch = [guarded(json), guarded(compiler.compile(["abc", "abd"]))]
    mask = np.zeros((3, 9), dtype=np.int32)
    result = fill_batch(batch, mask, [2, 0])
    assert result.waiting and not result.errors and json.stats()["slices"]
    assert allowed(mask[0]) == [ord("a")] and ord("{") in allowed(mask[2]) and not mask[1].any()


def test_a_first_mask_that_fails_is_told_when_it_is_asked_for() -> None:
    one = GuardedMatcher(Failing(), (END,), "request 1")  # type: ignore[arg-type]
    one.prepare()
    assert one.failure is None
    one.fill(np.zeros((1, 9), dtype=np.int32), 0)
    assert one.failure == "RuntimeError: no mask"


def test_the_valid_prefix_does_not_move(compiled: sm.CompiledGrammar) -> None:
    one = guarded(compiled)
    assert one.valid_prefix([*b"abx"]) == [*b"ab"]
    assert one.valid_prefix([*b"abd", END, 9]) == [*b"abd", END]
    assert one.matcher.accept_calls == 0


def test_more_can_be_asked_back_than_there_was(compiled: sm.CompiledGrammar) -> None:
    one = guarded(compiled)
    one.accept_all(b"ab")
    one.rollback(5)
    assert one.matcher.accept_calls == 0


@pytest.mark.parametrize("stops, expected", [((END,), [END]), ((), list(range(257)))])
def test_a_fault_leaves_stop_tokens(
    compiled: sm.CompiledGrammar,
    stops: tuple[int, ...],
    expected: list[int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = guarded(compiled, stops)
    one.accept(ord("a"))
    one.matcher.account.grant(-one.matcher.account.left)
    one.matcher.cancel()
    mask = sm.allocate_token_bitmask(1, 257)
    one.fill(mask, 0)
    assert allowed(mask[0]) == expected
    assert one.failure is not None and "request 1" in caplog.text
    assert one.valid_prefix([ord("b")]) == []
    assert not one.accept(ord("b"))
    assert one.valid_prefix([END]) == []
    assert not one.accept(END) and not one.is_terminated()  # what was cut is not the end
    assert not one.accept_all([END]) and one.fork().failure == one.failure


def test_a_fault_in_a_batch_is_that_of_one_request(compiled: sm.CompiledGrammar) -> None:
    mask = sm.allocate_token_bitmask(3, 257)
    batch = [guarded(compiled) for _ in range(3)]
    for one, text in zip(batch, (b"", b"a", b"ab"), strict=True):
        one.accept_all(text)
    batch[1].matcher = Failing()
    for _ in range(2):  # the fault is found, and then known
        mask[:] = 0
        fill_batch(batch, mask, [2, 1, 0])
        assert [allowed(row) for row in mask] == [[*b"cd"], [END], [*b"a"]]


def nested() -> sm.CompiledGrammar:
    tokens = [bytes([i]) for i in range(256)]
    compiler = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[END]))
    return compiler.compile(sm.Grammar.from_ebnf('root ::= "[" root "]" | "1"'))


def test_texts_end_within_their_room() -> None:
    compiled = nested()
    bounded, free = guarded(compiled), guarded(compiled)
    bounded.room = 6
    mask = sm.allocate_token_bitmask(2, 257)
    seen = []
    for _ in range(6):
        fill_batch([bounded, free], mask, [1, 0])
        assert allowed(mask[0]) == [ord("1"), ord("[")]
        token = max(allowed(mask[1]) if END not in allowed(mask[1]) else [END])
        assert bounded.accept(token)
        seen.append(token)
    assert seen == [*b"[[1]]", END]
    assert bounded.is_terminated()
    bounded.rollback(4)
    bounded.fill(mask, 1)
    assert allowed(mask[1]) == [ord("1")]


def test_a_room_that_is_too_small_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    one = guarded(nested())
    one.room = 1
    mask = sm.allocate_token_bitmask(1, 257)
    for _ in range(2):
        one.fill(mask, 0)
        assert allowed(mask[0]) == [ord("1"), ord("[")]
    assert one.failure is None and one.room is None
    assert caplog.text.count("may be cut") == 1


def test_a_stop_token_that_ends_thoughts_may_do_so(compiled: sm.CompiledGrammar) -> None:
    thoughts = Thoughts(guarded(compiled, (END, 97)), 97)
    thoughts.start_step(1_000)
    words = np.full(9, -1, dtype=np.int32)
    thoughts.restrict(words.view(np.uint32))
    assert 97 in allowed(words) and END not in allowed(words)
