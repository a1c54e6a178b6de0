"""Random grammars of runs of characters, and vocabularies with all short words over their characters."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence as Seq

from stackmask.grammar.ir import (
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
)

ALPHABETS = ("abc.!", 'ab\\n"', "abé€.", "ab-1 (")
EVERY_BYTE = [bytes([b]) for b in range(256)]


def text(data: str | bytes) -> Literal:
    return Literal(data.encode() if isinstance(data, str) else data)


def seq(*items: Expr | str) -> Expr:
    return Sequence(tuple(text(i) if isinstance(i, str) else i for i in items))


def choice(*items: Expr | str) -> Expr:
    return Choice(tuple(text(i) if isinstance(i, str) else i for i in items))


def one_of(characters: str) -> CharClass:
    ranges: list[tuple[int, int]] = []
    for point in sorted(map(ord, set(characters))):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return CharClass(tuple(ranges))


def not_before(characters: str) -> NotFollowedBy:
    mask = sum(1 << ord(c) for c in set(characters) if c.isascii())
    if not characters.isascii():
        mask |= ((1 << 128) - 1) << 128
    return NotFollowedBy(mask)


class Maker:
    """Make a random grammar of runs."""

    def __init__(self, rng: random.Random, alphabet: str, captures: bool = True) -> None:
        self.rng = rng
        self.captures = captures
        self.alphabet = alphabet
        letters = rng.sample(alphabet, rng.randint(2, 3))
        self.words = ["".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(4)]
        self.items: list[Expr] = [one_of("".join(letters)), self.item(), self.item()]
        self.rules: dict[str, Rule] = {}

    def item(self) -> Expr:
        rng = self.rng
        letters = "".join(rng.sample(self.alphabet, rng.randint(1, 3)))
        match rng.randrange(7):
            case 0:
                return choice(seq(rng.choice(self.alphabet), one_of(letters)), one_of(letters))
            case 1:
                return choice(one_of(letters), *rng.sample(self.words, 2))
            case 2:
                out = rng.choice(self.alphabet)
                return Intersection((CharClass(((1, 0xD7FF), (0xE000, 0x10FFFF))), Complement(one_of(out))))
            case _:
                return one_of(letters)

    def bounds(self) -> tuple[int, int | None]:
        low = self.rng.choice([0, 0, 0, 1, 1, 2, 3])
        return low, self.rng.choice([None, None, low + 1, low + 2, low + 4])

    def run(self) -> Expr:
        rng = self.rng
        item = rng.choice(self.items)
        run: Expr = Repeat(item, *self.bounds())
        match rng.randrange(6):
            case 0 | 1:
                words = choice(*rng.sample(self.words, rng.randint(1, 3)))
                if rng.random() < 0.3:
                    words = seq(words, Repeat(item, 0, rng.choice([1, None])))
                run = Intersection((Repeat(item, rng.choice([0, 1]), None), Complement(words)))
            case 2:
                run = Intersection((run, Repeat(rng.choice(self.items), *self.bounds())))
            case 3 if rng.random() < 0.5:
                found = Repeat(CharClass(((0, 0xD7FF), (0xE000, 0x10FFFF))), 0, None)
                run = Intersection((run, seq(found, rng.choice(self.words), found)))
        return run

    def rest(self) -> Expr:
        rng = self.rng
        return rng.choice([
            text(rng.choice(self.alphabet)),
            text("".join(rng.choices(self.alphabet, k=3))),
            one_of("".join(rng.sample(self.alphabet, 2))),
            text(b""),
            RuleRef(rng.choice(["deep", "root"])),
            not_before("".join(rng.sample(self.alphabet, 2))),
        ])  # fmt: skip

    def part(self, depth: int) -> Expr:
        rng = self.rng
        kinds = ["run", "run", "run rest", "run rest", "run rest"]
        if depth:
            kinds += ["seq", "choice", "repeat", "capture" if self.captures else "choice", "deep", "seq"]
        match rng.choice(kinds):
            case "run":
                return self.run()
            case "run rest":
                return seq(self.run(), self.rest())
            case "seq":
                return seq(*(self.part(depth - 1) for _ in range(rng.randint(2, 3))))
            case "choice":
                return choice(*(self.part(depth - 1) for _ in range(rng.randint(2, 3))))
            case "repeat":
                return Repeat(self.part(depth - 1), *self.bounds())
            case "capture":
                kept = Capture(seq(one_of(self.alphabet), self.part(depth - 1)))
                return Scope(seq(kept, self.part(depth - 1), Dynamic()))
        return RuleRef("deep")

    def rule_set(self) -> RuleSet:
        rng = self.rng
        left, right = rng.sample(self.alphabet, 2)
        deep = [seq(left, RuleRef("deep"), self.part(0)), self.part(1)]
        if rng.random() < 0.5:
            deep.append(Repeat(one_of(self.alphabet), 1, rng.randint(1, 4)))
        rules = {
            "root": Rule("root", choice(seq(self.part(2), right), seq(RuleRef("deep"), self.part(1)))),
            "deep": Rule("deep", choice(*deep)),
        }
        return RuleSet(rules, "root")


def vocabulary(rng: random.Random, alphabet: str, words: Seq[str]) -> list[bytes | None]:
    length = {3: 6, 4: 5, 5: 5, 6: 4}[len(alphabet)]
    texts = {"".join(t).encode() for n in range(1, length) for t in itertools.product(alphabet, repeat=n)}
    for _ in range(600):
        text = "".join(rng.choices([*alphabet, *words], k=rng.randint(2, 8))).encode()
        # many begin or end inside a character
        texts.add(text[rng.randint(0, 1) : rng.choice([None, None, -1])])
    texts.discard(b"")
    return [*sorted(texts | set(EVERY_BYTE)), None]
