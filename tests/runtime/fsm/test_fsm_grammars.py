"""Masks of the finite engine on random grammars, bit for bit against the oracle and the pushdown engine."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from exactness.walks import Case, check_case, random_case, word_case
from support.both_engines import compile_both, walk_all
from support.campaign import mostly_campaign

import stackmask as sm

COMPILER = sm.Compiler(
    sm.Vocabulary(
        [
            *(bytes([b]) for b in range(256)),
            *(
                w.encode()
                for w in ('{"', '": ', '",', "true", "fal", "12", "1.", '"a', 'b"', "}}", "  ", "é", "null")
            ),
            None,
            None,
        ],
        stop_ids=[269],
        special_names={"<|tool|>": 270},
    )
)


@dataclass
class FiniteCase(Case):
    def compile(self, **limits: int) -> Any:
        vocabulary = self.vocabulary
        vocab = sm.Vocabulary(
            vocabulary.tokens,
            stop_ids=vocabulary.stop_ids,
            special_ids=vocabulary.special_ids,
            special_names=vocabulary.special_names,
        )
        return sm.fsm.compile(sm.Grammar(self.rules), vocab)


def judge(case: Case, seed: int) -> str:
    try:
        return check_case(FiniteCase(case.rules, case.vocabulary), seed, walks=2, steps=8).kind
    except sm.fsm.FsmError as error:
        return str(error).split("`")[-1][:14]  # what it is that no automaton does


@pytest.mark.parametrize("group", mostly_campaign(range(6), 1))
def test_masks_equal_the_oracle(group: int) -> None:
    kinds = Counter(judge(random_case(seed), seed) for seed in range(1000 + group * 60, 1060 + group * 60))
    assert kinds["judged"] >= 12, kinds


@pytest.mark.campaign
def test_restrictions_that_cross_returns() -> None:
    kinds = Counter(judge(word_case(seed), seed) for seed in range(60))
    assert kinds["judged"] >= 5, kinds


GRAMMARS = {
    "rules": 'root ::= item ("," item)*\nitem ::= "a" [0-9]{1,3} | "b" tail\ntail ::= "x"? "yz"',
    "right recursion": 'root ::= "a" root | "b" rest\nrest ::= "c" rest | "d"?',
    "left recursion": 'root ::= root "a" | "b"',
    "words": 'root ::= ("if" !>> [a-z] | name) (" " name)*\nname ::= [a-z]+ & !("if" | "else")',
    "special tokens": 'root ::= "a"* <|tool|> ("b" | <|tool|>)* "c"?',
    "special token at the end": 'root ::= <|tool|> | "x" <|tool|>',
    "conjunction": "root ::= [a-d]{2,6} & !(.* 'aa' .*)".replace("'", '"'),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars(name: str) -> None:
    found = compile_both(sm.Grammar.from_ebnf(GRAMMARS[name]), COMPILER)
    assert found is not None
    assert walk_all(*found, random.Random(name)) > 1


SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": -5, "maximum": 120},
    {"enum": ["red", "green", None, 12]},
    {"type": "string", "pattern": "^[a-z]+-[0-9]{2}$", "maxLength": 8},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}},
        "required": ["b"],
        "additionalProperties": False,
    },
    {"type": "string", "format": "date"},
    {"anyOf": [{"const": {"a": 1}}, {"type": "number", "multipleOf": 5}]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_schemas(schema: dict[str, Any]) -> None:
    for how in ({}, {"whitespace": "compact"}, {"property_order": "any"}):
        found = compile_both(sm.Grammar.from_json_schema(schema, **how), COMPILER, memory=64 << 20)
        assert found is not None
        walk_all(*found, random.Random(3))


def test_keys_in_any_order_are_a_state_for_every_set_of_keys() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in "abcd"},
        "required": ["a"],
        "additionalProperties": False,
    }
    grammar = sm.Grammar.from_json_schema(schema, property_order="any", whitespace="compact")
    found = compile_both(grammar, COMPILER)
    assert found is not None
    walk_all(*found, random.Random(4))
    assert found[1].dfa.matches(b'{"c":1,"a":1}')
    assert not found[1].dfa.matches(b'{"c":1,"c":1,"a":1}') and not found[1].dfa.matches(b'{"c":1}')


def test_a_space_that_the_tokenizer_strips() -> None:
    vocabulary = sm.Vocabulary(
        [*(bytes([b]) for b in range(256)), b" a", b" ab", None], stop_ids=[258], strip_first_space=True
    )
    found = compile_both(sm.Grammar.from_regex(" ?ab"), sm.Compiler(vocabulary))
    assert found is not None
    walk_all(*found, random.Random(5))
    assert found[1].dfa.matches(b" ab") and found[1].dfa.matches(b"  ab")
