"""What states may take of a compiler's bytes counts the Python objects of rules too."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from functools import cache

import pytest

import stackmask

CACHE_BYTES = 2_000_000


@cache
def vocabulary() -> stackmask.Vocabulary:
    return stackmask.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])


def grammar(number: int) -> stackmask.Grammar:
    items = {
        "properties": {f"k{number}": {"minimum": number}, "other": {"enum": [number, "x"]}},
        "required": [f"k{number}"],
    }
    return stackmask.Grammar.from_json_schema({"type": "array", "uniqueItems": True, "items": items})


def serve(compiler: stackmask.Compiler, first: int, last: int) -> Iterator[int]:
    """Answer requests whose grammars never come again; yields the bytes that states hold, as the store sees it."""
    mask = stackmask.allocate_token_bitmask(1, vocabulary().size)
    for number in range(first, last):
        matcher = compiler.compile(grammar(number)).matcher()
        matcher.fill_next_token_bitmask(mask)
        assert matcher.accept_string(b'[{"')
        matcher.fill_next_token_bitmask(mask)
        yield matcher.compiled._automaton.store.nbytes_held()


def test_states_of_grammars_that_never_come_again_are_let_go() -> None:
    compiler = stackmask.Compiler(vocabulary(), cache_bytes=CACHE_BYTES)
    held = list(serve(compiler, 0, 200))
    assert max(held) < 0.6 * CACHE_BYTES
    assert compiler._generation > 4


@pytest.mark.campaign
def test_python_objects_are_weighed() -> None:
    compiler = stackmask.Compiler(vocabulary())
    before = list(serve(compiler, 1000, 1010))[-1]
    tracemalloc.start()
    try:
        weighed = list(serve(compiler, 1010, 1210))[-1] - before
        gc.collect()
        traced = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # `traced` lacks the terms, and has what front ends remember by themselves
    assert 0.5 < weighed / traced < 2.5
