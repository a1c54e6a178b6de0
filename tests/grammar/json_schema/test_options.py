"""Sources, drafts, references, whitespace, property order, the report."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.json_schema_engine import COMPILER
from typing_extensions import TypedDict

import stackmask as sm
from stackmask.grammar.json_schema.document.report import Report


def accepts(schema: Any, text: str, **options: Any) -> bool:
    matcher = COMPILER.compile(sm.Grammar.from_json_schema(schema, **options)).matcher()
    return bool(matcher.accept_string(text) and matcher.is_accepting())


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}


class Typed(TypedDict):
    a: int


@dataclasses.dataclass
class Data:
    a: int


def test_sources(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")
    for source in (SCHEMA, json.dumps(SCHEMA), json.dumps(SCHEMA).encode(), file):
        assert accepts(source, '{"a": 1}')
        assert not accepts(source, '{"a": "1"}')
    assert accepts(True, "[]")


def test_numbers_of_a_schema_mean_what_is_written() -> None:
    """Where a float does not say it exactly: a float of this one is 12345678901234568."""
    schema = '{"const": 12345678901234567.25}'
    assert accepts(schema, "12345678901234567.25")
    assert not accepts(schema, "12345678901234568")
    assert accepts('{"maximum": 0.30000000000000000001}', "0.30000000000000000001")


def test_types() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        a: int
        child: Model | None = None

    for source in (Model, Data, Typed, list[Data]):
        text = '{"a": 1}'
        assert accepts(source, f"[{text}]" if source == list[Data] else text)
    assert accepts(Model, '{"a": 1, "child": {"a": 2, "child": null}}')
    assert not accepts(Model, '{"a": 1, "child": {"child": null}}')


@pytest.mark.parametrize(
    ("draft", "schema", "accepted", "rejected"),
    [
        ("4", {"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "2", "1"),
        ("draft4", {"type": "integer"}, "1", "1.0"),
        ("7", {"items": [{"type": "null"}], "additionalItems": False}, "[null]", "[null, 1]"),
        ("draft7", {"definitions": {"a": {}}, "$ref": "#/definitions/a", "type": "null"}, "1", "}"),
        ("2019-09", {"$defs": {"a": {}}, "$ref": "#/$defs/a", "type": "null"}, "null", "1"),
        ("2020-12", {"prefixItems": [{"type": "null"}], "items": False}, "[null]", "[null, 1]"),
        (None, {"items": [{"type": "null"}], "additionalItems": False}, "[null]", "[null, 1]"),
        (
            "2020-12",
            {"$defs": {"a": {"type": "array"}}, "properties": {"x": {"$ref": "#/$defs/a", "maxItems": 1}}},
            '{"x": [1]}',
            '{"x": [1, 2]}',
        ),
        (
            "7",
            {"definitions": {"a": {"type": "array"}}, "items": {"$ref": "#/definitions/a", "maxItems": 1}},
            "[[1, 2]]",
            "[1]",
        ),
        (None, {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, "2", "}"),
    ],
)
def test_drafts(draft: str | None, schema: Any, accepted: str, rejected: str) -> None:
    assert accepts(schema, accepted, draft=draft)
    assert not accepts(schema, rejected, draft=draft)


def test_references() -> None:
    resources = {"http://example.org/item": {"$defs": {"x": {"$anchor": "here", "type": "null"}}}}
    schema = {
        "$id": "http://example.org/root",
        "properties": {
            "a": {"$ref": "item#here"},
            "b": {"$ref": "item#/$defs/x"},
            "c": {"$ref": "#/$defs/own"},
            "d": {"$ref": "inner"},
        },
        "$defs": {"own": {"type": "string"}, "i": {"$id": "inner", "type": "boolean"}},
    }
    assert accepts(schema, '{"a": null, "b": null, "c": "", "d": true}', resources=resources)
    for text in ('{"a": 1}', '{"b": 1}', '{"c": 1}', '{"d": 1}'):
        assert not accepts(schema, text, resources=resources)
    referencing = pytest.importorskip("referencing")
    specification = pytest.importorskip("referencing.jsonschema").DRAFT202012
    registry = referencing.Registry().with_resources(
        (uri, referencing.Resource.from_contents(contents, specification))
        for uri, contents in resources.items()
    )
    assert accepts(schema, '{"a": null}', resources=registry)


def test_metaschemas_are_at_hand() -> None:
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert accepts(schema, '{"type": "string", "items": {"minLength": 1}}', property_order="any")
    assert not accepts(schema, '{"items": {"minLength": -1}}', property_order="any")


@pytest.mark.parametrize(
    ("option", "accepted", "rejected"),
    [
        ("any", ['{"a":1}', '{ "a" : 1 }', '{\n  "a": 1\n}'], ['{"a":' + " " * 41 + "1}", ' {"a": 1}']),
        ({"max": 1}, ['{ "a" : 1 }'], ['{  "a": 1}']),
        ("compact", ['{"a":1,"b":[1,{}]}'], ['{"a": 1}', '{"a":1,"b":[1, 2]}']),
        ({"separators": (", ", ": ")}, ['{"a": 1, "b": [1, {}]}'], ['{"a":1}', '{ "a": 1}']),
        ({"pattern": "[ ]?"}, ['{"a": 1}', '{ "a" :1}'], ['{"a":  1}', '{"a":\n1}']),
    ],
)
def test_whitespace(option: Any, accepted: list[str], rejected: list[str]) -> None:
    for text in accepted:
        assert accepts(SCHEMA, text, whitespace=option), text
    for text in rejected:
        assert not accepts(SCHEMA, text, whitespace=option), text


@pytest.mark.parametrize(
    "option",
    [
        "none",
        {"max": -1},
        {"separators": (";", ":")},
        {"separators": (1, 2)},
        {"pattern": "x"},
        {"indent": -1},
        {"indent": "x"},
        {"indent": 1000},
        {"indent": True},
        {"indent": 2, "separators": ("", ":")},
        {"indent": 2, "max": 3},
        True,
        2,
    ],
)
def test_no_whitespace_option(option: Any) -> None:
    with pytest.raises(sm.SchemaError, match="whitespace"):
        sm.Grammar.from_json_schema({}, whitespace=option)


NESTED = {"a": 1, "b": {"c": [1, {"d": []}, "e f"], "g": {}}}


@pytest.mark.parametrize(
    ("option", "layouts"),
    [
        ("any", [{"indent": 2}, {"indent": 8}, {"separators": (",", ":")}, {}]),
        ({"max": 9}, [{"indent": 2}, {}]),
        ("compact", [{"separators": (",", ":")}]),
        ({"separators": (", ", ": ")}, [{}]),
        ({"separators": (",", ": ")}, [{"separators": (",", ": ")}]),
        ({"pattern": "[ ]?"}, [{}, {"separators": (",", ":")}]),
        ({"pattern": "\\n(?:  ){0,4}|[ ]?"}, [{"indent": 2}, {}]),
        ({"indent": 2}, [{"indent": 2}]),
        ({"indent": " " * 8}, [{"indent": 8}]),
    ],
)
def test_layouts_of_a_serializer(option: Any, layouts: list[dict[str, Any]]) -> None:
    every = [{"indent": 2}, {"indent": 8}, {"separators": (",", ":")}, {"separators": (",", ": ")}, {}]
    for layout in every:
        text = json.dumps(NESTED, **layout)
        for schema in (SCHEMA, True):
            wanted = layout in layouts or option == "any" or (option == {"max": 9} and "indent" not in layout)
            if option in ({"pattern": "[ ]?"}, {"pattern": "\\n(?:  ){0,4}|[ ]?"}) and "separators" in layout:
                wanted = True
            assert accepts(schema, text, whitespace=option) == wanted, (option, layout, schema)


INDENTED = {
    "type": "object",
    "properties": {
        "kinds": {"type": "array", "uniqueItems": True, "items": {"type": ["object", "integer", "string"]}},
        "flags": {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b"]}},
        "codes": {"type": "object", "additionalProperties": False, "patternProperties": {"^.{1,2}$": {}}},
        "pair": {"prefixItems": [{"type": "null"}, {"$ref": "#"}], "contains": {"type": "object"}},
    },
    "additionalProperties": {"$ref": "#"},
    "minProperties": 1,
}


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize(
    "layout", [{"indent": 2}, {"indent": 0}, {"indent": "\t"}, {"indent": 3, "separators": (" ,", ":")}]
)
def test_an_indentation_counts_levels_beside_all_else_that_is_kept(
    order: str, layout: dict[str, Any]
) -> None:
    pair: list[Any] = [None, {"codes": {"ab": {"deep": [[{}, []]]}, "ac": 1}, "more": {"flags": ["b", "a"]}}]
    value = {"kinds": [{"a": [1]}, 1, {"a": [2]}, "1", {}], "flags": ["a"], "pair": pair}
    text = json.dumps(value, **layout)
    options = {"whitespace": layout, "property_order": order}
    assert accepts(INDENTED, text, **options)
    for line in range(text.count("\n")):
        parts = text.split("\n")
        parts[line + 1] = " " + parts[line + 1]
        assert not accepts(INDENTED, "\n".join(parts), **options)
    for twice in ({"kinds": [{"a": [1]}, 1, {"a": [1.0]}]}, {"kinds": [1, "1", 1]}, {"flags": ["a", "a"]}):
        assert not accepts(INDENTED, json.dumps(twice, **layout), **options)
    again = text.replace('"ac"', '"ab"')
    assert again != text and not accepts(INDENTED, again, **options)


def test_an_indentation_has_no_deepest_level() -> None:
    value: Any = []
    for i in range(300):
        value = {"x": value} if i % 2 else [value, i]
    assert accepts(True, json.dumps(value, indent=1), whitespace={"indent": 1})
    assert not accepts(True, json.dumps(value, indent=2), whitespace={"indent": 1})


@pytest.mark.parametrize(
    ("kind", "accepted", "rejected"),
    [
        ("value", ["1", "[]", '{"a": [1]}', '"a"', "null"], ["", "1 2", '{"a": 1, "a": 2}']),
        ("object", ["{}", '{"a": [1]}'], ["[]", "1", '{"a": 1, "\\u0061": 2}']),
        ("array", ["[]", '[{"a": 1}]'], ["{}", "1", '"[]"']),
    ],
)
def test_any_json(kind: Any, accepted: list[str], rejected: list[str]) -> None:
    matcher = COMPILER.compile(sm.Grammar.json(kind)).matcher()
    for text in [*accepted, *rejected]:
        matcher.reset()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == (text in accepted), text
    compact = COMPILER.compile(sm.Grammar.json("value", whitespace="compact")).matcher()
    assert compact.accept_string("[1,2]")
    compact.reset()
    assert not compact.accept_string("[1, 2]")


def test_no_kind_of_json() -> None:
    with pytest.raises(sm.SchemaError, match="kind"):
        sm.Grammar.json("number")  # type: ignore[arg-type]


def test_others_come_in_any_order_after_many_declared() -> None:
    schema = {
        "type": "object",
        "properties": {f"p{i}": {"type": "integer"} for i in range(80)},
        "patternProperties": {"^n:": {"type": "string"}},
        "required": ["n:a", "n:c", "p3"],
        "additionalProperties": False,
    }
    assert accepts(schema, '{"p1": 1, "p3": 1, "p70": 2, "n:b": "x", "n:c": "y", "n:a": "z"}')
    assert not accepts(schema, '{"p3": 1, "n:a": "x"}')
    assert not accepts(schema, '{"p3": 1, "p2": 1, "n:a": "x", "n:c": ""}')


@pytest.mark.parametrize(
    ("schema", "accepted", "rejected"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "number", "maximum": 5}]}, "7 5.0 5 -3.5", "7.0 5.5 7e0"),
        ({"not": {"type": "integer"}}, '7.0 7.5 "a" 1e7', "7 0"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "7.0 7.5", "7"),
        ({"type": ["integer", "string"], "enum": [1, "a", 2.5]}, '1 "a"', "1.0 2.5"),
        (
            {"items": {"type": "integer", "minimum": 0, "maximum": 3}, "uniqueItems": True},
            "[1,2]",
            "[1.0] [1,1]",
        ),
    ],
)
def test_integers_of_draft_4_are_digits(schema: Any, accepted: str, rejected: str) -> None:
    for text in accepted.split():
        assert accepts(schema, text, draft="4"), text
    for text in rejected.split():
        assert not accepts(schema, text, draft="4"), text


def test_the_report_lists_what_is_narrowed() -> None:
    schema = {
        "properties": {
            "a": {"type": "number", "minimum": 1},
            "b": {"type": "string", "minLength": 2},
            "c": {"format": "colour"},
        }
    }
    report = sm.Grammar.from_json_schema(schema).report
    assert report is not None
    text = str(report)
    for part in (
        "numbers: Every value",
        "strings: A string",
        "whitespace: at most",
        "`colour` is not a format",
    ):
        assert part in text
    plain = sm.Grammar.from_json_schema({"type": ["integer", "string"]}).report
    assert plain is not None
    assert "numbers" not in str(plain)


def test_property_order() -> None:
    schema = {
        "properties": {"b": {"type": "null"}},
        "allOf": [{"properties": {"a": {"type": "null"}}}],
        "required": ["z"],
    }
    in_order = '{"b": null, "a": null, "y": 1, "z": 2}'
    out_of_order = ['{"a": null, "b": null, "z": 2}', '{"z": 2, "b": null}']
    assert accepts(schema, in_order)
    assert accepts(schema, '{"a": null, "z": 1, "y": 2}')
    for text in out_of_order:
        assert not accepts(schema, text)
        assert accepts(schema, text, property_order="any")
    assert not accepts(schema, '{"a": null}', property_order="any")


def test_property_order_through_choices() -> None:
    schema = {
        "type": "object",
        "allOf": [
            {
                "oneOf": [
                    {"properties": {"x": {"const": 1}}, "required": ["x"]},
                    {"properties": {"y": {}}, "required": ["y"]},
                ]
            },
            {"properties": {"z": {}}, "required": ["z"]},
        ],
    }
    assert accepts(schema, '{"x": 1, "z": 2}')
    assert accepts(schema, '{"y": 1, "z": 2}')
    assert not accepts(schema, '{"z": 2, "x": 1}')


def test_formats() -> None:
    assert not accepts({"format": "date"}, '"2023-02-29"')
    assert accepts({"format": "date"}, '"2023-02-29"', formats="annotate")
    grammar = sm.Grammar.from_json_schema({"properties": {"a": {"format": "colour"}}})
    assert grammar.report is not None
    assert [(note.pointer, note.keyword) for note in grammar.report.annotations] == [
        ("#/properties/a", "format")
    ]


def test_equal_schemas_are_compiled_once() -> None:
    first = COMPILER.compile(sm.Grammar.from_json_schema(SCHEMA))
    assert COMPILER.compile(sm.Grammar.from_json_schema(dict(SCHEMA))) is first


def test_notes_name_every_place_of_equal_parts() -> None:
    inner = {"properties": {"d": {"format": "colour"}}}
    schema = {
        "properties": {"a": {"format": "colour"}, "b": {"format": "colour"}, "c": inner, "e": dict(inner)}
    }
    report = sm.Grammar.from_json_schema(json.dumps(schema)).report
    assert report is not None
    places = [
        "#/properties/a",
        "#/properties/b",
        "#/properties/c/properties/d",
        "#/properties/e/properties/d",
    ]
    assert sorted(note.pointer for note in report.annotations) == places


def test_an_error_names_the_place_that_clashes_not_an_equal_one() -> None:
    schema = {
        "properties": {"a": {"type": "string"}, "c": {"type": "integer"}},
        "allOf": [{"properties": {"b": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}],
        "required": ["b"],
    }
    with pytest.raises(sm.UnsatisfiableSchemaError) as caught:
        sm.Grammar.from_json_schema({"type": "object", **schema})
    assert "#/properties/a" not in caught.value.reason and "#/properties/c" not in caught.value.reason


def test_what_was_met_before_is_reported_again() -> None:
    for leaf in (
        {"type": "integer", "minimum": 17},
        {"type": "string", "maxLength": 17},
        {"format": "email"},
    ):
        reports = [str(sm.Grammar.from_json_schema({"items": dict(leaf)}).report) for _ in range(3)]
        assert reports[0] == reports[1] == reports[2]
        assert "#/items" in reports[0]


def test_nothing_is_reported_of_strings_that_there_are_not() -> None:
    leaf = {"type": ["null", "string"], "format": "uuid", "maxLength": 1}
    for n in range(3):
        report = sm.Grammar.from_json_schema(
            {"items": dict(leaf), "minItems": n, "uniqueItems": False}
        ).report
        assert report is not None
        assert not [note for note in report.notes if "strings:" in note.reason]


def test_equal_schemas_of_a_one_of_are_two() -> None:
    leaf = {"type": "string", "maxLength": 3}
    schema = {"oneOf": [dict(leaf), dict(leaf), {"type": ["integer", "string"]}]}
    assert accepts(schema, "1")
    assert accepts(schema, '"long"')
    assert not accepts(schema, '"abc"')


def test_work_is_the_same_in_every_process() -> None:
    program = """if True:
        import stackmask as sm
        names = [f"p{i}" for i in range(6)]
        parts = {name: {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": i}]} for i, name in enumerate(names)}
        branches = [
            {"properties": {name: {"type": "null" if name == other else "string", "maxLength": 9 + i} for name in names}}
            for i, other in enumerate([*names, ""])
        ]
        schema = {"type": "object", "required": names, "properties": parts, "anyOf": branches}
        print(sm.Grammar.from_json_schema(schema).work)
    """
    works = set()
    for seed in "1234":
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        works.add(done.stdout)
    assert len(works) == 1


def test_reports_are_shown_in_short() -> None:
    schema = {"type": "integer", "deprecated": True, "minimun": 3}
    assert repr(sm.Grammar.from_json_schema(schema).report) == "<Report: 1 note>"
    assert repr(sm.Grammar.from_lark('start: "a"').report) == "<LarkReport: 0 notes>"


def test_the_report_names_the_keywords_that_shaped_the_grammar() -> None:
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": "An order",
        "definitions": {"n": {"type": "integer", "const": 3}},
        "properties": {"a": {"$ref": "#/definitions/n"}, "const": {"type": "string"}},
        "required": ["a"],
    }
    report = sm.Grammar.from_json_schema(schema).report
    assert isinstance(report, Report)
    expected = {"properties": 1, "required": 1, "type": 2, "$ref": 1}  # draft 4 has no `const`
    assert report.keywords == expected
    assert pickle.loads(pickle.dumps(report)).keywords == expected

    pytest.importorskip("pydantic")
    of_type = sm.Grammar.from_json_schema(dict[str, int]).report
    assert isinstance(of_type, Report) and of_type.keywords["additionalProperties"] == 1


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
@pytest.mark.parametrize("closed", [True, False])
def test_alternatives_keep_their_own_order(union: str, closed: bool) -> None:
    def of(required: list[str], **properties: Any) -> dict[str, Any]:
        rest = {"additionalProperties": False} if closed else {}
        kinds = {name: {"type": kind} for name, kind in properties.items()}
        return {"type": "object", "properties": kinds, "required": required, **rest}

    schema = {union: [of(["a", "b"], a="integer", b="string"), of(["b"], b="integer", a="integer")]}
    for text, expected in (
        ('{"a": 1, "b": "x"}', True),
        ('{"b": "x", "a": 1}', False),
        ('{"b": 1, "a": 1}', True),
        ('{"a": 1, "b": 1}', False),
    ):
        assert accepts(schema, text) == expected, text
        assert accepts({"properties": {"p": schema}, "type": "object"}, f'{{"p": {text}}}') == expected, text
        assert accepts(schema, text, property_order="any"), text


def test_a_weaker_alternative_of_another_order_leaves_the_order_of_the_first() -> None:
    first: dict[str, Any] = {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]}
    other: dict[str, Any] = {"properties": {"b": {}, "a": {"type": "integer"}}}
    schema = {"type": "object", "anyOf": [first, other]}
    assert accepts(schema, '{"a": 1, "b": 2}')
    assert accepts(schema, '{"b": 2, "a": 1}')


def test_what_stands_beside_alternatives_is_in_order_with_each() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "anyOf": [
            {"properties": {"x": {}, "y": {}}, "required": ["x", "y"]},
            {"properties": {"y": {}, "x": {}}},
        ],
    }
    assert accepts(schema, '{"id": 1, "x": 1, "y": 2}')
    assert accepts(schema, '{"id": 1, "y": 1, "x": 2}')
    assert not accepts(schema, '{"x": 1, "id": 1, "y": 2}')
