"""Grammars put together: the language of the whole, names that never clash, and parts that diagnostics name."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from support.byte_matcher import ByteMatcher

import stackmask as sm
from stackmask.grammar.turns.parts.merge import any_overlap

NUMBER = sm.Grammar.from_ebnf("root ::= item+\nitem ::= [0-9]")
WORD = sm.Grammar.from_ebnf("root ::= item+\nitem ::= [a-z]")
POINT = sm.Grammar.from_json_schema(
    {"type": "object", "properties": {"x": {"type": "integer"}, "more": {}}, "required": ["x"]}
)

BYTES = [bytes([byte]) for byte in range(256)]


def check(grammar: sm.Grammar, accepted: list[str], rejected: list[str]) -> None:
    matcher = ByteMatcher(grammar)
    assert [text for text in accepted if not matcher.matches(text)] == []
    assert [text for text in rejected if matcher.matches(text)] == []


def test_union_and_concatenation() -> None:
    check(NUMBER | WORD, ["1", "ab"], ["", "1a"])
    check(NUMBER + WORD, ["1a", "12ab"], ["1", "a", "a1"])
    check(sm.union(NUMBER, WORD, POINT), ["1", "ab", '{"x": 1}'], ["{}"])
    check(sm.concat(NUMBER, POINT, WORD), ['1{"x":1}a'], ['1{"x":1}'])


def test_repetition() -> None:
    check(WORD.optional(), ["", "a"], ["1"])
    check((NUMBER + WORD).repeat(2, 3), ["1a2b", "1a2b3c"], ["1a", "1a2b3c4d"])
    check(WORD.repeat(), ["", "ab"], ["1"])
    with pytest.raises(sm.StackmaskError, match="0 <= m <= n"):
        WORD.repeat(3, 2)


def test_the_same_part_comes_once() -> None:
    both = POINT + POINT
    assert len((both + WORD).rules.rules) < 3 * len(POINT.rules.rules)
    check(both, ['{"x":1}{"x":2}'], ['{"x":1}'])


def test_rules_of_any_json_value_are_shared() -> None:
    other = sm.Grammar.from_json_schema({"type": "array"})
    names = (POINT + other).rules.rules
    assert sum(name.rpartition("/")[2] == "json" for name in names) == 1
    blanks = sm.Grammar.from_json_schema({"type": "array"}, whitespace="compact")
    check(POINT + blanks, ['{"x": 1, "more": [1, 2]}[1,2]'], ['{"x": 1, "more": [1, 2]}[1, 2]'])


def test_long_chains_stay_small() -> None:
    whole = NUMBER
    for _ in range(30):
        whole = whole | WORD
    check(whole, ["1", "a"], ["1a"])


def test_diagnostics_name_the_part() -> None:
    wrong = sm.Grammar.from_ebnf("root ::= root")
    with pytest.raises(sm.GrammarError, match="in `order`"):
        sm.concat(NUMBER, order=wrong)


def test_states_that_clash_are_refused() -> None:
    stack = sm.Grammar.from_ebnf('%stack "a"\nroot ::= "<" @push([a-z]+) ">" @top')
    other = sm.Grammar.from_ebnf('root ::= "(" @push([a-z]+) ")" @top')
    check(stack + NUMBER, ["<ab>ab1"], ["<ab>1"])
    check(stack + stack, ["<ab>ab<c>c"], ["<ab>ab<c>ab"])
    check(other + other, ["(ab)ab(c)c"], ["(ab)ab(c)ab"])
    with pytest.raises(sm.GrammarError, match="G120"):
        sm.concat(stack, other)
    with pytest.raises(sm.GrammarError, match="G120"):
        sm.concat(other, stack)


def test_text_and_tags() -> None:
    thought = sm.tag("<think>", sm.text(), "</think>")
    check(
        thought + POINT,
        ['<think></think>{"x":1}', '<think>a < b</thin</think>{"x": 2}'],
        ['<think>a{"x":1}', '<think></think></think>{"x":1}'],
    )
    check(sm.text(excludes=["ab", "ba"], max_chars=3), ["", "aaa", "b"], ["aaaa", "xab"])
    check(sm.tag("<", NUMBER, [">", "]"]), ["<1>", "<12]"], ["<1", "1>"])
    check(sm.tag("", sm.text(), "aa"), ["baa", "aa"], ["aaa", "baaa"])


def compile_bytes(grammar: sm.Grammar) -> sm.CompiledGrammar:
    return sm.Compiler(sm.Vocabulary([*BYTES, b"yz", None], stop_ids=[257])).compile(grammar)


def test_counted_tokens_beside_other_parts() -> None:
    """What only tokens can be counted in is refused by name elsewhere, and counts are no semantic state."""
    counted = sm.text(max_tokens=3)
    with pytest.raises(sm.StackmaskError, match=r"max_tokens.* Matcher"):
        counted.accepts("a")
    with pytest.raises(sm.StackmaskError, match=r"max_tokens.* Matcher"):
        counted.sample(1, seed=1)
    with pytest.raises(sm.GrammarError, match="text whose tokens are counted"):
        compile_bytes(sm.Grammar.from_ebnf("root ::= t & [a-z]*", grammars={"t": counted}))
    begun = sm.Grammar.from_ebnf('root ::= @push([a-z]) ":" t ":" @top', grammars={"t": counted})
    matcher = compile_bytes(begun).matcher()
    ids = [*b"a:", 256, 256, *b"y:"]
    assert all(matcher.accept_token(token) for token in ids)
    assert matcher.expected_bytes() == {ord("a")}


def test_markers_are_special_tokens_where_there_are() -> None:
    texts = [*BYTES, b"<think>", b"</think>", None, None, None]
    names = {"<think>": 258, "</think>": 259}
    grammar = sm.tag("<think>", sm.text(), "</think>")
    matcher = (
        sm.Compiler(sm.Vocabulary(texts, stop_ids=[260], special_names=names)).compile(grammar).matcher()
    )
    assert not matcher.accept_token(256)  # its text is no marker
    assert matcher.accept_token(258)
    assert matcher.accept_token(257)  # nor an end
    assert matcher.accept_token(65)
    assert matcher.accept_token(259)
    assert matcher.is_accepting()
    matcher = sm.Compiler(sm.Vocabulary(texts, stop_ids=[260])).compile(grammar).matcher()
    assert [matcher.accept_token(token) for token in (256, 65, 257)] == [True] * 3
    assert matcher.is_accepting()


def test_markers_of_parts_are_resolved_too() -> None:
    vocabulary = sm.Vocabulary([*BYTES, None, None], stop_ids=[257], special_names={"<b>": 256})
    whole = (NUMBER + sm.tag("<b>", WORD, "<b>")).optional()
    matcher = sm.Compiler(vocabulary).compile(whole).matcher()
    assert [matcher.accept_token(token) for token in (ord("1"), 256, ord("a"), 256)] == [True] * 4
    assert matcher.is_accepting()
    automaton = sm.fsm.compile(whole, vocabulary).matcher()
    assert [automaton.accept_token(token) for token in (ord("1"), 256, ord("a"), 256)] == [True] * 4


def test_what_is_no_part() -> None:
    with pytest.raises(sm.StackmaskError, match="is a Grammar"):
        sm.union(NUMBER, "a")  # type: ignore[arg-type]
    with pytest.raises(sm.StackmaskError, match="at least one"):
        sm.concat()
    with pytest.raises(TypeError):
        NUMBER | 1  # type: ignore[operator]
    with pytest.raises(sm.StackmaskError, match="strings"):
        sm.tag("a", NUMBER, [])


def test_strings_that_reach_into_each_other() -> None:
    def reaches(one: str, other: str) -> bool:
        inside = one != other and other in one
        return inside or any(one.endswith(other[:size]) for size in range(1, min(len(one), len(other))))

    rng = random.Random(5)
    seen = set()
    for _ in range(4000):
        marks = ["".join(rng.choices("abc", k=rng.randint(1, 5))) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
        expected = any(reaches(one, other) for one in marks for other in marks)
        assert any_overlap(marks) == expected, marks
        seen.add(expected)
    assert seen == {True, False}


DISTINCT: tuple[dict[str, Any], ...] = (
    {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "ab", 1, None]}},
    {"type": "array", "uniqueItems": True, "items": {"type": "boolean"}, "minItems": 1},
    {
        "type": "object",
        "properties": {
            "u": {"type": "array", "uniqueItems": True, "items": {"enum": [1, 10, 2]}, "maxItems": 2},
            "n": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        },
        "required": ["u"],
        "additionalProperties": False,
    },
)


@pytest.mark.parametrize("number", range(len(DISTINCT)))
@pytest.mark.parametrize("how", ["name", "json", "restricted"])
def test_distinct_items_mean_the_same_inside_of_other_rules(number: int, how: str) -> None:
    schema = DISTINCT[number]
    plain = sm.Grammar.from_json_schema(schema)
    composed = {
        "name": lambda: sm.Grammar.from_ebnf('root ::= "x" p', grammars={"p": plain}),
        "json": lambda: sm.Grammar.from_ebnf(f'root ::= "x" %json {json.dumps(schema)}'),
        "restricted": lambda: sm.Grammar.from_ebnf('root ::= "x" !>> [a-c]') + plain,
    }[how]()
    vocabulary = sm.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b'", "', b"true,", None], stop_ids=[258]
    )
    alone, inside = (sm.Compiler(vocabulary).compile(grammar) for grammar in (plain, composed))
    masks = [sm.allocate_token_bitmask(1, vocabulary.size) for _ in range(2)]
    rng, compared = random.Random(f"{number} {how}"), 0
    for _ in range(40):
        pair = (alone.matcher(), inside.matcher())
        assert pair[1].accept_string("x")
        for _ in range(60):
            for matcher, mask in zip(pair, masks, strict=True):
                matcher.fill_next_token_bitmask(mask)
            assert (masks[0] == masks[1]).all()
            compared += 1
            allowed = np.flatnonzero(np.unpackbits(masks[0].view(np.uint8), bitorder="little"))
            close = [
                token for token in allowed.tolist() if token == 258 or (token < 256 and chr(token) in '"]},:')
            ]
            token = rng.choice(close if close and rng.random() < 0.5 else allowed.tolist())
            if token == 258:
                break
            assert all(matcher.accept_token(token) for matcher in pair)
    assert compared > 200
