"""Texts whose tokens are counted against every way to read the tokens: whole masks, rollback, forks and drafts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from oracle.counted_tokens import CountedTokens, Part, Places, Text

import stackmask as sm

LETTERS = ["a", "b", "<", "/", "é", "ü"]
ENDS = ["<", "</", "</a", "aa", "aba", "ab", "b<", "éé", "é", "/b/", "a/a", "ü<ü"]


def formats_of(rng: random.Random) -> tuple[Any, tuple[Part, ...]]:
    """Return a sequence of formats, and the same for the oracle."""
    formats: list[Any] = []
    parts: list[Part] = []
    for _ in range(rng.randint(1, 3)):
        begin = rng.choice(["", "a", "<", "ab", "é<"])
        ends = rng.sample(ENDS, rng.choice([0, 1, 1, 2, 3]))
        excludes = rng.sample(["b", "aba", "é", "/", "<<"], rng.choice([0, 0, 1]))
        chars = rng.choice([None, None, 0, 1, 3])
        tokens = rng.choice([0, 1, 1, 2, 3, 5])
        content = {"type": "any_text", "excludes": excludes, "max_chars": chars, "max_tokens": tokens}
        if ends:
            formats.append({"type": "tag", "begin": begin, "content": content, "end": ends})
        else:
            formats += [{"type": "const_string", "value": begin}, content]
        if begin:
            parts.append(begin.encode())
        coded = tuple(end.encode() for end in ends)
        parts.append(Text(tokens, coded, tuple(word.encode() for word in excludes), chars))
        if rng.random() < 0.5:
            last = rng.choice(["a", "<a", "b/"])
            formats.append({"type": "const_string", "value": last})
            parts.append(last.encode())
    return {"type": "sequence", "elements": formats}, tuple(parts)


def vocabulary_of(rng: random.Random) -> list[bytes]:
    """Return random tokens of several bytes, some of which cut characters, and then all bytes."""
    tokens: set[bytes] = set()
    for _ in range(rng.randint(0, 14)):
        text = "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 5))).encode()
        begin = rng.randint(0, 1)
        tokens.add(text[begin : rng.randint(begin + 1, max(len(text), begin + 1))] or b"ab")
    bytes_ = {bytes([byte]) for byte in range(256)}
    likely = {bytes([byte]) for letter in LETTERS for byte in letter.encode()}
    return sorted(tokens | likely) + sorted(bytes_ - tokens - likely)


def mask_of(matcher: sm.Matcher, size: int) -> np.ndarray[Any, Any]:
    mask = sm.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    return np.unpackbits(mask.view(np.uint8), bitorder="little")[:size].astype(bool)


def expected_mask(oracle: CountedTokens, places: Places, tokens: list[bytes]) -> np.ndarray[Any, Any]:
    allowed = [bool(oracle.after(places, token)) for token in tokens]
    return np.array([*allowed, oracle.accepts(places)])


def check_walk(seed: int) -> int:
    """Follow random tokens and compare each mask. Return how many there were."""
    rng = random.Random(seed)
    format_, way = formats_of(rng)
    other_format, other = formats_of(rng)
    ways = [way]
    if rng.random() < 0.4:
        format_ = {"type": "or", "elements": [format_, other_format]}
        ways.append(other)
    oracle = CountedTokens(ways)
    tokens = vocabulary_of(rng)
    size = len(tokens) + 1
    vocabulary = sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)])
    compiled = sm.Compiler(vocabulary).compile(
        sm.Grammar.from_structural_tag({"type": "structural_tag", "format": format_})
    )
    matcher = compiled.matcher()
    trail = [oracle.start()]
    seen = 0
    for _ in range(24):
        mask = mask_of(matcher, size)
        expected = expected_mask(oracle, trail[-1], tokens)
        assert (mask == expected).all(), (seed, format_, tokens, len(trail), np.flatnonzero(mask != expected))
        assert matcher.is_accepting() == expected[-1]
        seen += 1
        allowed = np.flatnonzero(mask[:-1])
        if not len(allowed) or rng.random() < 0.15:
            back = rng.randint(0, len(trail) - 1)
            matcher.rollback(back)
            del trail[len(trail) - back :]
            continue
        if rng.random() < 0.1:
            matcher = matcher.fork()
        # those of the letters come first
        token = int(rng.choice(list(allowed[:20]) if rng.random() < 0.9 else list(allowed)))
        refused = [i for i in range(len(tokens)) if not mask[i]]
        if refused:
            assert not matcher.accept_token(rng.choice(refused))
        assert matcher.accept_token(token)
        trail.append(oracle.after(trail[-1], tokens[token]))
    return seen


@pytest.mark.campaign
@pytest.mark.parametrize("start", range(0, 240, 40))
def test_masks_of_random_formats(start: int) -> None:
    assert sum(check_walk(seed) for seed in range(start, start + 40)) > 400


BYTES = [bytes([byte]) for byte in range(256)]
STOP = 258


def byte_compiler() -> sm.Compiler:
    return sm.Compiler(sm.Vocabulary([*BYTES, b"ab", b"a</", None], stop_ids=[STOP]))


def thought(count: int) -> sm.Grammar:
    return sm.tag("<", sm.text(max_tokens=count), "</") + sm.Grammar.from_choices(["yes", "no"])


def test_a_string_has_no_tokens_to_count() -> None:
    matcher = byte_compiler().compile(thought(2)).matcher()
    assert matcher.accept_string("<")
    with pytest.raises(sm.MatcherError, match=r"max_tokens.*accept_token"):
        matcher.accept_string("a")
    assert matcher.accept_calls == 1
    assert matcher.accept_string("")
    assert matcher.accept_token(256)
    assert matcher.accept_token(257)
    assert matcher.accept_string("yes")  # the text is over
    assert matcher.is_accepting()


def test_a_character_is_finished() -> None:
    matcher = byte_compiler().compile(thought(1)).matcher()
    assert all(matcher.accept_token(token) for token in [*b"<", *"\N{SNOWMAN}".encode()])
    assert matcher.expected_bytes() == {ord("<")}


def test_drafts_count_as_tokens_do() -> None:
    compiled = byte_compiler().compile(thought(3))
    matcher = compiled.matcher()
    assert matcher.accept_token(ord("<"))
    tokens = [256, 97, 98, 97, 60, 97]
    parents = [-1, 0, 1, 2, 2, -1]
    rows = sm.allocate_token_bitmask(len(tokens) + 1, STOP + 1)
    accepted = matcher.fill_draft_bitmask(tokens, parents, rows)
    assert list(accepted) == [True, True, True, False, True, True]
    for index in range(len(tokens)):
        path = []
        at = index
        while at >= 0:
            path.append(tokens[at])
            at = parents[at]
        other = compiled.matcher()
        if all(other.accept_token(token) for token in [ord("<"), *reversed(path)]):
            row = np.unpackbits(rows[index + 1].view(np.uint8), bitorder="little")[: STOP + 1].astype(bool)
            assert (row == mask_of(other, STOP + 1)).all()


@pytest.mark.parametrize("seed", range(20))
def test_budgets_are_kept_in_counted_text(seed: int) -> None:
    """Whatever a model likes, the text ends in time."""
    rng = random.Random(seed)
    compiled = byte_compiler().compile(thought(rng.randint(0, 4)) + thought(2))
    matcher = compiled.matcher()
    left = matcher.needs_at_least() + rng.randint(0, 9)
    while not matcher.is_terminated():
        row = sm.allocate_token_bitmask(1, STOP + 1)
        matcher.fill_next_token_bitmask(row, budget=left)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: STOP + 1])
        assert matcher.accept_token(int(rng.choice(list(allowed))))
        left -= 1
    assert left >= 0


def test_forced_text_stops_where_tokens_are_counted() -> None:
    matcher = byte_compiler().compile(thought(1)).matcher()
    assert matcher.accept_token(ord("<"))
    assert matcher.find_jump_forward_string() == ""
    assert matcher.accept_token(97)
    assert matcher.find_jump_forward_string() == "</"


def test_a_finite_automaton_counts_no_tokens() -> None:
    from stackmask import fsm

    with pytest.raises(fsm.FsmError, match=r"max_tokens"):
        fsm.compile(thought(1), sm.Vocabulary([*BYTES, None], stop_ids=[256]))


def test_the_reading_with_more_tokens_left_is_kept() -> None:
    grammar = (
        sm.Grammar.from_choices(["a"]).optional() + sm.text(max_tokens=2) + sm.Grammar.from_choices(["."])
    )
    oracle = CountedTokens([(b"a", Text(2), b"."), (Text(2), b".")])
    tokens = [*BYTES, b"ab", b"a</"]
    for texts in (b"abc.", b"aab.", b"bcd.", b"ab.", b"a.", b".a."):
        matcher = byte_compiler().compile(grammar).matcher()
        places = oracle.start()
        for byte in texts:
            assert (mask_of(matcher, STOP + 1) == expected_mask(oracle, places, tokens)).all()
            if not matcher.accept_token(byte):
                break
            places = oracle.after(places, bytes([byte]))


def test_texts_in_a_row_stay_few() -> None:
    """Of readings that differ in their counts only, the one with more tokens left is kept."""
    matcher = byte_compiler().compile(sm.text(max_tokens=500).repeat(0, None)).matcher()
    for _ in range(2000):
        assert matcher.accept_token(97)
    assert len(matcher.describe()) < 6
