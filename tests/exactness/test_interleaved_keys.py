"""Objects whose keys have no names, of several schemas by turns on one compiler that remembers little.

What was found out of the keys of one object must not answer for another one: each mask is that of a compiler which saw
nothing but this text. The masks themselves are compared with brute force in ``test_objects`` and ``test_keys_in_tokens``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import stackmask as sm

NAMES = ("a", "b", "ab", "aa", "abc", "x", "xy")
PATTERNS = ("^[ab]{1,2}$", "^x", "^(a|b|x)+$", "[ab]$", "^.{2}$", "^[xy]$", "é")
FORMS = ('"%s"', '"%s":', '"%s":1', ',"%s', '{"%s":', '%s":', '%s"')
TWICE = '"%s":1,"%s":1'  # with such a token, masks are made in another way
MAX_LIVE = 8  # matchers at once


def random_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    scalar: Any = rng.choice([{"type": "integer"}, {"type": "null"}, True])
    value = random_schema(rng, depth - 1) if depth and rng.random() < 0.4 else scalar
    schema: dict[str, Any] = {"type": "object"}
    if names := rng.sample(NAMES, rng.randint(0, 3)):
        schema["properties"] = {name: rng.choice([{"type": "integer"}, value]) for name in names}
        schema["required"] = names[: rng.choice([0, 0, 1])]
    kind = rng.random()
    if kind < 0.3:
        schema["additionalProperties"] = value
    elif kind < 0.6:
        schema["patternProperties"] = {rng.choice(PATTERNS): value}
        schema["additionalProperties"] = rng.random() < 0.4
    elif kind < 0.75:
        schema["propertyNames"] = {"pattern": rng.choice(["^[abx]{1,3}$", "^[ab]$", "^a+$"])}
    if rng.random() < 0.2:
        schema["maxProperties"] = rng.randint(2, 5)
    return {"type": "array", "items": schema} if rng.random() < 0.2 else schema


def random_grammars(rng: random.Random, count: int) -> list[sm.Grammar]:
    found: list[sm.Grammar] = []
    while len(found) < count:
        schema = random_schema(rng, rng.randint(0, 2))
        order, profile = rng.choice(["schema", "any"]), rng.choice(["exact", "exact", "model"])
        try:
            found.append(sm.Grammar.from_json_schema(schema, property_order=order, profile=profile))
        except sm.SchemaError:  # no value is valid
            continue
    return found


def random_tokens(rng: random.Random, forms: tuple[str, ...]) -> list[bytes]:
    tokens = {bytes([byte]) for byte in range(256)}
    tokens |= {"".join(rng.choices('abxy":,{}1', k=rng.choice([2, 3]))).encode() for _ in range(300)}
    tokens |= {form.replace("%s", name).encode() for name in (*NAMES, "é", "bb") for form in forms}
    return sorted(tokens | {b'\\"', b"\\u", b"\\u0061", b"0061", b'},"', b'":', b"null", b"true"})


@dataclass
class Live:
    """A matcher, its grammar and its tokens so far."""

    grammar: sm.Grammar
    matcher: sm.Matcher
    path: list[int]


class Turns:
    """Matchers of several grammars on one compiler, in random turns."""

    def __init__(self, seed: int, cache_bytes: int, *forms: str) -> None:
        self.rng = random.Random(f"interleaved keys {seed}")
        self.tokens = random_tokens(self.rng, forms)
        self.stop = len(self.tokens)
        self.vocabulary = sm.Vocabulary(
            [*self.tokens, b"<eos>"], stop_ids=[self.stop], special_ids=[self.stop]
        )
        self.compiler = sm.Compiler(self.vocabulary, cache_bytes=cache_bytes)
        self.grammars = random_grammars(self.rng, 4)
        self.live = [self.begun(grammar) for grammar in self.grammars]

    def begun(self, grammar: sm.Grammar) -> Live:
        return Live(grammar, self.compiler.compile(grammar).matcher(), [])

    def mask(self, matcher: sm.Matcher) -> npt.NDArray[np.int32]:
        mask = sm.allocate_token_bitmask(1, self.vocabulary.size)
        matcher.fill_next_token_bitmask(mask)
        return mask

    def fresh(self, at: Live) -> npt.NDArray[np.int32]:
        """Return the mask of a compiler that saw nothing else."""
        matcher = sm.Compiler(self.vocabulary).compile(at.grammar).matcher()
        assert all(map(matcher.accept_token, at.path))
        return self.mask(matcher)

    def change(self, at: Live) -> None:
        """Take tokens back, fork, or begin another text."""
        kind = self.rng.random()
        if kind < 0.1 and at.path:
            count = self.rng.randint(1, min(6, len(at.path)))
            at.matcher.rollback(count)
            del at.path[-count:]
        elif kind < 0.2:
            self.live.append(Live(at.grammar, at.matcher.fork(), list(at.path)))
        elif kind < 0.25:
            self.live.append(self.begun(self.rng.choice(self.grammars)))
        if len(self.live) > MAX_LIVE:
            others = [other for other in self.live if other is not at]
            self.live.remove(self.rng.choice(others))

    def go_on(self, at: Live, mask: npt.NDArray[np.int32]) -> None:
        """Accept some tokens that are allowed, mostly of keys."""
        for _ in range(self.rng.randint(1, 3)):
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            of_keys = [i for i in allowed if i < self.stop and self.tokens[i].strip(b'abxy1:,{"') == b""]
            token = int(self.rng.choice(of_keys if of_keys and self.rng.random() < 0.9 else allowed.tolist()))
            if token == self.stop:
                self.live[self.live.index(at)] = self.begun(at.grammar)
                return
            assert at.matcher.accept_token(token)
            at.path.append(token)
            mask = self.mask(at.matcher)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            at = self.rng.choice(self.live)
            self.change(at)
            mask = self.mask(at.matcher)
            assert np.array_equal(mask, self.fresh(at)), [self.tokens[token] for token in at.path]
            self.go_on(at, mask)


@pytest.mark.parametrize("seed", range(12))
def test_keys_of_several_schemas_by_turns(seed: int) -> None:
    forms = FORMS if seed % 2 else (*FORMS, TWICE)
    Turns(seed, (1 << 16, 1 << 20, 1 << 26)[seed % 3], *forms).run(50)


def test_two_objects_with_as_many_keys_by_turns() -> None:
    turns = Turns(0, 1 << 26, *FORMS)
    turns.grammars = [sm.Grammar.from_json_schema({"type": "object"}, whitespace="compact")]
    turns.live = [turns.begun(turns.grammars[0]) for _ in range(2)]
    token = turns.tokens.index
    for number, keys in enumerate(zip("ab", "xy", strict=True)):
        for at, key in zip(turns.live, keys, strict=True):
            for byte in ("," if number else "{") + f'"{key}":1':
                assert at.matcher.accept_token(token(byte.encode()))
                at.path.append(token(byte.encode()))
            for other in turns.live:
                assert np.array_equal(turns.mask(other.matcher), turns.fresh(other))
    for rest in (",", '"'):
        for at in turns.live:
            assert at.matcher.accept_token(token(rest.encode()))
            at.path.append(token(rest.encode()))
            assert np.array_equal(turns.mask(at.matcher), turns.fresh(at))
