"""Seeded random rule sets with every construct, and random vocabularies that fit them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from stackmask.grammar.ir import (
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Complement,
    Dynamic,
    Expr,
    Intersection,
    Literal,
    NotFollowedBy,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    TokenTerminal,
    walk,
)

LETTERS = "abcd"
WIDE = "éü€"  # two of them share their first byte
CHARACTERS = LETTERS + WIDE
SPECIAL_NAMES = ("<|x|>", "<|y|>")
NON_ASCII = ((1 << 256) - 1) ^ ((1 << 128) - 1)


@dataclass(frozen=True)
class Features:
    """What a random grammar may contain."""

    booleans: bool = False
    restrictions: bool = False
    tokens: bool = False
    stack: bool = False
    wide: bool = False
    words: bool = False  # recursive rules that end with a restriction, so that it crosses a return
    rules: int = 4
    depth: int = 3


def random_features(rng: random.Random) -> Features:
    return Features(
        booleans=rng.random() < 0.3,
        restrictions=rng.random() < 0.35,
        tokens=rng.random() < 0.25,
        stack=rng.random() < 0.25,
        wide=rng.random() < 0.35,
        rules=rng.choice([1, 2, 3, 4, 6]),
        depth=rng.choice([2, 3, 3, 4]),
    )


class _Generator:
    def __init__(self, rng: random.Random, features: Features) -> None:
        self.rng = rng
        self.features = features
        self.characters = CHARACTERS if features.wide else LETTERS
        self.names = [f"r{i}" for i in range(features.rules)]
        self.regular_names = ["k0", "k1"] if features.booleans else []
        self.masks = [self._mask() for _ in range(2)]
        self.word_names = ["w0", "w1"] if features.words else []

    def _mask(self) -> int:
        mask = sum(1 << ord(c) for c in self.rng.sample(LETTERS, self.rng.randint(1, 3)))
        return mask | NON_ASCII if self.features.wide and self.rng.random() < 0.5 else mask

    def rule_set(self) -> RuleSet:
        rules = {}
        for name in self.names:
            parts = [self.expression(self.features.depth) for _ in range(self.rng.randint(1, 3))]
            if self.rng.random() < 0.6:
                parts.append(self.terminal())
            self.rng.shuffle(parts)
            rules[name] = Rule(name, parts[0] if len(parts) == 1 else Choice(tuple(parts)))
        for i, name in enumerate(self.regular_names):
            rules[name] = Rule(name, self.regular(2, self.regular_names[:i]))
        for name in self.word_names:
            again = Sequence((self.terminal(), RuleRef(name)))
            last = Sequence((self.terminal(), NotFollowedBy(self.rng.choice(self.masks))))
            rules[name] = Rule(name, Choice((again, last, self.terminal())))
        return RuleSet(rules, self.names[0], (b"ab",) if self.rng.random() < 0.3 else ())

    def terminal(self) -> Expr:
        kind = self.rng.randrange(8)
        if kind < 4:
            return Literal(
                "".join(self.rng.choices(self.characters, k=self.rng.choice([1, 1, 1, 2, 3]))).encode()
            )
        if kind == 4:
            return ByteClass(sum(1 << ord(c) for c in self.rng.sample(LETTERS, self.rng.randint(1, 3))))
        return char_class(self.rng.sample(self.characters, self.rng.randint(1, 3)))

    def bounds(self) -> tuple[int, int | None]:
        return self.rng.choice(
            [(0, 1), (0, None), (1, None), (0, 2), (2, 3), (2, 2), (1, 4), (2, None), (3, 7)]
        )

    def regular(self, depth: int, refs: list[str]) -> Expr:
        """Return a regular expression for an operand; only characters, so that it is well-formed text."""
        kind = self.rng.randrange(10) if depth else 0
        if kind < 3:
            if refs and self.rng.random() < 0.3:
                return RuleRef(self.rng.choice(refs))
            return self.terminal()
        if kind < 5:
            return Sequence(tuple(self.regular(depth - 1, refs) for _ in range(self.rng.randint(0, 3))))
        if kind < 7:
            return Choice(tuple(self.regular(depth - 1, refs) for _ in range(self.rng.randint(1, 3))))
        if kind < 9:
            return Repeat(self.regular(depth - 1, refs), *self.bounds())
        return self.boolean(depth - 1, refs)

    def boolean(self, depth: int, refs: list[str]) -> Expr:
        text = Repeat(char_class(self.characters), 0, self.rng.choice([None, 4]))
        kind = self.rng.randrange(4)
        if kind == 0:
            return Intersection((self.regular(depth, refs), self.regular(depth, refs)))
        if kind == 1:
            return Intersection((text, Complement(self.regular(depth, refs))))
        if kind == 2:
            return Intersection((self.regular(depth, refs), Complement(self.regular(depth, refs))))
        return Complement(self.regular(depth, refs)) if self.rng.random() < 0.2 else Intersection(
            (text, Complement(Choice((self.regular(depth, refs), self.regular(depth, refs)))))
        )  # fmt: skip

    def expression(self, depth: int) -> Expr:
        rng, features = self.rng, self.features
        if features.words and rng.random() < 0.25:
            word = RuleRef(rng.choice(self.word_names))
            return word if rng.random() < 0.3 else Sequence((word, self.terminal()))
        if depth == 0:
            return self.terminal() if rng.random() < 0.6 else RuleRef(rng.choice(self.names))
        extra = []
        if features.booleans:
            extra.append("boolean")
        if features.restrictions:
            extra += ["restriction", "restriction"]
        if features.tokens:
            extra.append("token")
        if features.stack:
            extra += ["push", "top", "scope"]
        plain = [
            "terminal",
            "terminal",
            "ref",
            "ref",
            "ref",
            "sequence",
            "sequence",
            "sequence",
            "choice",
            "repeat",
            "repeat",
        ]
        match rng.choice(plain + extra):
            case "terminal":
                return self.terminal()
            case "ref":
                return RuleRef(rng.choice(self.names))
            case "sequence":
                return Sequence(
                    tuple(self.expression(depth - 1) for _ in range(rng.choice([0, 1, 2, 2, 2, 3])))
                )
            case "choice":
                return Choice(tuple(self.expression(depth - 1) for _ in range(rng.randint(1, 3))))
            case "repeat":
                return Repeat(self.expression(depth - 1), *self.bounds())
            case "boolean":
                return self.boolean(2, self.regular_names)
            case "restriction":
                restriction = NotFollowedBy(rng.choice(self.masks))
                if rng.random() < 0.4:
                    return restriction
                return Sequence((self.expression(depth - 1), restriction))
            case "token":
                return rng.choice([
                    TokenTerminal((rng.choice(SPECIAL_NAMES),)),
                    TokenTerminal(SPECIAL_NAMES),
                    TokenTerminal((SPECIAL_NAMES[0],), negated=True),
                    TokenTerminal(id_ranges=((0, 9), (30, 33))),
                ])  # fmt: skip
            case "push":
                return Capture(self.expression(depth - 1))
            case "top":
                return Dynamic()
            case "scope":
                if rng.random() < 0.5:
                    return Scope(self.expression(depth - 1))
                return Scope(
                    Sequence((Capture(self.expression(depth - 1)), self.expression(depth - 1), Dynamic()))
                )
        raise AssertionError


def char_class(characters: Iterable[str]) -> CharClass:
    """Return the class of some characters in the form that the IR wants."""
    ranges: list[tuple[int, int]] = []
    for point in sorted({ord(c) for c in characters}):
        if ranges and point == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return CharClass(tuple(ranges))


def random_rule_set(seed: int | str, features: Features | None = None) -> RuleSet:
    """Return the random rule set of a seed; whether ``normalize`` takes it is for the caller to see."""
    rng = random.Random(seed)
    return _Generator(rng, features or random_features(rng)).rule_set()


@dataclass(frozen=True)
class RandomVocabulary:
    """``tokens[i]`` is None for special and for unused ids."""

    tokens: list[bytes | None]
    stop_ids: list[int]
    special_names: dict[str, int]
    special_ids: list[int]

    def known_ids(self) -> set[int]:
        """Return what a negated token terminal ranges over: text and named tokens, without stop tokens."""
        texts = {i for i, text in enumerate(self.tokens) if text}
        return (texts | set(self.special_names.values())) - set(self.stop_ids)


def random_vocabulary(seed: int | str, ruleset: RuleSet, size: int = 60) -> RandomVocabulary:
    """Return a vocabulary with every byte that may be needed, strings across boundaries, and doubles."""
    rng = random.Random(f"vocabulary {seed}")
    needed = set(CHARACTERS.encode()) | set(b"<|x>")
    if any(isinstance(e, Complement) for rule in ruleset.rules.values() for e in walk(rule.body)):
        needed = set(range(256))
    tokens: list[bytes | None] = [bytes([b]) for b in needed]
    stream = "".join(rng.choices(CHARACTERS + LETTERS, k=400)).encode()
    literals = [
        e.data
        for rule in ruleset.rules.values()
        for e in walk(rule.body)
        if isinstance(e, Literal) and e.data
    ]
    for _ in range(size):
        kind = rng.randrange(4)
        if kind == 0 and literals:
            tokens.append(rng.choice(literals) + (rng.choice(literals) if rng.random() < 0.5 else b""))
        elif kind == 1:
            tokens.append(rng.choice("abcd").encode() * rng.randint(2, 9))
        else:
            start = rng.randrange(len(stream))
            tokens.append(stream[start : start + rng.randint(2, 5)])
    tokens += [rng.choice(tokens) for _ in range(5)]  # doubles
    tokens += [None, b"<|x|>", b"<|stop|>", b"\xff\xff"]
    stops = [None] * rng.randint(1, 2)
    tokens += [None] * len(SPECIAL_NAMES) + stops + [None]
    marked: list[tuple[bytes | None, str]] = [(t, "") for t in tokens]
    first = len(tokens) - 1 - len(stops) - len(SPECIAL_NAMES)
    for i, name in enumerate(SPECIAL_NAMES):
        marked[first + i] = (None, name)
    for i in range(len(stops)):
        marked[first + len(SPECIAL_NAMES) + i] = (None, "stop")
    marked[-1] = (None, "other")
    rng.shuffle(marked)
    return RandomVocabulary(
        [t for t, _ in marked],
        [i for i, (_, what) in enumerate(marked) if what == "stop"],
        {what: i for i, (_, what) in enumerate(marked) if what in SPECIAL_NAMES},
        [i for i, (_, what) in enumerate(marked) if what in SPECIAL_NAMES or what == "other"],
    )
