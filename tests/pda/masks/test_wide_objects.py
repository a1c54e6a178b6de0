"""Objects of many names: masks must be those of a plain reader of such objects, however names share beginnings."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from exactness.walks import engine_mask, tried_tokens
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask.grammar import ir

BASES = ["delta", "del", "order", "orders", "zeta", "z", "is_active", "na-me"]
TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [
    None,
    *(base.encode() for base in BASES if len(base) > 1),
    *(b"%d" % n for n in range(10, 70)),
    *(b"_%d" % n for n in range(0, 30, 7)),
    *(b'_%d":' % n for n in range(0, 30, 4)),
    b'"d',
    b'"delta_',
    b'{"or',
    b"rs_",
    b"_a",
    b"ta_1",
    b"ta_10x",
    b",",
    b',"',
    b'1,"z',
    b'5,"delta_1',
    b'7,"o',
    b'":3,"',
    b'":3,"is_active_2":',
    b"3}",
    b"\\u006",
    b"\\u0064e",
]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[256])


def names_of(count: int) -> list[str]:
    return [f"{BASES[n % len(BASES)]}_{n}" if n % 11 else f"{BASES[n % len(BASES)]}{n}" for n in range(count)]


@dataclass
class Reader:
    """Reads ``{"name":digit,...}`` byte by byte; alive while the text begins an object."""

    names: list[str]
    ordered: bool
    required: frozenset[int] = frozenset()
    least: int = 0
    most: int | None = None
    begun: dict[str, list[int]] = field(default_factory=dict)
    known: dict[tuple[tuple[int, ...], str], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for i, name in enumerate(self.names):
            for end in range(len(name) + 1):
                self.begun.setdefault(name[:end], []).append(i)

    def may_come(self, used: tuple[int, ...], slot: int) -> bool:
        if slot in used:
            return False
        missing = self.required - set(used) - {slot}
        count = len(used) + 1
        if self.most is not None and count + len(missing) > self.most:
            return False
        if not self.ordered:
            return True
        if (used and slot < used[-1]) or any(i < slot for i in missing):
            return False
        return count + len(self.names) - 1 - slot >= self.least

    def goes_on(self, used: tuple[int, ...], begin: str) -> bool:
        if (used, begin) not in self.known:
            self.known[used, begin] = any(self.may_come(used, slot) for slot in self.begun.get(begin, ()))
        return self.known[used, begin]

    def step(
        self, state: tuple[str, tuple[int, ...], str], byte: str
    ) -> tuple[str, tuple[int, ...], str] | None:
        where, used, name = state
        more = self.goes_on(used, "")
        ends = self.required <= set(used) and len(used) >= self.least
        if where == "{":
            return ("first", used, "") if byte == "{" else None
        if where in ("first", "after"):
            if byte == "}" and ends:
                return ("end", used, "")
            if byte == ("," if where == "after" else '"') and more:
                return ("quote" if where == "after" else "name", used, "")
            return None
        if where == "quote":
            return ("name", used, "") if byte == '"' else None
        if where == "name":
            if byte == '"':
                slot = self.names.index(name) if name in self.names else -1
                return (":", (*used, slot), "") if slot >= 0 and self.may_come(used, slot) else None
            return ("name", used, name + byte) if self.goes_on(used, name + byte) else None
        if where == ":":
            return ("digit", used, "") if byte == ":" else None
        if where == "digit":
            return ("after", used, "") if byte.isdigit() and byte.isascii() else None
        return None

    def allowed(self, state: tuple[str, tuple[int, ...], str]) -> Iterator[bool]:
        for token in TOKENS:
            at: tuple[str, tuple[int, ...], str] | None = state
            for byte in (token or b"").decode("latin-1"):
                at = self.step(at, byte) if at else None
            yield state[0] == "end" if token is None else at is not None


def grammar_of(reader: Reader) -> sm.Grammar:
    def seq(*items: ir.Expr | str) -> ir.Expr:
        return ir.Sequence(tuple(ir.Literal(i.encode()) if isinstance(i, str) else i for i in items))

    digit = ir.CharClass(((0x30, 0x39),))
    member = ir.Choice(
        tuple(seq(json.dumps(name), ir.Slot(i), ":", digit) for i, name in enumerate(reader.names))
    )
    more = ir.Repeat(seq(ir.KeyTest("continue"), ",", member), 0, None)
    end = seq(ir.KeyTest("close"), "}")
    spec = ir.KeySpec(
        len(reader.names),
        ordered=reader.ordered,
        required=reader.required,
        min_count=reader.least,
        max_count=reader.most,
    )
    root = ir.Keyed(seq("{", ir.Choice((seq(member, more, end), end))), spec)
    return sm.Grammar(ir.RuleSet({"root": ir.Rule("root", root)}, "root", ()))


def bits_of(matcher: sm.Matcher) -> list[bool]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    return [bool(bit) for bit in np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size]]


@pytest.mark.parametrize("cache", mostly_campaign([None, 20_000], 1), ids=["cached", "small"])
@pytest.mark.parametrize("ordered", [False, True], ids=["any", "ordered"])
@pytest.mark.parametrize(
    ("count", "bounds"),
    [
        (70, {}),
        (300, {"required": frozenset({40, 41, 200})}),
        (300, {"least": 3, "most": 6, "required": frozenset({150})}),
        (1000, {"least": 2}),
        (3000, {}),
    ],
    ids=["70", "300 required", "300 counted", "1000", "3000"],
)
def test_masks_are_those_of_a_plain_reader(
    count: int, bounds: dict[str, Any], ordered: bool, cache: int | None
) -> None:
    reader = Reader(names_of(count), ordered, **bounds)
    compiler = sm.Compiler(VOCABULARY, cache_bytes=cache) if cache else sm.Compiler(VOCABULARY)
    compiled = compiler.compile(grammar_of(reader))
    rng = random.Random(count)
    for _ in range(2 if count <= 300 else 1):
        slots = sorted({*rng.sample(range(count), 3), *reader.required})
        if not ordered:
            rng.shuffle(slots)
        text = "{" + ",".join(f'"{reader.names[slot]}":{slot % 10}' for slot in slots) + "}"
        matcher = compiled.matcher()
        state: tuple[str, tuple[int, ...], str] | None = ("{", (), "")
        for place, byte in enumerate(text):
            assert state
            assert bits_of(matcher) == list(reader.allowed(state)), text[:place]
            assert matcher.accept_string(byte)
            state = reader.step(state, byte)
        assert matcher.is_accepting() and state and state[0] == "end"


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}], ids=["open", "closed"])
def test_wide_schemas_with_escapes_inside_others(order: str, more: dict[str, Any]) -> None:
    names = names_of(150)
    kinds = ({"type": "integer"}, {"type": "string"}, {"type": "boolean"})
    inner = {"type": "object", "properties": dict.fromkeys(names[5:90:2], kinds[0]), **more}
    wide = {
        "type": "object",
        "properties": {name: inner if n % 40 == 9 else kinds[n % 3] for n, name in enumerate(names)},
        "required": [names[3], names[49]],
        **more,
    }
    compiler = sm.Compiler(VOCABULARY)
    compiler.compile(sm.Grammar.from_json_schema(inner, property_order=order))
    compiled = compiler.compile(sm.Grammar.from_json_schema(wide, property_order=order))
    value = {names[3]: 1, names[9]: {names[11]: 2, names[51]: 3}, names[49]: {names[7]: 4}, names[148]: "x"}
    text = json.dumps(value).replace('"del', '"\\u0064el', 1)
    matcher = compiled.matcher()
    for byte in text.encode():
        assert engine_mask(matcher, VOCABULARY.size) == tried_tokens(matcher, VOCABULARY.size), matcher
        assert matcher.accept_token(byte)
    assert matcher.is_accepting()


def test_key_states_share_what_begins_alike() -> None:
    """Where one name was used, no other beginning is walked again."""
    compiled = sm.Compiler(VOCABULARY).compile(grammar_of(Reader(names_of(3000), True)))
    matcher = compiled.matcher()
    assert matcher.accept_string('{"')
    bits_of(matcher)
    before = compiled.stats()
    assert before["walk_configurations"] < 100
    for slot in range(100, 3000, 300):
        assert matcher.accept_string(f'{names_of(3000)[slot]}":1,"')
        bits_of(matcher)
    after = compiled.stats()
    assert after["word_walks"] == before["word_walks"]
    assert after["walk_configurations"] == before["walk_configurations"]
