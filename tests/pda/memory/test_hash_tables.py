"""Indexes, records and rows of a store while they grow: equal things stay one id, and nothing is lost."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import stackmask
from stackmask.grammar import ir
from stackmask.pda.lowering.entry import regular_term
from stackmask.pda.terms.term_store import TermBuilder, TermStore
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

TERMS = 150_000  # past two growths of an index that moves little by little, and of arrays of megabytes
ASKED_AGAIN = 3  # of what is there, with each new one
SETS = 12_000


@pytest.mark.campaign
def test_equal_terms_are_one_while_their_index_grows() -> None:
    rng = random.Random(3)
    terms = TermStore()
    build = TermBuilder(terms)
    letters = [build.byte_set(1 << b) for b in range(256)]
    asked: list[tuple[int, int, int]] = []
    met: set[tuple[int, int, int]] = set()
    ids: list[int] = []
    while terms.size() < TERMS:
        low = rng.randrange(2, 5000)
        question = rng.randrange(256), low, low + rng.randrange(1, 5000)
        before = terms.size()
        found = build.repeat(letters[question[0]], *question[1:])
        assert terms.size() > before or question in met
        met.add(question)
        asked.append(question)
        ids.append(found)
        before = terms.size()
        for k in rng.sample(range(len(asked)), min(ASKED_AGAIN, len(asked))):
            letter, low, high = asked[k]
            assert build.repeat(letters[letter], low, high) == ids[k]
        assert terms.size() == before
    assert len(set(ids)) == len(met)
    for (letter, low, high), term in zip(asked, ids, strict=True):
        assert build.repeat(letters[letter], low, high) == term


def test_equal_lists_and_sets_are_one_while_their_indexes_grow() -> None:
    rng = random.Random(5)
    terms = TermStore()
    build = TermBuilder(terms)
    sets: dict[int, int] = {}
    lists: dict[tuple[int, ...], int] = {}
    words = [build.literal(rng.randbytes(3)) for _ in range(500)]
    while len(sets) < SETS:
        mask = rng.getrandbits(256)
        assert sets.setdefault(mask, build.byte_set(mask)) == build.byte_set(mask)
        some = tuple(sorted(set(rng.sample(words, 4))))
        assert lists.setdefault(some, build.alternatives(some)) == build.alternatives(some[::-1])
        for known in rng.sample(list(sets), 2) if len(sets) % 50 == 0 else ():
            assert build.byte_set(known) == sets[known]
    assert len(set(sets.values())) == len(sets)
    size = terms.size()
    assert all(build.byte_set(mask) == term for mask, term in sets.items())
    assert all(build.alternatives(some) == term for some, term in lists.items())
    assert terms.size() == size


def test_derivatives_do_not_depend_on_the_order_in_which_they_are_asked() -> None:
    """A term keeps the first derivative by itself and the others in a table: both are found again."""
    rng = random.Random(9)
    for _ in range(30):
        terms = TermStore()
        stores = []
        for _ in range(12):
            parts, pattern = [], ""
            for _ in range(rng.randint(1, 3)):
                chars, word = sorted(rng.sample("abcd", rng.randint(1, 3))), "".join(rng.choices("abcd", k=2))
                low, high = rng.randint(0, 2), rng.randint(2, 5)
                run = ir.Repeat(ir.CharClass(tuple((ord(c), ord(c)) for c in chars)), low, high)
                parts.append(ir.Choice((run, ir.Literal(word.encode()))))
                pattern += f"(?:[{''.join(chars)}]{{{low},{high}}}|{word})"
            stores.append((re.compile(pattern), regular_term(terms, ir.Sequence(tuple(parts)))))
        texts = ["".join(rng.choices("abcde", k=rng.randint(0, 8))) for _ in range(60)]
        for _ in range(2):
            questions = [(pattern, term, text) for pattern, term in stores for text in texts]
            rng.shuffle(questions)
            for pattern, term, text in questions:
                assert terms.matches(term, text.encode()) == bool(pattern.fullmatch(text))


@pytest.mark.campaign
def test_rows_of_many_blocks() -> None:
    """Masks of more rows than a block of memory holds, against a store that forgets them all the time."""
    rng = random.Random(13)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    texts = [bytes([b]) for b in range(256)]
    texts += ["".join(rng.choices(letters, k=rng.randint(3, 5))).encode() for _ in range(140_000)]
    texts = list(dict.fromkeys(texts))
    vocabulary = Vocabulary(texts, size=len(texts) + 1, stop_ids=[len(texts)])
    keeping, forgetting = stackmask.Compiler(vocabulary), stackmask.Compiler(vocabulary, cache_bytes=1 << 19)
    a, b = (stackmask.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
    kept: list[tuple[str, bytes]] = []
    for _ in range(320):
        pattern = f"[{''.join(sorted(rng.sample(letters, rng.randint(24, 34))))}]{{2,9}}"
        grammar = stackmask.Grammar.from_regex(pattern, flavor="python")
        compiled = keeping.compile(grammar)
        compiled.matcher().fill_next_token_bitmask(a)
        forgetting.compile(grammar).matcher().fill_next_token_bitmask(b)
        assert (a == b).all()
        kept.append((pattern, a.tobytes()))
    assert compiled.stats()["mask_bytes"] > 1 << 22
    for pattern, row in kept:
        matcher = keeping.compile(stackmask.Grammar.from_regex(pattern, flavor="python")).matcher()
        matcher.fill_next_token_bitmask(a)
        assert a.tobytes() == row
        bits = np.unpackbits(a.view(np.uint8), bitorder="little")
        allowed = re.compile(pattern.replace("{2,9}", "{1,9}").encode())
        for token in rng.sample(range(len(texts)), 20):
            assert bool(bits[token]) == bool(allowed.fullmatch(texts[token]))
