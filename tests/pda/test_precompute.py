"""Masks made ahead of time: those made lazily, none left to make, within what may be used for it."""

from __future__ import annotations

import json
import random
import signal
import sys
import threading
import time
from functools import cache
from typing import Any

import pytest
from exactness.test_objects import STYLES, random_object, rules_of
from exactness.walks import engine_mask

import stackmask as sm

OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "near": {"type": "array", "items": {"enum": ["up", "no", 1]}, "maxItems": 3},
        "next": {"$ref": "#"},
        "q": {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 2},
        "any": True,
    },
    "required": ["near"],
}
VALUES: list[Any] = [
    {"near": []},
    {"name": 'a\n"é', "near": ["up", 1], "next": {"near": ["no"], "own": [1, {"a": "b"}]}},
    {"near": [1], "q": {"na": True, "ne": False}, "any": {"x": [None], "near": "x"}, "other": 1.5e3},
]
GRAMMARS = {
    "recursion": ('root ::= "[" (root ("," root)*)? "]" | [a-z]{1,4} | "up" root', b"[up[],[abc,up[no]],up]"),
    "restrictions": (
        'root ::= (word " "?)+ !>>[a-z]\nword ::= [a-z]+ !>>[a-z] | "(" root ")"',
        b"ab (no up) q",
    ),
    "conjunctions": (
        'root ::= "(" name ")" root?\nname ::= [a-q]{1,5} & !("no" | "na" [a-z]*)',
        b"(qp)(nob)(abc)",
    ),
    "tokens": ('root ::= ("no" | <|tool|> "{" [a-z]* "}")+', b"nono"),
    "tags": ('root ::= @scope("<" @push([a-q]+) ">" (root | [a-q])* "</" @top ">")', b"<na><q>ab</q>n</na>"),
}


@cache
def vocabulary() -> sm.Vocabulary:
    rng = random.Random(3)
    words = {
        '"near":',
        '{"near"',
        "[],",
        '],"',
        '":',
        '", "',
        '":{"',
        "up",
        "no",
        "na",
        '"na',
        ">(",
        "))",
        "</",
        "</n",
    }
    while len(words) < 600:
        words.add("".join(rng.choices('naqup1 ,:"}]{[<>()/\\', k=rng.randint(2, 5))))
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens += [None, None, *(word.encode() for word in sorted(words))]
    return sm.Vocabulary(tokens, stop_ids=[256], special_names={"<|tool|>": 257})


def schema_grammar(order: str = "schema") -> sm.Grammar:
    return sm.Grammar.from_json_schema(OBJECT, property_order=order)


def compare(one: sm.CompiledGrammar, two: sm.CompiledGrammar, text: bytes) -> None:
    """Check that masks along a text are equal."""
    first, second = one.matcher(), two.matcher()
    size = vocabulary().size
    for byte in text:
        assert engine_mask(first, size) == engine_mask(second, size)
        assert first.accept_string(bytes([byte])) and second.accept_string(bytes([byte]))
    assert engine_mask(first, size) == engine_mask(second, size)


def walks_of(compiled: sm.CompiledGrammar) -> int:
    stats = compiled.stats()
    return stats["walks"] + stats["word_walks"]


@pytest.mark.parametrize("order", ["schema", "any"])
def test_texts_of_a_schema_need_no_walk(order: str) -> None:
    lazy = sm.Compiler(vocabulary()).compile(schema_grammar(order))
    eager = sm.Compiler(vocabulary()).compile(schema_grammar(order))
    done = eager.precompute()
    assert done["walks"] > 0 and done["states"] > 100 and done["passes"] > 1
    before = walks_of(eager)
    for value in VALUES:
        compare(eager, lazy, json.dumps(value, ensure_ascii=False).encode())
    assert walks_of(eager) == before


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_those_made_lazily(name: str) -> None:
    grammar = sm.Grammar.from_ebnf(GRAMMARS[name][0])
    lazy, eager = sm.Compiler(vocabulary()).compile(grammar), sm.Compiler(vocabulary()).compile(grammar)
    done = eager.precompute()
    before = walks_of(eager)
    compare(eager, lazy, GRAMMARS[name][1])
    if name == "tags":
        # the end tag is known only once the start tag is written
        assert (done["complete"], done["stopped"]) == (False, "text")
    else:
        assert (done["complete"], done["stopped"]) == (True, None)
        assert walks_of(eager) == before


@pytest.mark.parametrize("seed", range(12))
def test_random_objects(seed: int) -> None:
    rng = random.Random(seed)
    grammar = sm.Grammar(rules_of(random_object(rng), rng.choice(STYLES)))
    lazy, eager = sm.Compiler(vocabulary()).compile(grammar), sm.Compiler(vocabulary()).compile(grammar)
    done = eager.precompute()
    before = walks_of(eager)
    size = vocabulary().size
    for _ in range(4):
        one, two = lazy.matcher(), eager.matcher()
        for _ in range(25):
            allowed = engine_mask(one, size)
            assert engine_mask(two, size) == allowed
            token = rng.choice(sorted(allowed))
            assert one.accept_token(token) and two.accept_token(token)
            if one.is_terminated():
                break
    if done["complete"]:
        assert walks_of(eager) == before


def test_a_second_time_makes_nothing() -> None:
    compiler = sm.Compiler(vocabulary())
    compiled = compiler.compile(schema_grammar())
    compare(compiled, sm.Compiler(vocabulary()).compile(schema_grammar()), json.dumps(VALUES[1]).encode())
    assert compiled.precompute()["walks"] > 0
    assert compiled.precompute()["walks"] == 0
    # nor does an equal grammar that comes after the first was dropped
    del compiled
    assert compiler.compile(schema_grammar()).precompute()["walks"] == 0
    # and rules that are shared are shared here too
    other = compiler.compile(sm.Grammar.from_json_schema({**OBJECT, "required": ["near", "any"]}))
    assert (
        0
        < other.precompute()["walks"]
        < sm.Compiler(vocabulary()).compile(other.grammar).precompute()["walks"]
    )


def test_a_budget_is_kept_to() -> None:
    lazy = sm.Compiler(vocabulary()).compile(schema_grammar())
    for budget in (0, 1, 10, 100):
        eager = sm.Compiler(vocabulary()).compile(schema_grammar())
        done = eager.precompute(budget)
        assert (done["complete"], done["stopped"]) == (False, "budget")
        assert done["walks"] <= budget + 20
        compare(eager, lazy, json.dumps(VALUES[2]).encode())


def test_a_small_cache_is_not_overfilled() -> None:
    text = json.dumps(VALUES[1]).encode()
    lazy = sm.Compiler(vocabulary()).compile(schema_grammar())
    for cache_bytes in (1 << 16, 1 << 20, 1 << 22):
        eager = sm.Compiler(vocabulary(), cache_bytes=cache_bytes).compile(schema_grammar())
        drops = eager.stats()["drops"]
        done = eager.precompute()
        assert eager.stats()["drops"] == drops
        assert done["complete"] == (done["stopped"] is None)
        if cache_bytes < 1 << 20:
            assert done["stopped"] == "cache_bytes"
        compare(eager, lazy, text)


def test_a_limit_that_is_met_is_named() -> None:
    compiler = sm.Compiler(vocabulary(), limits=sm.Limits(max_configurations=100))
    done = compiler.compile(schema_grammar()).precompute()
    assert (done["complete"], done["stopped"]) == (False, "max_configurations")


def test_optional_properties_in_their_order_are_few_states() -> None:
    def states(count: int) -> int:
        properties = {f"p{n}": {"type": "integer"} for n in range(count)}
        schema = {"type": "object", "properties": properties, "additionalProperties": {"type": "null"}}
        done = sm.Compiler(vocabulary()).compile(sm.Grammar.from_json_schema(schema)).precompute()
        assert done["complete"]
        return int(done["states"])

    # not twice as many for each property
    assert states(24) < 5 * states(12)


def test_chains_of_calls_at_the_end() -> None:
    # each rule is returned from to where all before it are: a thousand callers for the last, half a million edges
    rules = [f'r{n} ::= "a" r{n + 1} | "x" r{n + 1} "y{n}"' for n in range(1000)]
    grammar = sm.Grammar.from_ebnf("\n".join(["root ::= r0", *rules, 'r1000 ::= "b"']))
    few = sm.Compiler(vocabulary()).compile(grammar).precompute(5000)
    assert (few["complete"], few["stopped"]) == (False, "budget")
    eager, lazy = sm.Compiler(vocabulary()).compile(grammar), sm.Compiler(vocabulary()).compile(grammar)
    done = eager.precompute()
    # 999 walks and 2,218 visits in two passes; an edge for each pair of callers would be half a million
    assert done["complete"]
    assert done["walks"] < 2_000 and done["visits"] < 10_000
    compare(eager, lazy, b"axa" * 20)


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself")
def test_control_c_ends_it() -> None:
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"maxLength": 5000, "type": "string"} for n in range(40)},
    }
    compiled = sm.Compiler(vocabulary()).compile(sm.Grammar.from_json_schema(schema))
    before = compiled.stats()["masks"]

    def interrupt() -> None:
        # other threads get their turn between slices: once masks were made, it is in the middle of its work
        while compiled.stats()["masks"] == before:
            time.sleep(0)
        signal.raise_signal(signal.SIGINT)

    # a shell that starts this in the background has it ignore Ctrl-C
    before_this = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            compiled.precompute(budget=1 << 60)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before_this)
    lazy = sm.Compiler(vocabulary()).compile(sm.Grammar.from_json_schema(schema))
    compare(compiled, lazy, b'{"p3": "up", "p7": "na\\n"}')


def test_other_threads_go_on_meanwhile() -> None:
    compiler = sm.Compiler(vocabulary())
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"maxLength": 400, "type": "string"} for n in range(10)},
    }
    long = compiler.compile(sm.Grammar.from_json_schema(schema))
    short = compiler.compile(schema_grammar())
    lazy = sm.Compiler(vocabulary()).compile(schema_grammar())
    results: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda: results.append(long.precompute(100_000))) for _ in range(2)]
    for thread in threads:
        thread.start()
    during = 0
    while any(thread.is_alive() for thread in threads):
        compare(short, lazy, json.dumps(VALUES[during % 3], ensure_ascii=False).encode())
        during += 1
    for thread in threads:
        thread.join()
    assert [done["complete"] for done in results] == [True, True]
    assert during > 1
    assert long.precompute()["walks"] == 0
