"""The set of values that an array with ``uniqueItems`` keeps account of: small steps, and equal whatever the order."""

from __future__ import annotations

import json
import random
from collections.abc import Hashable
from decimal import Decimal
from typing import Any

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm
from stackmask.grammar.json_schema.sets import used_values
from stackmask.grammar.json_schema.sets.used_values import NONE_USED, UsedValues
from stackmask.grammar.json_schema.sets.values import canonical, read_value
from stackmask.grammar.json_schema.write.unique_frames import begin_set, may_repeat, take

MODULUS = 2**61 - 1  # of Python's hashes of numbers


def value_of(text: str) -> Hashable:
    return canonical(json.loads(text, parse_float=Decimal))


def used_after(texts: list[str]) -> UsedValues:
    used = NONE_USED
    for text in texts:
        made = used.adding(value_of(text))
        assert made is not None
        used = made
    return used


def text_of(index: int) -> str:
    values: list[Any] = [index, index + 0.5, f"text {index}", [index], {"key": index}, [[f"{index}"], None]]
    return json.dumps(values[index % len(values)])


def nodes(used: UsedValues) -> dict[int, Any]:
    found: dict[int, Any] = {}
    todo: list[Any] = [used._made_root(), used._made_prefixes()]
    while todo:
        node = todo.pop()
        if id(node) not in found:
            found[id(node)] = node
            todo.extend(node[1:] if type(node) is tuple else ())
    return found


def test_the_order_does_not_matter() -> None:
    texts = [text_of(i) for i in range(600)] + ["null", "true", "false", '""', "[]", "{}"]
    one = used_after(texts)
    random.Random(1).shuffle(texts)
    other = used_after(texts)
    assert one == other
    assert hash(one) == hash(other)
    assert {one: 1}[other] == 1
    assert set(one) == set(map(value_of, texts))
    assert len(one) == len(texts)
    assert all(value_of(text) in one and one.adding(value_of(text)) is None for text in texts)
    assert used_after(texts[:-1]) != one
    assert used_after([*texts[:-1], "777777"]) != one


@pytest.mark.parametrize(
    ("one", "same"),
    [("1", "1.0"), ("100", "1e2"), ('"a"', '"\\u0061"'), ('{"a":1,"b":2}', '{"b":2.0,"a":1}')],
)
def test_values_are_compared_not_texts(one: str, same: str) -> None:
    assert used_after([one]) == used_after([same])
    assert used_after([one]).adding(value_of(same)) is None
    assert take(used_after([one]), same.encode()) is None


def test_true_is_no_number_and_null_no_text() -> None:
    assert len(used_after(["true", "1", "false", "0", "null", '"null"', '""', "[]", "{}"])) == 9


def test_each_item_shares_all_but_a_few_nodes_with_the_set_before() -> None:
    used = NONE_USED
    known = nodes(used)
    made = []
    for i in range(4000):
        used = used.adding(value_of(text_of(i))) or NONE_USED
        found = nodes(used) if i % 500 < 2 or i > 3990 else {}
        if i % 500 == 1 or i > 3991:
            made.append(
                sum(len(found[key]) for key in found.keys() - known.keys() if type(found[key]) is tuple)
            )
        if found:
            known = found
    assert len(used) == 4000
    assert max(made) < 700  # places in new nodes, of values and beginnings of strings


def test_a_set_that_is_asked_for_nothing_makes_no_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    used = used_after([text_of(i) for i in range(100)])
    nodes(used)
    monkeypatch.setattr(used_values, "_insert", None)
    candidates = [used.adding(f"text {i} and more") for i in range(100)]
    assert len({*candidates, *[used.adding(f"text {i} and more") for i in range(100)]}) == 100


def test_numbers_with_equal_hashes_do_not_collide() -> None:
    chosen = [i * MODULUS for i in range(1, 300)]
    assert len(set(map(hash, chosen))) == 1
    assert len({used_values._code(value) for value in chosen}) == 299
    assert len({used_values._code(("array", value)) for value in chosen}) == 299
    used = used_after(list(map(str, chosen)))
    assert all(value in used for value in chosen)


def test_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(used_values, "_code", lambda value: len(str(value)))
    texts = [str(i) for i in range(10, 60)]
    one, other = used_after(texts), used_after(texts[::-1])
    assert one == other
    assert set(one) == set(range(10, 60))
    assert 60 not in one
    assert used_after([*texts[1:], "70"]) != one


def test_what_may_repeat_is_never_missed() -> None:
    words = ["", "a", "ab", "abc", "text", "a longer text of many letters", "ä", "\N{SNOWMAN}" * 30]
    used = used_after([json.dumps(word, ensure_ascii=False) for word in words])
    for word in words:
        text = b'"' + word.encode() + b'"'
        for end in range(len(text)):
            assert may_repeat(used, text[:end]), text[:end]
    assert not may_repeat(used, b'"b')
    assert not may_repeat(used, b'"texts of another kind')
    assert not may_repeat(used, b"[")
    assert may_repeat(used_after(["[]"]), b"[")
    assert may_repeat(used, b'"\\')
    assert begin_set((), b"[") == NONE_USED
    assert not may_repeat(NONE_USED, b"1")
    assert not may_repeat(frozenset({1}), b"1")


def test_numbers_of_texts_are_read_by_value() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        digits = "".join(rng.choices("0123456789", k=rng.randint(1, 6)))
        text = rng.choice(("", "-")) + str(int(digits)) + rng.choice(("", ".0", ".50", ".007"))
        text += rng.choice(("", "e3", "E-4", "e+12", "e00"))
        assert read_value(text.encode()) == value_of(text), text


def test_numbers_of_any_size_are_told_apart() -> None:
    same = [
        ["0", "-0", "0E+14120", "0.000e-99999999999999999999"],
        ["1e20000", "10e19999", "0.1E+20001", "1" + "0" * 20000],
        ["1e99999999999999999999", "10e99999999999999999998"],
        ["-1e20000"],
        ["1e-20000", "0." + "0" * 19999 + "1"],
        ["1" * 5000, "1" * 5000 + ".0"],
        ["1" * 5001],
        ["1e" + "9" * 5000],
        ["1e-" + "9" * 5000],
        ["1e" + "9" * 4000 + "0", "10e" + "9" * 3999 + "89", "1e+00" + "9" * 4000 + "0"],
        ["1e" + "9" * 1_000_000],
        ["1" * 1_000_000, "1" * 1_000_000 + "e0"],
    ]
    keys = [{read_value(text.encode()) for text in texts} for texts in same]
    assert all(len(each) == 1 for each in keys)
    assert len(set().union(*keys)) == len(same)
    used = NONE_USED
    for texts in same:
        for number, text in enumerate(texts):
            added = take(used, f"[{text}]".encode())
            assert (added is None) == (number > 0)
            used = used if added is None else added  # type: ignore[assignment]


def test_a_number_with_a_large_exponent_ends_no_request() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"type": ["array", "number"]}}
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema))
    for text, valid in (
        ("[[0E+14120],[0]]", False),
        ("[[1E+14120],[10E+14119]]", False),
        ("[[1E+14120],[1E+14121]]", True),
    ):
        matcher = compiled.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == valid


@pytest.mark.parametrize("depth", [201, 5_000, 50_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"k":', "}")])
def test_an_item_nested_too_deep_is_a_named_error(depth: int, opening: str, closing: str) -> None:
    schema = {"type": "array", "uniqueItems": True}
    matcher = COMPILER.compile(sm.Grammar.from_json_schema(schema)).matcher()
    with pytest.raises(
        sm.UnsupportedSchemaError, match="`uniqueItems`: an item is nested more than 200 levels"
    ):
        matcher.accept_string("[" + opening * depth + "1" + closing * depth)
    assert matcher.accept_string("[" + opening * 190 + "1" + closing * 190 + "]") and matcher.is_accepting()
