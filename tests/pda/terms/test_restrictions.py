"""Follow restrictions: within a rule, pending across the ends of rules and tokens, and dead ends they make."""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm

TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [None, b"ab", b"a1", b"a)", b"a)1", b"a),", b"(a", b"if", b"if ", b"ifx", b"x)"]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[256])
# recursive rules are never inlined, so the restriction is pending when `item` returns
NESTED = """
root ::= item ("," item)* [0-9]?
item ::= "(" root ")" | word
word ::= [ab]+ !>> [ab0-9] | "<" word
"""


def matcher_of(text: str) -> sm.Matcher:
    return sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(text)).matcher()


def mask_of(matcher: sm.Matcher) -> set[bytes]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size])
    return {TOKENS[i] or b"END" for i in bits}


def test_a_restriction_goes_along_when_rules_return() -> None:
    matcher = matcher_of(NESTED)
    assert matcher.accept_string("a")
    # a digit may follow an item, but not a word
    assert mask_of(matcher) == {b"a", b"b", b"ab", b",", b"END"}
    matcher.reset()
    assert matcher.accept_string("(a")
    assert mask_of(matcher) == {b"a", b"b", b"ab", b",", b")", b"a)", b"a)1", b"a),"}
    assert matcher.accept_string(")")
    assert b"1" in mask_of(matcher)


def test_tokens_that_cross_the_end_of_a_rule_meet_its_restriction() -> None:
    matcher = matcher_of(NESTED)
    assert matcher.accept_string("(")
    allowed = mask_of(matcher)
    assert b"a)1" in allowed and b"a)," in allowed and b"a1" not in allowed and b"ab" in allowed


def test_a_keyword_ends_where_a_word_would_go_on() -> None:
    matcher = matcher_of('root ::= "if"i !>> [a-z] " "* ([0-9] | [a-z])+ | [a-z]{1,2} "="')
    assert matcher.accept_string("if")
    assert {b" ", b"0", b"="} <= mask_of(matcher) and b"x" not in mask_of(matcher)
    matcher.reset()
    assert {b"if", b"if ", b"ab"} <= mask_of(matcher) and b"ifx" not in mask_of(matcher)


def test_the_end_of_the_text_and_special_tokens_satisfy_every_restriction() -> None:
    vocabulary = sm.Vocabulary([*TOKENS, None], stop_ids=[256], special_names={"<|x|>": len(TOKENS)})
    grammar = sm.Grammar.from_ebnf('root ::= "a" !>> . <|x|>? | "a" !>> [\\x00-\\U0010ffff]')
    matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
    assert matcher.accept_string("a") and matcher.is_accepting() and matcher.expected_bytes() == set()
    assert matcher.accept_token(len(TOKENS)) and matcher.is_accepting()


def test_no_way_leads_to_where_every_continuation_is_forbidden() -> None:
    # after "(" the word could only be followed by what its restriction forbids
    matcher = matcher_of('root ::= "(" word "x" root? | "[" word ")"  word ::= [ab]+ !>> [x] | "<" word ">"')
    assert mask_of(matcher) == {b"(", b"["}
    assert matcher.accept_string("(")
    assert mask_of(matcher) == {b"<"}, "a word in angle brackets is no word any more, so x may follow"
    matcher.reset()
    assert matcher.accept_string("[") and b"a" in mask_of(matcher) and b"x)" not in mask_of(matcher)


@pytest.mark.parametrize("text", ["ab", "a,b", "(a)1", "((a),b)", "(a,b)2"])
def test_texts_of_the_nested_grammar(text: str) -> None:
    matcher = matcher_of(NESTED)
    assert matcher.accept_string(text) and matcher.is_accepting()


@pytest.mark.parametrize("text", ["a1", "(a1)", "(a,b1)", "(a"])
def test_texts_that_are_not_of_the_nested_grammar(text: str) -> None:
    matcher = matcher_of(NESTED)
    assert not (matcher.accept_string(text) and matcher.is_accepting())


def test_equal_suffixes_under_different_restrictions_are_distinguished() -> None:
    # "ab" leaves the suffix "b" in both, and only one of the rules forbids it
    matcher = matcher_of(
        'root ::= "<" x [b)] | "[" y [b)]  x ::= "(" x ")" | "a" !>> [b]  y ::= "{" y "}" | "a"'
    )
    for start, allowed in [("<", False), ("[", True), ("<", False)]:
        assert matcher.accept_string(start)
        assert (b"ab" in mask_of(matcher)) == allowed and b"a)" in mask_of(matcher)
        matcher.reset()


def test_a_branch_that_can_only_end_in_a_forbidden_place_is_closed_from_its_first_byte() -> None:
    # `word` is recursive, so it is called; behind "<" only x may follow, which the long branch forbids at its end
    matcher = matcher_of(
        'root ::= "<" word "x" | "[" word ")"  word ::= "a" ("bbb" !>> [x] | "c") | "(" word'
    )
    assert matcher.accept_string("<a")
    assert mask_of(matcher) == {b"c"}
    assert not matcher.accept_string("b")
    matcher.reset()
    assert matcher.accept_string("[a") and mask_of(matcher) == {b"b", b"c"}
