"""``profile=``: "exact" is the language of the schema, "model" what a model is to write, and each option of it alone."""

from __future__ import annotations

import datetime
import json
import pickle
import uuid
from typing import Any

import numpy as np
import pydantic
import pytest
from support.json_profile_checks import (
    DUMPS,
    INSTANCES,
    SHIPPED,
    Sampler,
    faults,
    has_whole_floats,
    judge_of,
    needless,
)
from support.json_schema_engine import COMPILER, VOCABULARY

import stackmask as sm
from stackmask.grammar.ir.dump import dump

INTEGER = {"type": "integer"}
TOKENS = [
    *(bytes([b]) for b in range(256)),
    b"  ",
    b"    ",
    b"\n  ",
    b'": ',
    b'",',
    b"\\u00",
    b"00",
    b'{"',
    b"}]",
    b"], ",
]
WORDS = sm.Vocabulary([*TOKENS, b"<eos>"], stop_ids=[len(TOKENS)], special_ids=[len(TOKENS)])


def accepts(schema: Any, text: str, **options: Any) -> bool:
    matcher = COMPILER.compile(sm.Grammar.from_json_schema(schema, **options)).matcher()
    return bool(matcher.accept_string(text) and matcher.is_accepting())


def in_model(schema: Any, text: str) -> bool:
    return accepts(schema, text, profile="model")


def rules_of(**options: Any) -> str:
    return dump(sm.Grammar.from_json_schema(SHIPPED["order"], **options).rules)


def test_exact_is_the_default() -> None:
    assert (
        rules_of() == rules_of(profile="exact") == rules_of(spelling="any", numbers="any", whitespace="any")
    )
    assert dump(sm.Grammar.json().rules) == dump(sm.Grammar.json(profile="exact").rules)
    matcher = COMPILER.compile(sm.Grammar.json("object", profile="model")).matcher()
    assert (
        not matcher.accept_string("[")
        and not matcher.accept_string('{"\\u0061')
        and matcher.accept_string('{ "a": 1 }')
    )


def test_a_profile_is_a_name_for_options() -> None:
    options = {"whitespace": "single", "spelling": "dumps", "numbers": "plain"}
    one, other = (
        sm.Grammar.from_json_schema(SHIPPED["order"], **o).report for o in ({"profile": "model"}, options)
    )
    assert str(one) == str(other)
    assert accepts(True, '[1, "a\\u0062"]', profile="model", spelling="any")
    assert not accepts(True, "[ 1]", profile="model", spelling="any")
    assert accepts(True, "[1,\t 2]", profile="model", whitespace="any")
    assert accepts(INTEGER, "6.0", profile="model", numbers="any")


@pytest.mark.parametrize("option", [{"profile": "modle"}, {"numbers": "digits"}, {"spelling": "shortest"}])
def test_unknown_names_are_refused(option: dict[str, str]) -> None:
    with pytest.raises(sm.SchemaError, match="is not one of"):
        sm.Grammar.from_json_schema(True, **option)  # type: ignore[arg-type]


def test_the_report_says_what_is_narrowed() -> None:
    report = sm.Grammar.from_json_schema(SHIPPED["order"], profile="model").report
    assert report is not None
    text = str(report)
    for part in (
        "at most one blank",
        "no -0, 6.0 or 1e2",
        "64 bits",
        "at most 20",
        "json.dumps(ensure_ascii=False)",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (bool, ()),
        (int, ("numbers",)),
        (list[bool], ("whitespace",)),
        ({"enum": ["a"]}, ("strings",)),
        (
            {"type": "object", "properties": {"a": {"const": None}}, "additionalProperties": False},
            ("strings", "whitespace"),
        ),
        ({}, ("numbers", "strings", "whitespace")),
    ],
    ids=str,
)
def test_the_report_names_only_what_the_grammar_leaves_out(source: Any, said: tuple[str, ...]) -> None:
    for _ in range(2):  # read, and remembered
        report = sm.Grammar.of(source).report
        assert report is not None
        notes = [note.reason for note in report.narrowed if not note.keyword]
        assert {note.partition(":")[0] for note in notes} == set(said)
    exact = sm.Grammar.from_json_schema({"const": True}, whitespace={"separators": (",", ":")}).report
    assert exact is not None and not exact.narrowed


# -- what json.dumps writes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", DUMPS, ids=str)
def test_all_that_dumps_writes_is_in(layout: dict[str, Any]) -> None:
    values: list[Any] = [
        *(
            0,
            -7,
            2**63 - 1,
            -(2**63),
            10**19,
            2.5,
            -0.0,
            1e-7,
            1e300,
            1.7976931348623157e308,
            5e-324,
            0.00012345678901234567,
        ),
        *("".join(map(chr, range(0x80))), "\u2028é😀", "", [], {}, None, True),
        *(
            [[], {}],
            [[1, [2, {"a": [3]}]], {"": {"\n": "\t"}}],
            {"a": {"b": {"c": [[[1]]]}}, "d": [{}, {"e": 1}]},
        ),
    ]
    for value in values:
        assert in_model(True, json.dumps(value, ensure_ascii=False, **layout)), value
    for value in INSTANCES:
        assert in_model(SHIPPED["order"], json.dumps(value, ensure_ascii=False, **layout)), value


def test_layouts_may_be_mixed() -> None:
    for text in [
        "[ 1 ]",
        '{ "a": 1,"b":2 }',
        '[{\n  "a": 1\n}, {\n  "b": [1, 2]\n}]',
        '{\n\t"a": [\n\t\t[1, 2],\n\t\t{}\n\t]\n}',
        '[{\n  "a": 1\n}, {\n    "a": 1\n}]',  # nothing around them has chosen an indent
    ]:
        assert in_model(True, text), text


@pytest.mark.parametrize(
    "text",
    [
        *("[1,  2]", "[ 1]", "[1 ]", "[ ]", "[1\n]", "[\n1\n]", "[\n 1\n]", "[\n  1,2\n]", "[\n  1,\n2\n]"),
        *(" 1", "1 ", '{"a" :1}', '{"a":  1}', '{"a":\n1}', "[1,\r2]", "[\n  [\n      1\n  ]\n]"),
        "[\n  [\n\t\t1\n  ]\n]",
    ],
)
def test_no_other_blanks(text: str) -> None:
    assert not in_model(True, text)


# -- strings and numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["\\u0061", "\\/", "\\u001F", "\\u000a", "\\u007f", "\\u0022", "\\u00e9"])
def test_strings_have_one_spelling(text: str) -> None:
    for schema in (
        True,
        {"type": "string"},
        {"not": {"const": "x"}},
        {"type": "string", "pattern": "^[^x]$"},
    ):
        value = json.dumps(json.loads(f'"{text}"'), ensure_ascii=False)
        assert in_model(schema, value) and not in_model(schema, f'"{text}"')
        assert accepts(schema, f'"{text}"')


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ('^[\\n"\\x01x]+$', '\n"\x01x'),
        ("^a[\\n\\x01]b$", "a\x01b"),
        ("^[\\x01\\x02]$", "\x02"),
        ("^[\\x10-\\x1f\\\\]{3}$", "\x10\\\x1f"),
        ("^\\x1f$", "\x1f"),
        ("^[😀-😂]\\n$", "😁\n"),
    ],
)
def test_classes_of_characters_that_must_be_escaped(pattern: str, value: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    text = json.dumps(value, ensure_ascii=False)
    assert in_model(schema, text)
    for other in ("\\u000a", "\\u005c", "\\u0022", "\\u001F", "\\uD83D\\uDE01"):
        assert not in_model(schema, f'"{other}"')


def test_keys_that_may_run_out_and_unique_strings_have_one_spelling() -> None:
    keys = {"type": "object", "patternProperties": {"^[ab]$": INTEGER}, "additionalProperties": False}
    assert in_model(keys, '{"b":1,"a":2}')
    assert not in_model(keys, '{"\\u0061":1}') and accepts(keys, '{"\\u0061":1}')
    items = {"type": "array", "items": {"type": "string", "pattern": "^[ab]{1,2}$"}, "uniqueItems": True}
    assert in_model(items, '["a", "ab"]') and not in_model(items, '["a", "a"]')
    assert not in_model(items, '["a", "\\u0061b"]') and accepts(items, '["a", "\\u0061b"]')


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (
            INTEGER,
            f"0 -1 6 12 {2**63 - 1} {-(2**63)}",
            f"-0 6.0 1e2 01 +1 {2**63} {-(2**63) - 1} " + "1" * 20,
        ),
        ({"type": "integer", "minimum": 0}, f"0 {2**63 - 1}", f"-1 {2**63}"),
        ({"type": "integer", "exclusiveMaximum": 0}, f"-1 {-(2**63)}", f"0 {-(2**63) - 1}"),
        ({"type": "integer", "minimum": 2**70}, f"{2**70} {2**90}", f"{2**70 - 1} {2**63} " + "1" * 60),
        ({"type": "integer", "maximum": -(2**70)}, f"{-(2**70)} {-(2**90)}", f"{1 - 2**70} 0"),
        ({"type": "integer", "minimum": 0, "maximum": 2**80}, f"0 {2**80}", f"{2**80 + 1}"),
        ({"type": "integer", "not": {"const": 5}}, f"4 6 {2**63 - 1}", f"5 {2**63}"),
        ({"type": "integer", "minimum": 1, "multipleOf": 10**20}, f"{10**20} {10**30}", f"0 {10**19}"),
        ({"type": "integer", "minimum": 1, "multipleOf": 7 * 10**20}, f"{7 * 10**20}", f"0 {10**20}"),
        ({"enum": [2**70, 10**30, -(2**64)]}, f"{2**70} {10**30} {-(2**64)}", "0"),
        ({"const": 1e300}, f"{10**300}", "1"),
        ({"type": ["integer", "string"]}, "0 -1", "-0 6.0 1e2"),
        ({"type": "integer", "minimum": -5, "maximum": 5}, "-5 0 5", "-0 5.0 6"),
        ({"type": "integer", "multipleOf": 7}, "-7 0 " + "7" * 18, "-0 7.0 8 " + "7" * 19),
        ({"type": "integer", "multipleOf": 4}, "-8 0 " + "4" * 18, "-0 4.0 2 " + "4" * 19),
        ({"const": 1}, "1", "1.0 1e0 10e-1"),
        ({"const": 0}, "0", "-0 0.0 0e1"),
        ({"enum": [1, 2.5, 100000000]}, "1 2.5 100000000", "1.0 2.50 1e8"),
        ({"const": 1e-7}, "1e-07 1e-7 0.0000001", "0.00000010"),
        ({"anyOf": [INTEGER, {"type": "number", "minimum": 5}]}, "-1 7 7.5 7.0", "-0 1.0"),
        (
            {"type": "number"},
            "-0.0 0.00 6.0 1e2 1E+2 12.5e-3 0.5e1 1e-07 5e-324 1e308 " + "1" * 20,
            "0e0 0.0e1 0.000e000 1e007 1e-007 1e309 1e-325 " + "1" * 21 + " 0." + "1" * 21,
        ),
        ({"type": "number", "exclusiveMinimum": 0}, "0.5 1e-07 2.50", "0 0.0 1e000 1e1000"),
        ({"type": "number", "minimum": 0}, "0 0.5 1e22 1e-05", "-1 0." + "5" * 60),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, "1 -1", "-0 1.0"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "not": INTEGER},
            "1.0 0.5",
            "1 -1",
        ),
        ({"type": "number", "not": INTEGER}, "0.5 1.5", "1 1.0"),
    ],
    ids=str,
)
def test_integers_are_digits_and_runs_have_ends(schema: Any, right: str, wrong: str) -> None:
    for text in right.split():
        assert in_model(schema, text), text
    for text in wrong.split():
        assert not in_model(schema, text), text


# -- formats -------------------------------------------------------------------------------------------------

TIME = {"type": "string", "format": "date-time"}
UUID = {"type": "string", "format": "uuid"}
HEX = "0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d"


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (
            TIME,
            "2020-02-29T00:00:00Z 1990-12-31T23:59:60.5Z 2020-01-01T00:00:00.123456789+01:00",
            "2020-02-29t00:00:00Z 2020-02-29T00:00:00z 1990-12-31T23:59:60z 2020-01-01T00:00:00.1234567891Z",
        ),
        ({"type": "string", "format": "time"}, "00:00:00Z 23:59:60Z", "00:00:00z 00:00:00.1234567891Z"),
        ({"type": "string", "format": "duration"}, "P3D PT999999999S", "P1234567890D"),
        (UUID, HEX, HEX.upper()),
        ({"anyOf": [UUID, TIME]}, f"{HEX} 2020-02-29T00:00:00Z", f"{HEX.upper()} 2020-02-29t00:00:00Z"),
        ({**UUID, "not": {"const": HEX}}, HEX.replace("0", "1"), HEX.upper()),
        ({**UUID, "pattern": "^[0-9A-F-]*$"}, HEX.replace("a", "1").translate({98 + i: 48 for i in range(5)}), HEX),
    ],
    ids=str,
)  # fmt: skip
def test_formats_are_written_in_one_case(schema: dict[str, Any], right: str, wrong: str) -> None:
    notes = str(sm.Grammar.from_json_schema(schema, profile="model").report)
    assert any(part in notes for part in ("upper case", "lower case", "nine digits"))
    for text in right.split():
        assert in_model(schema, f'"{text}"'), text
    for text in wrong.split():
        assert not in_model(schema, f'"{text}"'), text
        if schema.get("pattern") is None:
            assert accepts(schema, f'"{text}"') and accepts(
                schema, f'"{text}"', profile="model", formats="assert"
            )


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({**TIME, "pattern": "t"}, "2020-01-01t00:00:00z"),
        ({**TIME, "minLength": 60}, "2020-01-01T00:00:00." + "1" * 50 + "Z"),
        ({**UUID, "pattern": "[A-F]"}, HEX.upper()),
        ({**UUID, "enum": [HEX.upper()]}, HEX.upper()),
        ({"anyOf": [{**UUID, "pattern": "[A-F]"}, {"const": "x"}]}, HEX.upper()),
    ],
    ids=str,
)
def test_what_would_be_left_without_a_string_stays(schema: dict[str, Any], text: str) -> None:
    assert in_model(schema, f'"{text}"')
    notes = str(sm.Grammar.from_json_schema(schema, profile="model").report)
    assert not any(part in notes for part in ("upper case", "lower case", "nine digits"))


def test_a_negated_format_leaves_out_all_of_its_spellings() -> None:
    schema = {"type": "string", "not": TIME}
    assert in_model(schema, '"x"')
    assert not in_model(schema, '"2020-01-01t00:00:00z"') and not in_model(schema, '"2020-01-01T00:00:00Z"')


def test_formats_of_types_are_written_in_one_case() -> None:
    for kind, text in ((datetime.datetime, "2020-01-01T00:00:00Z"), (uuid.UUID, HEX), (pydantic.UUID6, HEX)):
        exact, model = (sm.Grammar.from_json_schema(kind, profile=p) for p in ("exact", "model"))
        other = text.upper() if kind is not datetime.datetime else text.lower()
        assert exact.accepts(f'"{text}"') and exact.accepts(f'"{other}"')
        assert model.accepts(f'"{text}"') and not model.accepts(f'"{other}"')


# -- random texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_random_texts_are_valid_and_plain(name: str) -> None:
    schema = SHIPPED[name]
    compiled = sm.Compiler(WORDS).compile(sm.Grammar.from_json_schema(schema, profile="model"))
    sampler, judge = Sampler(WORDS), judge_of(schema)
    for seed in range(6):
        text = sampler.text(compiled, np.random.default_rng(seed), 3000, 20)
        assert faults(text, judge) == [], text
        if not has_whole_floats(json.loads(text)):
            for layout in DUMPS:
                assert in_model(schema, json.dumps(json.loads(text), ensure_ascii=False, **layout))


def test_the_checks_find_faults() -> None:
    assert needless('{"\\u0061": [1,  2]}') == ['"\\u0061"', "  "]
    assert needless('{\n  "a": "\\n",\n  "b": 1\n}') == []
    for text in ("1.0", "-0", '"a"'):
        assert faults(text, judge_of(INTEGER))
    assert not faults("-1", judge_of(INTEGER))


def test_keys_are_forced() -> None:
    """Jump over a key, from the text before it to the value."""
    schema = {
        "type": "object",
        "properties": {"name": INTEGER},
        "required": ["name"],
        "additionalProperties": False,
    }
    for profile, forced in (("model", 'ame":'), ("exact", "")):
        grammar = sm.Grammar.from_json_schema(schema, profile=profile)  # type: ignore[arg-type]
        matcher = sm.Compiler(VOCABULARY).compile(grammar).matcher()
        assert matcher.accept_string('{"n')
        assert matcher.find_jump_forward_string() == forced


def test_multiples_with_many_remainders_cost_no_more_work_than_they_did() -> None:
    """Multiples of 143 and 99 have no end of digits: to count them too would take hundreds of times the work."""
    for step in (99, 143):
        schema = {"type": "integer", "multipleOf": step}
        exact, model = (sm.Grammar.from_json_schema(schema, profile=p).work for p in ("exact", "model"))
        assert model < 10 * exact + 100_000


def test_a_grammar_with_narrower_answers_can_be_pickled() -> None:
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    grammar = sm.Grammar.from_json_schema(schema, profile="model")
    again = pickle.loads(pickle.dumps(grammar.rules))
    assert dump(again) == dump(grammar.rules)


@pytest.mark.parametrize(
    "options", [{"profile": "model"}, {"whitespace": {"indent": 2}}, {"spelling": "dumps"}]
)
def test_lists_of_a_thousand_kinds_of_items(options: dict[str, Any]) -> None:
    schema = {"type": "array", "items": [{"type": "integer"}, {"type": "boolean"}] * 500}
    indent = options.get("whitespace", {}).get("indent")
    text = json.dumps([7, True] * 500, indent=indent)
    assert accepts(schema, text, **options)
    assert not accepts(schema, json.dumps([7, True] * 400 + [True], indent=indent), **options)


def test_lists_of_too_many_kinds_of_items_are_an_error() -> None:
    schema = {"type": "array", "items": [{"type": "integer"}] * 20_000}
    for profile in ("exact", "model"):
        with pytest.raises(sm.BudgetError, match="nesting"):
            COMPILER.compile(sm.Grammar.from_json_schema(schema, profile=profile))


def test_bytes_without_a_token_are_found_in_long_lists() -> None:
    schema = {"type": "array", "items": [{"type": "integer"}] * 1000 + [{"const": "~"}]}
    grammar = sm.Grammar.from_json_schema(schema, spelling="plain")
    spelled = [bytes([i]) for i in range(256) if i != ord("~")]
    with pytest.raises(sm.VocabularyError, match="no token is just '~'"):
        sm.Compiler(sm.Vocabulary([*spelled, b"<eos>"], stop_ids=[255], special_ids=[255])).compile(grammar)
