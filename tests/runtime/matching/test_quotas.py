"""Memory is counted for each request: nobody is refused for what a neighbour holds, and live requests go on."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stackmask as sm
from stackmask.pda.errors import BudgetError
from stackmask.runtime.matching import compiler as compiling


def letters() -> sm.Vocabulary:
    tokens = [bytes([i]) for i in range(256)]
    return sm.Vocabulary([*tokens, b""], stop_ids=[len(tokens)])


def net(number: int, size: int = 6) -> sm.Grammar:
    """Return a grammar whose states are sets of places, and nearly each letter leads to another one.

    It shares no states with grammars of other numbers.
    """
    z = chr(0x100 + number)
    rules = [f"root ::= r0 root | r0 | [{z}]"]
    for i in range(size):
        ends = (
            f"[ab{z}] r{(7 * i + 1) % size} | [a] r{(3 * i + 2) % size} | r{(5 * i + 3) % size} [b{z}] | [ab]"
        )
        rules.append(f"r{i} ::= {ends}")
    return sm.Grammar.from_ebnf("\n".join(rules))


def texts(seed: int, size: int) -> bytes:
    return bytes(np.random.default_rng(seed).choice([97, 98], size).astype(np.uint8))


def follow(matcher: sm.Matcher, text: bytes) -> int:
    """Return how many letters were accepted before a limit was met."""
    mask = sm.allocate_token_bitmask(1, 257)
    for number, letter in enumerate(text):
        try:
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_token(letter)
        except BudgetError as error:
            assert error.limit in {"max_memory", "max_terms"}
            return number
    return len(text)


@pytest.mark.parametrize("limit", ["max_memory", "max_terms"])
def test_a_request_pays_for_its_own_states(limit: str) -> None:
    vocabulary = letters()
    text = texts(1, 60)
    alone = sm.Compiler(vocabulary).compile(net(0)).matcher()
    assert follow(alone, text) == 60
    account = alone.account
    used = account.memory - account.memory_left if limit == "max_memory" else alone.compiled.stats()["terms"]
    compiler = sm.Compiler(vocabulary, limits=sm.Limits(**{limit: used + 1024 * (limit == "max_memory")}))
    # each needs about as much as one may have; before, the second one was refused
    for number in range(4):
        assert follow(compiler.compile(net(number)).matcher(), text) == 60


def test_who_holds_too_much_is_refused_by_name_and_others_go_on() -> None:
    vocabulary = letters()
    free = sm.Compiler(vocabulary).compile(net(1)).matcher()
    compiler = sm.Compiler(vocabulary, limits=sm.Limits(max_memory=200_000))
    greedy, honest = compiler.compile(net(0)).matcher(), compiler.compile(net(1)).matcher()
    mask, right = (sm.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
    done = follow(greedy, texts(2, 200))
    assert done < 200
    with pytest.raises(
        BudgetError, match=r"bytes of states of one request: more than 200,000 \(max_memory\)"
    ):
        for letter in texts(2, 200)[done:]:
            greedy.fill_next_token_bitmask(mask)
            greedy.accept_token(letter)
    for letter in texts(3, 40):
        free.fill_next_token_bitmask(right)
        honest.fill_next_token_bitmask(mask)
        assert np.array_equal(mask, right)
        assert free.accept_token(letter)
        assert honest.accept_token(letter)


def test_a_request_goes_on_with_more_memory() -> None:
    vocabulary = letters()
    free = sm.Compiler(vocabulary).compile(net(0)).matcher()
    held = sm.Compiler(vocabulary, limits=sm.Limits(max_memory=100_000)).compile(net(0)).matcher()
    mask, right = (sm.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
    refused = 0
    for letter in texts(2, 150):
        free.fill_next_token_bitmask(right)
        free.accept_token(letter)
        while True:
            try:
                held.fill_next_token_bitmask(mask)
                assert held.accept_token(letter)
                break
            except BudgetError:
                refused += 1
                held.account.grant_memory(20_000)
        assert np.array_equal(mask, right)
    assert refused


def test_a_text_gives_memory_back() -> None:
    matcher = sm.Compiler(letters()).compile(sm.Grammar.json()).matcher()
    assert follow(matcher, b'{"a": [1, 2, {"b": "c"}]}' * 1) == 25
    account = matcher.account
    before = account.memory_left
    matcher.reset()
    assert follow(matcher, b'{"a": [1, 2, {"b": "c"}]}') == 25
    # all states are known, and each token gives something back
    assert account.memory_left == min(account.memory, before + 25 * 1024)
    assert matcher.fork().account is account


def test_live_requests_that_hold_all_memory_keep_new_ones_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LEAST_HELD", 1)
    monkeypatch.setattr(compiling, "WEIGHED", 1)
    vocabulary = letters()
    text = texts(4, 50)
    compiler = sm.Compiler(vocabulary, cache_bytes=3_000_000)
    live: list[sm.Matcher] = []
    with pytest.raises(
        BudgetError, match=r"live requests of this compiler hold.*cache_bytes.*let some end"
    ) as caught:
        for number in range(1000):
            matcher = compiler.compile(net(number)).matcher()
            live.append(matcher)
            assert follow(matcher, text) == 50
    assert caught.value.limit == "cache_bytes"
    assert len(live) < 1000
    stats = compiler.stats()
    assert stats["bytes"] > 3_000_000
    assert len(stats["stores"]) >= 1
    # who lives goes on
    for matcher in live:
        assert follow(matcher, texts(5, 30)) == 30
    live.clear()
    del matcher, caught
    assert follow(compiler.compile(net(2000)).matcher(), text) == 50


def test_masks_make_room_for_live_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LEAST_HELD", 1)
    monkeypatch.setattr(compiling, "WEIGHED", 1)
    # nothing but masks and what may come again fills the cache, so nothing has to be forgotten or collected
    monkeypatch.setattr(compiling.Lane, "forget", None)
    monkeypatch.setattr(compiling.gc, "collect", None)
    compiler = sm.Compiler(letters(), cache_bytes=3_000_000)
    live = compiler.compile(net(0)).matcher()
    assert follow(live, texts(4, 50)) == 50
    for number in range(1, 40):
        assert follow(compiler.compile(net(number)).matcher(), texts(number, 50)) == 50
        held = compiler.stats()["bytes"]
        assert held < 1.4 * 3_000_000  # families are weighed when several are new
    assert follow(live, texts(5, 50)) == 50


def test_a_store_that_nobody_uses_is_gone_at_once() -> None:
    compiler = sm.Compiler(letters(), cache_bytes=120_000)
    gc.collect()
    gc.disable()
    try:
        for number in range(8):
            assert follow(compiler.compile(net(number)).matcher(), texts(number, 50)) == 50
        assert compiler._generation > 3
        assert len(compiler.stats()["stores"]) == 1
        # nor does a thread at rest keep the store that it went to last
        compiler = sm.Compiler(letters(), cache_bytes=200_000)
        compiled = compiler.compile(net(0))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(compiler.compile, net(9)).result()
            for number in range(1, 8):
                assert follow(compiler.compile(net(number)).matcher(), texts(number, 50)) == 50
            assert len(compiler.stats()["stores"]) == 1
        assert follow(compiled.matcher(), texts(0, 50)) == 50
    finally:
        gc.enable()


def test_statistics_say_who_holds_memory() -> None:
    compiler = sm.Compiler(letters())
    compiled = compiler.compile(net(0))
    matcher = compiled.matcher()
    follow(matcher, texts(6, 50))
    stats = compiler.stats()
    (store,) = stats["stores"]
    assert stats["cache_bytes"] == compiler.cache_bytes
    assert stats["bytes"] == sum(store["bytes"].values())
    assert store["families"] == store["grammars"] == 1
    assert not store["full"]
    assert store["bytes"]["families"] == compiled.stats()["family_bytes"] > 0
    assert compiled.stats()["compile_memory"] > 0
    assert compiled.stats()["compile_work"] > 0


@pytest.mark.campaign
def test_one_request_that_held_more_than_the_cache_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LEAST_HELD", 1)
    compiler = sm.Compiler(letters(), cache_bytes=300_000)
    tags = sm.Grammar.from_ebnf('root ::= "<" @push([ab]+) ">" root* "</" @top ">"')
    for number in range(3):
        # each text that is captured is a semantic state, and these belong to the store
        greedy = compiler.compile(tags).matcher()
        for opened in range(30):
            assert follow(greedy, b"<%s>" % texts(100 * number + opened, 50)) == 52
        for other in range(2):
            with pytest.raises(BudgetError, match="live requests"):
                compiler.compile(net(other))
        assert follow(greedy, b"<ab>") == 4  # it still goes on
        del greedy
        gc.collect()
        for other in range(2):
            # and others come once it has ended
            assert follow(compiler.compile(net(other)).matcher(), b"ab") == 2


def test_a_live_request_waits_for_its_store_where_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LEAST_HELD", 1)
    monkeypatch.setattr(compiling, "WEIGHED", 1)
    compiler = sm.Compiler(letters(), cache_bytes=3_000_000)
    live = [compiler.compile(net(0)).matcher()]
    with pytest.raises(BudgetError, match="live requests"):
        for number in range(1, 1000):
            live.append(compiler.compile(net(number)).matcher())
            follow(live[-1], texts(4, 50))
    (store,) = compiler._lanes.stores()
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock:
            taken.set()
            done.wait(0.1)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    # it would move to another store, which is not made while memory is full
    assert live[0].accept_token(ord("a"))
    done.set()
    holder.join()
