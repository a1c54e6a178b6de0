"""Threads of one compiler: they go to stores of their own, and their masks are those of one thread."""

from __future__ import annotations

import os
import random
import signal
import threading
import zlib

import pytest
from support.busy_stores import at_work
from support.threads import fork, in_threads

import stackmask as sm
from stackmask.pda.errors import SpoiledError
from stackmask.runtime.matching.compiler import MAX_LANES


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    tokens = [bytes([i]) for i in range(256)]
    tokens += [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)]
    return sm.Vocabulary([*tokens, b""], stop_ids=[len(tokens)])


def ambiguous(number: int) -> sm.Grammar:
    """Return a grammar whose masks take milliseconds."""
    rules = [f'root ::= r0\nr6 ::= "{number}" | ""']
    for k in range(6):
        rules.append(
            f'r{k} ::= r{k + 1} r{k + 1} | "b{number}" r{k + 1} | [a-{"cdef"[(number + k) % 4]}] r{k + 1}'
        )
    return sm.Grammar.from_ebnf("\n".join(rules))


def masks_of(compiler: sm.Compiler, grammar: sm.Grammar) -> list[int]:
    """Return checksums of the masks along a text, byte by byte."""
    mask = sm.allocate_token_bitmask(1, compiler.vocabulary.size)
    matcher = compiler.compile(grammar).matcher()
    found = []
    single = {text: k for k, text in enumerate(compiler.vocabulary.token_bytes) if text and len(text) == 1}
    for byte in b"abcab":
        matcher.fill_next_token_bitmask(mask)
        found.append(zlib.crc32(mask.tobytes()))
        found.append(matcher.is_accepting())
        if not matcher.accept_token(single[bytes([byte])]):
            break
    return found


def test_masks_of_threads_are_those_of_one_thread(vocabulary: sm.Vocabulary) -> None:
    grammars = [ambiguous(number) for number in range(8)]
    alone = [masks_of(sm.Compiler(vocabulary), grammar) for grammar in grammars]
    for cache_bytes in (1 << 29, 1 << 22):
        compiler = sm.Compiler(vocabulary, cache_bytes=cache_bytes)

        def run(seed: int, compiler: sm.Compiler = compiler) -> None:
            for number in random.Random(seed).sample(range(len(grammars)), len(grammars)):
                assert masks_of(compiler, grammars[number]) == alone[number]

        in_threads(run)
        assert 1 <= len(compiler._lanes) <= MAX_LANES


def test_one_thread_has_one_store(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    for number in range(3):
        masks_of(compiler, ambiguous(number))
    assert len(compiler._lanes) == 1


def test_a_thread_that_meets_a_store_at_work_goes_to_another(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary, cache_bytes=1 << 28)
    compiled = compiler.compile(ambiguous(0))
    first = compiled._automaton.store
    with at_work(compiled):
        matcher = compiled.matcher()
        assert matcher.compiled is not compiled
        assert matcher.compiled._automaton.store is not first
        assert compiled.matcher().compiled is matcher.compiled
        assert compiler.compile(ambiguous(1))._automaton.store is matcher.compiled._automaton.store
        # both share the bytes of the cache
        assert first.cache_bytes == matcher.compiled._automaton.store.cache_bytes == 1 << 27


def test_a_matcher_that_waits_too_long_moves_with_what_it_accepted(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    compiled = compiler.compile(ambiguous(0))
    first = compiled._automaton.store
    single = {text: k for k, text in enumerate(vocabulary.token_bytes) if text and len(text) == 1}
    matcher, other = compiled.matcher(), sm.Compiler(vocabulary).compile(ambiguous(0)).matcher()
    for byte in (b"a", b"b"):
        assert matcher.accept_token(single[byte]) and other.accept_token(single[byte])
    with at_work(compiled):
        here, there = (sm.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
        matcher.fill_next_token_bitmask(here)
        other.fill_next_token_bitmask(there)
        assert matcher.compiled._automaton.store is not first
        assert (here == there).all()
        matcher.rollback(1)
        other.rollback(1)
        matcher.fill_next_token_bitmask(here)
        other.fill_next_token_bitmask(there)
        assert (here == there).all()


def test_precompute_makes_masks_in_the_store_of_its_grammar(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    compiled = compiler.compile(ambiguous(0))
    found: list[object] = []
    with at_work(compiled):
        # it waits for the store, and has no family yet
        thread = threading.Thread(target=lambda: found.append(compiled.precompute(1000)))
        thread.start()
    thread.join()
    assert found
    assert compiled._family is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_goes_on_without_a_store_that_was_at_work(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    compiled = compiler.compile(ambiguous(0))
    matcher = compiled.matcher()
    expected = masks_of(sm.Compiler(vocabulary), ambiguous(0))

    def work() -> None:
        assert masks_of(compiler, ambiguous(0)) == expected
        with pytest.raises(SpoiledError):
            matcher.fill_next_token_bitmask(sm.allocate_token_bitmask(1, vocabulary.size))

    with at_work(compiled):
        assert fork(work) == 0
    assert masks_of(compiler, ambiguous(0)) == expected


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_signal_handler_may_read_in_the_middle_of_a_call(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    seen: list[object] = []

    def handle(*_: object) -> None:
        seen.append(matcher.is_accepting())
        try:
            matcher.fill_next_token_bitmask(mask)
        except sm.StackmaskError as error:
            seen.append(error)

    matcher = compiler.compile(ambiguous(0)).matcher()
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    number = 0
    try:
        while len(seen) < 20:
            number += 1
            matcher = compiler.compile(ambiguous(number)).matcher()
            matcher.fill_next_token_bitmask(mask)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
