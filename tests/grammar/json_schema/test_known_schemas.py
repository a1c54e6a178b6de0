"""Schemas, scalar values and members that were met before change nothing but the time they take."""

from __future__ import annotations

import pickle
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import stackmask as sm
from stackmask.grammar.json_schema.document.drafts import BY_NAME
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.frontend import (
    MAX_KNOWN,
    MAX_KNOWN_UNITS,
    MAX_KNOWN_UNITS_EACH,
    Known,
    KnownSchemas,
    read_schema,
)
from stackmask.grammar.json_schema.write.style import Style
from stackmask.grammar.json_schema.write.whitespace import Whitespace

BYTES = sm.Vocabulary([bytes([i]) for i in range(256)] + [b"</s>"], stop_ids=[256], special_ids=[256])
LEAVES: tuple[Any, ...] = (
    {"type": "string"},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": ["boolean", "null"]},
    {"enum": ["celsius", 'a "b"', None, 7]},
    {"type": "string", "format": "date", "title": "Day"},
    {"type": "array", "items": {"type": "number"}, "minItems": 1},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
)


def random_object(seed: int) -> dict[str, Any]:
    rng = random.Random(f"known schema {seed}")
    names = [f"name{i}" for i in range(rng.randint(1, 40))]
    return {"type": "object", "properties": {name: rng.choice(LEAVES) for name in names}}


def asked() -> Style:
    return Style.of(Whitespace.of(None))


def test_the_report_is_of_the_schema_that_was_read() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}
    expected = [str(note) for note in read_schema(schema, asked())[1].notes]
    grammar = sm.Grammar.from_json_schema(schema)
    again = pickle.loads(pickle.dumps(grammar))
    schema["properties"] = 7
    for report in (grammar.report, again.report):
        assert report is not None
        assert [str(note) for note in report.notes][:-1] == expected


def test_a_flag_of_draft_4_is_none_of_the_newest_draft() -> None:
    leaf = {"type": "number", "minimum": 0, "exclusiveMinimum": True}
    sm.Grammar.from_json_schema({"type": "object", "properties": {"a": leaf}})
    with pytest.raises(SchemaError, match="exclusiveMinimum"):
        sm.Grammar.from_json_schema(
            {"$schema": BY_NAME["2020-12"].uri, "type": "object", "properties": {"a": leaf}}
        )


def test_work_does_not_depend_on_what_was_read_before() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 4, "maximum": 98765}}}
    assert sm.Grammar.from_json_schema(schema).work == sm.Grammar.from_json_schema(schema).work


def test_a_schema_that_comes_again_is_remembered() -> None:
    def made(text: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9, "title": text}}}

    first = sm.Grammar.from_json_schema(made("one"))
    again = sm.Grammar.from_json_schema(made("one"))
    assert again.rules is first.rules
    assert again.work == first.work
    assert again.report is not None and first.report is not None
    assert again.report is not first.report
    assert again.report.notes == first.report.notes
    for options in (
        {"property_order": "any"},
        {"whitespace": "compact"},
        {"spelling": "plain"},
        {"draft": "4"},
    ):
        other: dict[str, Any] = options
        assert sm.Grammar.from_json_schema(made("one"), **other).rules is not first.rules
    assert sm.Grammar.from_json_schema(made("two")).rules is not first.rules


def test_what_is_remembered_is_bounded_by_number_and_by_work() -> None:
    rules, report = read_schema(True, asked())

    def known(units: int) -> Known:
        return Known(rules, report, units)

    schemas = KnownSchemas()
    for n in range(2 * MAX_KNOWN):
        schemas.add((n,), known(10))
    assert list(schemas.by_key) == [(n,) for n in range(MAX_KNOWN, 2 * MAX_KNOWN)]
    assert schemas.units == 10 * MAX_KNOWN
    schemas.add((0,), known(MAX_KNOWN_UNITS_EACH + 1))
    assert (0,) not in schemas.by_key
    for _ in range(2):  # again, in place of itself
        for n in range(100):
            schemas.add((n,), known(MAX_KNOWN_UNITS_EACH))
    assert schemas.units == MAX_KNOWN_UNITS
    assert list(schemas.by_key) == [(n,) for n in range(100 - MAX_KNOWN_UNITS // MAX_KNOWN_UNITS_EACH, 100)]


def test_a_schema_of_much_work_is_not_remembered() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"multipleOf": 500 + n} for n in range(20)}}
    first = sm.Grammar.from_json_schema(schema)
    again = sm.Grammar.from_json_schema(schema)
    assert first.work > MAX_KNOWN_UNITS_EACH
    assert again.rules is not first.rules


@pytest.mark.parametrize("minimum", [0, 1])
def test_the_report_knows_the_unknown_keywords_that_were_there(minimum: int) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string", "minimal": 3}},
        "minProperties": minimum,  # of which one is for the whole reader
    }
    if not minimum:
        del schema["minProperties"]
    first = sm.Grammar.from_json_schema(schema)
    again = sm.Grammar.from_json_schema(schema)
    copies = [pickle.loads(pickle.dumps(first)), pickle.loads(pickle.dumps(again))]
    schema["properties"]["a"]["maximal"] = schema["properties"]["b"] = {"minimal": 1}
    for grammar in (first, again, *copies):
        assert grammar.report is not None
        assert [(note.pointer, note.keyword) for note in grammar.report.unknown] == [
            ("#/properties/a", "minimal")
        ]


def test_threads_may_ask_for_one_report_at_once() -> None:
    for n in range(20):
        leaf = {"type": "string", "maxLength": 3, "title": str(n)}
        schema = {"type": "object", "properties": {f"p{i}": leaf for i in range(30)}}
        expected = [str(note) for note in read_schema(schema, asked())[1].notes]
        report = sm.Grammar.from_json_schema(schema).report
        assert report is not None
        start = threading.Barrier(4)

        def ask(report: Any = report, start: threading.Barrier = start) -> list[str]:
            start.wait()
            return [str(note) for note in report.notes]

        with ThreadPoolExecutor(4) as pool:
            for found in [pool.submit(ask) for _ in range(4)]:
                assert found.result()[:-1] == expected


def test_threads_may_read_at_once() -> None:
    schemas = [random_object(seed) for seed in range(100)]
    expected = [read_schema(schema, asked())[0] for schema in schemas]

    def read(first: int) -> None:
        for n in range(len(schemas)):
            at = (7 * n + first) % len(schemas)
            assert read_schema(schemas[at], asked())[0] == expected[at]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(read, first) for first in (0, 0, 50, 99)]:
                done.result()
    finally:
        sys.setswitchinterval(interval)


def test_values_that_python_takes_for_equal_are_not() -> None:
    texts = []
    for value in (1, 1.0, True):
        schema = {"type": "object", "properties": {"a": {"const": value}}, "required": ["a"]}
        compiled = sm.Compiler(BYTES).compile(sm.Grammar.from_json_schema(schema, whitespace="compact"))
        matcher = compiled.matcher()
        texts.append([matcher.fork().accept_string(f'{{"a":{text}}}') for text in ("1", "1.0", "true")])
    assert texts == [[True, True, False], [True, True, False], [False, False, True]]


def test_an_object_that_stands_in_a_schema_twice_has_the_report_that_it_had() -> None:
    leaf = {"type": "string", "maxLength": 11}
    shared = {"type": "object", "properties": {"a": leaf, "b": leaf}}
    apart = {"type": "object", "properties": {"a": dict(leaf), "b": dict(leaf)}}
    for schema in (shared, apart, shared):
        report = sm.Grammar.from_json_schema(schema).report
        assert report is not None
        assert report.notes[:-1] == read_schema(schema, asked())[1].notes


def test_long_chains_of_references_need_no_stack() -> None:
    chain = {"c0": {"type": ["string", "object"]}}
    chain |= {
        f"c{i}": {"allOf": [{"$ref": f"#/$defs/c{i - 1}"}], "minLength": i % 7} for i in range(1, 1_001)
    }
    names = {
        f"p{i:05}": {"type": "object", "minProperties": 1, "propertyNames": {"$ref": f"#/$defs/c{i}"}}
        for i in range(40, 1_001, 40)
    }
    grammar = sm.Grammar.from_json_schema(
        {"$defs": chain, "type": "object", "properties": {**names, "zz": {"$ref": "#/$defs/c1000"}}}
    )
    assert grammar.accepts('{"zz": "abcdef"}')
    assert not grammar.accepts('{"zz": "a"}')


def test_long_lists_are_work() -> None:
    few = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}
    many = {**few, "required": ["a"] * 100_000, "properties": {"a": {"type": ["null"] * 100_000}}}
    assert sm.Grammar.from_json_schema(many).work > 2_000_000 > sm.Grammar.from_json_schema(few).work
