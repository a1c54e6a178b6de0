"""The finite engine's matcher is asked what the pushdown matcher is asked, and answers alike; so do its consumers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.threads import in_threads

import stackmask as sm

TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [b'"name"', b'": ', b'{"', b"true", b"tr", b"ue", b"},{", b"  ", None, None, None]
EOS, OTHER_EOS, TOOL = 264, 265, 266
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[EOS, OTHER_EOS], special_names={"<|tool|>": TOOL}, size=300)
PERSON = r"""
root   ::= "{" ws "\"name\"" ws ":" ws string ws "," ws "\"member\"" ws ":" ws ("true" | "false") ws "}" <|tool|>?
string ::= "\"" [^"\\\x00-\x1f]{0,8} "\""
ws     ::= " "?
"""
GRAMMAR = sm.Grammar.from_ebnf(PERSON)
PUSHDOWN = sm.Compiler(VOCABULARY).compile(GRAMMAR)
FINITE = sm.fsm.compile(GRAMMAR, VOCABULARY)


def mask_of(matcher: Any) -> bytes:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    return bytes([matcher.fill_next_token_bitmask(mask)]) + mask.tobytes()


def test_every_public_name_is_there() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    # of masks that are put together, or take many slices of work
    assert names(sm.Matcher) - {"explain", "prepare"} <= names(sm.fsm.FsmMatcher)
    assert names(sm.CompiledGrammar) - {"automaton", "family", "planner"} <= names(sm.fsm.CompiledFsm)


@pytest.mark.parametrize("seed", range(30))
def test_random_histories(seed: int) -> None:
    """Any mix of accepted and refused tokens and texts, rollbacks, forks and resets leaves both at the same place."""
    rng = random.Random(seed)
    pair: tuple[Any, Any] = (PUSHDOWN.matcher(), FINITE.matcher())
    forks = [pair]
    texts = [
        "{",
        '"',
        "name",
        '{"name":',
        '"x"',
        ", ",
        '"member":',
        "tru",
        "e",
        "}",
        "é",
        b"\xc3",
        "\ud800",
        "",
    ]
    for _ in range(60):
        pair = rng.choice(forks)
        match rng.randrange(7):
            case 0 | 1:
                mask = np.frombuffer(mask_of(pair[1])[1:], np.uint8)
                allowed = np.flatnonzero(np.unpackbits(mask, bitorder="little"))
                token = int(rng.choice(allowed)) if len(allowed) else rng.randrange(-2, 310)
                assert pair[0].accept_token(token) == pair[1].accept_token(token)
            case 2:
                token = rng.randrange(-2, 310)
                assert pair[0].accept_token(token) == pair[1].accept_token(token)
            case 3:
                text = rng.choice(texts)
                assert pair[0].accept_string(text) == pair[1].accept_string(text)
            case 4:
                count = rng.randrange(pair[0].accept_calls + 1)
                for matcher in pair:
                    matcher.rollback(count)
            case 5:
                forks.append((pair[0].fork(), pair[1].fork()))
            case 6 if rng.random() < 0.2:
                for matcher in pair:
                    matcher.reset()
        assert pair[0].refusal == pair[1].refusal
        for one, other in forks:
            assert mask_of(one) == mask_of(other)
            assert one.accept_calls == other.accept_calls
            assert one.is_accepting() == other.is_accepting()
            assert one.is_terminated() == other.is_terminated()
            assert one.expected() == other.expected()


def test_drafts_are_judged_alike() -> None:
    rng = random.Random(0)
    for _ in range(60):
        one, other = PUSHDOWN.matcher(), FINITE.matcher()
        text = '{"name": "x", "member":true}'[: rng.randrange(29)]
        assert one.accept_string(text) and other.accept_string(text)
        tokens = rng.choices([*range(256, 268), *b' {}":,tex', -1, 999], k=12)
        parents = [rng.randrange(-1, i) for i in range(12)]
        masks = [sm.allocate_token_bitmask(13, VOCABULARY.size) for _ in range(2)]
        assert one.fill_draft_bitmask(tokens, parents, masks[0]) == other.fill_draft_bitmask(
            tokens, parents, masks[1]
        )
        assert (masks[0] == masks[1]).all()


def _wrong_calls(mask: Any) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        ("rollback", (1,)),
        ("rollback", (-1,)),
        ("accept_token", ("x",)),
        ("accept_token", (1.0,)),
        ("accept_string", (5,)),
        ("accept_string", (None,)),
        ("fill_next_token_bitmask", (np.zeros((1, 3), np.int32),)),
        ("fill_next_token_bitmask", (np.zeros((1, 10), np.float32),)),
        ("fill_next_token_bitmask", (mask, 1)),
        ("fill_next_token_bitmask", (mask, -1)),
        ("fill_next_token_bitmask", (None,)),
        ("fill_next_token_bitmask", (np.zeros((1, 20), np.int32)[:, ::2],)),
        ("fill_draft_bitmask", ([1], [0, 1], mask)),
        ("fill_draft_bitmask", ([1], [-1], mask)),
        ("fill_draft_bitmask", ([1, 2], [-1, 1], sm.allocate_token_bitmask(3, VOCABULARY.size))),
    ]


@pytest.mark.parametrize("call", range(15))
def test_wrong_calls_raise_the_same(call: int) -> None:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    name, arguments = _wrong_calls(mask)[call]
    errors = []
    for matcher in (PUSHDOWN.matcher(), FINITE.matcher()):
        with pytest.raises(Exception) as info:
            getattr(matcher, name)(*arguments)
        errors.append((info.type, str(info.value)))
        assert matcher.accept_calls == 0
    assert errors[0] == errors[1]


def test_a_batch_takes_matchers_of_both_engines() -> None:
    rows = [PUSHDOWN.matcher(), FINITE.matcher(), None, FINITE.matcher(), PUSHDOWN.matcher()]
    for matcher in rows[3:]:
        assert matcher is not None and matcher.accept_string('{"name": "')
    mask = sm.allocate_token_bitmask(6, VOCABULARY.size)
    assert sm.fill_next_token_bitmask(rows, mask, rows=[5, 4, 3, 2, 1])
    assert (mask[5] == mask[4]).all() and (mask[2] == mask[1]).all() and (mask[3] == -1).all()
    anything = sm.Grammar.from_regex(rb"[\x00-\xff]*", flavor="python")
    free = sm.fsm.compile(anything, sm.Vocabulary(TOKENS[:256])).matcher()
    assert not sm.fill_next_token_bitmask([free, None], sm.allocate_token_bitmask(2, 256))
    with pytest.raises(sm.MatcherError):
        sm.fill_next_token_bitmask(rows[1:2], np.zeros((1, 3), np.int32))
    with pytest.raises(TypeError):
        sm.fill_next_token_bitmask(["no matcher"], mask)  # type: ignore[list-item]


def test_matchers_of_one_automaton_in_several_threads() -> None:
    expected = {}
    matcher = FINITE.matcher()
    text = b'{"name": "abc", "member":true}'
    for i in range(len(text)):
        expected[i] = mask_of(matcher)
        assert matcher.accept_token(text[i])

    def follow(_: int) -> None:
        for _ in range(20):
            matcher = FINITE.matcher()
            for i in range(len(text)):
                assert mask_of(matcher) == expected[i]
                matcher.accept_token(text[i])

    in_threads(follow)


def test_torch_tensors_are_filled() -> None:
    torch = pytest.importorskip("torch")
    mask = sm.allocate_token_bitmask(2, VOCABULARY.size, like="torch")
    FINITE.matcher().fill_next_token_bitmask(mask, 1)
    plain = sm.allocate_token_bitmask(1, VOCABULARY.size)
    PUSHDOWN.matcher().fill_next_token_bitmask(plain)
    assert torch.equal(mask[1], torch.from_numpy(plain[0]))


def test_matchers_are_copied_within_one_grammar_only() -> None:
    other = sm.fsm.compile(GRAMMAR, VOCABULARY)
    with pytest.raises(sm.MatcherError, match="of the same compiled grammar"):
        sm.fsm.FsmMatcher(other, FINITE.matcher())


def test_what_a_table_of_masks_asks_for() -> None:
    vocabulary = sm.Vocabulary([b"a", b"b", b"ab", b"c", None], stop_ids=[4])
    matcher = sm.fsm.compile(sm.Grammar.from_regex("(ab)*"), vocabulary).matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    for token in (2, 0, 1):
        matcher.fill_next_token_bitmask(mask)
        assert matcher.mask_rows().words == mask.tobytes()
        assert matcher.accept_token(token)
    assert matcher.accept_token(4) and matcher.mask_rows().is_empty()


def test_bytes_that_must_come() -> None:
    vocabulary = sm.Vocabulary([bytes([b]) for b in range(256)] + [None], stop_ids=[256])
    grammar = sm.Grammar.from_regex("é[éè]x")
    compiled = sm.fsm.compile(grammar, vocabulary)
    for matcher in (compiled.matcher(), sm.Compiler(vocabulary).compile(grammar).matcher()):
        assert matcher.find_jump_forward_bytes() == ("é".encode(), b"\xc3")
        assert matcher.accept_string(b"\xc3") and matcher.find_jump_forward_bytes() == (b"\xa9", b"\xc3")
        assert matcher.find_jump_forward_string() == ""
        assert not matcher.must_stop()
        assert matcher.accept_string(b"\xa9\xc3\xa8x") and matcher.must_stop()


def test_there_is_no_token_budget() -> None:
    matcher = FINITE.matcher()
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    for call in (
        matcher.shortest_completion,
        matcher.needs_at_least,
        lambda: matcher.fill_next_token_bitmask(mask, budget=9),
    ):
        with pytest.raises(sm.MatcherError, match="no token budget"):
            call()
    assert matcher.accept_string("{")


def test_states_that_there_are_not() -> None:
    dfa, index = FINITE.dfa, FINITE.index
    for state in (-1, dfa.states):
        with pytest.raises(IndexError, match="no state"):
            dfa.next_state(state, 32)
        with pytest.raises(IndexError, match="no state"):
            dfa.is_accepting(state)
        with pytest.raises(IndexError, match="no state"):
            index.next_state(state, 0)
        with pytest.raises(IndexError, match="no state"):
            index.allowed_tokens(state)
    with pytest.raises(IndexError, match="symbol"):
        dfa.next_state(0, 256 + dfa.specials)
    with pytest.raises(IndexError, match="no token"):
        index.next_state(0, VOCABULARY.size)
    # the special token comes after the closing brace
    places = [state for state in range(dfa.states) if dfa.next_state(state, 256) >= 0]
    assert [index.next_state(state, TOOL) for state in places] == [
        dfa.next_state(state, 256) for state in places
    ]
    assert places


def test_an_empty_mask_is_an_error_where_no_token_ends_a_text() -> None:
    vocabulary = sm.Vocabulary([b"a", b"b", None], stop_ids=[])
    matcher = sm.fsm.compile(sm.Grammar.from_ebnf('root ::= "ab"'), vocabulary).matcher()
    assert matcher.accept_string("ab")
    with pytest.raises(sm.MatcherError, match="no token"):
        matcher.fill_next_token_bitmask(sm.allocate_token_bitmask(1, vocabulary.size))
