"""Judges: what is valid, what is not, and what nobody can say."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from typing import Any

import pytest

from stackmask.runtime.comparison.json_reader import JsonReader, begins_json
from stackmask.runtime.comparison.judges import FORMAT, GrammarJudge, SchemaJudge, Unjudgeable, make_judge
from stackmask.runtime.comparison.subject import Subject

pytest.importorskip("jsonschema")


def schema_judge(schema: Any) -> SchemaJudge:
    return SchemaJudge(json.dumps(schema))


def test_a_schema_says_what_is_broken() -> None:
    judge = schema_judge({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    assert judge.judge(b'{"a": 1}').valid is True
    assert (judge.judge(b'{"a": "x"}').valid, judge.judge(b'{"a": "x"}').category) == (False, "type")
    assert judge.judge(b"{}").category == "required"
    assert judge.judge(b"{").category == "no JSON"
    assert judge.judge(b'{"a": 1}\xff').category == "no JSON"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": 1, "a": 1}', "a name comes twice"),
        (b"[1e999]", "a number beyond a double"),
        (b'["\\ud800"]', "a lone surrogate"),
        (b"[" * 100_000, "nested too deeply for a parser"),
    ],
)
def test_what_json_leaves_open_is_undecided(text: bytes, why: str) -> None:
    assert (schema_judge(True).judge(text).valid, schema_judge(True).judge(text).category) == (None, why)


def test_constants_that_are_no_json_are_invalid() -> None:
    assert schema_judge(True).judge(b"[NaN]").valid is False


def test_what_only_a_format_forbids_has_no_verdict() -> None:
    judge = schema_judge({"type": "string", "format": "ipv4"})
    assert judge.judge(b'"127.0.0.1"').valid is True
    assert (judge.judge(b'"nowhere"').valid, judge.judge(b'"nowhere"').category) == (None, FORMAT)


def test_what_only_a_format_allows_has_no_verdict() -> None:
    judge = schema_judge({"type": "string", "oneOf": [{"format": "ipv4"}, {"enum": ["."]}]})
    assert judge.judge(b'"127.0.0.1"').valid is True
    assert (judge.judge(b'"."').valid, judge.judge(b'"."').category) == (None, "only a format allows it")
    assert judge.judge(b"1").valid is False


class Yes:
    """A validator that takes everything."""

    def iter_errors(self, value: Any) -> Any:
        return iter(())

    def is_valid(self, value: Any) -> bool:
        return True


def test_two_validators_that_disagree_have_no_verdict() -> None:
    judge = schema_judge({"type": "string"})
    judge.fast = (Yes(), Yes())
    assert (judge.judge(b"1").valid, judge.judge(b"1").category) == (None, "the validators disagree")
    assert judge.judge(b'"a"').valid is True


def test_two_validators_that_disagree_about_a_format_have_no_verdict() -> None:
    judge = schema_judge({"type": "string", "format": "ipv4"})
    judge.fast = (Yes(), Yes())
    assert judge.judge(b'"nowhere"').category == "the validators disagree about a format"


def test_a_reference_to_elsewhere_is_not_fetched() -> None:
    try:
        judge = schema_judge({"$ref": "http://localhost:9/schema.json"})
    except Unjudgeable:
        return
    assert judge.judge(b"1").valid is None


def test_sqlite_knows_the_tables() -> None:
    judge = make_judge(Subject("sql", "CREATE TABLE t (a INT, b TEXT)"))
    assert judge.judge(b"SELECT a FROM t").valid is True
    assert judge.judge(b"SELECT c FROM t").category == "no such column"
    assert judge.may_begin(b"SELEC") is None
    with pytest.raises(Unjudgeable):
        make_judge(Subject("sql", "CREATE TABEL t"))
    assert sqlite3.sqlite_version


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_patterns_mean_what_node_says() -> None:
    judge = make_judge(Subject("regex", r"\d{2}$"))
    assert judge.judge(b"12").valid is True
    assert judge.judge(b"12\n").valid is False  # Python's `$` would take it
    assert judge.judge("٣٤".encode()).valid is False  # and its `\d`
    with pytest.raises(Unjudgeable):
        make_judge(Subject("regex", "("))


def test_patterns_of_python_mean_what_re_says() -> None:
    judge = make_judge(Subject("regex", r"(?P<x>a)(?P=x)?", flavor="python"))
    assert [judge.judge(text).valid for text in (b"a", b"aa", b"b")] == [True, True, False]


def test_earley_knows_texts_and_beginnings() -> None:
    judge = GrammarJudge('root ::= "a" | "(" root ")" | [b-d]{2,3} | "é"+', "root")
    assert [judge.judge(text).valid for text in (b"((a))", b"bcd", "éé".encode())] == [True] * 3
    assert [judge.judge(text).valid for text in (b"((a)", b"b", b"", b"bcdb")] == [False] * 4
    assert judge.may_begin(b"((") is None
    assert judge.may_begin(b"(]") is False
    assert judge.may_begin("é".encode()[:1]) is None  # half a character
    with pytest.raises(Unjudgeable):
        GrammarJudge("root ::= !'a'", "root")


TEXTS = (
    '{"a": [1, -2.5e-3, true, null, {}], "b\\u00e9\\"": "x", "": []}',
    " [ ] ",
    '"\\ud83d\\n"',
    "-0.0E+10",
    '[[{"x":{"y":[0]}}],false]',
)


@pytest.mark.parametrize("text", TEXTS)
def test_every_beginning_of_json_is_one(text: str) -> None:
    data = text.encode()
    for end in range(len(data) + 1):
        assert begins_json(data[:end])
    reader = JsonReader()
    assert reader.feed(text) and reader.is_complete


def test_what_json_takes_is_what_python_takes() -> None:
    rng = random.Random(7)
    letters = '{}[]",:0.1eE+-tu\\ n\n'
    whole = 0
    for _ in range(20_000):
        base = rng.choice(TEXTS)
        at = rng.randrange(len(base))
        text = base[:at] + rng.choice(letters) + base[at + rng.randrange(2) :]
        try:
            json.loads(text)
            is_json = True
        except ValueError:
            is_json = False
        reader = JsonReader()
        assert (reader.feed(text) and reader.is_complete) == is_json, text
        whole += is_json
    assert 1_000 < whole < 19_000


def test_bytes_that_are_no_text_begin_nothing() -> None:
    assert begins_json(b'"\xc3')
    assert not begins_json(b'"\xc3"')
    assert not begins_json(b'"\xed\xb2\x93')
