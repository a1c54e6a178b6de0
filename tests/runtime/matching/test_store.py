"""What grammars of one compiler share: masks do not depend on what was compiled, dropped or moved before."""

from __future__ import annotations

import gc
import itertools
import random
from functools import cache

import numpy as np
import pytest
from exactness.random_runs import Maker
from exactness.test_objects import random_object, rules_of
from exactness.walks import engine_mask
from support.busy_stores import at_work
from support.threads import in_threads

import stackmask

ALPHABET = "ab.!"
X, Y, END = 256, 257, 258
NAMES = {"<x>": X, "<y>": Y}
SCHEMAS = [
    {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"enum": ["ab", "a", 1]}},
    },
    {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[ab]+$", "minLength": 2}},
    {"type": "array", "items": {"type": "string", "not": {"enum": ["a", "ab"]}}, "maxItems": 2},
    {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"const": 1}]}}, "required": ["a"]},
]
TEXTS = [
    r'root ::= "<" @push([ab]{1,3}) ">" (root | [a-b.]*) "</" @top ">"',
    r'root ::= ([ab]* & !("a" | "ab" [ab]*)) "." root? "!"',
    'root ::= item{2,4}\nitem ::= [ab]{1,3} !>>[a] | "(" item ")"',
]


@cache
def vocabulary() -> stackmask.Vocabulary:
    words = {"".join(t).encode() for n in range(1, 5) for t in itertools.product(ALPHABET + '"', repeat=n)}
    rng = random.Random(7)
    pieces = [
        '{"a":',
        '"b":',
        '"ab"',
        '","',
        '"},',
        "1",
        " ",
        "</a>",
        "<a",
        "><",
        '{"a":{',
        '"}}',
        "(",
        ")",
        "a",
        "ab",
    ]
    words |= {"".join(rng.choices(pieces, k=rng.randint(1, 4))).encode() for _ in range(800)}
    tokens = [*sorted(words | {bytes([b]) for b in range(256)}), None]
    return stackmask.Vocabulary(tokens, stop_ids=[len(tokens) - 1])


def grammars(seed: int) -> list[stackmask.Grammar]:
    """Return grammars that share rules, characters and names of rules."""
    rng = random.Random(f"grammars {seed}")
    found = [
        stackmask.Grammar.from_json_schema(rng.choice(SCHEMAS)),
        stackmask.Grammar.from_ebnf(rng.choice(TEXTS)),
    ]
    obj = random_object(rng)
    found += [stackmask.Grammar(rules_of(obj, style)) for style in ("inline", "member rule")]
    for _ in range(3):
        maker = Maker(random.Random(f"{seed // 2} {rng.randint(0, 3)}"), ALPHABET, captures=False)
        try:
            grammar = stackmask.Grammar(maker.rule_set())
            stackmask.Compiler(vocabulary()).compile(grammar)
            found.append(grammar)
        except stackmask.GrammarError:
            pass
    rng.shuffle(found)
    return found


def reference(grammar: stackmask.Grammar, rng: random.Random, steps: int = 5) -> list[tuple[int, set[int]]]:
    """Return tokens that a compiler of its own allows one after the other, each with the mask before it."""
    matcher = stackmask.Compiler(vocabulary()).compile(grammar).matcher()
    found = []
    size = vocabulary().size
    for _ in range(steps):
        allowed = engine_mask(matcher, size)
        going_on = sorted(allowed - {size - 1})
        if not going_on:
            break
        token = rng.choice(going_on)
        found.append((token, allowed))
        assert matcher.accept_token(token)
    return found


def follow(compiled: stackmask.CompiledGrammar, walk: list[tuple[int, set[int]]], rng: random.Random) -> int:
    """Check the masks of a walk, before it, forked, rolled back and again."""
    matcher, size = compiled.matcher(), vocabulary().size
    for token, allowed in walk:
        assert engine_mask(matcher, size) == allowed, (compiled.grammar.rules, walk)
        assert engine_mask(matcher.fork(), size) == allowed
        assert matcher.accept_token(token)
    back = rng.randint(0, len(walk))
    if back:
        matcher.rollback(back)
        assert engine_mask(matcher, size) == walk[-back][1]
    return 2 * len(walk)


def judge(seed: int, whole: bool = False) -> int:
    rng = random.Random(f"store {seed}")
    pool = grammars(seed)
    walks = [[reference(g, rng) for _ in range(2)] for g in pool]
    limits = rng.choice([
        stackmask.Limits(),
        stackmask.Limits(max_semantic_states=rng.choice([300, 3000])),
        stackmask.Limits(max_terms=rng.choice([6000, 20000])),
    ])  # fmt: skip
    cache_bytes = rng.choice([1, 100_000, 400_000, 2_000_000, 1 << 29])
    compiler = stackmask.Compiler(vocabulary(), limits=limits, cache_bytes=cache_bytes)
    compiled: dict[int, stackmask.CompiledGrammar] = {}
    masks = refused = 0
    for _ in range(24):
        k = rng.randrange(len(pool))
        try:
            if k not in compiled or rng.random() < 0.3:
                compiled[k] = compiler.compile(pool[k])
            masks += follow(compiled[k], rng.choice(walks[k]), rng)
        except stackmask.BudgetError as error:
            assert any(name in str(error) for name in ("max_semantic_states", "max_terms")), error
            refused += 1
    return masks


@pytest.mark.parametrize("seed", range(8))
def test_one_compiler_for_several_grammars(seed: int) -> None:
    assert judge(seed) > 20


def test_batches_while_masks_are_dropped() -> None:
    size = vocabulary().size
    grammar = stackmask.Grammar.from_ebnf('root ::= ([ab]{1,20} "." | "!" [ab.]*){5} "x"')
    whole = stackmask.Compiler(vocabulary()).compile(grammar)
    rng = random.Random(5)
    texts = ["", "a", "ab", "a.", "a.!", "!", "!a.", "a.a.a.", "ababab", "abaabaaba", "!....", "a.!a.a.b"]
    for cache_bytes in (1000, 120_000, 200_000, 300_000, 500_000):
        first = stackmask.Compiler(vocabulary(), cache_bytes=cache_bytes).compile(grammar).matcher()
        for _ in range(15):
            rng.shuffle(texts)
            matchers, others = [first.fork() for _ in texts], [whole.matcher() for _ in texts]
            for text, matcher, other in zip(texts, matchers, others, strict=True):
                assert matcher.accept_string(text) and other.accept_string(text)
            got = stackmask.allocate_token_bitmask(len(texts), size)
            expected = got.copy()
            stackmask.fill_next_token_bitmask(matchers, got)
            stackmask.fill_next_token_bitmask(others, expected)
            assert np.array_equal(got, expected)


@pytest.mark.parametrize("cache_bytes", [1, 200_000, 1 << 29])
def test_threads(cache_bytes: int) -> None:
    pool = grammars(3)
    rng = random.Random(11)
    walks = [[reference(g, rng, 4) for _ in range(2)] for g in pool]
    compiler = stackmask.Compiler(vocabulary(), cache_bytes=cache_bytes)

    def work(number: int) -> None:
        own = random.Random(number)
        for _ in range(8):
            k = own.randrange(len(pool))
            follow(compiler.compile(pool[k]), own.choice(walks[k]), own)

    in_threads(work)


def special_vocabulary() -> stackmask.Vocabulary:
    tokens = [*(bytes([b]) for b in range(256)), None, None, None]
    return stackmask.Vocabulary(tokens, stop_ids=[END], special_ids=[X, Y], special_names=NAMES)


def test_special_tokens_have_the_numbers_of_the_store_that_a_matcher_moved_to() -> None:
    compiler = stackmask.Compiler(special_vocabulary())
    compiled = compiler.compile(stackmask.Grammar.from_ebnf("root ::= [ab]+ <x> [cd] | [ab]+ <y> [ef]"))
    for special in (X, Y):  # the numbers of the first store are known
        known = compiled.matcher()
        assert known.accept_token(ord("a")) and known.accept_token(special)
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


@pytest.mark.parametrize("seed", range(6))
def test_masks_are_the_same_after_a_move(seed: int) -> None:
    rng = random.Random(f"moving {seed}")
    pool = grammars(seed)
    compiler = stackmask.Compiler(vocabulary())
    size = vocabulary().size
    moved = 0
    for grammar in pool:
        walk = reference(grammar, rng, 6)
        compiled = compiler.compile(grammar)
        matcher = compiled.matcher()
        at = rng.randint(0, max(len(walk) - 1, 0))
        for token, allowed in walk[:at]:
            assert engine_mask(matcher, size) == allowed
            assert matcher.accept_token(token)
        with at_work(compiled):
            compiler.compile(rng.choice(pool))
            if len(walk) > at:
                assert matcher.accept_token(walk[at][0])  # waits, and moves
                moved += matcher.compiled is not compiled
            for token, allowed in walk[at + 1 :]:
                assert engine_mask(matcher, size) == allowed
                assert matcher.fork().accept_token(token)
                assert matcher.accept_token(token)
            matcher.rollback(len(walk))
            for token, allowed in walk:
                assert engine_mask(matcher, size) == allowed
                assert matcher.accept_token(token)
    assert moved > len(pool) // 2


def test_a_compiler_is_free_without_a_collection() -> None:
    compiler = stackmask.Compiler(vocabulary())
    matchers = [compiler.compile(grammar).matcher() for grammar in grammars(1)]
    for matcher in matchers:
        engine_mask(matcher, vocabulary().size)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        del compiler, matchers, matcher
        gc.collect()
        left = {f"{type(found).__module__}.{type(found).__name__}" for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not {name for name in left if name.startswith(("stackmask.pda", "stackmask.runtime"))}


def test_a_set_of_special_tokens_that_was_refused_has_no_number() -> None:
    size = 20_000
    tokens = [*(bytes([b]) for b in range(256)), *[None] * (size - 256)]
    limits = stackmask.Limits(max_memory=200_000)
    compiler = stackmask.Compiler(stackmask.Vocabulary(tokens, stop_ids=[size - 1]), limits=limits)
    wide = stackmask.Grammar.from_ebnf(f"root ::= <[300-{size - 2}]>")
    for _ in range(2):
        with pytest.raises(stackmask.BudgetError, match="max_memory"):
            compiler.compile(wide)
    matcher = compiler.compile(stackmask.Grammar.from_ebnf("root ::= <[300-301]> <[302-303]>")).matcher()
    assert engine_mask(matcher, size) == {300, 301}
    assert matcher.accept_token(301) and engine_mask(matcher, size) == {302, 303}


def test_each_token_has_the_sets_that_it_is_in() -> None:
    compiled = stackmask.Compiler(special_vocabulary()).compile(
        stackmask.Grammar.from_ebnf('root ::= (<[100-257]> "a" | <[257-257]> "b" | <x> "c" | "d" "e")+')
    )
    for token, following in ((X, "ac"), (Y, "ab"), (100, "ae"), (101, "a"), (99, "")):
        matcher = compiled.matcher()
        assert matcher.accept_token(token) == bool(following)
        if following:
            assert matcher.expected()[0] == set(following.encode())
