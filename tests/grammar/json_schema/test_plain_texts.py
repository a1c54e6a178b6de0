"""``spelling="plain"``: one spelling of fixed texts, and every value as before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm


def matcher(schema: Any, **options: Any) -> sm.Matcher:
    return COMPILER.compile(sm.Grammar.from_json_schema(schema, **options)).matcher()


def accepts(schema: Any, text: str, **options: Any) -> bool:
    m = matcher(schema, **options)
    return bool(m.accept_string(text) and m.is_accepting())


KEYS = {"type": "object", "properties": {"name": {"enum": ["cat", "é\n🎉/"]}}, "required": ["name"]}


@pytest.mark.parametrize("value", ["cat", "é\n🎉/"])
def test_fixed_texts_have_one_spelling(value: str) -> None:
    plain = json.dumps({"name": value}, ensure_ascii=False)
    assert accepts(KEYS, plain) and accepts(KEYS, plain, spelling="plain")
    for text in (plain.replace("n", "\\u006e", 1), json.dumps({"name": value}).replace("a", "\\u0061")):
        assert accepts(KEYS, text)
        assert not accepts(KEYS, text, spelling="plain")


def test_what_is_left_out_stays_left_out_in_every_spelling() -> None:
    # an undeclared key must not be a declared one in disguise
    schema = {**KEYS, "additionalProperties": {"type": "integer"}}
    for text, right in [
        ('{"name": "cat", "n\\u0061me": 1}', False),
        ('{"name": "cat", "n\\u0062me": 1}', True),
        ('{"name": "cat", "name": 1}', False),
    ]:
        assert accepts(schema, text) == accepts(schema, text, spelling="plain") == right
    other = {"type": "string", "not": {"enum": ["ab"]}}
    for text, right in [('"ab"', False), ('"\\u0061b"', False), ('"a\\u0063"', True)]:
        assert accepts(other, text) == accepts(other, text, spelling="plain") == right


@pytest.mark.parametrize(
    ("pattern", "value", "other"),
    [
        ("^[a-z]{4}x$", '"abcdx"', '"\\u0061bcdx"'),
        ("^[0-9\U0001f600-\U0001f64f]-$", '"😀-"', '"\\ud83d\\ude00-"'),
        ("^[0-9/]$", '"/"', '"\\/"'),
    ],
)
def test_classes_that_need_no_escape_have_none(pattern: str, value: str, other: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert accepts(schema, value, spelling="plain") and accepts(schema, other)
    assert not accepts(schema, other, spelling="plain")


@pytest.mark.parametrize("pattern", ["^[a-z\\n]{9}x$", '^[a-c"]{9}x$', "^[^b]{9}x$", "^.{9}x$"])
def test_classes_with_escapes_keep_all_their_spellings(pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    for text in ('"aaaaaaaaax"', '"\\u0061aaaaaaaax"'):
        assert accepts(schema, text, spelling="plain")
    assert not accepts(schema, '"aaaaaaaaa\\u0078"', spelling="plain")


def test_dates_are_forced_between_their_digits() -> None:
    stamp = matcher({"type": "string", "format": "date-time"}, spelling="plain")
    assert stamp.accept_string('"2024')
    assert stamp.find_jump_forward_string() == "-" and stamp.expected()[0] == {ord("-")}
    assert stamp.accept_string("-") and stamp.expected()[0] == set(b"01")


def test_forced_text() -> None:
    assert matcher(KEYS, whitespace="compact").find_jump_forward_string() == '{"'
    assert matcher(KEYS, whitespace="compact", spelling="plain").find_jump_forward_string() == '{"name":"'


def test_the_report_says_so_and_other_words_are_refused() -> None:
    report = sm.Grammar.from_json_schema(KEYS, spelling="plain").report
    assert any("ensure_ascii=False" in note.reason for note in report.narrowed)
    with pytest.raises(sm.SchemaError, match="not one of any, plain"):
        sm.Grammar.from_json_schema(KEYS, spelling="short")
