"""Rules that a store knows: grammars that share the objects of rules, where names mean other rules each time."""

from __future__ import annotations

import gc
import random
import sys

import numpy as np
import pytest

import stackmask as sm
from stackmask.grammar import ir

TOKENS = [*[bytes([b]) for b in range(256)], None, b"ab", b"bc", b"ca", b"abc", b"[a", b"a]", b"]]"]
STOP = 256
NAMES = ("root", "x", "y", "z")


def vocabulary() -> sm.Vocabulary:
    return sm.Vocabulary(TOKENS, stop_ids=[STOP])


def some_body(rng: random.Random) -> ir.Expr:
    """Return a body that begins with a letter, so that no rule calls itself first, and that can end."""
    parts: list[ir.Expr] = [ir.Literal(rng.choice((b"a", b"b", b"c")))]
    for _ in range(rng.randint(1, 2)):
        ref: ir.Expr = ir.RuleRef(rng.choice(NAMES))
        if rng.random() < 0.4:  # a rule without a name
            ref = ir.Scope(ir.Sequence((ir.Literal(b"["), ref, ir.Literal(b"]"))))
        parts.append(ref)
    return ir.Choice((ir.Literal(rng.choice((b"a", b"b", b"c", b"ab"))), ir.Sequence(tuple(parts))))


def follow(compiled: sm.CompiledGrammar, seed: int) -> list[bytes]:
    """Return the masks of a random walk."""
    rng = random.Random(seed)
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, len(TOKENS))
    masks = []
    for _ in range(12):
        matcher.fill_next_token_bitmask(mask)
        masks.append(mask.tobytes())
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(TOKENS)]
        ids = [int(i) for i in np.flatnonzero(bits) if i != STOP]
        if not ids:
            break
        assert matcher.accept_token(rng.choice(ids))
    return masks


def test_rules_that_call_each_other_are_known_only_if_they_call_alike() -> None:
    compiler = sm.Compiler(vocabulary())
    rest = 's ::= "p" root | "q" s'
    one = compiler.compile(sm.Grammar.from_ebnf(f'root ::= "x" root | "y" s | "1"\n{rest}'))
    other = compiler.compile(sm.Grammar.from_ebnf(f'root ::= "x" s | "y" root | "1"\n{rest}'))
    assert one.matcher().accept_string("xxyqp1")
    assert not one.matcher().accept_string("y1")
    assert other.matcher().accept_string("yyxqp1")
    assert not other.matcher().accept_string("x1")


@pytest.mark.parametrize("seed", range(80))
def test_a_rule_is_known_only_where_what_it_calls_is_the_same(seed: int) -> None:
    rng = random.Random(seed)
    pool = {name: [some_body(rng) for _ in range(2)] for name in NAMES}
    shared = sm.Compiler(vocabulary())
    for turn in range(12):
        rules = ir.RuleSet({name: ir.Rule(name, rng.choice(pool[name])) for name in NAMES}, "root")
        grammar = sm.Grammar(rules, normalized=rules)
        alone = sm.Compiler(vocabulary()).compile(grammar)
        for _ in range(rng.randint(1, 2)):
            assert follow(shared.compile(grammar), turn) == follow(alone, turn)


def test_the_same_rule_over_other_rules_is_another_one() -> None:
    outer = ir.Sequence((ir.Literal(b"p"), ir.RuleRef("x")))
    inner = ir.Sequence((ir.Literal(b"["), ir.RuleRef("y"), ir.Literal(b"]")))
    ends = [ir.Literal(b"1"), ir.Literal(b"2")]
    compiler = sm.Compiler(vocabulary())

    def grammar(start: str, end: ir.Expr) -> sm.Grammar:
        bodies = {"root": outer, "x": inner, "y": end}
        if start == "x":
            del bodies["root"]
        rules = ir.RuleSet({name: ir.Rule(name, body) for name, body in bodies.items()}, start)
        return sm.Grammar(rules, normalized=rules)

    for start, end in (("root", 0), ("x", 1), ("root", 1), ("root", 0), ("x", 0), ("root", 1)):
        matcher = compiler.compile(grammar(start, ends[end])).matcher()
        text = f"{'p' if start == 'root' else ''}[{end + 1}]"
        assert matcher.accept_string(text), (start, end)
        assert matcher.is_accepting()


@pytest.mark.parametrize("seed", range(40))
def test_rules_that_several_compilers_know(seed: int) -> None:
    """The newest compiler's rows are kept in the bodies, those of older ones by their addresses."""
    rng = random.Random(seed)
    pool = {name: [some_body(rng) for _ in range(2)] for name in NAMES}
    compilers = [sm.Compiler(vocabulary()) for _ in range(3)]
    for turn in range(8):
        rules = ir.RuleSet({name: ir.Rule(name, rng.choice(pool[name])) for name in NAMES}, "root")
        grammar = sm.Grammar(rules, normalized=rules)
        masks = [follow(compiler.compile(grammar), turn) for compiler in rng.sample(compilers, 2)]
        assert masks[0] == masks[1] == follow(sm.Compiler(vocabulary()).compile(grammar), turn)
        if turn % 3 == 2:  # bodies that are gone, and others in their places
            name = rng.choice(NAMES)
            del rules, grammar
            pool[name] = [some_body(rng) for _ in range(2)]


def test_nothing_is_held_of_a_grammar_that_is_gone() -> None:
    compiler = sm.Compiler(vocabulary())
    body = some_body(random.Random(5))
    rules = ir.RuleSet(
        {"root": ir.Rule("root", body), **{n: ir.Rule(n, ir.Literal(b"x")) for n in "xyz"}}, "root"
    )
    grammar = sm.Grammar(rules, normalized=rules)
    before = sys.getrefcount(body)
    compiled = compiler.compile(grammar)
    assert follow(compiled, 0)
    del compiled
    gc.collect()
    assert sys.getrefcount(body) == before


def test_more_rules_than_are_remembered() -> None:
    compiler = sm.Compiler(vocabulary())
    small = ir.RuleSet(
        {
            "root": ir.Rule("root", ir.Sequence((ir.Literal(b"a"), ir.RuleRef("x")))),
            "x": ir.Rule(
                "x", ir.Choice((ir.Literal(b"b"), ir.Sequence((ir.Literal(b"c"), ir.RuleRef("root")))))
            ),
        },
        "root",
    )
    count = 20_002
    many = {
        f"r{i}": ir.Rule(f"r{i}", ir.Sequence((ir.Literal(b"a"), ir.RuleRef(f"r{i + 1}"))))
        for i in range(count)
    }
    many[f"r{count}"] = ir.Rule(f"r{count}", ir.Literal(b"b"))
    large = ir.RuleSet(many, "r0")
    first = follow(compiler.compile(sm.Grammar(small, normalized=small)), 1)
    for _ in range(2):
        compiler.compile(sm.Grammar(large, normalized=large))
        assert follow(compiler.compile(sm.Grammar(small, normalized=small)), 1) == first


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_rules_means_nothing(seed: int) -> None:
    rng = random.Random(seed)
    bodies = {name: some_body(rng) for name in NAMES}
    seen = []
    for _ in range(4):
        names = rng.sample(NAMES, len(NAMES))
        rules = ir.RuleSet({name: ir.Rule(name, bodies[name]) for name in names}, "root")
        seen.append(follow(sm.Compiler(vocabulary()).compile(sm.Grammar(rules, normalized=rules)), seed))
    assert all(masks == seen[0] for masks in seen)


@pytest.mark.parametrize("order", ["callees first", "callers first", "mixed"])
def test_rules_that_call_only_others_are_one_in_any_order(order: str) -> None:
    compiler = sm.Compiler(vocabulary())
    made = {}
    for round_ in ("given", order):
        names = [f"r{i}" for i in range(30)]
        bodies: dict[str, ir.Expr] = {"r29": ir.Literal(b"a")}
        for i in range(29):
            options = (ir.Sequence((ir.Literal(b"b"), ir.RuleRef(names[i + 1]))), ir.RuleRef("r29"))
            bodies[names[i]] = ir.Choice(options)
        if round_ == "callees first":
            names.reverse()
        elif round_ == "mixed":
            random.Random(1).shuffle(names)
        rules = ir.RuleSet({name: ir.Rule(name, bodies[name]) for name in names}, "r0")
        made[round_] = compiler.compile(sm.Grammar(rules, normalized=rules))
    assert made["given"] is made[order]


def test_what_sequences_end_with_is_lowered_once() -> None:
    tail: ir.Expr = ir.Sequence((ir.Literal(b"]"), ir.RuleRef("x")))
    options: list[ir.Expr] = []
    flat: list[ir.Expr] = []
    parts: list[ir.Expr] = [ir.Literal(b"]"), ir.RuleRef("x")]
    for letter in b"cba":
        tail = ir.Sequence((ir.Repeat(ir.Literal(bytes([letter])), 0, 1), tail))
        parts.insert(0, ir.Repeat(ir.Literal(bytes([letter])), 0, 1))
        options.append(ir.Sequence((ir.Literal(b"["), tail)))
        flat.append(ir.Sequence((ir.Literal(b"["), *parts)))
    compiler = sm.Compiler(vocabulary())
    compiled = []
    for choice in (options, flat):
        bodies = {"root": ir.Choice(tuple(choice)), "x": ir.Literal(b"a")}
        rules = ir.RuleSet({name: ir.Rule(name, body) for name, body in bodies.items()}, "root")
        compiled.append(compiler.compile(sm.Grammar(rules, normalized=rules)))
    assert compiled[0] is compiled[1]
