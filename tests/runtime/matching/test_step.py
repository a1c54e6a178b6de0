"""A step in one call: the same masks and answers as one call after the other, whatever fails on the way."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.threads import in_threads

import stackmask as sm
from stackmask import fsm
from stackmask.grammar import ir
from stackmask.pda.errors import BudgetError

LETTERS: list[bytes | None] = [bytes([b]) for b in range(256)]
EOS = 260
VOCABULARY = sm.Vocabulary([*LETTERS, b"ab", b'{"', b'":', b"abc", None], stop_ids=[EOS])
SIZE = VOCABULARY.size
GRAMMARS = (
    sm.Grammar.bundled("json"),
    sm.Grammar.from_ebnf('root ::= "abc" [0-9]{2,4} | "abd"'),
    sm.Grammar.from_ebnf('root ::= ([a-c]{1,9} " ")* "a"?'),
)


def compiled_grammars() -> list[sm.CompiledGrammar]:
    """Return grammars of one compiler, and one of another."""
    compiler = sm.Compiler(VOCABULARY)
    return [*map(compiler.compile, GRAMMARS), sm.Compiler(VOCABULARY).compile(GRAMMARS[1])]


def allowed(row: Any) -> list[int]:
    return [int(t) for t in np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))]


def tokens_for(matchers: list[Any], mask: Any, rng: random.Random) -> list[int | None]:
    """Return an allowed token for most, and any token or none for the others."""
    tokens: list[int | None] = []
    for matcher, row in zip(matchers, mask, strict=True):
        choices = allowed(row) if matcher is not None else []
        if rng.random() < 0.1 or not choices:
            tokens.append(rng.choice([None, rng.randrange(SIZE)]))
        else:
            tokens.append(rng.choice(choices))
    return tokens


def one_by_one(matchers: list[Any], tokens: list[int | None]) -> tuple[list[bool], list[bool], Any, bool]:
    accepted = [
        matcher is None or token is None or matcher.accept_token(token)
        for matcher, token in zip(matchers, tokens, strict=True)
    ]
    mask = sm.allocate_token_bitmask(len(matchers), SIZE)
    needed = False
    for row, matcher in enumerate(matchers):
        if matcher is None:
            mask[row] = -1
        else:
            needed = matcher.fill_next_token_bitmask(mask, row) or needed
    return accepted, [m is not None and m.is_terminated() for m in matchers], mask, needed


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_steps_are_calls_one_after_the_other(seed: int, threads: int, keeps: bool) -> None:
    rng = random.Random(seed)
    makers: list[Callable[[], Any]] = [compiled.matcher for compiled in compiled_grammars()]
    makers += [fsm.compile(GRAMMARS[1], VOCABULARY).matcher, lambda: None]
    chosen = rng.choices(makers, k=30)
    stepped, single = [make() for make in chosen], [make() for make in chosen]
    rows = list(range(len(chosen)))
    kept = sm.StepMask(len(chosen), SIZE)
    mask = kept.array if keeps else sm.allocate_token_bitmask(len(chosen), SIZE)
    tokens: list[int | None] = [None] * len(chosen)
    for number in range(40):
        if number % 3 == 0:
            rng.shuffle(rows)
        if not keeps:
            mask[:] = 0x5A5A5A5A
        kept.row_to_write(rng.randrange(len(rows)))[:] = 0x5A5A5A5A
        given = kept if keeps else mask
        result = sm.step(stepped, tokens, given, rows, forced=True, threads=threads)
        accepted, ended, expected, needed = one_by_one(single, tokens)
        assert np.array_equal(mask[rows], expected)
        assert (result.accepted, result.ended, result.needed) == (accepted, ended, needed)
        assert not result.errors and result.only_tokens is not None
        for i, token in enumerate(result.only_tokens):
            choices = allowed(expected[i])
            assert token == (choices[0] if len(choices) == 1 and stepped[i] is not None else -1)
        texts = [b"" if m is None else b"".join(m.find_jump_forward_bytes()) for m in single]
        assert result.forced_bytes == texts
        tokens = tokens_for(stepped, mask[rows], rng)
    assert any(matcher is not None and matcher.is_terminated() for matcher in stepped)


def test_kept_masks_outlive_their_engine() -> None:
    """Masks are dropped, and made by other compilers, between the steps of one ``StepMask``."""
    rng = random.Random(7)
    kept = sm.StepMask(12, SIZE)
    for number in range(12):
        compiler = sm.Compiler(VOCABULARY, cache_bytes=1 << (12 + number))
        compiled = [compiler.compile(grammar) for grammar in GRAMMARS]
        stepped = [rng.choice(compiled).matcher() for _ in range(12)]
        single = [matcher.fork() for matcher in stepped]
        tokens: list[int | None] = [None] * 12
        for _ in range(12):
            result = sm.step(stepped, tokens, kept)
            _, _, expected, needed = one_by_one(single, tokens)
            assert np.array_equal(kept.array, expected) and result.needed == needed
            tokens = tokens_for(stepped, kept.array, rng)


def test_kept_masks_are_written_by_steps_alone() -> None:
    kept = sm.StepMask(2, SIZE)
    with pytest.raises(ValueError, match="read-only"):
        kept.array[0] = 0
    for batch, size in ((-1, 5), (2, 0)):
        with pytest.raises(sm.MatcherError, match="no masks of"):
            sm.StepMask(batch, size)
    with pytest.raises(IndexError):
        kept.row_to_write(2)
    with pytest.raises(sm.MatcherError, match="words wide"):
        sm.step([compiled_grammars()[1].matcher()], [None], sm.StepMask(1, 5))


def test_what_is_forced_is_found_only_if_asked_for() -> None:
    matcher = compiled_grammars()[1].matcher()
    mask = sm.allocate_token_bitmask(1, SIZE)
    result = sm.step([matcher], [None], mask)
    assert result.only_tokens is None and result.forced_bytes is None
    result = sm.step([matcher], [LETTERS.index(b"a")], mask, forced=True)
    assert (result.only_tokens, result.forced_bytes) == ([LETTERS.index(b"b")], [b"b"])
    assert "forced_bytes=[b'b']" in repr(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": [97]}, "2 matchers, but 1 tokens"),
        ({"tokens": [97, "a"]}, "a token is its id"),
        ({"rows": [0]}, "2 matchers, but 1 rows"),
        ({"rows": [0, 0]}, "given twice"),
        ({"rows": [0, 2]}, "row 2"),
        ({"threads": 0}, "needs a thread"),
        ({"mask": np.zeros((2, 1), np.int32)}, "words"),
        ({"mask": np.zeros((2, 9), np.int64)}, "int32"),
    ],
)
def test_wrong_arguments_move_nothing(change: dict[str, Any], message: str) -> None:
    matchers = [compiled_grammars()[1].matcher() for _ in range(2)]
    mask = sm.allocate_token_bitmask(2, SIZE)
    mask[:] = 0x5A5A5A5A
    given: dict[str, Any] = {"tokens": [97, 97], "mask": mask, **change}
    with pytest.raises(sm.MatcherError, match=message):
        sm.step(matchers, **given)
    assert [matcher.accept_calls for matcher in matchers] == [0, 0]
    assert (mask == 0x5A5A5A5A).all()


def test_what_is_no_matcher_is_refused_by_name() -> None:
    compiled = compiled_grammars()[1]
    mask = sm.allocate_token_bitmask(2, SIZE)
    matcher = compiled.matcher()
    for wrong, message in (
        (matcher, "list of matchers"),
        (7, "list of matchers"),
        ([matcher, compiled], "makes one"),
    ):
        with pytest.raises(sm.MatcherError, match=message):
            sm.step(wrong, [97, None], mask)  # type: ignore[arg-type]
    assert matcher.accept_calls == 0


class Fault:
    """An action and a resolver that raise what they are told to."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def act(self, seen: object, text: bytes) -> object:
        return self.resolve(seen) and seen

    def resolve(self, seen: object) -> ir.Expr:
        if self.error is not None:
            raise self.error
        return ir.Literal(b"a")


def acting(fault: Fault) -> sm.Grammar:
    word = ir.Repeat(ir.CharClass(((97, 98),)), 1, 3)
    root = ir.Sequence((ir.Capture(ir.RuleRef("word"), fault.act), ir.Literal(b"<"), ir.RuleRef("word")))
    rules = {"root": ir.Rule("root", root), "word": ir.Rule("word", word)}
    return sm.Grammar(ir.RuleSet(rules, "root", 0))


def resolving(fault: Fault) -> sm.Grammar:
    root = ir.Sequence((ir.Literal(b"("), ir.Dynamic(fault.resolve)))
    return sm.Grammar(ir.RuleSet({"root": ir.Rule("root", root)}, "root", 0))


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_is_that_of_one_request(threads: int) -> None:
    fault = Fault()
    compiler = sm.Compiler(VOCABULARY)
    sound = compiler.compile(GRAMMARS[1])
    acts, resolves = compiler.compile(acting(fault)), compiler.compile(resolving(fault))
    matchers = [sound.matcher(), acts.matcher(), sound.matcher(), None, resolves.matcher(), sound.matcher()]
    mask = sm.allocate_token_bitmask(6, SIZE)
    mask[:] = 0x5A5A5A5A
    fault.error = RuntimeError("no such thing")
    result = sm.step(matchers, [97, 97, 97, 97, 40, None], mask, threads=threads)
    assert set(result.errors) == {1, 4} and all("no such thing" in str(e) for e in result.errors.values())
    assert "in a step, for matcher 1" in result.errors[1].__notes__
    assert not mask[1].any() and not mask[4].any() and (mask[3] == -1).all()
    assert allowed(mask[0]) == allowed(mask[2]) == [98] and 97 in allowed(mask[5])
    assert result.accepted[:4] == [True, False, True, True] and result.ended == [False] * 6
    assert [m.accept_calls for m in matchers[:3] if m is not None] == [1, 0, 1]
    fault.error = None
    again = sm.step(matchers, [98, 97, 98, None, None, 97], mask, threads=threads)
    assert all(again.accepted) and set(again.errors) <= {4}


def test_a_store_that_was_spoiled_ends_its_requests_alone() -> None:
    fault = Fault()
    compiler = sm.Compiler(VOCABULARY)
    sound, failing = compiler.compile(GRAMMARS[1]), compiler.compile(acting(fault))
    other = sm.Compiler(VOCABULARY).compile(GRAMMARS[1])
    matchers = [other.matcher(), sound.matcher(), failing.matcher(), sound.matcher(), other.matcher()]
    mask = sm.allocate_token_bitmask(5, SIZE)
    fault.error = MemoryError()
    result = sm.step(matchers, [97, None, 97, None, 97], mask)
    assert isinstance(result.errors[2], MemoryError)
    assert isinstance(result.errors[1], sm.SpoiledError) and isinstance(result.errors[3], sm.SpoiledError)
    assert allowed(mask[0]) == allowed(mask[4]) == [98] and not mask[1:4].any()
    result = sm.step(matchers, [98, 97, 97, 97, 98], mask)
    assert set(result.errors) == {1, 2, 3} and result.accepted == [True, False, False, False, True]
    assert sm.step([sound.matcher()], [97], mask).accepted == [True]


def test_memory_that_runs_out_in_a_mask_spoils_its_store_alone() -> None:
    fault = Fault()
    compiler = sm.Compiler(VOCABULARY)
    sound, failing = compiler.compile(GRAMMARS[1]), compiler.compile(resolving(fault))
    other = sm.Compiler(VOCABULARY).compile(GRAMMARS[1])
    matchers = [other.matcher(), failing.matcher(), sound.matcher(), other.matcher()]
    mask = sm.allocate_token_bitmask(4, SIZE)
    fault.error = MemoryError()
    result = sm.step(matchers, [97, 40, 97, 97], mask)
    assert isinstance(result.errors[1], MemoryError) and isinstance(result.errors[2], sm.SpoiledError)
    assert allowed(mask[0]) == allowed(mask[3]) == [98] and not mask[1:3].any()


# each state is a set of many of the rules' places, and each letter leads to another one
NET = "root ::= r0\n" + "".join(
    f"r{i} ::= [a-z] r{(7 * i + 1) % 40} | [a-m] r{(3 * i + 2) % 40} | r{(5 * i + 3) % 40} [g-z] |\n"
    for i in range(40)
)


def test_a_limit_ends_its_request_alone() -> None:
    letters = [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)]
    vocabulary = sm.Vocabulary([*LETTERS, *letters, None], stop_ids=[256 + len(letters)])
    grammar = sm.Grammar.from_ebnf(NET)
    assert grammar.normalized
    limits = sm.Limits(max_work=grammar.work + 60_000)
    held = sm.Compiler(vocabulary, limits=limits).compile(grammar).matcher()
    free = sm.Compiler(vocabulary, limits=sm.Limits(max_work=10**9)).compile(grammar).matcher()
    alone = free.fork()
    mask, right = (sm.allocate_token_bitmask(2, vocabulary.size) for _ in range(2))
    failed = 0
    for letter in b"abcxyz" * 12:
        result = sm.step([held, free], [letter, letter], mask, forced=True)
        assert alone.accept_token(letter)
        alone.fill_next_token_bitmask(right, 1)
        assert np.array_equal(mask[1], right[1]) and result.accepted[1] and set(result.errors) <= {0}
        if result.errors:
            failed += 1
            assert isinstance(result.errors[0], BudgetError) and not mask[0].any()
            assert result.only_tokens is not None and result.only_tokens[0] == -1
    assert failed


def test_no_stop_token_is_an_error_of_the_request() -> None:
    endless = sm.Compiler(sm.Vocabulary(list(LETTERS))).compile(sm.Grammar.from_ebnf('root ::= "a"'))
    matchers = [endless.matcher(), endless.matcher()]
    mask = sm.allocate_token_bitmask(2, 256)
    result = sm.step(matchers, [97, None], mask)
    assert set(result.errors) == {0} and "allows no token" in str(result.errors[0])
    assert allowed(mask[1]) == [97]


def test_many_threads_step_at_once() -> None:
    compiled = compiled_grammars()

    def call(seed: int) -> None:
        rng = random.Random(seed)
        stepped = [compiled[rng.randrange(4)].matcher() for _ in range(20)]
        single = [matcher.fork() for matcher in stepped]
        mask = sm.allocate_token_bitmask(20, SIZE)
        tokens: list[int | None] = [None] * 20
        for _ in range(30):
            result = sm.step(stepped, tokens, mask, threads=2)
            accepted, ended, expected, _ = one_by_one(single, tokens)
            assert np.array_equal(mask, expected) and (result.accepted, result.ended) == (accepted, ended)
            tokens = tokens_for(stepped, mask, rng)

    in_threads(call)


def test_two_tokens_of_two_words_are_more_than_one() -> None:
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(2, vocabulary.size)
    matchers = [
        compiler.compile(sm.Grammar.from_ebnf(text)).matcher()
        for text in ('root ::= "0" | "a"', 'root ::= "a"')
    ]
    result = sm.step(matchers, [None, None], mask, forced=True)
    assert result.only_tokens == [-1, 97]


def test_slow_masks_are_counted_where_they_are_made() -> None:
    """As the account of the request says, which has a millisecond for each 100,000 units."""
    words = map(bytes, itertools.product(b"abcdef", repeat=6))
    tokens = [*(bytes([i]) for i in range(256)), *words]
    compiler = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)]))
    compiled = compiler.compile(sm.Grammar.from_regex("([a-f]*a[a-f]{40}){3}b"))
    mask = sm.allocate_token_bitmask(2, len(tokens) + 1)
    batch = [compiled.matcher(), compiled.matcher()]  # the second one finds the masks of the first
    rng = random.Random(3)
    seen = set()
    for _ in range(20):
        before = batch[0].account.left
        made = sm.step(batch, [None, None], mask)
        is_slow = before - batch[0].account.left >= 100_000
        assert made.slow == is_slow and f"slow={made.slow}" in repr(made)
        seen.add(is_slow)
        token = rng.choice([token for token in allowed(mask[0]) if 256 <= token < len(tokens)])
        assert all(matcher.accept_token(token) for matcher in batch)
    assert seen == {False, True}
