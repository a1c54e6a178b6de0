"""Objects as arguments between markers, in every style."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from support.byte_matcher import ByteMatcher
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask.grammar.turns.arguments import ArgumentSchema, read_arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "e": {"enum": ["x", "y", 3]},
        "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object", "properties": {"d": {"type": "boolean"}}, "required": ["d"]},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
DSML = "｜DSML｜"


def grammar_of(schema: Any, style: str, **options: Any) -> sm.Grammar:
    form = {"type": "json_schema", "json_schema": schema, "style": style, **options}
    return sm.Grammar.from_structural_tag({"type": "structural_tag", "format": form})


def check(schema: Any, style: str, accepted: list[str], rejected: list[str], **options: Any) -> None:
    matcher = ByteMatcher(grammar_of(schema, style, **options))
    assert [text for text in accepted if not matcher.matches(text)] == []
    assert [text for text in rejected if matcher.matches(text)] == []


def kimi(name: str, kind: str, value: str) -> str:
    return f'<|open|>argument key="{name}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'


def m3(name: str, value: str) -> str:
    return f"]<]minimax[>[<{name}>{value}]<]minimax[>[</{name}>"


def cohere(name: str, kind: str, value: str) -> str:
    return f'<cofl:value name="{name}" type="{kind}">{value}</cofl:value>'


def item(kind: str, value: str) -> str:
    return f'<cofl:value type="{kind}">{value}</cofl:value>'


FLAT = {
    "qwen_xml": lambda name, text, value: f"<parameter={name}>{value}</parameter>",
    "minimax_xml": lambda name, text, value: f'<parameter name="{name}">{value}</parameter>',
    "glm_xml": lambda name, text, value: f"<arg_key>{name}</arg_key>\n<arg_value>{value}</arg_value>",
    "deepseek_xml": lambda name, text, value: (
        f'<{DSML}parameter name="{name}" string="{str(text).lower()}">{value}</{DSML}parameter>'
    ),
    "deepseek_v4_1_xml": lambda name, text, value: (
        f'<{DSML} parameter name="{name}" string="{str(text).lower()}">{value}</{DSML} parameter>'
    ),
}


@pytest.mark.parametrize("style", FLAT)
def test_flat_styles(style: str) -> None:
    write = FLAT[style]
    text, items = write("a", True, '1 < 2 & "x"\n'), write("b", False, "[1, 2]")
    check(
        SCHEMA,
        style,
        [
            text + items,
            f"\n{text}\n{items}\n",
            text + write("e", True, "x" if style.startswith("deepseek") else "\nx\n") + items,
            text + write("e", False, " 3 ") + items,
            text + items + write("c", False, '{"d": true}'),
        ],
        [
            text,
            items + text,
            text + text + items,
            text + write("e", True, "z") + items,
            text + write("b", False, '["1"]'),
            text + items + write("z", True, "1"),
        ],
    )


def test_the_type_is_written() -> None:
    text, items = kimi("a", "string", "<b>"), kimi("b", "array", "[1]")
    check(
        SCHEMA,
        "kimi_k3_xml",
        [
            text + items,
            text + kimi("e", "number", "3") + items,
            text + items + kimi("c", "object", '{"d":true}'),
        ],
        [text + kimi("e", "string", "3") + items, text + kimi("b", "object", "[1]")],
    )
    check(
        {"type": "object", "properties": {'"': {"type": "string"}}, "additionalProperties": False},
        "kimi_k3_xml",
        [kimi("&quot;", "string", "v"), ""],
        [kimi('"', "string", "v"), kimi("&quot;", "string", "no<|sep|>")],
        excludes=["<|sep|>"],
    )


def test_nested_styles() -> None:
    items = cohere("b", "list", item("json", "1") + item("json", "2"))
    text = cohere("a", "raw", "t")
    check(
        SCHEMA,
        "cohere_xml",
        [
            text + items,
            text + cohere("b", "list", ""),
            text + items + cohere("c", "dict", cohere("d", "json", "true")),
        ],
        [text + cohere("b", "json", "[1]"), text + items + cohere("c", "dict", "")],
    )
    check(
        SCHEMA,
        "minimax_m3_xml",
        [m3("a", "t") + m3("b", m3("item", "1") + m3("item", "2")) + m3("c", m3("d", "true"))],
        [m3("a", "t") + m3("b", "[1]"), m3("a", "t]<]minimax[>[") + m3("b", "")],
    )


def test_names_that_stand_twice() -> None:
    inner = m3("k", m3("l", "[") + m3("l2", "x"))
    check(
        {"type": "object"},
        "minimax_m3_xml",
        [m3("a", "1") + m3("b", ""), inner, "", m3("a", m3("item", m3("a", "1")))],
        ["]<]minimax[>[<a>1]<]minimax[>[</b>", m3("a", "1") + "]<]minimax[>[<a>1]<]minimax[>[</aa>"],
    )


def test_values_within_themselves() -> None:
    tree = {
        "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}},
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/t"}},
        "additionalProperties": False,
    }
    leaf = item("list", "")
    check(
        tree,
        "cohere_xml",
        [cohere("t", "list", leaf + item("list", leaf)), ""],
        [cohere("t", "list", leaf * 3), cohere("t", "list", item("list", item("json", "1")))],
    )


def test_leading_items() -> None:
    schema = {
        "type": "object",
        "properties": {
            "t": {
                "prefixItems": [{"type": "string"}, {"type": "null"}],
                "items": False,
                "minItems": 1,
                "type": "array",
            }
        },
        "required": ["t"],
        "additionalProperties": False,
    }
    first, second = item("raw", "x"), item("json", "null")
    check(
        schema,
        "cohere_xml",
        [cohere("t", "list", first), cohere("t", "list", first + second)],
        [cohere("t", "list", ""), cohere("t", "list", second), cohere("t", "list", first + second + second)],
    )


def test_any_order() -> None:
    write = FLAT["qwen_xml"]
    a, b, e = write("a", True, "t"), write("b", False, "[]"), write("e", True, "x")
    check(SCHEMA, "qwen_xml", [a + b, b + a, e + b + a], [a, a + a + b, e + e + a + b], any_order=True)


def test_many_arguments_in_any_order() -> None:
    write = FLAT["minimax_xml"]
    names = [f"k{i}" for i in range(200)]
    many = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "required": names[1:],
        "additionalProperties": False,
    }
    written = [write(name, False, "1") for name in reversed(names)]
    check(
        many,
        "minimax_xml",
        ["".join(written), "".join(written[:-1]), "".join(sorted(written))],
        ["".join(written[1:]), "".join(written + written[:1])],
        any_order=True,
    )


def writer_of(style: str) -> Any:
    if style in FLAT:
        return lambda name, value: FLAT[style](name, False, value)
    return m3 if style == "minimax_m3_xml" else lambda name, value: cohere(name, "json", value)


@pytest.mark.parametrize("style", [*FLAT, "cohere_xml", "minimax_m3_xml"])
@pytest.mark.parametrize(
    ("low", "high", "required", "others"),
    [(2, None, (), True), (0, 2, (), True), (2, 3, ("b",), True), (2, 2, (), False), (3, None, ("a",), True)],
)
@pytest.mark.parametrize("any_order", [False, True])
def test_arguments_are_counted(
    style: str, low: int, high: int | None, required: tuple[str, ...], others: bool, any_order: bool
) -> None:
    write = writer_of(style)
    number = {"type": "integer", "minimum": 0}
    schema = {
        "type": "object",
        "properties": {"a": number, "b": number, "c": number},
        "required": list(required),
        "minProperties": low,
        "additionalProperties": number if others else False,
    } | ({} if high is None else {"maxProperties": high})
    matcher = ByteMatcher(grammar_of(schema, style, any_order=any_order))
    declared = ["a", "b", "c"]
    for count in range(5):
        for names in product(["a", "b", "c", "ab", "x"], repeat=count):
            fits = low <= count and (high is None or count <= high) and set(required) <= set(names)
            fits = fits and len(set(names)) == count and (others or set(names) <= set(declared))
            if not any_order:
                places = [declared.index(name) if name in declared else len(declared) for name in names]
                fits = fits and places == sorted(places)
            assert matcher.matches("".join(write(name, "1") for name in names)) == fits, names


def test_counted_arguments_of_arguments() -> None:
    schema = {
        "type": "object",
        "properties": {"o": {"type": "object", "minProperties": 2}},
        "additionalProperties": {"type": "object", "maxProperties": 1},
        "maxProperties": 3,
    }
    two = m3("x", "1") + m3("y", m3("item", m3("x", "1") + m3("x", "2")))
    check(
        schema,
        "minimax_m3_xml",
        [m3("o", two), m3("o", two) + m3("x", m3("x", "1")) + m3("y", ""), ""],
        [
            m3("o", m3("x", "1")),
            m3("o", m3("x", "1") * 2),
            m3("x", two),
            m3("x", "") + m3("x", ""),
            m3("x", "") + m3("xy", "").replace("</xy>", "</x>"),
        ],
    )


def test_markers_repeat_the_names_of_arguments_in_any_order() -> None:
    number = {"type": "integer"}
    inner = {"type": "object", "properties": {"d": number}, "additionalProperties": number}
    schema = {"type": "object", "properties": {"a": number}, "additionalProperties": inner}
    one = m3("x", m3("y", "1") + m3("d", "2") + m3("z", "3"))
    check(
        schema,
        "minimax_m3_xml",
        [one, one + m3("a", "1"), m3("a", "1") + one + m3("w", ""), m3("x", "")],
        [
            one + one.replace("x>", ">"),
            one.replace("</x>", "</"),
            one.replace("</x>", "</z>"),
            one.replace("</z>", "</y>"),
            one.replace("</y>", "</x>"),
            m3("a", "1") * 2 + one,
        ],
        any_order=True,
    )


def test_no_object_is_written_as_an_array_is() -> None:
    number, words = {"type": "integer"}, {"type": "array", "items": {"type": "string"}}
    thing = {"type": "object", "additionalProperties": number}
    array = m3("item", "1") + m3("item", "2")
    mixed = [m3("a", m3("k", "1") + m3("item", "1")), m3("a", m3("item", "1") + m3("k", "1"))]
    for value in ({}, {"anyOf": [words, thing]}):
        schema = {"type": "object", "properties": {"a": value}, "additionalProperties": False}
        check(schema, "minimax_m3_xml", [m3("a", m3("k", "1")), m3("a", array)], mixed)
        check(schema, "cohere_xml", [cohere("a", "dict", cohere("item", "json", "1"))], [])
    schema = {"type": "object", "properties": {"a": thing}, "additionalProperties": False}
    check(schema, "minimax_m3_xml", [*mixed, m3("a", m3("item", "1"))], [])


def test_names_that_run_out_are_counted() -> None:
    write = FLAT["qwen_xml"]
    schema = {
        "type": "object",
        "patternProperties": {"^[pq]$": {"type": "null"}},
        "additionalProperties": False,
    }
    p, q = write("p", False, "null"), write("q", False, "null")
    check({**schema, "minProperties": 2}, "qwen_xml", [p + q], [p, p + p, p + q + p, ""])
    check({**schema, "maxProperties": 1}, "qwen_xml", [p, q, ""], [p + q])
    many = {**schema, "patternProperties": {"^[a-z]{2}$": {"type": "null"}}}
    check({**many, "minProperties": 2}, "qwen_xml", [], [p + q])
    pp, pq = write("pp", False, "null"), write("pq", False, "null")
    check({**many, "minProperties": 2}, "qwen_xml", [pq + pp], [pp, pp + pp, pq + pp + pq, p + pp])
    with pytest.raises(sm.SchemaError):
        grammar_of({**schema, "minProperties": 3}, "qwen_xml")
    with pytest.raises(sm.UnsupportedSchemaError, match="30,000 arguments to count are too many"):
        grammar_of({"type": "object", "maxProperties": 30_000}, "qwen_xml")


@pytest.mark.parametrize("style", mostly_campaign([*FLAT, "cohere_xml", "minimax_m3_xml", "kimi_k3_xml"], 2))
def test_samples_of_counted_arguments_fit(style: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}},
        "required": ["b"],
        "additionalProperties": {"type": "boolean"},
        "minProperties": 2,
        "maxProperties": 4,
    }
    known = ArgumentSchema(schema)
    for any_order in (False, True):
        grammar = grammar_of(schema, style, any_order=any_order)
        for seed in range(20):
            (text,) = grammar.sample(seed=seed)
            found, end = read_arguments(text, 0, style, known)
            assert text[end:].strip() == ""
            assert 2 <= len(found) <= 4
            assert "b" in found


def test_other_names_and_patterns() -> None:
    write = FLAT["qwen_xml"]
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "patternProperties": {"^x_": {"type": "boolean"}},
        "additionalProperties": {"type": "string", "maxLength": 2},
    }
    check(
        schema,
        "qwen_xml",
        [write("x_y", 0, "true"), write("a", 0, "1") + write("k", 0, "ab") + write("x_", 0, "false"), ""],
        [write("x_y", 0, "1"), write("k", 0, "abc"), write("k", 0, "a") + write("a", 0, "1")],
    )


def test_what_arguments_cannot_say() -> None:
    for schema in ({"type": "array"}, {"type": "string"}):
        with pytest.raises(sm.SchemaError, match="arguments are an object"):
            grammar_of(schema, "qwen_xml")
    with pytest.raises(sm.UnsupportedSchemaError, match="must be found"):
        grammar_of({"type": "object", "not": {"additionalProperties": False}}, "qwen_xml")


@pytest.mark.parametrize("style", [*FLAT, "minimax_m3_xml"])
@pytest.mark.parametrize("is_open", [False, True])
def test_many_optional_arguments(style: str, is_open: bool) -> None:
    names = [f"p{i}" for i in range(600)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "additionalProperties": is_open,
    }
    write = FLAT.get(style) or (lambda name, _, value: m3(name, value))
    written = [write(name, False, "1") for name in names]
    other = write("x", True, "1")
    whole = "".join(written)
    check(
        schema,
        style,
        ["", whole, written[7] + written[599], *([whole + other, other] if is_open else [])],
        [written[7] + written[6], written[7] * 2, other + written[0], *([] if is_open else [other])],
    )
    check({**schema, "required": ["p5"]}, style, [written[5], whole], ["", written[6]])
