"""Plain schemas have the rules, the report and the errors of the whole reader."""

from __future__ import annotations

import pickle
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import stackmask as sm
from stackmask.grammar import ir
from stackmask.grammar.ir.build import rebuild, sequence
from stackmask.grammar.json_schema.document.drafts import BY_NAME
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.frontend import schema_rules, tool_rules
from stackmask.grammar.json_schema.nodes import leaf_cache
from stackmask.grammar.json_schema.reading import (
    MAX_KNOWN,
    MAX_KNOWN_UNITS,
    MAX_KNOWN_UNITS_EACH,
    Asked,
    Known,
    KnownSchemas,
    read_plainly,
    read_schema,
)
from stackmask.grammar.json_schema.write import plain_schemas
from stackmask.grammar.json_schema.write.whitespace import Whitespace
from stackmask.grammar.source.work import ENDLESS, Work, counted

BYTES = sm.Vocabulary([bytes([i]) for i in range(256)] + [b"</s>"], stop_ids=[256], special_ids=[256])
LEAVES: tuple[Any, ...] = (
    {"type": "string"},
    {"type": "string", "description": "A text.", "default": "a"},
    {"type": "integer"},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "number", "exclusiveMinimum": 0},
    {"type": ["boolean", "null"]},
    {"type": ["integer", "null"]},
    {"type": ["number", "integer", "string"]},
    {"enum": ["celsius", 'a "b"', None, 7]},
    {"enum": ["a", "b", "a"]},
    {"type": "string", "enum": ["c"]},
    {"const": "ä\\n"},
    {"type": "string", "pattern": "^[a-f]+$"},
    {"type": "string", "format": "date", "title": "Day"},
    {"type": "string", "format": "of nobody"},
    {"type": ["null", "string"], "format": "uuid", "maxLength": 1},
    {"type": "boolean", "items": True},
    {"type": "string", "minLength": 2, "maxItems": 4},
    {"type": "string", "maxLength": 3, "$schema": "http://json-schema.org/draft-04/schema#"},
    {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 2},
    {"description": "Anything."},
    True,
    {},
    {"type": "object"},
    {"type": ["object", "null"]},
    {"type": "array"},
    {"type": "array", "minItems": 1, "maxItems": 3},
    {"type": "object", "additionalProperties": False},
    {"additionalProperties": {"type": "string"}},
    {"$ref": "#/definitions/leaf"},
    {"$ref": "#/definitions/node"},
    {"$ref": "#/definitions/led", "description": "It leads on."},
    {"$ref": "#"},
)
NAMES = ("city", "über", "a/b", 'q"', "\\", "\n", "", "value1", "json", "€uro", "type", "description", "id")
TYPES: tuple[Any, ...] = ("object", "object", ["object", "null"], ["array", "object", "integer"], None)


def random_object(rng: random.Random, depth: int) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randint(0, 4))
    if rng.random() < 0.1:
        names += [f"name{i}" for i in range(rng.randint(8, 40))]
    kind = rng.choice(TYPES)
    schema: dict[str, Any] = {} if kind is None else {"type": kind}
    schema["properties"] = {name: random_value(rng, depth - 1) for name in names}
    if rng.random() < 0.7:
        schema["required"] = rng.sample(names, rng.randint(0, len(names)))
    if rng.random() < 0.7:
        schema["additionalProperties"] = rng.choice((True, False, {"type": "integer"}, {}))
    if kind is None and rng.random() < 0.5:
        schema["items"] = random_value(rng, depth - 1)
    if rng.random() < 0.3:
        schema["description"] = rng.choice(("An object.", "Another one."))
    return schema


def random_value(rng: random.Random, depth: int) -> Any:
    if depth <= 0 or rng.random() < 0.6:
        return rng.choice(LEAVES)
    if rng.random() < 0.4:
        found = {"type": rng.choice(("array", ["array", "string"])), "items": random_value(rng, depth - 1)}
        return {**found, **rng.choice(({}, {"minItems": 1}, {"minItems": 2, "maxItems": 5}))}
    return random_object(rng, depth)


def random_schema(rng: random.Random) -> dict[str, Any]:
    schema = rng.choice((random_object(rng, 3), {"type": "array", "items": random_value(rng, 3)}))
    definitions = {"leaf": rng.choice(LEAVES[:20]), "node": random_value(rng, 2)}
    definitions["led"] = {"$ref": "#/definitions/node"}
    schema["definitions"] = definitions
    if rng.random() < 0.2:
        schema = {"$ref": "#/definitions/whole", "definitions": {**definitions, "whole": schema}}
    if rng.random() < 0.3:
        schema["$schema"] = rng.choice(("http://json-schema.org/draft-04/schema#", BY_NAME["7"].uri))
    return schema


def asked(
    any_order: bool = False, formats: str = "assert", whitespace: Any = None, plain_numbers: bool = False
) -> Asked:
    return Asked(Whitespace.of(whitespace), any_order, plain_numbers, None, formats)


def test_they_have_the_rules_and_the_report_of_the_whole_reader() -> None:
    plain = 0
    for seed in range(400):
        rng = random.Random(f"plain schema {seed}")
        schema = random_schema(rng)
        blanks = rng.choice((None, "compact", "single", {"indent": 2}))
        formats = ("annotate", "assert", "plain", "assert", "plain")[seed % 5]
        options = asked(seed % 3 == 0, formats, blanks, seed % 4 == 0)
        found = read_plainly(schema, options)
        if found is None:
            continue
        plain += 1
        rules, report = read_schema(schema, options)
        assert list(found[0].rules) == list(rules.rules), schema
        assert found[0] == rules, schema
        assert found[1].notes == report.notes, schema
    assert plain > 200


@pytest.mark.parametrize(("profile", "blanks"), [("exact", r"[ \n\t\r]*"), ("model", "")])
def test_those_of_tools_are_spelled_as_the_whole_reader_spells_them(profile: str, blanks: str) -> None:
    for seed in range(200):
        schema = random_schema(random.Random(f"plain schema of a tool {seed}"))
        expected: Any = (
            {"profile": "model"} if not blanks else {"spelling": "plain", "whitespace": {"pattern": blanks}}
        )
        try:
            rules = schema_rules(schema, **expected)[0]
        except SchemaError as error:
            with pytest.raises(type(error)):
                tool_rules(schema, profile, blanks)
            continue
        found = tool_rules(schema, profile, blanks)
        assert list(found.rules) == list(rules.rules), schema
        assert (found.start, found.initial) == (rules.start, rules.initial)
        for name, rule in rules.rules.items():
            assert flat(found.rules[name].body) == flat(rule.body), schema


def flat(expr: ir.Expr) -> ir.Expr:
    """Return an expression without sequences in sequences."""
    if isinstance(expr, ir.Sequence):
        return sequence(map(flat, expr.items))
    return rebuild(expr, tuple(map(flat, ir.children(expr))))


def test_one_keyword_that_is_not_plain_is_left_to_the_whole_reader() -> None:
    others: tuple[Any, ...] = (
        {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "null"}}}]},
        {"type": "array", "items": [{"type": "string"}]},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "object", "patternProperties": {"^a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1},
        {"type": "object", "required": ["b"]},
        {"type": "object", "properties": {"a": False}},
        {"type": "object", "properties": {"a": {"type": "number", "minimum": 2, "maximum": 1}}},
        {"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0.7, "minimum": 0.1}}},
        {"type": "object", "properties": {"a": {"$id": "b", "type": "string"}}},
        {"type": "object", "properties": {"a": {"$ref": "b.json"}}},
        {"enum": [{"a": 1}, [2]]},
        {"type": ["object", "string"], "maxLength": 3},
    )
    for schema in others:
        assert read_plainly({"type": "object", "properties": {"x": schema}}, asked()) is None, schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"$ref": "#/definitions/a"}}},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": "a"},
        {"type": "object", "additionalProperties": 1},
        {"type": "object", "properties": {"\ud800": {"type": "string"}}},
        {"type": "object", "properties": {1: {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "array", "minItems": -1}}},
        {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
        {"type": "array", "items": {"type": "string", "pattern": "("}},
        {"type": "object", "properties": None},
        {"type": "object", "properties": {"a": {"type": "object", "required": None}}},
        {"$id": 1, "type": "object"},
        {"$schema": None, "type": "object"},
        {"$ref": "#/definitions/b", "definitions": {}},
    ],
)
def test_what_is_wrong_is_said_by_the_whole_reader(schema: Any) -> None:
    assert read_plainly(schema, asked()) is None
    with pytest.raises(SchemaError) as expected:
        read_schema(schema, asked())
    with pytest.raises(SchemaError) as found:
        sm.Grammar.from_json_schema(schema)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("keyword", ["items", "additionalProperties"])
def test_what_is_said_of_parts_of_scalar_values_is_read(keyword: str) -> None:
    for value in (True, False):
        for leaf in ({"type": "boolean", keyword: value}, {keyword: value, "enum": [None, 1, "a"]}):
            schema = {"type": "object", "properties": {"a": leaf}}
            grammar = sm.Grammar.from_json_schema(schema, whitespace="compact")
            assert grammar.rules == read_schema(schema, asked(whitespace="compact"))[0]
    for value in (0, 1.5, "a"):
        with pytest.raises(SchemaError, match=keyword):
            sm.Grammar.from_json_schema({"type": "boolean", keyword: value})


def test_an_empty_schema_has_the_rules_of_the_whole_reader() -> None:
    expected = read_schema({}, asked())[0]
    grammar = sm.Grammar.from_json_schema({})
    assert list(grammar.rules.rules) == list(expected.rules) == list(read_schema(True, asked())[0].rules)


def test_recursion_with_a_way_out_is_plain() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "a": {"type": "null"}}, "required": ["a"]}
    found = read_plainly(node, asked())
    assert found is not None
    assert found[0] == read_schema(node, asked())[0]


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
    blanks = Whitespace.of(None)
    rules, report = read_schema(True, asked())

    def known(units: int) -> Known:
        return Known(blanks, rules, report, units)

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


def many_of(kind: str, n: int) -> dict[str, Any]:
    """Return a plain schema with ``n`` parts."""
    names = [f"p{i}" for i in range(n)]
    if kind == "references":
        parts: dict[str, Any] = {
            name: {"type": "object", "properties": {"a": {"$ref": f"#/definitions/p{(7 * i + 1) % n}"}}}
            for i, name in enumerate(names)
        }
        return {"$ref": "#/definitions/p0", "definitions": parts}
    leaves: dict[str, Any] = {
        "types": {"type": "integer"},
        "anything": {},
        "bounds": {"type": "integer", "minimum": 7, "maximum": 7 + n},
        "objects": {"type": "object", "properties": {"a": {"type": "null"}}},
    }
    if kind == "required":
        return {"type": "object", "properties": {name: {"type": "null"} for name in names}, "required": names}
    if kind == "lists":
        return {"type": "array", "items": {"type": "array", "minItems": n}, "maxItems": n * n}
    return {"type": "object", "properties": {name: dict(leaves[kind], title=name) for name in names}}


@pytest.mark.parametrize(
    "kind", ["types", "anything", "bounds", "objects", "required", "references", "lists"]
)
def test_the_report_takes_little_more_work_than_the_schema(kind: str) -> None:
    for n in (5, 200, 2000):
        schema = many_of(kind, n)
        with counted(Work(ENDLESS, ENDLESS, ENDLESS)) as plain:
            found = read_plainly(schema, asked())
        assert found is not None
        with counted(Work(ENDLESS, ENDLESS, ENDLESS)) as whole:
            notes = read_schema(schema, asked())[1].notes
        assert whole.done < 15 * plain.done + 100_000
        assert found[1].notes == notes


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

        def ask(report: Report = report, start: threading.Barrier = start) -> list[str]:
            start.wait()
            return [str(note) for note in report.notes]

        with ThreadPoolExecutor(4) as pool:
            for found in [pool.submit(ask) for _ in range(4)]:
                assert found.result()[:-1] == expected


def test_threads_may_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_schemas, "MAX_KEPT", 5)
    monkeypatch.setattr(leaf_cache, "MAX_LEAVES", 5)
    schemas = [random_schema(random.Random(f"plain schema {seed}")) for seed in range(100)]
    expected = [read_plainly(schema, asked()) for schema in schemas]

    def read(first: int) -> None:
        for n in range(len(schemas)):
            at = (7 * n + first) % len(schemas)
            found, same = read_plainly(schemas[at], asked()), expected[at]
            assert (found is None) == (same is None)
            assert found is None or same is None or found[0] == same[0]

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


def test_a_draft_of_a_caller_is_left_to_the_whole_reader() -> None:
    without = BY_NAME["7"].without(frozenset(("minimum",)))
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}}
    assert read_plainly(schema, asked()._replace(draft=without)) is None
    assert read_plainly(schema, asked()._replace(draft=BY_NAME["7"])) is not None


def test_long_lists_are_work() -> None:
    few = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}
    many = {**few, "required": ["a"] * 100_000, "properties": {"a": {"type": ["null"] * 100_000}}}
    assert sm.Grammar.from_json_schema(many).work > 2_000_000 > sm.Grammar.from_json_schema(few).work
