"""Invariant 5: special tokens are never text, and the text may end exactly where a stop token is allowed."""

from __future__ import annotations

import pytest

import stackmask
from exactness.walks import engine_mask

TOKENS = [b"<|eot|>", b"<", b"|", b"e", b"o", b"t", b">", b"a", b'"', None, None, None, b"|>", None]
EOT, END, CALL, GAP = 9, 10, 11, 13
VOCABULARY = stackmask.Vocabulary(
    TOKENS, stop_ids=[EOT, END], special_ids=[CALL], special_names={"<|eot|>": EOT, "<|call|>": CALL}
)


def matcher(grammar: str) -> stackmask.Matcher:
    return stackmask.Compiler(VOCABULARY).compile(stackmask.Grammar.from_ebnf(grammar)).matcher()


def test_spelled_out_it_is_text() -> None:
    m = matcher(r"""root ::= '"' [<|>aeot]* '"'""")
    assert m.accept_token(8)
    allowed = engine_mask(m, len(TOKENS))
    assert 0 in allowed  # the text token that spells it
    assert not allowed & {EOT, END, CALL, GAP}
    assert m.accept_string("<|eot|><|eot") is True
    assert m.accept_token(8) and engine_mask(m, len(TOKENS)) == {EOT, END}


def test_the_token_is_not_spelled_out() -> None:
    m = matcher('root ::= "a" <|call|> "a"')
    assert m.accept_token(7)
    assert engine_mask(m, len(TOKENS)) == {CALL}
    for spelled in ("<|call|>", "<"):
        assert not m.accept_string(spelled)
    assert m.accept_token(CALL) and engine_mask(m, len(TOKENS)) == {7}


@pytest.mark.parametrize("stop", [EOT, END])
def test_every_stop_token_ends_the_text_where_it_may_end(stop: int) -> None:
    m = matcher('root ::= "a" "t"?')
    assert not m.accept_token(stop) and not m.is_accepting()
    assert m.accept_token(7)
    assert m.is_accepting() and engine_mask(m, len(TOKENS)) == {5, EOT, END}
    assert m.accept_token(stop) and m.is_terminated()
    assert engine_mask(m, len(TOKENS)) == set()
    assert not m.accept_token(5) and not m.accept_token(stop) and not m.accept_string("t")
    m.rollback(1)
    assert engine_mask(m, len(TOKENS)) == {5, EOT, END} and not m.is_terminated()


def test_a_special_token_satisfies_a_restriction_and_an_id_can_be_named() -> None:
    m = matcher('root ::= "a" !>> [a-z] (<|call|> | "e" | <[13]>)')
    assert m.accept_token(7)
    assert engine_mask(m, len(TOKENS)) == {CALL, GAP}
