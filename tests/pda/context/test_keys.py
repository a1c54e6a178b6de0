"""Object keys: slots, tests, captured keys; how they nest with other semantic state, and what they cost."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import stackmask as sm
from stackmask.grammar import ir
from stackmask.grammar.ir.dump import dump_expr
from stackmask.pda.text import json_string_value

TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [
    None,
    b'":',
    b'"},',
    b',"',
    b'{"a"',
    b'a":1',
    b'"a":1',
    b"1}",
    b'1,"',
    b"\\u0061",
    b'{"a":{"a"',
    b"}}",
]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[256])
DIGIT = ir.CharClass(((0x30, 0x39),))
CHARACTER = ir.Choice(
    (
        ir.CharClass(((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF))),
        ir.Sequence((ir.Literal(b"\\"), ir.CharClass(tuple((ord(c), ord(c)) for c in '"/\\bfnrt')))),
        ir.Sequence(
            (ir.Literal(b"\\u"), ir.Repeat(ir.CharClass(((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))), 4, 4))
        ),
    )
)
ANY_KEY = ir.Sequence((ir.Literal(b'"'), ir.Repeat(CHARACTER, 0, None), ir.Literal(b'"')))


def seq(*items: ir.Expr | str) -> ir.Expr:
    return ir.Sequence(tuple(ir.Literal(i.encode()) if isinstance(i, str) else i for i in items))


def keyed(
    names: list[str], value: ir.Expr = DIGIT, other: ir.Expr | None = None, **bounds: object
) -> ir.Keyed:
    """Return an object with declared names in any order, and any other keys where ``other`` is given."""
    members = [seq(json.dumps(name), ir.Slot(i), ":", value) for i, name in enumerate(names)]
    if other is not None:
        members.append(seq(ir.KeyTest("undeclared"), ir.Capture(other, "key"), ":", value))
    member = ir.Choice(tuple(members))
    more = ir.Repeat(seq(ir.KeyTest("continue"), ",", member), 0, None)
    spec = ir.KeySpec(len(names), open=other is not None, **bounds)  # type: ignore[arg-type]
    end = seq(ir.KeyTest("close"), "}")
    return ir.Keyed(seq("{", ir.Choice((seq(member, more, end), end))), spec)


def matcher_of(root: ir.Expr, initial: object = (), **rules: ir.Expr) -> sm.Matcher:
    bodies = {"root": root, **rules}
    rule_set = ir.RuleSet({n: ir.Rule(n, b) for n, b in bodies.items()}, "root", initial)  # type: ignore[arg-type]
    return sm.Compiler(VOCABULARY).compile(sm.Grammar(rule_set)).matcher()


def long_tokens(matcher: sm.Matcher) -> set[bytes]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size])
    return {text for i in bits if (text := TOKENS[i]) and len(text) > 1}


@pytest.mark.parametrize(
    "text",
    ['""', '"a"', r'"\u0061\n\"\\\/\b\f\r\t"', r'"\ud83d\ude00 \u20ac \u00e9"', '"é€😀"', r'"\uD83D\uDE00"'],
)
def test_the_value_of_a_json_string(text: str) -> None:
    assert json_string_value(text.encode()) == json.loads(text).encode()


def test_surrogates_without_a_partner_stay_different() -> None:
    values = [
        json_string_value(t.encode())
        for t in (r'"\ud83d"', r'"\ude00"', r'"\ud83dx\ude00"', '"\\ud83d\\u0061"')
    ]
    assert len(set(values)) == 4 and None not in values


@pytest.mark.parametrize(
    "text", ["", '"', "a", '"a', r'"\x"', r'"\u12"', '"\n"', '"a"b"', r'"\"', r'"\u00g0"']
)
def test_what_is_not_a_json_string_has_no_value(text: str) -> None:
    assert json_string_value(text.encode()) is None


def test_a_key_is_its_value_not_its_spelling() -> None:
    matcher = matcher_of(keyed([], other=ANY_KEY))
    assert matcher.accept_string('{"a":1,"b":1,"')
    assert not matcher.accept_string(r'\u0061"')
    assert not matcher.accept_string('b":1')
    assert matcher.accept_string(r'\u0062b":1}') and matcher.is_accepting()
    matcher.reset()
    assert matcher.accept_string('{"\\ud83d\\ude00":1,"') and not matcher.accept_string('😀"')


def test_masks_know_which_keys_are_gone() -> None:
    matcher = matcher_of(keyed(["a", "b"], required=frozenset({1})))
    assert matcher.accept_string("{")
    assert long_tokens(matcher) == {b'"a":1'}
    assert matcher.accept_string('"a":1')
    assert long_tokens(matcher) == {b',"'} and not matcher.accept_string("}")
    assert matcher.accept_string(',"') and matcher.expected_bytes() == {ord("b")}
    assert matcher.accept_string('b":') and long_tokens(matcher) == {b"1}"}
    matcher.rollback(2)
    assert long_tokens(matcher) == {b',"'}


def test_objects_inside_start_afresh_and_give_back() -> None:
    matcher = matcher_of(
        ir.RuleRef("object"), object=keyed(["a", "b"], ir.Choice((DIGIT, ir.RuleRef("object"))))
    )
    assert b'{"a":{"a"' in long_tokens(matcher)
    assert matcher.accept_string('{"a":{"b":{"a":1},"')
    assert matcher.expected_bytes() == {ord("a")}
    assert matcher.accept_string('a":1},"') and matcher.expected_bytes() == {ord("b")}
    assert matcher.accept_string('b":1}') and matcher.is_accepting()


def test_stacks_of_texts_and_objects_do_not_mix() -> None:
    tag = ir.Scope(
        seq(
            "<",
            ir.Capture(ir.Repeat(ir.CharClass(((0x61, 0x62),)), 1, None)),
            ">",
            ir.RuleRef("object"),
            ir.Dynamic(),
        )
    )
    matcher = matcher_of(
        ir.RuleRef("tag"), tag=tag, object=keyed(["a", "b"], ir.Choice((DIGIT, ir.RuleRef("tag"))))
    )
    assert matcher.accept_string('<ab>{"a":<b>{"a":1}')
    assert matcher.expected_bytes() == {ord("b")}
    assert matcher.accept_string('b,"') and matcher.expected_bytes() == {ord("b")}
    assert matcher.accept_string('b":1}') and matcher.expected_bytes() == {ord("a")}
    assert matcher.accept_string("ab") and matcher.is_accepting()


def test_an_object_inside_a_capture_is_captured() -> None:
    def remember(value: object, text: bytes) -> object:
        return (value, text)

    def recall(value: object) -> ir.Expr:
        assert isinstance(value, tuple)
        return ir.Literal(value[1])

    root = seq(ir.Capture(ir.RuleRef("object"), remember), "=", ir.Dynamic(recall))
    matcher = matcher_of(root, "start", object=keyed(["a"], other=ANY_KEY))
    assert matcher.accept_string('{"x":1,"a":2}={"x":1,"a"') and matcher.expected_bytes() == {ord(":")}


def test_a_rule_may_hold_the_names() -> None:
    names = ir.Choice((seq('"a"', ir.Slot(0), ":"), seq('"ab"', ir.Slot(1), ":")))
    member = seq(ir.RuleRef("name"), DIGIT)
    more = ir.Repeat(seq(ir.KeyTest("continue"), ",", member), 0, None)
    root = ir.Keyed(seq("{", member, more, ir.KeyTest("close"), "}"), ir.KeySpec(2))
    # a second use keeps the rule from being written out
    matcher = matcher_of(root, name=ir.Choice((names, seq('"c"', ir.Slot(1), ir.RuleRef("name")))))
    assert matcher.accept_string('{"ab":1,"') and matcher.expected_bytes() == {ord("a")}
    assert matcher.accept_string("a") and matcher.expected_bytes() == {ord('"')}


def test_the_order_of_names_and_the_count() -> None:
    matcher = matcher_of(keyed(["a", "b", "c"], ordered=True, required=frozenset({1}), min_count=2))
    assert matcher.accept_string('{"') and matcher.expected_bytes() == {ord("a"), ord("b")}
    assert matcher.accept_string('b":1,"') and matcher.expected_bytes() == {ord("c")}
    matcher.reset()
    assert matcher.accept_string('{"a":1') and matcher.expected_bytes() == {ord(",")}
    assert matcher.accept_string(',"b":1') and matcher.expected_bytes() == {ord(","), ord("}")}


def test_many_slots_take_work_in_proportion() -> None:
    def terms(count: int) -> tuple[int, int]:
        """Return the terms of the object compiled, and after a text with all its names in any order."""
        rng = random.Random(5)
        names = sorted({"".join(rng.choices("abcdefgh", k=rng.randint(4, 12))) for _ in range(2100)})[:count]
        body = keyed(names, required=frozenset(range(0, count, 3)))
        rules = ir.RuleSet({"root": ir.Rule("root", body)}, "root")
        compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar(rules))
        before = compiled.stats()["terms"]
        matcher = compiled.matcher()
        rng.shuffle(names)
        assert matcher.accept_string("{" + ",".join(f'"{name}":1' for name in names) + "}")
        assert matcher.is_accepting()
        matcher.rollback(1)
        return before, compiled.stats()["terms"]

    # twice as many names, twice the work: with the square of it, four times as many
    assert all(many < 2.5 * few for few, many in zip(terms(1000), terms(2000), strict=True))


def test_many_undeclared_keys_take_states_in_proportion() -> None:
    rules = ir.RuleSet({"root": ir.Rule("root", keyed([], other=ANY_KEY))}, "root")
    limits = sm.Limits(max_semantic_states=20 * 10_000)  # a few for each character of a key
    matcher = sm.Compiler(VOCABULARY, limits=limits).compile(sm.Grammar(rules)).matcher()
    keys = [f'"k{i * 7919 % 10007}":1' for i in range(10_000)]
    assert matcher.accept_string("{" + ",".join(keys))
    assert matcher.accept_string(',"') and not matcher.accept_string('k7919":1')


def test_key_states_have_a_budget() -> None:
    rules = ir.RuleSet({"root": ir.Rule("root", keyed([], other=ANY_KEY))}, "root")
    small = sm.Compiler(VOCABULARY, limits=sm.Limits(max_semantic_states=200)).compile(sm.Grammar(rules))
    matcher = small.matcher()
    with pytest.raises(sm.BudgetError, match="max_semantic_states"):
        matcher.accept_string('{"' + "a" * 300)
    assert matcher.accept_calls == 0


BAD = {
    "the rest of its sequence can": seq("{", ir.Slot(0), ir.Repeat(DIGIT, 0, None)),
    "not an item of a sequence": seq("{", ir.Choice((ir.Slot(0), ir.Literal(b"x"))), "}"),
    "slot 3 of an object with 2": seq("{", ir.Slot(3), "}"),
    "rest of its sequence can be empty": seq("{", ir.Choice((seq(ir.Slot(0)), ir.Literal(b"x"))), "}"),
    "sequence can be empty": seq("{", ir.Repeat(seq(ir.Slot(0), ir.EPSILON), 0, None), "}"),
}


@pytest.mark.parametrize("message", BAD)
def test_misplaced_tests_are_refused(message: str) -> None:
    with pytest.raises(sm.GrammarError, match=message):
        matcher_of(ir.Keyed(BAD[message], ir.KeySpec(2)))


def test_objects_that_cannot_be_are_refused() -> None:
    for spec in (
        ir.KeySpec(1, frozenset({1})),
        ir.KeySpec(1, min_count=2),
        ir.KeySpec(2, frozenset({0, 1}), max_count=1),
    ):
        with pytest.raises(sm.GrammarError, match="G119"):
            matcher_of(ir.Keyed(seq("{", ir.KeyTest("close"), "}"), spec))
    with pytest.raises(sm.GrammarError, match="outside every object"):
        matcher_of(seq(ir.KeyTest("close"), "}"))
    with pytest.raises(sm.GrammarError, match="G112"):
        matcher_of(ir.Choice((seq(ir.Keyed(ir.RuleRef("root"), ir.KeySpec(0)), "x"), ir.Literal(b"y"))))
    with pytest.raises(sm.GrammarError, match="G116"):
        restricted = seq("{", ir.NotFollowedBy(1 << 0x30), ir.KeyTest("close"), "}")
        matcher_of(ir.Keyed(restricted, ir.KeySpec(0)))
    with pytest.raises(sm.GrammarError, match="G108"):
        matcher_of(ir.Complement(keyed(["a"])))


def test_dump_shows_keys() -> None:
    spec = ir.KeySpec(2, frozenset({1}), True, 1, 3, True)
    expr = ir.Keyed(seq(ir.Slot(1), "a", ir.KeyTest("close"), "}"), spec)
    assert dump_expr(expr) == (
        '@keyed<2 slots, required 1, count 1..3, ordered, open>(@slot<1> "a" @keys<close> "}")'
    )


def test_a_key_is_its_characters_however_long_and_however_spelled() -> None:
    """Each beginning of a key remembers what it spells; a key with escapes is the same key as without."""
    spellings = {
        "k": ["k", "\\u006b", "\\u006B"],
        "é": ["é", "\\u00e9"],
        "😀": ["😀", "\\ud83d\\ude00", "\\uD83D\\uDE00"],
        "/": ["/", "\\/", "\\u002f"],
        '"': ['\\"', "\\u0022"],
        "": [""],
    }
    choose = random.Random(5)
    compiled = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])).compile(
        sm.Grammar.from_json_schema({"type": "object", "additionalProperties": {"type": "integer"}})
    )
    matcher, used = compiled.matcher(), set()
    assert matcher.accept_string("{")
    for _ in range(300):
        key = [choose.choice(list(spellings)) for _ in range(choose.choice((0, 1, 2, 9)))]
        text = "".join(choose.choice(spellings[character]) for character in key)
        piece = ("," if used else "") + f'"{text}":1'
        assert matcher.fork().accept_string(piece) == ("".join(key) not in used), piece
        if "".join(key) not in used:
            assert matcher.accept_string(piece)
            used.add("".join(key))


def test_the_end_of_a_long_key_costs_no_more_than_that_of_a_short_one() -> None:
    ends = [b'"' + bytes([a, b]) for a in b": " for b in b"0123456789 [{"]
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None, *ends], stop_ids=[256])
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_json_schema(schema))
    matcher, mask = compiled.matcher(), sm.allocate_token_bitmask(1, vocabulary.size)
    assert matcher.accept_string('{"k":1,"')
    work = []
    for size in (10, 3000):
        assert matcher.accept_string("a" * size)
        matcher.fill_next_token_bitmask(mask)
        before = matcher.account.left
        for byte in b"bcdefghi":
            assert matcher.accept_token(byte)
            matcher.fill_next_token_bitmask(mask)
        work.append(before + 8 * 100_000 - matcher.account.left)
    assert work[1] < 2 * work[0] + 100_000
