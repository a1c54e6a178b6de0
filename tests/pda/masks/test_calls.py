"""Walks end at calls of rules that many rules can begin; their masks are those of each token by itself."""

from __future__ import annotations

import pytest

import stackmask as sm

LEVELS = 18
PIECES = (
    b"!a;>",
    b"((",
    b"(a",
    b"a)",
    b"))",
    b"a0",
    b"0a",
    b"+a",
    b"a+",
    b"a ",
    b" a",
    b"q a",
    b"a;",
    b"x(a",
    b"!!",
)
VOCABULARY = sm.Vocabulary(
    [*(bytes([b]) for b in range(256)), *PIECES, b"</s>"], stop_ids=[256 + len(PIECES)]
)
LADDER = "\n".join(f'e{n} ::= e{n + 1} ("op{n}" e{n + 1})*' for n in range(LEVELS)) + (
    f'\ne{LEVELS} ::= [a-z] [a-z0-9]* !>> [a-z0-9] | "(" e0 ")"'
)
GRAMMARS = {
    "one place": ('root ::= e0 ";"', b"(a);"),
    "several places": ('root ::= "q " e0 | "x" "(" e0 ")" | "!" e3 "!"', b"x(a)"),
    "a light rule between": (
        'root ::= list ";"\nlist ::= "!" item ("+" item)*\nitem ::= " "? e0',
        b"!a+(a0);",
    ),
    "tail calls": ("root ::= first\nfirst ::= second\nsecond ::= e0", b"((a))"),
    "a tail call beside another call": (
        (
            'root ::= "<" p ">" | "!" b "!"\np ::= a | b | "!" p | "x" p p\nb ::= a "x" | "(" b ")"\n'
            'a ::= e0 ";" | "(" a a ")" | "<" e3 "!"'
        ),
        b"<!a;>",
    ),
    "after blanks": ('%skip space\nspace ::= [ \\t]\nroot ::= "q" e0 ";"?', b"q a"),
}


def allowed(matcher: sm.Matcher) -> set[int]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    return {token for token in range(VOCABULARY.size) if mask[0][token >> 5] >> (token & 31) & 1}


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_those_of_each_token(name: str) -> None:
    text, string = GRAMMARS[name]
    matcher = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(f"{text}\n{LADDER}")).matcher()
    for byte in string:
        truth = {token for token in range(VOCABULARY.size) if matcher.fork().accept_token(token)}
        assert allowed(matcher) == truth
        assert matcher.accept_token(byte)


def work_of_a_mask(grammar: str, begin: bytes) -> int:
    matcher = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(f"{grammar}\n{LADDER}")).matcher()
    assert matcher.accept_string(begin)
    work: int = matcher.explain()["cost"]["work"]
    return work


def test_many_callers_at_one_place_take_no_more_than_their_number() -> None:
    def grammar(count: int) -> str:
        rules = "\n".join(f'c{n} ::= e0 "{n};"' for n in range(count))
        return f'root ::= "q" [a-p]* ({" | ".join(f"c{n}" for n in range(count))})\n{rules}'

    assert work_of_a_mask(grammar(320), b"q") < 16 * work_of_a_mask(grammar(40), b"q")


def test_wide_frames_take_no_more_than_their_edges() -> None:
    def grammar(count: int) -> str:
        rules = ['root ::= "!" (' + " | ".join(f"a{n}" for n in range(count)) + ")"]
        for name, callee in ("ab", "bc", "cd"):
            body = " | ".join(f"{callee}{n}" for n in range(count))
            rules += [f'{name}{n} ::= "(" ({body}) "{n}{name}"' for n in range(count)]
        rules += [f'd{n} ::= "(" e0 "{n}"' for n in range(count)]
        return "\n".join(rules)

    assert work_of_a_mask(grammar(16), b"!") < 48 * work_of_a_mask(grammar(4), b"!")


def test_a_long_ladder_takes_work_by_its_length() -> None:
    def work(count: int) -> int:
        rules = "\n".join(f'r{n} ::= r{n + 1} | "+" r{n} "-"' for n in range(count))
        return work_of_a_mask(f'root ::= "q" r0 ";"\n{rules}\nr{count} ::= e0 | "b" r0 "c"', b"qb")

    assert work(800) < 3 * work(400)
