"""Mask work beside the forward pass: the same masks, on another thread."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import stackmask as sm
from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.kernels.overlap import MaskWorker


@pytest.fixture
def compiled() -> sm.CompiledGrammar:
    vocabulary = sm.Vocabulary([bytes([b]) for b in range(256)] + [b"ab", b"12", None], stop_ids=[258])
    return sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf("root ::= [a-z]+ [0-9]{2}"))


def test_a_loop_with_the_worker_sees_the_same_masks(compiled: sm.CompiledGrammar) -> None:
    matchers = [compiled.matcher(), None, compiled.matcher()]
    alone = compiled.matcher()
    mask = sm.allocate_token_bitmask(3, 259)
    wanted = sm.allocate_token_bitmask(1, 259)
    with MaskWorker() as worker:
        worker.start(matchers, mask)
        for token in (ord("x"), 256, ord("1"), ord("2"), 258, 258):
            assert worker.wait()
            alone.fill_next_token_bitmask(wanted)
            assert np.array_equal(mask[0], wanted[0]) and np.array_equal(mask[2], wanted[0])
            assert (mask[1] == -1).all()
            if not alone.is_terminated():
                assert alone.accept_token(token)
            worker.start(matchers, mask, [token, 7, token])
        worker.wait()


def test_work_runs_while_the_caller_does_something_else(compiled: sm.CompiledGrammar) -> None:
    here, there = threading.Event(), threading.Event()
    with MaskWorker() as worker:
        worker.submit(lambda: (here.set(), there.wait(30)))
        # the worker is in the middle of its work, and so is the caller
        assert here.wait(30)
        there.set()
        assert worker.wait() == (None, True)


def test_misuse_and_refused_tokens_are_named(compiled: sm.CompiledGrammar) -> None:
    mask = sm.allocate_token_bitmask(1, 259)
    with MaskWorker() as worker:
        with pytest.raises(BitmaskError, match="the worker has 0 steps under way"):
            worker.wait()
        with pytest.raises(BitmaskError, match="tokens has 2 values, but there are 1 matchers"):
            worker.start([compiled.matcher()], mask, [1, 2])
        worker.start([compiled.matcher()], mask, [ord("1")])
        with pytest.raises(BitmaskError, match="the worker has 1 step under way"):
            worker.start([compiled.matcher()], mask)
        with pytest.raises(
            BitmaskError, match=r"tokens\[0\] is 49, but the mask allows it not: token 49 \('1'\)"
        ):
            worker.wait()


def test_a_list_that_the_caller_writes_over_is_read_before(compiled: sm.CompiledGrammar) -> None:
    matcher = compiled.matcher()
    tokens = [ord("x")]
    here, there = threading.Event(), threading.Event()
    with MaskWorker() as worker:
        # the thread is busy, so that the step begins after the list has changed
        worker._pool.submit(lambda: (here.set(), there.wait(30)))
        assert here.wait(30)
        worker.start([matcher], sm.allocate_token_bitmask(1, 259), tokens)
        tokens[0] = ord("9")
        there.set()
        assert worker.wait()
    assert matcher.accept_string("12")
