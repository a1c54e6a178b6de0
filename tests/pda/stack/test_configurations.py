"""A space of configurations owns its parts, and nothing keeps it alive but its users."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

import stackmask as sm
from stackmask.pda.stack.configurations import ConfigSpace

VOCABULARY = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_a_space_goes_with_its_last_user() -> None:
    automaton = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf('root ::= "[" root* "]"'))._automaton
    store = automaton.store
    before = sys.getrefcount(store.terms), sys.getrefcount(store.semantics)
    for is_walk in (False, True):
        space = ConfigSpace(store.terms, store.semantics, is_walk)
        with store.lock:
            assert space.is_live(automaton.lowered.start, automaton.start_state)
        assert sys.getrefcount(store.terms) > before[0]
        del space
    assert (sys.getrefcount(store.terms), sys.getrefcount(store.semantics)) == before


def test_a_space_grows_with_what_was_reached() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf('root ::= "[" root* "]"'))
    matcher = compiled.matcher()
    sizes = [compiled._family.nbytes_held()]
    for _ in range(3):
        assert matcher.accept_string("[" * 40)
        sizes.append(compiled._family.nbytes_held())
    assert sizes == sorted(set(sizes))
    assert sizes[-1] < 1 << 16
