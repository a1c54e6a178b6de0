"""Masks that are made in slices of work: the same bits, wherever a slice ends, and only such rows wait."""

from __future__ import annotations

import itertools
import random
import threading
from typing import Any

import numpy as np
import pytest
from exactness.documents import load_tokenizer
from support.datapack import datapack, needs_datapack

import stackmask as sm
from stackmask.grammar.source.options import ArgumentError

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["".join(pair) for pair in itertools.product(LETTERS, repeat=2)]
WORDS += [a + b for a, b in zip(WORDS[::3], WORDS[1::3], strict=False)]
WORDS += (
    [" " + word for word in WORDS[::2]] + [word + '"' for word in WORDS[::5]] + ["Ab" + w for w in WORDS[::7]]
)
WORDS += ["SELECT", " FROM", " WHERE", '":', '", "', "),", "(x", "é", "1.", "12", "\n\n", "->", " {", "},"]
TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [word.encode() for word in dict.fromkeys(WORDS)]
EOS = len(TOKENS)
VOCABULARY = sm.Vocabulary([*TOKENS, None], stop_ids=[EOS])
SIZE = VOCABULARY.size

LARK = r"""
start: (function | statement)*
function: "fn" NAME "(" [NAME ("," NAME)*] ")" "->" type "{" statement* "}"
type: NAME ["<" type ("," type)* ">"]
statement: NAME "=" sum ";" | "if" sum "{" statement* "}" | "return" sum ";"
sum: product (("+" | "-") product)*
product: atom (("*" | "/") atom)*
atom: NAME ["(" [sum ("," sum)*] ")"] | NUMBER | STRING | "(" sum ")"
NAME: /[a-zA-Z_][a-zA-Z_0-9]*/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"/
%ignore /[ \n]+/
"""
EBNF = """
root ::= (statement ";")+
statement ::= name "=" sum | "if" " "+ sum "then" " "* statement | name "(" (sum ("," sum)*)? ")"
sum ::= product (("+" | "-") product)*
product ::= value (("*" | "/") value)*
value ::= name | number | "(" sum ")" | "'" [^'\\n]{0,20} "'"
name ::= [a-z]+
number ::= [0-9]{1,4} ("." [0-9]+)?
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "tags": {"type": "array", "uniqueItems": True},
    },
    "required": ["name"],
    "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "object"}]},
}
TABLES = {f"ta{a}": [f"na{b}" for b in LETTERS[:9]] + ["total"] for a in LETTERS[:12]}
CASES: dict[str, tuple[Any, bytes]] = {
    "sql": (lambda: sm.Grammar.bundled("sqlite"), b"SELECT ab, t.c FROM t WHERE"),
    "names": (lambda: sm.Grammar.from_sql("sqlite", schema=TABLES), b"SELECT taa.nab FROM taa WHERE t"),
    "lark": (lambda: sm.Grammar.from_lark(LARK), b'fn ab(c) -> t<v> { x = "y'),
    "ebnf": (lambda: sm.Grammar.from_ebnf(EBNF), b"ab=(1+c)*'x y'-2.5;f(a"),
    "schema": (lambda: sm.Grammar.from_json_schema(SCHEMA), b'{"name": "ab", "tags": ["z", 1], "xy": {"q": 1}'),
    "regex": (lambda: sm.Grammar.from_regex("(a|b[a-z]{2,9}c)+ ([^x]{0,30}y)*[0-9]"), b"abzzc q"),
}  # fmt: skip


def compiled_of(
    name: str, units: int | None, walk_units: int | None = None, **options: Any
) -> sm.CompiledGrammar:
    compiler = sm.Compiler(VOCABULARY, limits=sm.Limits(max_fill_work=units), **options)
    compiled = compiler.compile(CASES[name][0]())
    if walk_units is not None:
        compiled._automaton.store.masks.walk_units = walk_units
    return compiled


def steps_until_ready(
    matchers: list[Any], mask: Any, tokens: list[int | None] | None = None
) -> list[list[int]]:
    """Return who waits in each step, until none does."""
    result = sm.step(matchers, tokens or [None] * len(matchers), mask, forced=True)
    found = [result.waiting]
    while result.waiting:
        assert not result.errors and result.needed and result.only_tokens is not None
        for number in result.waiting:
            assert not mask[number].any() and result.only_tokens[number] == -1
        result = sm.step(matchers, [None] * len(matchers), mask, forced=True)
        found.append(result.waiting)
    assert not result.errors and all(result.accepted)
    return found


def masks_along(compiled: sm.CompiledGrammar, text: bytes) -> tuple[list[Any], list[list[list[int]]]]:
    """Return the mask at each place of a text, and who waited for it."""
    matcher, mask = compiled.matcher(), sm.allocate_token_bitmask(1, SIZE)
    masks, waited = [], []
    for token in (None, *text):
        waited.append(steps_until_ready([matcher], mask, [token]))
        masks.append(mask[0].copy())
    return masks, waited


@pytest.fixture(scope="module")
def whole() -> dict[str, list[Any]]:
    return {name: masks_along(compiled_of(name, None), text)[0] for name, (_, text) in CASES.items()}


@pytest.mark.parametrize("walk_units", [None, 0, 700, 1 << 50])
@pytest.mark.parametrize("units", [1, 7, 100, 333, 1000, 4000, 30_000])
@pytest.mark.parametrize("name", CASES)
def test_slices_have_the_same_bits(
    name: str, units: int, walk_units: int | None, whole: dict[str, list[Any]]
) -> None:
    text = CASES[name][1] if units > 50 else CASES[name][1][:3]
    compiled = compiled_of(name, units, walk_units)
    masks, waited = masks_along(compiled, text)
    for place, (found, expected) in enumerate(zip(masks, whole[name], strict=False)):
        assert np.array_equal(found, expected), text[:place]
    steps = sum(len(steps) - 1 for steps in waited)
    assert compiled.stats()["slices"] == steps and (steps or units > 100)


@pytest.mark.parametrize("units", [None, 7, 333, 4000])
@pytest.mark.parametrize("fill_bytes", [0, 100_000])
@pytest.mark.parametrize("name", CASES)
def test_fills_on_copies_have_the_same_bits(
    name: str, fill_bytes: int, units: int | None, whole: dict[str, list[Any]]
) -> None:
    """In a large family, fills work on copies of configurations, which are dropped from time to time."""
    text = CASES[name][1] if units is None or units > 50 else CASES[name][1][:3]
    compiled = compiled_of(name, units)
    compiled._automaton.store.masks.fill_bytes = fill_bytes
    masks, _ = masks_along(compiled, text)
    for place, (found, expected) in enumerate(zip(masks, whole[name], strict=False)):
        assert np.array_equal(found, expected), text[:place]


def test_a_deep_stack_is_not_copied_for_each_fill() -> None:
    """The space of the copies is dropped only when fills have made as much in it as the stack takes."""
    compiler = sm.Compiler(VOCABULARY)
    compiled = compiler.compile(sm.Grammar.from_ebnf('root ::= "(" root ")" | "[" root "]" | "1"'))
    masks = compiled._automaton.store.masks
    masks.fill_bytes = 0
    matcher, mask = compiled.matcher(), sm.allocate_token_bitmask(1, SIZE)
    spaces: list[Any] = []
    for byte in random.Random(1).choices(b"([", k=2000):
        matcher.fill_next_token_bitmask(mask)
        if not spaces or masks.fill_space is not spaces[-1]:
            spaces.append(masks.fill_space)
        assert matcher.accept_token(byte)
    assert 1 < len(spaces) < 30


def test_spaces_may_be_made_at_any_check_of_work() -> None:
    """A space that is made within a call counts as work, and must not let go of the interpreter's lock there."""
    compiler = sm.Compiler(sm.Vocabulary([*TOKENS[:256], None], stop_ids=[256]))
    compiled = compiler.compile(sm.Grammar.from_ebnf('root ::= "(" root ")" | "[" root "]" | "1"'))
    store = compiled._automaton.store
    store.masks.fill_bytes = 0
    store.masks.set_budget(0)  # each fill drops all masks, so it makes both spaces
    rng, mask = random.Random(1), sm.allocate_token_bitmask(2001, 257)
    for _ in range(12):
        assert all(compiled.matcher().fill_draft_bitmask(rng.choices(b"([", k=2000), mask=mask))
    assert store.counts()["drops"] > 5_000


def test_a_deep_stack_is_not_copied_for_each_fill_beside_a_shallow_one() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_ebnf('root ::= "(" root ")" | "[" root "]" | "1"')
    )
    masks = compiled._automaton.store.masks
    masks.fill_bytes = 10_000
    deep, shallow, mask = compiled.matcher(), compiled.matcher(), sm.allocate_token_bitmask(1, SIZE)
    assert deep.accept_string("(" * 2000) and shallow.accept_string("[")
    spaces: list[Any] = []
    for byte in random.Random(1).choices(b"([", k=100):
        for matcher in (shallow, deep):
            matcher.fill_next_token_bitmask(mask)
            if not spaces or masks.fill_space is not spaces[-1]:
                spaces.append(masks.fill_space)
            assert matcher.accept_token(byte)
    assert len(spaces) < 5


def test_requests_are_not_charged_for_copies() -> None:
    """What fills make on copies is dropped with these: they take no more than in the family itself."""
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_ebnf('root ::= "(" root ")" | "[" root "]" | "1"')
    )
    masks = compiled._automaton.store.masks
    mask = sm.allocate_token_bitmask(1, SIZE)
    charged = []
    for fill_bytes in (1 << 30, 0):
        masks.fill_bytes = fill_bytes
        matcher, taken = compiled.matcher(), 0
        for byte in random.Random(fill_bytes).choices(b"([", k=200):
            left = matcher.account.memory_left
            matcher.fill_next_token_bitmask(mask)
            taken += left - matcher.account.memory_left
            assert matcher.accept_token(byte)
        charged.append(taken)
    assert charged[1] <= charged[0] + 2_000  # of new spaces, empty ones


@needs_datapack
def test_slices_together_do_hardly_more_work() -> None:
    """A walk from thousands of places is continued, without collecting them again in each slice."""
    folder = datapack()
    assert folder is not None
    _, vocabulary = load_tokenizer("llama3-128k")
    grammar = sm.Grammar.from_lark((folder / "grammars" / "syncode" / "go.lark").read_text())
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    work = []
    for units in (None, 5_000):
        matcher = sm.Compiler(vocabulary, limits=sm.Limits(max_fill_work=units)).compile(grammar).matcher()
        assert matcher.accept_string("package main\nvar")
        left = matcher.account.left
        steps_until_ready([matcher], mask)
        work.append(left - matcher.account.left)
    assert work[0] > 100_000 and work[1] < 2 * work[0]


@pytest.mark.parametrize("name", CASES)
def test_who_waits_is_decided_by_work_alone(name: str) -> None:
    found = []
    for _ in range(2):
        compiled = compiled_of(name, 60)
        matchers = [compiled.matcher() for _ in range(3)]
        mask = sm.allocate_token_bitmask(3, SIZE)
        texts = [CASES[name][1][:length] for length in (2, 4, 6)]
        for matcher, text in zip(matchers, texts, strict=True):
            assert all(map(matcher.accept_token, text))
        found.append(steps_until_ready(matchers, mask))
    assert found[0] == found[1] and len(found[0]) > 2


def test_the_longest_waiting_row_comes_first() -> None:
    compiled = compiled_of("sql", 50)
    first, second = compiled.matcher(), compiled.matcher()
    assert all(map(second.accept_token, b"SELECT"))
    mask = sm.allocate_token_bitmask(2, SIZE)
    assert sm.step([second], [None], mask).waiting == [0]
    left = first.account.left
    while 1 in sm.step([first, second], [None, None], mask).waiting:
        assert first.account.left == left
    steps_until_ready([first, second], mask)
    assert first.account.left < left


def test_seen_places_do_not_wait_for_others() -> None:
    compiled = compiled_of("sql", 1)
    seen, late = compiled.matcher(), compiled.matcher()
    while not seen.prepare():
        pass
    assert all(map(late.accept_token, b"SELECT a FROM "))
    mask = sm.allocate_token_bitmask(3, SIZE)
    ended = compiled.matcher()
    assert all(map(ended.accept_token, b"SELECT 1"))
    assert ended.accept_token(EOS)
    assert sm.step([late, seen, ended], [None, None, None], mask).waiting == [0]
    assert mask[1].any()


@pytest.mark.parametrize("move", ["fork", "rollback", "reset", "fill", "explain", "whole"])
def test_a_row_that_waits_may_go_elsewhere(move: str, whole: dict[str, list[Any]]) -> None:
    """Whatever is done with its matcher, or with another one of the store, masks are exact."""
    name, text = "lark", CASES["lark"][1]
    compiled = compiled_of(name, 20)
    matcher, mask, place = compiled.matcher(), sm.allocate_token_bitmask(2, SIZE), 5
    assert all(map(matcher.accept_token, text[:place]))
    for _ in range(3):
        assert sm.step([matcher], [None], mask).waiting == [0]
    if move == "fork":
        fork = matcher.fork()
        steps_until_ready([fork, matcher], mask)
        assert np.array_equal(mask[0], mask[1])
    elif move == "rollback":
        matcher.rollback(2)
        place = 3
    elif move == "reset":
        matcher.reset()
        place = 0
    elif move == "fill":
        matcher.fill_next_token_bitmask(mask)
        assert not sm.step([matcher], [None], mask).waiting
    elif move == "explain":
        matcher.explain()
    else:
        other = compiled.matcher()
        for byte, expected in zip(text, whole[name], strict=False):
            other.fill_next_token_bitmask(mask)
            assert np.array_equal(mask[0], expected)
            assert other.accept_token(byte)
    steps_until_ready([matcher], mask)
    assert np.array_equal(mask[0], whole[name][place])


@pytest.mark.parametrize("cache_bytes", [1, 1 << 17])
def test_masks_that_are_dropped_between_slices_come_again(
    cache_bytes: int, whole: dict[str, list[Any]]
) -> None:
    compiled = compiled_of("ebnf", 300, cache_bytes=cache_bytes)
    text = CASES["ebnf"][1]
    late, other = compiled.matcher(), compiled.matcher()
    assert all(map(late.accept_token, text[:4]))
    mask, row = sm.allocate_token_bitmask(1, SIZE), sm.allocate_token_bitmask(1, SIZE)
    places = itertools.cycle(range(len(text)))
    while sm.step([late], [None], mask).waiting:
        place = next(places)
        other.reset()
        assert all(map(other.accept_token, text[:place]))
        other.fill_next_token_bitmask(row)
        assert np.array_equal(row[0], whole["ebnf"][place])
    assert np.array_equal(mask[0], whole["ebnf"][4])


def matcher_after(compiled: sm.CompiledGrammar, text: bytes) -> sm.Matcher:
    matcher = compiled.matcher()
    assert all(map(matcher.accept_token, text))
    return matcher


def test_rows_of_dropped_masks_are_not_used_again(whole: dict[str, list[Any]]) -> None:
    """A walk that was cut before all masks were dropped had a row, whose number another mask has now."""
    rng = random.Random(1)
    text = CASES["lark"][1]
    mask, row = sm.allocate_token_bitmask(1, SIZE), sm.allocate_token_bitmask(1, SIZE)
    tried = 0
    while tried < 20:
        late, between, other = rng.sample([11, 12, 13, 14, 15, 22, 23], 3)
        compiled = compiled_of("lark", 400, 1 << 50)
        engine = compiled._automaton.store.masks
        waiting = matcher_after(compiled, text[:late])
        for _ in range(rng.randint(1, 7)):
            sm.step([waiting], [None], mask)
        engine.set_budget(0)
        matcher_after(compiled, text[:between]).fill_next_token_bitmask(row)
        engine.set_budget(1 << 28)
        for _ in range(rng.randint(1, 7)):
            still = sm.step([waiting], [None], mask).waiting
        if not still:
            continue
        tried += 1
        matcher_after(compiled, text[:other]).fill_next_token_bitmask(row)
        assert np.array_equal(row[0], whole["lark"][other])
        while sm.step([waiting], [None], mask).waiting:
            pass
        assert np.array_equal(mask[0], whole["lark"][late])
        for place, expected in enumerate(whole["lark"]):
            matcher_after(compiled, text[:place]).fill_next_token_bitmask(row)
            assert np.array_equal(row[0], expected)


def test_an_error_of_another_request_does_not_change_a_mask() -> None:
    text = b'{"name": "ab", "tags": ["a", "b",'
    row, mask = sm.allocate_token_bitmask(1, SIZE), sm.allocate_token_bitmask(1, SIZE)
    matcher_after(compiled_of("schema", None), text).fill_next_token_bitmask(row)
    errors = 0
    for slices in itertools.count(1):
        compiler = sm.Compiler(VOCABULARY, limits=sm.Limits(max_fill_work=100))
        compiled, broken = (compiler.compile(CASES[name][0]()) for name in ("schema", "lark"))
        assert broken._automaton.store is compiled._automaton.store
        compiled._automaton.store.masks.walk_units = 0
        late = matcher_after(compiled, text)
        if not [sm.step([late], [None], mask).waiting for _ in range(slices)][-1]:
            break
        other = matcher_after(broken, b"fn ab")
        other.account.grant(1_000 - other.account.left)
        try:
            other.fill_next_token_bitmask(sm.allocate_token_bitmask(1, SIZE))
        except sm.BudgetError:
            errors += 1
        while sm.step([late], [None], mask).waiting:
            pass
        assert np.array_equal(mask, row)
    assert errors


def test_the_limit_holds_for_matchers_of_several_compilers() -> None:
    compilers = [compiled_of("sql", 2_000) for _ in range(2)]
    batch = [matcher_after(compilers[i % 2], CASES["sql"][1][: 7 + i // 2]) for i in range(32)]
    left = sum(matcher.account.left for matcher in batch)
    result = sm.step(batch, [None] * 32, sm.allocate_token_bitmask(32, SIZE))
    assert len(result.waiting) == 32
    assert left - sum(matcher.account.left for matcher in batch) < 10_000
    assert sum(compiled.stats()["slices"] for compiled in compilers) == 1


def test_work_beside_steps_is_done_by_a_thread(whole: dict[str, list[Any]]) -> None:
    compiled = compiled_of("sql", 200)
    late, other = compiled.matcher(), compiled.matcher()
    assert all(map(late.accept_token, b"SELECT "))
    mask = sm.allocate_token_bitmask(2, SIZE)
    steps_until_ready([other], mask)
    assert sm.step([other, late], [None, None], mask).waiting == [1]
    assert not late.prepare(1)
    thread = threading.Thread(target=late.prepare)
    thread.start()
    while thread.is_alive():
        assert not sm.step([other], [None], mask).waiting
        assert np.array_equal(mask[0], whole["sql"][0])
    assert not sm.step([other, late], [None, None], mask).waiting
    assert np.array_equal(mask[1], whole["sql"][7]) and late.prepare(1)


def test_work_counts_on_the_account_of_its_request() -> None:
    compiled = compiled_of("sql", 300)
    late, other = compiled.matcher(), compiled.matcher()
    mask = sm.allocate_token_bitmask(2, SIZE)
    left, others = late.account.left, other.account.left
    steps_until_ready([late], mask)
    spent = left - late.account.left
    assert spent > 1000 and other.account.left == others
    late = compiled_of("sql", 300).matcher()
    left = late.account.left
    late.prepare()
    assert abs(left - late.account.left - spent) < spent / 4


@pytest.mark.parametrize("units", [1, 50, 3000])
def test_a_cancelled_row_ends_alone(units: int) -> None:
    compiled = compiled_of("sql", units)
    late, other = compiled.matcher(), compiled.matcher()
    assert all(map(other.accept_token, b"SELECT "))
    mask = sm.allocate_token_bitmask(2, SIZE)
    assert sm.step([late, other], [None, None], mask).waiting
    late.cancel()
    result = sm.step([late, other], [None, None], mask)
    assert list(result.errors) == [0] and result.waiting == [1] and not mask[0].any()
    assert isinstance(result.errors[0], sm.CancelledError)
    assert "for matcher 0" in "".join(result.errors[0].__notes__)
    with pytest.raises(sm.CancelledError):
        late.prepare()
    steps_until_ready([other], mask)


def test_a_request_without_work_left_ends_alone() -> None:
    compiler = sm.Compiler(VOCABULARY, limits=sm.Limits(max_fill_work=2000, max_work=60_000_000))
    compiled = compiler.compile(CASES["sql"][0]())
    late, other = compiled.matcher(), compiled.matcher()
    late.account.hold(0)
    assert all(map(late.accept_token, b"SELECT "))
    mask = sm.allocate_token_bitmask(2, SIZE)
    while late.account.left > 0 and sm.step([late], [None], mask).waiting:
        pass
    steps_until_ready([other], mask)


@pytest.mark.parametrize("units", [0, -1, True, 1.5, "5"])
def test_a_slice_is_a_number_above_0(units: Any) -> None:
    with pytest.raises(ArgumentError, match="max_fill_work"):
        sm.Limits(max_fill_work=units)


def test_without_the_limit_no_row_waits() -> None:
    compiled = compiled_of("sql", None)
    mask = sm.allocate_token_bitmask(1, SIZE)
    assert sm.step([compiled.matcher()], [None], mask).waiting == [] and compiled.stats()["slices"] == 0
