"""Walk the two engines side by side and compare all that can be asked."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

import stackmask as sm


def bits(row: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def compile_both(
    grammar: sm.Grammar, compiler: sm.Compiler, **how: int
) -> tuple[sm.CompiledGrammar, sm.fsm.CompiledFsm] | None:
    """Compile a grammar for both engines; None if it has no text, which both must say."""
    try:
        pushdown = compiler.compile(grammar)
    except sm.GrammarError as error:
        assert "G103" in {d.code for d in error.diagnostics}
        try:
            sm.fsm.compile(grammar, compiler.vocabulary, **how)
        except sm.GrammarError as other:
            assert "G103" in {d.code for d in other.diagnostics}
            return None
        raise AssertionError("the finite engine compiles a grammar without texts") from None
    return pushdown, sm.fsm.compile(grammar, compiler.vocabulary, **how)


def compare_place(one: sm.Matcher, other: sm.fsm.FsmMatcher, size: int) -> list[int]:
    """Compare what both say of a place; return the allowed tokens."""
    masks = [sm.allocate_token_bitmask(1, size) for _ in range(2)]
    assert one.fill_next_token_bitmask(masks[0]) == other.fill_next_token_bitmask(masks[1])
    assert (masks[0] == masks[1]).all()
    assert one.is_accepting() == other.is_accepting()
    assert one.is_terminated() == other.is_terminated()
    assert one.expected() == other.expected()
    assert one.find_jump_forward_string() == other.find_jump_forward_string()
    assert one.find_jump_forward_tokens() == other.find_jump_forward_tokens()
    return bits(masks[0][0])


def walk_all(
    pushdown: sm.CompiledGrammar, finite: sm.fsm.CompiledFsm, rng: random.Random, per_state: int = 6
) -> int:
    """Compare at every state of the automaton that tokens lead to; return how many places were compared.

    From each state ``per_state`` allowed tokens are taken that lead to different states where possible, and a
    random one that need not be allowed.
    """
    size = finite.vocabulary.size
    seen: set[int] = set()
    todo = [(pushdown.matcher(), finite.matcher())]
    places = 0
    while todo:
        one, other = todo.pop()
        if other.state in seen:
            continue
        seen.add(other.state)
        allowed = compare_place(one, other, size)
        places += 1
        for token in (*_leading_apart(finite, other.state, allowed, rng, per_state), rng.randrange(size)):
            next_one, next_other = one.fork(), other.fork()
            assert next_one.accept_token(token) == next_other.accept_token(token)
            assert next_one.refusal == next_other.refusal
            if not next_other.is_terminated():
                todo.append((next_one, next_other))
    return places


def _leading_apart(
    finite: sm.fsm.CompiledFsm, state: int, allowed: list[int], rng: random.Random, count: int
) -> Iterator[int]:
    rng.shuffle(allowed)
    reached: set[int] = set()
    for token in allowed:
        after = finite.index.next_state(state, token)
        if after not in reached:
            reached.add(after)
            yield token
            if len(reached) == count:
                return
