"""What the grammar leaves out, since the parsers of servers would lose a call over it, or find one that is none."""

from __future__ import annotations

import pytest
from support.byte_matcher import ByteMatcher

from stackmask import tools

DSML = "｜DSML｜"
FIND = {
    "name": "find",
    "parameters": {
        "type": "object",
        "properties": {
            "unit": {"enum": ["km", "mile"]},
            "count": {"type": "integer", "minimum": 0},
            "quick": {"type": "boolean"},
        },
        "additionalProperties": False,
    },
}
# a call, and what stands around the value of its only argument
ARGUMENT = {
    "qwen_3_coder": (
        "<tool_call>\n<function=find>\n<parameter={}>",
        "</parameter>\n</function>\n</tool_call>",
    ),
    "mimo": ("<tool_call><function=find><parameter={}>", "</parameter></function></tool_call>"),
    "glm_4_7": ("<tool_call>find<arg_key>{}</arg_key><arg_value>", "</arg_value></tool_call>"),
    "minimax": (
        '<minimax:tool_call>\n<invoke name="find">\n<parameter name="{}">',
        "</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
}
ON_LINES = ("qwen_3_coder", "mimo")


@pytest.mark.parametrize("style", ARGUMENT)
def test_no_blanks_around_values(style: str) -> None:
    made = ByteMatcher(tools.grammar(style, [FIND]))
    before, after = ARGUMENT[style]
    for name, written, value in (("unit", "km", "km"), ("count", "12", 12), ("quick", "true", True)):
        text = before.format(name) + written + after
        assert made.matches(text)
        for blanks in (" {}", "{} ", "\t{}", "{}\n", "\n{}", "\n {}\n"):
            assert not made.matches(before.format(name) + blanks.format(written) + after)
        apart = before.format(name) + f"\n{written}\n" + after
        assert made.matches(apart) == (style in ON_LINES)
        assert tools.parse(style, text, tools=[FIND]).calls == [tools.Call("find", {name: value})]
        if style in ON_LINES:
            assert tools.parse(style, apart, tools=[FIND]).calls == [tools.Call("find", {name: value})]


@pytest.mark.parametrize("style", ARGUMENT)
def test_integers_are_digits(style: str) -> None:
    made = ByteMatcher(tools.grammar(style, [FIND]))
    before, after = (part.format("count") for part in ARGUMENT[style])
    assert not any(made.matches(before + number + after) for number in ("1.0", "1e2", "0.00"))
    unbounded = {"name": "find", "parameters": {"properties": {"count": {"type": "integer"}}}}
    made = ByteMatcher(tools.grammar(style, [unbounded]))
    assert made.matches(f"{before}-12{after}") and not made.matches(f"{before}1.0{after}")


@pytest.mark.parametrize("style", ["qwen_3_5", "qwen_3_coder"])
def test_booleans_as_chat_templates_write_them(style: str) -> None:
    made = ByteMatcher(tools.grammar(style, [FIND]))
    for written, value in (("True", True), ("False", False), ("true", True)):
        text = f"<tool_call>\n<function=find>\n<parameter=quick>\n{written}\n</parameter>\n</function>\n</tool_call>"
        assert made.matches(text)
        assert tools.parse(style, text, tools=[FIND]).calls[0].arguments == {"quick": value}
    text = "<tool_call>\n<function=find>\n</function>\n</tool_call>"
    assert made.matches(text)
    assert tools.parse(style, text, tools=[FIND]).calls == [tools.Call("find", {})]


def test_only_booleans_are_read_so() -> None:
    text = "<tool_call>\n<function=find>\n<parameter=a>True</parameter>\n</function>\n</tool_call>"
    for schema, value in (
        ({"type": ["boolean", "null"]}, True),
        ({"type": "string"}, "True"),
        ({"type": ["boolean", "string"]}, "True"),
        ({}, "True"),
    ):
        tool = {"name": "find", "parameters": {"properties": {"a": schema}}}
        assert tools.parse("qwen_3_coder", text, tools=[tool]).calls[0].arguments == {"a": value}


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("deepseek_r1", "a<｜tool▁call▁begin｜>b"),
        ("deepseek_v3_1", "a<｜tool▁sep｜>"),
        ("deepseek_v3_1", "<｜tool▁call▁end｜>"),
        ("deepseek_v3_2", f'<{DSML}invoke name="find">'),
        ("deepseek_v4", f"</{DSML}invoke>"),
        ("kimi_k3", "<|open|>response<|sep|>a<|open|>b<|close|>response<|sep|><|close|>message<|sep|>"),
        ("minimax", '<invoke name="find">'),
        ("minimax_m3", ']<]minimax[>[<invoke name="find">'),
        ("cohere", '<cofl:tool_call id="0" name="find">'),
        ("llama", 'Sure: {"name": "find", "parameters": {}}'),
        ("llama", '{"name": "find", "parameters": {}}!'),
        ("llama", '{"name": "find", "parameters": {}}{"name": "find", "parameters": {}}'),
    ],
)
def test_text_holds_no_marker_that_only_calls_have(style: str, text: str) -> None:
    assert not ByteMatcher(tools.grammar(style, [FIND])).matches(text)


@pytest.mark.parametrize("style", ["deepseek_r1", "deepseek_v3_1"])
def test_arguments_on_one_line(style: str) -> None:
    before, after = {
        "deepseek_r1": ("function<｜tool▁sep｜>find\n```json\n", "\n```"),
        "deepseek_v3_1": ("find<｜tool▁sep｜>", ""),
    }[style]
    text = (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"
        + before
        + '{"count":@1}'
        + after
        + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    )
    made = ByteMatcher(tools.grammar(style, [FIND]))
    assert made.matches(text.replace("@", " "))
    assert not made.matches(text.replace("@", "\n"))


def test_calls_of_llama_are_all_of_a_turn() -> None:
    call = '{"name": "find", "parameters": {"count": 1}}'
    made = ByteMatcher(tools.grammar("llama", [FIND]))
    for text, content, count in (
        (call, "", 1),
        (f"{call}; {call}; {call}", "", 3),
        ('{"a": [1, {}]} is JSON', '{"a": [1, {}]} is JSON', 0),
        ("", "", 0),
    ):
        assert made.matches(text)
        turn = tools.parse("llama", text, tools=[FIND])
        assert (turn.content, turn.calls) == (content, [tools.Call("find", {"count": 1})] * count)
        parser = tools.TurnParser("llama", [FIND])
        for char in text:
            parser.feed(char)
        parser.close()
        assert parser.turn == turn
    once = ByteMatcher(tools.grammar("llama", [FIND], parallel=False))
    assert once.matches(call) and not once.matches(f"{call}; {call}")
