"""What a whole turn calls is judged: tools that there are, arguments that fit, and texts that only end too early."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.campaign import mostly_campaign
from support.turn_cases import RENDERED, SEARCH, WEATHER

from stackmask import tools
from stackmask.grammar.turns.styles import STYLES

EACH = pytest.mark.parametrize("style", STYLES)


def call(arguments: str, name: str = "get_weather") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{}", "the argument `city` is needed"),
        ('{"city": 5}', "`city` is 5, and its schema is {'type': 'string'}"),
        ('{"city": "Rome", "days": 1.5}', "`days` is 1.5"),
        ('{"city": "Rome", "dais": 1}', "no argument `dais`; did you mean `days`?"),
        ('{"city": "Rome", "wind": 1}', "no argument `wind`; there are city, days"),
        ('{"city": "Rome", "days": NaN}', "the arguments are no JSON"),
        ('{"city": "\\ud800"}', "`city` is"),
    ],
)
def test_arguments_that_a_schema_refuses(arguments: str, problem: str) -> None:
    text = "Sure: " + call(arguments)
    with pytest.raises(tools.TurnError) as raised:
        tools.parse("qwen_3", text, tools=[WEATHER])
    assert problem in raised.value.problem and raised.value.problem.startswith("the call of `get_weather`: ")
    assert (raised.value.offset, raised.value.is_cut) == (6, False)
    [found] = tools.parse("qwen_3", text, tools=[WEATHER], check=False).calls
    assert found.name == "get_weather" and found.offset == 6


def test_arguments_that_a_schema_takes() -> None:
    for arguments in ('{"days": 1.0, "city": "é"}', '{ "city" : "\\u00e9" }'):
        assert len(tools.parse("qwen_3", call(arguments), tools=[WEATHER]).calls) == 1
    loose = {"name": "get_weather", "parameters": {"required": ["a"]}, "strict": False}
    assert len(tools.parse("qwen_3", call("{}"), tools=[loose]).calls) == 1
    pair = {
        "name": "get_weather",
        "parameters": {"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
    }
    with pytest.raises(tools.TurnError, match="does not allow these arguments together"):
        tools.parse("qwen_3", call('{"a": 1}'), tools=[pair])


def test_tools_that_are_not_there() -> None:
    text = call("{}", "get_whether")
    with pytest.raises(tools.TurnError, match="no tool `get_whether`; did you mean `get_weather`"):
        tools.parse("qwen_3", text, tools=[WEATHER, SEARCH])
    assert tools.parse("qwen_3", text, tools=[WEATHER], check=False).calls[0].tool is None
    assert tools.parse("qwen_3", text).calls[0].name == "get_whether"  # without tools nothing can be said


def test_values_nested_deeper_than_python_calls() -> None:
    deep: Any = []
    for _ in range(3_000):
        deep = [deep]
    nested = {"anyOf": [{"type": "array", "items": {"$ref": "#/properties/city"}}, {"type": "string"}]}
    tool = tools.Tool("f", {"type": "object", "properties": {"city": nested}})
    assert tool.refusal({"city": deep}) == ""
    assert tool.refusal({"city": [deep, 5]}).startswith("`city` is [[[")


@EACH
def test_every_beginning_of_a_call_is_cut(style: str) -> None:
    text = RENDERED[style]
    ended = 0
    for end in range(1, len(text)):
        try:
            tools.parse(style, text[:end], tools=[WEATHER, SEARCH])
        except tools.TurnError as error:
            assert error.is_cut, (text[:end], str(error))
            ended += 1
    assert ended > len(text) // 2


def test_every_beginning_of_json_is_cut() -> None:
    value = {"city": 'a "b" \\ é 😀\n', "n": [-1.5e10, 0.25, True, False, None, {}, []], "long": 10**30}
    for ascii_only in (True, False):
        written = json.dumps({**value, "big": 1e300}, ensure_ascii=ascii_only)
        for end in range(1, len(written)):
            with pytest.raises(tools.TurnError) as raised:
                tools.parse("mistral", "[TOOL_CALLS]f[ARGS]" + written[:end])
            assert raised.value.is_cut, written[:end]


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a" 1'),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": 1.5.'),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": "\\u00zz"'),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": tue'),
        ("mistral", '[TOOL_CALLS]f[ARGS]["a"'),
        ("mistral", "[TOOL_CALLS]f{"),
        ("qwen_3", '<tool_call>\n{"nom'),
        ("qwen_3", call("{}").replace("}\n<", "} done <")),
        ("qwen_3_coder", "<tool_call>\n<function=f>\n<parameter=a>b</parameter>\nx"),
        (
            "kimi_k3",
            '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="a" kind',
        ),
        ("cohere", '<cofl:tool_calls><cofl:tool_call id="0" name="f"><cofl:value name="a" type="list">x'),
        ("kimi", "<|tool_calls_section_begin|>oops"),
        ("harmony", "<|channel|>commentary to=nobody"),
        ("pythonic", "[f(a=Non, b=1)]"),
        ("pythonic", "[f(a='b\n"),
        ("pythonic", "[f(a=1 +)"),
    ],
)
def test_what_no_more_text_could_mend(style: str, text: str) -> None:
    with pytest.raises(tools.TurnError) as raised:
        tools.parse(style, text)
    assert not raised.value.is_cut, str(raised.value)


def test_turns_that_end_in_the_middle_of_something_else() -> None:
    for style, text, opened in (("qwen_3", "<think>why", False), ("qwen_3", "why", True)):
        with pytest.raises(tools.TurnError) as raised:
            tools.parse(style, text, opened=opened)
        assert raised.value.is_cut


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_numbers_beyond_floats_are_integers(kind: str) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": kind}}}}
    turn = '<tool_call>\n{"name": "f", "arguments": {"n": -1.5e999}}\n</tool_call>'
    [call] = tools.parse("qwen_3", turn, tools=[tool]).calls
    assert call.arguments == {"n": -15 * 10**998}
    assert tools.ParsedTurn("", "", [call]).message(as_json=True)
    with pytest.raises(tools.TurnError, match="the arguments are no JSON"):
        tools.parse("qwen_3", turn.replace("e999", "e99999"), tools=[tool])


VALUES: list[Any] = [
    {"enum": [None, [1], "1"]},
    {"enum": [{"a": 1}, {"a": {"b": [True]}}]},
    {"enum": ["True", [], {}]},
    {"enum": ["1", 1.5, "true", True, " a", "a"]},
    {"anyOf": [{"const": "true"}, {"type": "number"}]},
    {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "boolean"}]},
    {"anyOf": [{"enum": ["x y"]}, {"type": "array", "items": {"type": "integer"}, "maxItems": 2}]},
    {"allOf": [{"oneOf": [{"$ref": "#/$defs/o"}, {"type": "null"}]}, {"type": ["object", "null"]}]},
    {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": ["string", "integer"], "minLength": 2, "minimum": 5},
]
NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {"p": {"anyOf": [{"type": "integer"}, {"const": "7"}]}, "q": {"$ref": "#/$defs/o"}},
    "required": ["p"],
    "additionalProperties": {"enum": [1, "2", [3]]},
    "maxProperties": 3,
}


@pytest.mark.parametrize("style", mostly_campaign(STYLES, 15))
@pytest.mark.parametrize("profile", ["exact", "model"])
def test_values_of_several_types_are_read_as_the_schema_has_them(style: str, profile: str) -> None:
    for number, value in enumerate(VALUES):
        schema = {
            "$defs": {"o": NESTED},
            "type": "object",
            "properties": {"a": value},
            "required": ["a"],
            "additionalProperties": False,
        }
        tool = {"name": "f", "parameters": schema}
        made = tools.grammar(style, [tool], tool_choice="f", reasoning="off", profile=profile)
        for text in made.sample(4, seed=number):
            if re.search("[eE][+]?[0-9]{4}", text):
                continue  # Python writes no integer of so many digits
            assert tools.parse(style, text, tools=[tool]).calls  # each is judged, too


@pytest.mark.parametrize(
    ("written", "is_cut"),
    [
        ("1 1", False),
        ("1", True),
        ("[1 ", True),
        ("[1 2", False),
        ('{"a"', True),
        ('{"a": "b', True),
        ("{1, 2:", False),
        ('"a" "b', True),
        ('"a" 1', False),
        ("True F", False),
        ("[Tr", True),
        ("1 + 2", False),
        ("1..", False),
        ("(1]", False),
        ('"x\\', True),
        ('"x\ny', False),
        ("-", True),
        ("1e", True),
    ],
)
def test_literals_of_python_that_more_text_makes_whole(written: str, is_cut: bool) -> None:
    with pytest.raises(tools.TurnError) as raised:
        tools.parse("pythonic", f"[f(a={written}")
    assert raised.value.is_cut == is_cut
