"""Object keys that begin, end and repeat inside tokens: whole members, several keys, escapes cut anywhere.

The objects and the judge are those of ``test_objects``; the tokens here are pieces of objects written without
regard for what may come twice, so most of them are wrong somewhere.
"""

from __future__ import annotations

import itertools
import random

import pytest
from oracle.objects import Object, State, accepts, advance, start
from support.campaign import mostly_campaign

import stackmask
from exactness.test_objects import STYLES, brute_force, rules_of
from exactness.walks import Mismatch, engine_mask

NAMES = ("a", "b", "ab", "aa", "abc", "x", "xy")


def key(rng: random.Random, obj: Object) -> str:
    """Return a key, perhaps one that may not come; some characters are escaped."""
    letters = obj.letters or "xy"
    name = (
        rng.choice(obj.names or ("x",))
        if rng.random() < 0.5
        else "".join(rng.choices(letters, k=rng.choice([1, 1, 2])))
    )
    if obj.escapes:
        name = "".join(rng.choice(sorted(obj.spellings(c))) if rng.random() < 0.4 else c for c in name)
    return name


def member(rng: random.Random, obj: Object, depth: int) -> str:
    value = rng.choice(obj.values)
    inside = value if isinstance(value, str) else written(rng, value, depth - 1)
    return f'"{key(rng, obj)}":{inside}'


def written(rng: random.Random, obj: Object, depth: int = 2) -> str:
    """Return an object whose keys are of the right kind and may repeat."""
    members = [member(rng, obj, depth) for _ in range(rng.randint(0, 3 if depth > 0 else 1))]
    return "{" + rng.choice([",", ",", ", "]).join(members) + "}"


def random_object(rng: random.Random, depth: int = 1) -> Object:
    """Return an object in which undeclared keys are more usual than not, sometimes with no values but objects."""
    while True:
        letters = rng.choice(["xy", "ab", "x", "axy", ""])
        names = tuple(rng.sample(NAMES, rng.randint(0, 3)))
        values: list[str | Object] = ["1"]
        if depth:
            inner = random_object(rng, depth - 1)
            values = rng.choice([["1", inner], ["1", inner], [inner]])
        obj = Object(
            names,
            frozenset(i for i in range(len(names)) if rng.random() < 0.25),
            rng.random() < 0.3,
            rng.choice([0, 0, 0, 1, 2]),
            rng.choice([None, None, None, 2, 3, 4]),
            letters,
            tuple(values),
            rng.random() < 0.5,
        )
        if obj.can_finish(()):
            return obj


def vocabulary(rng: random.Random, obj: Object, wide: bool) -> list[bytes | None]:
    texts = set('abcxyABCDEF0123456789{}:," ' + "\\u")
    for _ in range(120):
        text = written(rng, obj)
        for _ in range(4):
            begin = rng.randrange(len(text))
            texts.add(text[begin : begin + rng.randint(2, 16)])
    for _ in range(40):
        text = f'"{key(rng, obj)}"'
        texts |= {
            text,
            text + ":",
            "," + text,
            "1," + text + ":",
            text[1:] + ":1",
            text[:-1],
            text[: rng.randint(1, 6)],
        }
        texts |= {
            f"{text}:1,{text}:1",
            f"{{{text}:1",
            f"{text}:{{",
            f"1}},{text}:",
            text[rng.randrange(len(text)) :],
        }
    if wide:
        alphabet = 'axy":,{}1'
        texts |= {"".join(t) for n in (2, 3, 4) for t in itertools.product(alphabet, repeat=n)}
    texts.discard("")
    return [*(t.encode() for t in sorted(texts)), None]


def judge(seed: int, wide: bool | None = None, whole: bool = False) -> int:
    """Walk a random object; return how many masks were compared."""
    rng = random.Random(f"keys {seed}")
    obj = random_object(rng, rng.choice([0, 1, 1, 2]))
    tokens = vocabulary(rng, obj, seed % 4 == 0 if wide is None else wide)
    stop = len(tokens) - 1
    compiler = stackmask.Compiler(stackmask.Vocabulary(tokens, stop_ids=[stop]))
    compiled = compiler.compile(stackmask.Grammar(rules_of(obj, STYLES[seed % 3])))
    masks = 0
    for _ in range(2):
        matcher, path = compiled.matcher(), b""
        states: set[State] = start(obj)
        history: list[set[int]] = []
        for _ in range(10):
            expected = brute_force(tokens, states)
            got = engine_mask(matcher, len(tokens))
            if got != expected:
                many, few = ([tokens[i] for i in sorted(s)] for s in (got - expected, expected - got))
                raise Mismatch(f"seed {seed} {obj} after {path!r}: too many {many[:9]}, missing {few[:9]}")
            if engine_mask(matcher, len(tokens)) != got:
                raise Mismatch(f"seed {seed} {obj} after {path!r}: the second mask is another")
            assert matcher.is_accepting() == accepts(states)
            masks += 1
            history.append(got)
            going_on = sorted(got - {stop})
            if not going_on:
                break
            # long tokens end an object soon; those that open a key are worth more
            weights = [3 if b'"' in (tokens[i] or b"") else 1 for i in going_on]
            token = rng.choices(going_on, weights)[0]
            assert matcher.accept_token(token)
            states = advance(states, (tokens[token] or b"").decode())
            path += tokens[token] or b""
        matcher.rollback(rng.randint(1, len(history)) - len(history) + matcher.accept_calls)
        fork = matcher.fork()
        assert engine_mask(fork, len(tokens)) == history[matcher.accept_calls]
    return masks


@pytest.mark.parametrize("block", mostly_campaign(range(4), 2))
def test_random_keys(block: int) -> None:
    assert sum(judge(seed) for seed in range(4 * block, 4 * block + 4)) > 20


@pytest.mark.parametrize(
    ("names", "begun"),
    [
        ({"maxLength": 0}, '{"":1,"'),
        ({"maxLength": 3}, '{"abc":1,"abc'),
        ({"pattern": "^[A-Z]{2}[0-9]{6}$"}, '{"AB123456":1,"AB123456'),
        ({"pattern": "^(a|b|x*)$"}, '{"":1,"b":1,"b'),
        ({"format": "date"}, '{"2020-01-01":1,"2020-01-01'),
    ],
)
def test_a_used_key_is_not_begun_where_nothing_else_can_follow(names: dict[str, object], begun: str) -> None:
    schema = {"type": "object", "propertyNames": names, "additionalProperties": {"const": 1}}
    tokens = [*(bytes([b]) for b in range(256)), None]
    compiler = stackmask.Compiler(stackmask.Vocabulary(tokens, stop_ids=[256]))
    matcher = compiler.compile(stackmask.Grammar.from_json_schema(schema)).matcher()
    for byte in begun.encode():
        allowed = engine_mask(matcher, len(tokens))
        assert allowed, "dead end"
        if byte not in allowed:
            return
        assert matcher.accept_token(byte)
    assert engine_mask(matcher, len(tokens)), "dead end"


def test_keys_of_objects_that_must_differ() -> None:
    """Elements are kept while they are read, which has nothing to do with the keys inside of them."""
    item = {"type": "object", "properties": {"u": {"type": "string"}, "t": {"uniqueItems": True}}}
    schema = {"type": "array", "uniqueItems": True, "items": item}
    pieces = [bytes([byte]) for byte in range(256)]
    pieces += [
        b'"x":',
        b'","x":',
        b',"x":1}',
        b'"},{"x":',
        b'","y":1,"y":',
        b'y"',
        b'","\\u0078":',
        b'"],"x":',
    ]
    vocabulary = stackmask.Vocabulary([*pieces, None], stop_ids=[len(pieces)])
    compiled = stackmask.Compiler(vocabulary).compile(stackmask.Grammar.from_json_schema(schema))
    matcher = compiled.matcher()
    mask = stackmask.allocate_token_bitmask(1, vocabulary.size)
    for byte in b'[{"u":"ab","t":["p",{"x":2,"z":"q"}],"x":1,"y":[{"z":"q"}]},{"x":"c"}]':
        matcher.fill_next_token_bitmask(mask)
        assert not matcher.explain()["tries_everything"]
        for token in range(vocabulary.size):
            is_in = bool(mask[0, token >> 5] >> (token & 31) & 1)
            assert is_in == matcher.fork().accept_token(token), token
        assert matcher.accept_token(byte)
