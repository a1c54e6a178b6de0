"""Expressions as values: structure, not places, decides; and nodes know their terms for several compilers."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import stackmask as sm
from stackmask.grammar import ir
from stackmask.grammar.ir import Span

A, B = ir.Literal(b"a"), ir.Literal(b"b")
SAMPLES: list[Any] = [
    A,
    B,
    ir.CharClass(((97, 98),)),
    ir.ByteClass(6),
    ir.Sequence((A, B)),
    ir.Choice((A, B)),
    ir.Intersection((A, B)),
    ir.Repeat(A, 1, None),
    ir.Repeat(A, 1, 2),
    ir.Complement(A),
    ir.RuleRef("x"),
    ir.RuleRef("x", nonempty=True),
    ir.TokenTerminal(("<t>",), ((1, 2),), True),
    ir.NotFollowedBy(6),
    ir.Capture(A),
    ir.Capture(A, "key"),
    ir.Scope(A),
    ir.Dynamic(),
    ir.Keyed(ir.Sequence((A, ir.KeyTest("close"), B)), ir.KeySpec(0, open=True)),
    ir.Slot(3),
    ir.KeyTest("close"),
]


def test_equality_is_structural() -> None:
    for i, one in enumerate(SAMPLES):
        fields = [getattr(one, name) for name in type(one).__match_args__]
        elsewhere = type(one)(*fields[:-1], Span(1, 2))
        assert elsewhere.span == Span(1, 2)
        assert elsewhere == one
        assert hash(elsewhere) == hash(one)
        assert eval(repr(one), vars(ir)) == one
        copy = pickle.loads(pickle.dumps(elsewhere))
        assert copy == one
        assert copy.span == Span(1, 2)
        for j, other in enumerate(SAMPLES):
            assert (one == other) == (i == j)
    assert A != "a"


def test_nodes_do_not_change() -> None:
    for one in SAMPLES:
        for name in type(one).__match_args__:
            with pytest.raises(AttributeError):
                setattr(one, name, None)
    with pytest.raises(TypeError):
        ir.Literal("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ir.Sequence([A, B])  # type: ignore[arg-type]


def test_patterns_take_fields_in_order() -> None:
    match ir.Repeat(A, 2, 5, Span(0, 1)):
        case ir.Repeat(item, low, high, span):
            assert (item, low, high, span) == (A, 2, 5, Span(0, 1))
    assert ir.children(ir.Choice((A, B))) == (A, B)
    assert ir.children(ir.Scope(A)) == (A,)
    assert ir.children(A) == ()
    shared = ir.Sequence((A, B))
    assert list(ir.walk(ir.Choice((shared, ir.Complement(shared))))) == [
        ir.Choice((shared, ir.Complement(shared))),
        shared,
        A,
        B,
        ir.Complement(shared),
    ]


def test_deep_nesting_ends_in_errors() -> None:
    for wrap in (lambda e: ir.Repeat(e, 0, 1), lambda e: ir.Sequence((e,)), ir.Complement):
        deep: Any = A
        for _ in range(200_000):
            deep = wrap(deep)
        assert sum(1 for _ in ir.walk(deep)) == 200_001
        with pytest.raises(RecursionError):
            hash(deep)
        del deep  # taken apart without recursion


def test_compilers_take_turns() -> None:
    vocabulary = sm.Vocabulary(
        [bytes([b]) for b in range(256)] + [b"<eos>"], stop_ids=[256], special_ids=[256]
    )
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 3}, "n": {"enum": [1, "x"]}},
        "required": ["n"],
    }
    texts = (b'{"name": "abc", "n": "x"}', b'{"n": 1, "name": ""}', b'{"name": "abcd"}', b'{"z": [], "n": 2}')

    def verdicts(compiled: sm.CompiledGrammar) -> list[tuple[bool, list[int]]]:
        found = []
        for text in texts:
            matcher = compiled.matcher()
            mask = sm.allocate_token_bitmask(1, vocabulary.size)
            rows = []
            for byte in text:
                matcher.fill_next_token_bitmask(mask, 0)
                rows.append(hash(mask.tobytes()))
                if not matcher.accept_token(byte):
                    break
            found.append((bool(matcher.is_accepting()), rows))
        return found

    older, newer = sm.Compiler(vocabulary), sm.Compiler(vocabulary)
    expected = verdicts(
        sm.Compiler(vocabulary).compile(sm.Grammar.from_json_schema(schema, property_order="any"))
    )
    assert [accepted for accepted, _ in expected] == [True, True, False, False]
    for round_ in range(2):
        for compiler in (older, newer, older):
            # the leaves are the same objects each time, the rest is made anew
            grammar = sm.Grammar.from_json_schema(schema, property_order="any")
            assert verdicts(compiler.compile(grammar)) == expected, round_
    assert older.compile(grammar) is older.compile(sm.Grammar.from_json_schema(schema, property_order="any"))


def test_rules_are_equal_by_name_and_body() -> None:
    rule = ir.Rule("a", ir.Sequence((ir.Literal(b"x"), ir.RuleRef("b"))), ir.Span(1, 2))
    same = ir.Rule("a", ir.Sequence((ir.Literal(b"x"), ir.RuleRef("b"))))
    assert rule == same
    assert hash(rule) == hash(same)
    assert rule != ir.Rule("b", same.body)
    assert rule != ir.Rule("a", ir.RuleRef("b"))
    assert rule != ("a", same.body)
    assert repr(rule) == f"Rule(name='a', body={same.body!r})"
    again = pickle.loads(pickle.dumps(rule))
    assert again == rule
    assert again.span == ir.Span(1, 2)
    with pytest.raises(AttributeError):
        rule.name = "c"  # type: ignore[misc]
