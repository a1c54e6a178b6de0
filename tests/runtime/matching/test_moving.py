"""A matcher whose store is at work elsewhere moves to another store of its compiler, and goes on as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import stackmask

X, Y, END = 256, 257, 258
NAMES = {"<x>": X, "<y>": Y}


def vocabulary() -> stackmask.Vocabulary:
    tokens = [*(bytes([b]) for b in range(256)), None, None, None]
    return stackmask.Vocabulary(tokens, stop_ids=[END], special_ids=[X, Y], special_names=NAMES)


@contextmanager
def at_work(compiled: stackmask.CompiledGrammar) -> Iterator[None]:
    """Let another thread hold the store of a grammar meanwhile."""
    lock = compiled._automaton.store.lock
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        with lock:
            inside.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_special_tokens_have_the_numbers_of_the_store_that_a_matcher_moved_to() -> None:
    compiler = stackmask.Compiler(vocabulary())
    compiled = compiler.compile(stackmask.Grammar.from_ebnf("root ::= [ab]+ <x> [cd] | [ab]+ <y> [ef]"))
    matcher = compiled.matcher()
    store = compiled._automaton.store
    with at_work(compiled):
        # the numbers of special tokens are given in another order here
        other = compiler.compile(stackmask.Grammar.from_ebnf("root ::= <x> <y>"))
        assert other._automaton.store is not store
        for token in b"abab":
            assert matcher.accept_token(token)
        assert matcher.accept_token(X)
        assert matcher.expected() == (set(b"cd"), set(), False)
        assert not matcher.accept_token(ord("e")) and matcher.accept_token(ord("c"))
        assert matcher.accept_token(END)
        assert matcher.fork().is_terminated()
