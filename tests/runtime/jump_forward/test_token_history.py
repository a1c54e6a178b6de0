"""What a matcher remembers of the tokens that it took, also where text came in between and was taken back."""

from __future__ import annotations

import pytest

import stackmask as sm

VOCABULARY = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
A, B, X = b"abx"


def matcher() -> sm.Matcher:
    return sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf('root ::= [ab]* "x"')).matcher()


def test_text_that_is_taken_back_is_no_boundary() -> None:
    one = matcher()
    assert one.accept_token(A) and one.accept_string("ab")
    one.rollback(1)
    assert one.accept_token(B) and one.accept_token(X)
    assert one.find_jump_forward_tokens([A, B, X]) == (0, [])
    for wrong in ([A, A, X], [B, B, X], [B, X]):
        with pytest.raises(sm.MatcherError, match="does not end with the tokens"):
            one.find_jump_forward_tokens(wrong)


def test_tokens_before_text_are_not_compared() -> None:
    one = matcher()
    assert one.accept_token(A) and one.accept_string("ab") and one.accept_token(X)
    assert one.find_jump_forward_tokens([B, B, B, X]) == (0, [])
    with pytest.raises(sm.MatcherError, match="does not end with the tokens"):
        one.find_jump_forward_tokens([A, A])
