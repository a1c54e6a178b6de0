"""Keys without a name that can run out: no dead end, nothing valid rejected, or a refusal by name."""

from __future__ import annotations

import json
import random
import re
from itertools import permutations, product
from typing import Any

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm
from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets import key_languages
from stackmask.grammar.json_schema.text.strings import literal
from stackmask.grammar.languages.automaton import automaton_of
from stackmask.pda.lowering.questions import Recognizer

ONE = {"const": 1}
CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}

FEW = [  # schemas, a pattern that their keys match, how many keys there may be
    ({**CLOSED, "patternProperties": {"^[ab]{1,2}$": ONE}}, "[ab]{1,2}", None),
    ({**CLOSED, "patternProperties": {"^[ab]{1,9}$": ONE}}, "[ab]{1,9}", None),
    ({**CLOSED, "patternProperties": {"^[ab]*c$": ONE}}, "[ab]*c", None),
    ({**CLOSED, "patternProperties": {"^[ab]*c$": ONE}, "minProperties": 2}, "[ab]*c", None),
    ({"type": "object", "propertyNames": {"maxLength": 1}, "additionalProperties": ONE}, ".?", None),
    (
        {
            "type": "object",
            "propertyNames": {"maxLength": 1, "pattern": "^[ab]+$"},
            "additionalProperties": ONE,
        },
        "[ab]",
        2,
    ),
    ({**CLOSED, "patternProperties": {"^xa*$": ONE}, "propertyNames": {"pattern": "^xb*$"}}, "x", 1),
]


def walk(compiled: Any, choose: random.Random, alphabet: bytes, length: int) -> bytes:
    """Write one text byte by byte; fails at a dead end."""
    matcher, text = compiled.matcher(), b""
    while len(text) < length:
        allowed = [b for b in range(256) if matcher.fork().accept_string(bytes([b]))]
        if not allowed:
            assert matcher.is_accepting(), text
            break
        byte = bytes([choose.choice([b for b in allowed if b in alphabet] or allowed)])
        assert matcher.accept_string(byte)
        text += byte
    return text


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize(("schema", "pattern", "most"), FEW)
def test_no_dead_end(schema: dict[str, Any], pattern: str, most: int | None, order: str) -> None:
    compiled = COMPILER.compile(
        sm.Grammar.from_json_schema(schema, property_order=order, whitespace="compact")
    )
    choose = random.Random(5)
    for _ in range(12):
        text = walk(compiled, choose, b'{}",:1abcx', 160)
        if text.endswith(b"}") and text.count(b"{") == 1:
            keys = [key for key, _ in json.loads(text, object_pairs_hook=lambda pairs: pairs)]
            assert len(keys) == len(set(keys))
            assert all(re.fullmatch(pattern, key) for key in keys)
            assert most is None or len(keys) <= most


@pytest.mark.parametrize(("schema", "pattern", "most"), FEW)
def test_nothing_valid_is_rejected(schema: dict[str, Any], pattern: str, most: int | None) -> None:
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, property_order="any"))
    words = ["".join(word) for n in range(4) for word in product("abcx", repeat=n)]
    known = [word for word in words if re.fullmatch(pattern, word)][:4]
    for count in range(schema.get("minProperties", 0), len(known) + 1):
        for keys in permutations(known, count):
            text = json.dumps(dict.fromkeys(keys, 1))
            matcher = compiled.matcher()
            assert (matcher.accept_string(text) and matcher.is_accepting()) == (most is None or count <= most)
    for key in known:
        assert not compiled.matcher().accept_string(f'{{"{key}": 1, "{key}"')
        assert not compiled.matcher().accept_string(f'{{"{key}": 1, "{key}": 1')


def test_objects_within() -> None:
    schema = {**CLOSED, "patternProperties": {"^[ab]$": {"$ref": "#"}, "^[a-z]{2}$": {"$ref": "#"}}}
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, whitespace="compact"))
    for text, valid in (
        ('{"ab":{"ab":{}},"ac":{"ab":{},"ac":{}},"a":{}}', True),
        ('{"ab":{"ab":{}},"ab":{}}', False),
        ('{"ab":{"ab":{},"ab":{}}}', False),
        ('{"ab":{},"\\u0061b":{}}', False),
    ):
        matcher = compiled.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == valid


def test_refused_by_name() -> None:
    schema = {**CLOSED, "patternProperties": {"^[a-z]{2}$": ONE}, "minProperties": 700}
    with pytest.raises(sm.UnsupportedSchemaError, match="minProperties"):
        sm.Grammar.from_json_schema(schema)


def test_report() -> None:
    schema = {**CLOSED, "patternProperties": {"^[a-z]{2}$": ONE}}
    report = sm.Grammar.from_json_schema(schema).report
    assert report is not None
    assert [note.reason for note in report.narrowed if note.keyword == "patternProperties"] == [
        "at most 676 keys in one object"
    ]


A, B = ir.CharClass(((97, 97),)), ir.CharClass(((98, 98),))
AS, BS = ir.Repeat(A, 0, None), ir.Repeat(B, 0, None)


@pytest.mark.parametrize(
    ("expr", "endless"),
    [
        (ir.ANY_TEXT, True),
        (ir.Sequence((A, BS)), True),
        (ir.Sequence((AS, B)), False),
        (ir.Intersection((ir.Sequence((A, AS)), ir.Sequence((A, BS)))), False),
        (ir.Complement(ir.Sequence((A, ir.ANY_TEXT))), True),
        (ir.Complement(ir.Sequence((ir.ANY_CHAR, ir.ANY_TEXT))), False),
        (ir.Intersection((ir.ANY_TEXT, ir.Complement(AS))), True),
        (ir.Intersection((AS, ir.Complement(ir.Sequence((ir.Repeat(A, 2, 2), AS))))), False),
    ],
)
def test_is_endless(expr: ir.Expr, endless: bool) -> None:
    assert automaton_of(expr, 100).is_endless() == endless


def test_short_keys_are_not_taken_for_few() -> None:
    keys = [a + b for a in "abcdefghijkl" for b in ("", *"xyz19_")]
    for names in ({"pattern": ".", "maxLength": 2}, {"pattern": "[a-z]", "maxLength": 2, "minLength": 1}):
        compiled = COMPILER.compile(
            sm.Grammar.from_json_schema({"type": "object", "propertyNames": names}, property_order="any")
        )
        for text, valid in (
            (json.dumps(dict.fromkeys(keys, 1)), True),
            (json.dumps({**dict.fromkeys(keys, 1), "abc": 1}), False),
        ):
            matcher = compiled.matcher()
            assert (matcher.accept_string(text) and matcher.is_accepting()) == valid


def test_keys_that_go_on_by_all_their_states_do_not_run_out() -> None:
    patterns = {"^k": {"type": "integer"}, "[0-9]$": {"minimum": 0}, "^[a-z]+x.*y": ONE}
    grammar = sm.Grammar.from_json_schema({"type": "object", "patternProperties": patterns})
    assert grammar.report is not None
    assert not any("keys in one object" in note.reason for note in grammar.report.narrowed)
    assert "LeftOverKeys" not in str(grammar.normalized)


def test_a_trie_has_the_keys_that_were_added() -> None:
    choose = random.Random(11)
    used, known = key_languages._NO_KEYS, []
    for _ in range(60):
        key = "".join(choose.choices('ab"é', k=choose.randint(0, 5)))
        if key in known:
            continue
        used = used.adding(key)
        known.append(key)
        spelled = Recognizer(used.spelled)
        others = ["".join(choose.choices('ab"é', k=choose.randint(0, 5))) for _ in range(20)]
        for word in {*known, *others}:
            text = json.dumps(word, ensure_ascii=choose.random() < 0.5)[1:-1]
            assert spelled.matches([text.encode()]) == [word in known]


def test_a_trie_of_keys_within_keys_does_not_nest_without_end() -> None:
    used = key_languages._NO_KEYS
    for n in range(3 * key_languages.MAX_LEVELS):
        used = used.adding("a" * n)
    depth, part = 0, used.spelled
    while part is not None:
        depth, part = depth + 1, next((p for p in ir.children(part) if ir.children(p)), None)
    assert depth < 3 * key_languages.MAX_LEVELS
    spelled = Recognizer(used.spelled)
    most = 3 * key_languages.MAX_LEVELS
    assert spelled.matches([b"a" * (most - 1), b"a" * most]) == [True, False]


def test_one_more_key_costs_what_is_new_in_it() -> None:
    """Parts of the answer before are not made, checked or lowered again."""

    def parts(count: int) -> int:
        used = key_languages._NO_KEYS
        for n in range(count):
            used = used.adding(f"key{n}_id")
        before = {id(part) for part in ir.walk(used.spelled)}
        return sum(id(part) not in before for part in ir.walk(used.adding("key7x_id").spelled))

    assert parts(1000) <= parts(100) + 40
    assert isinstance(literal("a"), ir.Choice)


def test_masks_of_keys_do_not_depend_on_the_way() -> None:
    """Back and forth over many keys: masks are those of a fresh compiler."""
    tokens = [bytes([b]) for b in range(256)]
    vocabulary = sm.Vocabulary(
        [*tokens, None, b'{"', b'":1,"', b"k1", b'k2":', b'"k3"', b'1"', b'"', b"_id", b"\\u006b"],
        stop_ids=[256],
    )
    for patterns in ({"^k[0-9]{1,3}$": ONE}, {"^[a-z0-9]+_id$": ONE}, {"^k": ONE, "[0-9]$": ONE}):
        schema = {**CLOSED, "patternProperties": patterns}
        grammar = sm.Grammar.from_json_schema(schema, whitespace="compact")
        used, choose = sm.Compiler(vocabulary).compile(grammar).matcher(), random.Random(3)
        mask, other = (sm.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
        end = "_id" if "^[a-z0-9]+_id$" in patterns else ""
        written: list[int] = []
        for number in range(25):
            piece = ("{" if number == 0 else ",") + f'"k{number}{end}":1'
            for byte in piece.encode():
                assert used.accept_token(byte)
                written.append(byte)
            if number % 4 == 3:
                back = choose.randrange(1, len(piece))
                used.rollback(back)
                again = written[-back:]
                used.fill_next_token_bitmask(mask)
                for byte in again:
                    assert used.accept_token(byte)
            used.rollback(3)
            fresh = sm.Compiler(vocabulary).compile(grammar).matcher()
            for byte in written[:-3]:
                assert fresh.accept_token(byte)
            for byte in written[-3:]:
                used.fill_next_token_bitmask(mask)
                fresh.fill_next_token_bitmask(other)
                assert (mask == other).all()
                assert used.accept_token(byte)
                assert fresh.accept_token(byte)
        assert used.accept_string("}")
        assert used.is_accepting()
