"""Tables and arrays of a store that grow while they are used: what was there before is found as before."""

from __future__ import annotations

import gc
import random
import re
import resource
from pathlib import Path

import numpy as np
import pytest
from support.random_schemas import SchemaMaker

import stackmask
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([bytes([b]) for b in range(256)], size=257, stop_ids=[256])
FEW = 3  # passes over the texts
ENTRIES = 1 << 15  # of a hash table, from well below which on it moves little by little


def counted(rng: random.Random) -> str:
    letters = "".join(sorted(rng.sample("abcdefgh", rng.randint(2, 5))))
    return f"[{letters}]{{{rng.randint(0, 3)},{rng.randint(20, 60)}}}"


@pytest.mark.campaign
def test_steps_are_the_same_while_tables_grow() -> None:
    """Every step of many states, asked again while states are added, against a regex engine of its own."""
    rng = random.Random(7)
    compiler = stackmask.Compiler(BYTES)
    seen: list[tuple[stackmask.CompiledGrammar, bytes, list[bytes]]] = []
    mask = stackmask.allocate_token_bitmask(1, BYTES.size)
    terms = 0
    while terms < ENTRIES:
        pattern = "".join(f"({counted(rng)}{rng.choice('xyz')}|{counted(rng)})" for _ in range(3))
        compiled = compiler.compile(stackmask.Grammar.from_regex(pattern, flavor="python"))
        text = "".join(rng.choices("abcdefghxyz", k=60)).encode()
        rows: list[bytes] = []
        matcher = compiled.matcher()
        taken = 0
        for b in text:
            matcher.fill_next_token_bitmask(mask)
            rows.append(mask.tobytes())
            if not matcher.accept_token(b):
                break
            taken += 1
        assert matcher.accept_token(256) == bool(re.fullmatch(pattern, text[:taken].decode()))
        seen.append((compiled, text, rows))
        terms = compiled.stats()["terms"]
        # one that was met long ago, and is met again in the middle of growth
        for compiled, text, rows in rng.sample(seen, min(FEW, len(seen))):
            matcher = compiled.matcher()
            for b, row in zip(text, rows, strict=False):
                matcher.fill_next_token_bitmask(mask)
                assert mask.tobytes() == row
                matcher.accept_token(b)


def test_terms_of_one_of_many_patterns_grow_linearly() -> None:
    """After a pattern is found, the others exclude each other, and no product of all of them is searched."""
    words = (
        "NEW ON_APPROVAL ON_SIGNING ON_CHANGE EXECUTED DEPRECATED REJECTED DRAFT ARCHIVED PENDING CLOSED OPEN"
    )
    compiler = stackmask.Compiler(BYTES)
    mask = stackmask.allocate_token_bitmask(1, BYTES.size)
    terms = {}
    for count in (4, 12):
        schema = {"type": "string", "oneOf": [{"pattern": word} for word in words.split()[:count]]}
        compiled = compiler.compile(stackmask.Grammar.from_json_schema(schema))
        matcher = compiled.matcher()
        for b in b'"a NEWER \\u004fN_SIGNIN':
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_token(b)
        terms[count] = compiled.stats()["terms"]
    assert terms[12] < 4 * terms[4]


def test_operands_that_share_theirs_are_visited_a_bounded_number_of_times() -> None:
    """Nested intersections of shared ones beside a complement: as a tree, each level has four times the operands."""
    rules, level = ["star ::= [a-y]*"], [f"b{i}" for i in range(4)]
    rules += [f"b{i} ::= [a-z]{{40}} [{chr(97 + i)}-y] star" for i in range(4)]
    for depth in range(8):
        inner = " & ".join(level)
        level = [f"l{depth}x{i}" for i in range(4)]
        rules += [
            f"{name} ::= ({inner}) | [a-y]{{{41 + depth}}} [{chr(97 + i)}-x] star"
            for i, name in enumerate(level)
        ]
    rules.append(f"root ::= {' & '.join(level)} & !star")
    matcher = stackmask.Compiler(BYTES).compile(stackmask.Grammar.from_ebnf("\n".join(rules))).matcher()
    left = matcher.account.left
    assert matcher.accept_string("abcdefghijklmnopqrst")
    assert left - matcher.account.left < 3_000_000


def test_a_long_sequence_beside_a_complement_is_not_visited_at_each_byte() -> None:
    """The search for what a sequence ends in is bounded."""
    rule = "root ::= (" + "[a-y] [a-w] " * 4_000 + "[z]? star) & !star\nstar ::= [a-y]*"
    matcher = stackmask.Compiler(BYTES).compile(stackmask.Grammar.from_ebnf(rule)).matcher()
    left = matcher.account.left
    assert matcher.accept_string("ab" * 100)
    assert left - matcher.account.left < 12_000_000


def test_masks_are_those_of_a_store_that_forgets() -> None:
    """A store whose masks are dropped all the time, and one that keeps them, have the same rows."""
    rng = random.Random(11)
    words = [bytes(w) for k in (1, 2, 3) for w in np.ndindex(*(6,) * k)]
    texts = [bytes(b'ab\xc3\xa9c"1'[c] for c in w) for w in words] + [bytes([b]) for b in range(256)]
    texts = list(dict.fromkeys(texts))
    vocabulary = Vocabulary(texts, size=len(texts) + 1, stop_ids=[len(texts)])
    keeping, forgetting = stackmask.Compiler(vocabulary), stackmask.Compiler(vocabulary, cache_bytes=1 << 14)
    a, b = (stackmask.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
    for _ in range(40):
        low, high = sorted(rng.sample(range(12), 2))
        schema = {
            "type": "string",
            "pattern": f"^[{rng.choice(['ab', 'abc', 'aé', 'b1'])}]{{{low},{high}}}1?$",
        }
        matchers = [
            c.compile(stackmask.Grammar.from_json_schema(schema)).matcher() for c in (keeping, forgetting)
        ]
        for _ in range(12):
            for matcher, row in zip(matchers, (a, b), strict=True):
                matcher.fill_next_token_bitmask(row)
            assert (a == b).all()
            ids = np.flatnonzero(np.unpackbits(a.view(np.uint8), bitorder="little"))
            if not len(ids):
                break
            token = int(rng.choice(list(ids)))
            for matcher in matchers:
                assert matcher.accept_token(token)
            if token == len(texts):
                break


@pytest.mark.campaign
@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="the memory of the process is not shown")
def test_memory_of_the_process_does_not_grow_with_requests() -> None:
    """After many schemas on a compiler with little room, as many again take no more memory."""
    maker = SchemaMaker(random.Random(3))
    compiler = stackmask.Compiler(BYTES, cache_bytes=8 << 20)
    mask = stackmask.allocate_token_bitmask(1, BYTES.size)
    held = []
    for _ in range(3):
        read = 0
        while read < 400:
            try:
                matcher = compiler.compile(stackmask.Grammar.from_json_schema(maker.schema(3))).matcher()
            except stackmask.StackmaskError:
                continue
            read += 1
            for b in b'{"a": [1, "b'[: 1 + read % 12]:
                matcher.fill_next_token_bitmask(mask)
                if not matcher.accept_token(b):
                    break
        gc.collect()
        held.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
    assert held[2] - held[1] < 8 << 20, held
