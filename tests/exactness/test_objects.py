"""Objects whose keys are kept account of: every bit of every mask against a search by brute force."""

from __future__ import annotations

import random
from collections.abc import Sequence as Seq
from itertools import product

import pytest
from oracle.objects import Object, State, accepts, advance, start
from support.campaign import mostly_campaign

import stackmask
from exactness.walks import engine_mask
from stackmask.grammar.ir import (
    Capture,
    Choice,
    Complement,
    Expr,
    Intersection,
    Keyed,
    KeySpec,
    KeyTest,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Sequence,
    Slot,
)

BLANKS = Repeat(Literal(b" "), 0, None)
STYLES = ("inline", "member rule", "declared rule")
COMMON = [
    '":',
    '"},',
    ',"',
    '{"',
    '{"a"',
    '"a":',
    "}}",
    '},"',
    ' "',
    '":1,"',
    "1}",
    "1,",
    '"x":1',
    ', "',
    "{}",
]


def seq(*items: Expr | str) -> Expr:
    return Sequence(tuple(Literal(i.encode()) if isinstance(i, str) else i for i in items))


def character(obj: Object, char: str) -> Expr:
    return Choice(tuple(Literal(s.encode()) for s in sorted(obj.spellings(char))))


def name_of(obj: Object, name: str) -> Expr:
    if not obj.escapes:
        return Literal(f'"{name}"'.encode())
    return seq('"', *(character(obj, char) for char in name), '"')


def other_key(obj: Object) -> Expr:
    text: Expr = Repeat(Choice(tuple(character(obj, c) for c in obj.letters)), 1, None)
    taken = Choice(tuple(Sequence(tuple(character(obj, c) for c in name)) for name in obj.names))
    return seq('"', Intersection((text, Complement(taken))), '"')


def rules_of(obj: Object, style: str) -> RuleSet:
    """Return the rules of an object, written in one of several styles."""
    rules: dict[str, Rule] = {}

    def rule(name: str, body: Expr) -> RuleRef:
        rules[name] = Rule(name, body)
        return RuleRef(name)

    def expression(obj: Object, path: str) -> Expr:
        parts: list[Expr] = []
        for i, value in enumerate(obj.values):
            if isinstance(value, str):
                parts.append(Literal(value.encode()))
            else:
                parts.append(rule(f"{path}.{i}", expression(value, f"{path}.{i}")))
        values = rule(f"{path}.value", Choice(tuple(parts)))
        declared: Expr = Choice(
            tuple(seq(name_of(obj, name), Slot(i), ":", values) for i, name in enumerate(obj.names))
        )
        if style == "declared rule" and obj.names:
            declared = rule(f"{path}.declared", declared)
        members = [declared] if obj.names else []
        if obj.letters:
            members.append(seq(KeyTest("undeclared"), Capture(other_key(obj), "key"), ":", values))
        member: Expr = Choice(tuple(members))
        if style == "member rule" and members:
            member = rule(f"{path}.member", member)
        ways: list[Expr] = [seq(KeyTest("close"), "}")]
        if members:
            more = Repeat(seq(BLANKS, KeyTest("continue"), ",", BLANKS, member), 0, None)
            ways.append(seq(member, more, BLANKS, KeyTest("close"), "}"))
        spec = KeySpec(
            len(obj.names), obj.required, obj.ordered, obj.min_count, obj.max_count, bool(obj.letters)
        )
        return Keyed(seq("{", BLANKS, Choice(tuple(ways))), spec)

    rule("root", expression(obj, "o"))
    return RuleSet(rules, "root")


def random_object(rng: random.Random, depth: int = 1) -> Object:
    while True:
        letters = rng.choice(["", "", "xy", "ab", "x"])
        names = tuple(rng.sample(["a", "b", "ab", "aa", "bj", "abc", "x", "xy", "j"], rng.randint(0, 4)))
        values: list[str | Object] = rng.sample(["1", "12", "t"], rng.randint(1, 2))
        if depth and rng.random() < 0.6:
            values.append(random_object(rng, depth - 1))
        obj = Object(
            names,
            frozenset(i for i in range(len(names)) if rng.random() < 0.3),
            rng.random() < 0.4,
            rng.choice([0, 0, 0, 1, 2, 3]),
            rng.choice([None, None, 1, 2, 3]),
            letters,
            tuple(values),
            rng.random() < 0.3,
        )
        if obj.can_finish(()):
            return obj


def sample(rng: random.Random, obj: Object, alphabet: Seq[str], length: int) -> str:
    """Return a random text that begins an object."""
    text, states = "", start(obj)
    for _ in range(length):
        ways = [(c, after) for c in alphabet if (after := advance(states, c))]
        if not ways:
            break
        c, states = rng.choice([way for way in ways if way[0] != " "] or ways)
        text += c
    return text


def vocabulary(rng: random.Random, obj: Object) -> list[bytes | None]:
    alphabet = 'abcjxyABCDEF0123456789t{}:," ' + "\\u"
    texts = set(alphabet) | {t for t in COMMON if rng.random() < 0.7}
    for _ in range(12):
        text = sample(rng, obj, alphabet, 24)
        for _ in range(4):
            begin = rng.randrange(len(text))
            texts.add(text[begin : begin + rng.randint(2, 7)])
    return [*(t.encode() for t in sorted(texts)), None]


def brute_force(tokens: Seq[bytes | None], states: set[State]) -> set[int]:
    """Return the tokens that may come next; those that begin alike share the work."""
    reached = {"": states}
    allowed = set()
    for i, token in enumerate(tokens):
        text = (token or b"").decode()
        for length in range(1, len(text) + 1):
            if text[:length] not in reached:
                reached[text[:length]] = advance(reached[text[: length - 1]], text[length - 1])
        if reached[text] if text else accepts(states):
            allowed.add(i)
    return allowed


def judge(seed: int, style: str, wide: bool = False) -> None:
    """Walk a random object. ``wide``: with so many tokens that walks are cut short."""
    rng = random.Random(seed)
    obj = random_object(rng)
    tokens = vocabulary(rng, obj)
    if wide:
        more = {"".join(t).encode() for n in (2, 3) for t in product('abx":,{}1', repeat=n)}
        tokens = [*sorted({*filter(None, tokens), *more}), None]
    stop = len(tokens) - 1
    compiled = stackmask.Compiler(stackmask.Vocabulary(tokens, stop_ids=[stop])).compile(
        stackmask.Grammar(rules_of(obj, style))
    )
    for _ in range(2):
        matcher = compiled.matcher()
        history: list[tuple[int, set[State], set[int]]] = []
        states, path = start(obj), b""
        for _ in range(14):
            expected = brute_force(tokens, states)
            got = engine_mask(matcher, len(tokens))
            assert got == expected, (
                f"{obj} after {path!r}: too many {[tokens[i] for i in got - expected]}, "
                f"missing {[tokens[i] for i in expected - got]}"
            )
            assert got, f"{obj} after {path!r}: dead end"
            fork = matcher.fork()
            for token in rng.sample(range(stop), 3):
                assert matcher.fork().accept_token(token) == (token in expected)
            going_on = sorted(got - {stop})
            if not going_on:
                break
            token = rng.choice(going_on)
            history.append((token, states, got))
            assert matcher.accept_token(token)
            states = advance(states, (tokens[token] or b"").decode())
            path += tokens[token] or b""
            assert engine_mask(fork, len(tokens)) == got
        back = rng.randint(0, len(history))
        if back:
            matcher.rollback(back)
            assert engine_mask(matcher, len(tokens)) == history[-back][2]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("block", mostly_campaign(range(4), 1))
def test_random_objects(style: str, block: int) -> None:
    for seed in range(8 * block, 8 * block + 8):
        judge(seed, style)


def test_many_tokens() -> None:
    for seed in range(100, 106):
        judge(seed, STYLES[seed % len(STYLES)], wide=True)
