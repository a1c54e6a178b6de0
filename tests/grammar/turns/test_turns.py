"""Turns in every style: the grammar compiles, takes what models write, and all that it takes is read back."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from support.byte_matcher import ByteMatcher
from support.campaign import mostly_campaign
from support.turn_cases import RENDERED, SEARCH, WEATHER

import stackmask as sm
from stackmask import tools
from stackmask.grammar.turns.styles import STYLES

CHOICES: list[Any] = ["auto", "none", "required", {"type": "function", "function": {"name": "search"}}]
ANSWER = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
EACH = pytest.mark.parametrize("style", STYLES)


def plain(turn: tools.ParsedTurn) -> tuple[str, str, list[tuple[str, Any]]]:
    calls = [(call.name, call.arguments) for call in turn.calls]
    return turn.reasoning, turn.content, calls


@EACH
def test_what_models_write(style: str) -> None:
    text = RENDERED[style]
    begin, end = STYLES[style].thinking
    thought = f"{begin}why{end}" + ("<|start|>assistant" if style == "harmony" else "")
    for choice, answer, profile in itertools.product(
        ("auto", "required"), (None, ANSWER), ("exact", "model")
    ):
        made = tools.grammar(
            style, [WEATHER, SEARCH], tool_choice=choice, response_format=answer, profile=profile
        )
        matcher = ByteMatcher(made)
        accepted = text
        if style == "kimi_k3" and answer is not None:
            accepted = text.removeprefix("<|open|>response<|sep|><|close|>response<|sep|>")
        assert matcher.matches(accepted), (choice, answer)
        assert matcher.matches(thought + accepted) == STYLES[style].reasons
        assert not matcher.matches(accepted.replace("get_weather", "get_whether"))
        assert not matcher.matches(accepted.replace("days", "dais"))
    turn = tools.parse(style, thought + text, tools=[WEATHER, SEARCH])
    assert plain(turn) == ("why", "", [("get_weather", {"city": "Rome", "days": 2})])
    none = ByteMatcher(tools.grammar(style, [WEATHER], tool_choice="none"))
    assert not none.matches(text)


@EACH
def test_every_combination_compiles(style: str) -> None:
    many = [{"name": f"tool_{i}", "parameters": WEATHER["function"]["parameters"]} for i in range(19)] + [
        SEARCH
    ]  # type: ignore[index]
    compiler = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256]))
    count = 0
    for choice, reasoning, answer, offered in itertools.product(
        CHOICES, ("on", "off", "auto"), (None, ANSWER), ([SEARCH], many)
    ):
        made = tools.grammar(style, offered, tool_choice=choice, reasoning=reasoning, response_format=answer)
        compiler.compile(made).matcher()
        count += 1
    assert count == 48


@EACH
def test_rules_that_need_no_passes_mean_the_same_after_them(style: str) -> None:
    answer = ANSWER if style != "kimi_k3" else None
    made = tools.grammar(style, [WEATHER, SEARCH], response_format=answer, reasoning="on")
    assert made.normalized is made.rules
    compiler = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256]))
    first = compiler.compile(made).matcher()
    second = compiler.compile(sm.Grammar(made.rules)).matcher()
    masks = sm.allocate_token_bitmask(2, 257)
    begin, end = STYLES[style].thinking
    text = f"{begin}why{end}" + ("<|start|>assistant" if style == "harmony" else "") + RENDERED[style]
    for byte in text.encode():
        for row, matcher in enumerate((first, second)):
            matcher.fill_next_token_bitmask(masks, row)
        assert (masks[0] == masks[1]).all()
        assert first.accept_token(byte) == second.accept_token(byte) is True
    assert first.is_accepting() and second.is_accepting()


def random_turn(matcher: sm.Matcher, style: tools.ToolStyle, rng: random.Random, mask: Any) -> str | None:
    """Return a random turn, in which blocks often begin and end; None if it gets long."""
    markers = [
        style.begin,
        style.thinking[1],
        *style.content[1],
        *(begin.partition("{")[0] for begin, _ in style.calls),
    ]
    markers = [marker.encode() for marker in markers if marker]
    written = bytearray()
    while len(written) < 1500:
        marker = rng.choice(markers)
        if rng.random() < 0.3 and matcher.accept_string(marker):
            written += marker
            continue
        if matcher.is_accepting() and rng.random() < 0.1:
            break
        matcher.fill_next_token_bitmask(mask)
        allowed = [byte for byte in range(256) if int(mask[0, byte // 32]) >> byte % 32 & 1]
        if not allowed:
            break
        closing = [byte for byte in allowed if byte in b'"<>}]|/']
        letters = [byte for byte in allowed if byte in b"ab1"]
        chosen = rng.choice(closing if closing and rng.random() < 0.7 else letters or allowed)
        assert matcher.accept_token(chosen)
        written.append(chosen)
    return written.decode() if matcher.is_accepting() else None


@pytest.mark.parametrize("style", mostly_campaign(STYLES, 2))
def test_all_that_the_grammar_takes_is_read_back(style: str) -> None:
    rng = random.Random(style)
    compiler = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256]))
    mask = sm.allocate_token_bitmask(1, 257)
    calls = 0
    for choice, reasoning in itertools.product(("auto", "required"), ("auto", "off")):
        made = tools.grammar(style, [WEATHER, SEARCH], tool_choice=choice, reasoning=reasoning)
        compiled = compiler.compile(made)
        for _ in range(12):
            text = random_turn(compiled.matcher(), STYLES[style], rng, mask)
            if text is None:
                continue
            turn = tools.parse(style, text, tools=[WEATHER, SEARCH])
            calls += len(turn.calls)
            assert {call.name for call in turn.calls} <= {"get_weather", "search"}
            for call in turn.calls:
                assert "city" in call.arguments or "q" in call.arguments, text
            parser = tools.TurnParser(style, [WEATHER, SEARCH])
            deltas = [delta for char in text for delta in parser.feed(char)] + parser.close()
            assert parser.turn == turn
            assert "".join(delta.text for delta in deltas if delta.kind == "content") == turn.content
    assert calls > 5


def test_text_around_calls() -> None:
    call = RENDERED["qwen_3"]
    made = ByteMatcher(tools.grammar("qwen_3", [WEATHER]))
    assert made.matches(f"<think>a</think>\n\nSure: {call}\n{call} done")
    turn = tools.parse("qwen_3", f"Sure: {call}\n{call} done")
    assert (turn.content, len(turn.calls)) == ("Sure:  done", 2)
    once = ByteMatcher(tools.grammar("qwen_3", [WEATHER], parallel=False))
    assert once.matches(call)
    assert not once.matches(f"{call}\n{call}")


def test_answers_in_a_schema_beside_calls() -> None:
    made = ByteMatcher(
        tools.grammar(
            "qwen_3", [WEATHER], response_format={"type": "json_schema", "json_schema": {"schema": ANSWER}}
        )
    )
    assert made.matches('<think>a</think>\n\n{"ok": true}')
    assert made.matches(RENDERED["qwen_3"])
    assert not made.matches("Sure.")
    assert not made.matches('{"ok": 1}')
    required = ByteMatcher(tools.grammar("qwen_3", [WEATHER], response_format=ANSWER, tool_choice="required"))
    assert not required.matches('{"ok": true}')


def test_strings_that_look_like_markers() -> None:
    arguments = {"city": '}\n</tool_call> "', "days": 1}
    text = '<tool_call>\n{"name": "get_weather", "arguments": ' + json.dumps(arguments) + "}\n</tool_call>"
    assert ByteMatcher(tools.grammar("qwen_3", [WEATHER])).matches(text)
    assert tools.parse("qwen_3", text).calls[0].arguments == arguments


def test_choices_of_tools() -> None:
    def takes(choice: Any, text: str) -> bool:
        return ByteMatcher(tools.grammar("mistral", [WEATHER, SEARCH], tool_choice=choice)).matches(text)

    weather, search = RENDERED["mistral"], '[TOOL_CALLS]search[ARGS]{"q": "a"}'
    one = {"type": "tool", "name": "search"}
    assert [takes(one, text) for text in (search, weather, "", search + search)] == [
        True,
        False,
        False,
        False,
    ]
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [WEATHER]}}
    assert [takes(allowed, text) for text in (search, weather, "")] == [False, True, False]
    assert [takes({"type": "any"}, text) for text in (search, "")] == [True, False]


def test_functions_and_other_sources() -> None:
    def add(first: int, second: int = 0, *, note: str | None = None) -> int:
        """Add two numbers."""
        return first + second

    tool = tools.Tool.from_function(add)
    assert (tool.name, tool.description) == ("add", "Add two numbers.")
    made = ByteMatcher(tools.grammar("mistral", [add, {"name": "mcp", "inputSchema": {"type": "object"}}]))
    assert made.matches('[TOOL_CALLS]add[ARGS]{"first": 1, "note": null}')
    assert not made.matches('[TOOL_CALLS]add[ARGS]{"second": 1}')
    assert made.matches('[TOOL_CALLS]mcp[ARGS]{"any": [1]}')


def test_what_is_not_strict_is_reported() -> None:
    loose = {**WEATHER, "function": {**WEATHER["function"], "strict": False}}  # type: ignore[dict-item]
    made = tools.grammar("mistral", [loose])
    assert made.report is not None
    assert [note.pointer for note in made.report.relaxed] == ["#/tools/0"]
    assert ByteMatcher(made).matches('[TOOL_CALLS]get_weather[ARGS]{"town": 1}')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"style": "qwen3"}, "did you mean `qwen_3`"),
        ({"tools": [WEATHER, WEATHER]}, "/tools/1: `get_weather` is the name of /tools/0"),
        ({"tools": [{"name": "a b"}]}, "/tools/0/name"),
        ({"tools": [3]}, "/tools/0: a tool is"),
        ({"tool_choice": "always"}, "/tool_choice"),
        ({"tool_choice": {"type": "tool", "name": "get_wether"}}, "did you mean `get_weather`"),
        ({"tools": [], "tool_choice": "required"}, "there are no tools"),
        ({"reasoning": "yes"}, "/reasoning"),
        ({"tools": [SEARCH, {"name": "x", "parameters": {"type": "objct"}}]}, "/tools/1: the schema of `x`"),
        ({"response_format": {"type": "objct"}}, "/response_format"),
        ({"strict": "no"}, "at /strict: true or false, not 'no'"),
        ({"parallel": 1}, "at /parallel: true or false, not 1"),
        ({"opened": None}, "at /opened: true or false, not None"),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "paramters": {}}}]},
            "at /tools/0/function/paramters: a tool has no `paramters`; did you mean `parameters`?",
        ),
        ({"tools": [{"name": "a", "input_shema": {}}]}, "did you mean `input_schema`?"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schma": {}}}},
            "at /response_format/json_schema: no `schema`",
        ),
        ({"response_format": {"type": "json_schema"}}, "at /response_format: no `schema`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.StackmaskError) as caught:
        tools.grammar(**{"style": "qwen_3", "tools": [WEATHER], **arguments})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "a"',
        "<tool_call>x",
        "<think>a",
        '<tool_call>\n{"name": "a", "arguments": [1]}\n</tool_call>',
    ],
)
def test_what_is_no_turn(text: str) -> None:
    with pytest.raises(tools.TurnError):
        tools.parse("qwen_3", text)


def test_what_else_a_dict_says_of_a_tool() -> None:
    title = {"title": "A", "annotations": {}, "outputSchema": {}, "_meta": {}, "icons": []}  # MCP
    made = {
        "cache_control": {"type": "ephemeral"},
        "type": "custom_20250101",
        "defer_loading": True,
    }  # Anthropic
    for more in (title, made):
        tools.grammar("qwen_3", [{"name": "a", "inputSchema": {"type": "object"}, **more}])


def test_a_style_of_ones_own() -> None:
    style = tools.ToolStyle((("<<{name}>>", "<</>>"),), trigger="<<")
    tools.register("angles", style)
    assert "angles" in tools.style_names()
    text = 'a<<search>>{"q": "b"}<</>>c'
    assert ByteMatcher(tools.grammar("angles", [SEARCH])).matches(text)
    assert tools.parse("angles", text).calls == [tools.Call("search", {"q": "b"})]
    with pytest.raises(tools.ToolError, match="of the package"):
        tools.register("llama", style)
    with pytest.raises(tools.ToolError, match="trigger"):
        tools.register("none", tools.ToolStyle((("<<{name}>>", ""),)))


def test_markers_that_are_special_tokens() -> None:
    texts = [bytes([byte]) for byte in range(256)]
    names = {"<tool_call>": 256, "</tool_call>": 257, "<think>": 258, "</think>": 259}
    vocabulary = sm.Vocabulary([*texts, *[None] * 5], stop_ids=[260], special_names=names)
    compiled = sm.Compiler(vocabulary).compile(tools.grammar("qwen_3", [SEARCH], reasoning="on"))
    matcher = compiled.matcher()
    assert not matcher.accept_string("<think>")
    matcher = compiled.matcher()
    assert matcher.accept_token(258)
    assert matcher.accept_string("why <tool_call>")
    assert matcher.accept_token(259)
    assert matcher.accept_token(256)
    assert matcher.accept_string('\n{"name": "search", "arguments": {"q": "</think>"}}\n'[:40])


@EACH
@pytest.mark.parametrize("reasoning", ["auto", "on"])
def test_reasoning_that_the_prompt_has_begun_must_end(style: str, reasoning: str) -> None:
    end = STYLES[style].thinking[1]
    grammar = tools.grammar(style, [SEARCH], reasoning=reasoning, opened=True, tool_choice="none")
    if end:
        assert not grammar.accepts("Hm.")
    for text in grammar.sample(5):
        assert not end or tools.parse(style, text, opened=True).reasoning == text.partition(end)[0]


def fed(style: str, text: str, size: int) -> tools.ParsedTurn:
    """Return what a parser reads that is given so many characters at a time."""
    parser = tools.TurnParser(style)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.close()
    return parser.turn


@pytest.mark.parametrize("size", [1, 7, 100])
def test_arguments_full_of_brackets_and_quotes(size: int) -> None:
    arguments = {"a": ["}", '"}]', "\\", '\\"}', [], {}], "b": {"c": ["[TOOL_CALLS]f[ARGS]"]}}
    call = "[TOOL_CALLS]f[ARGS]" + json.dumps(arguments)
    assert fed("mistral", call + call + " end", size).calls == [tools.Call("f", arguments)] * 2
    text = "x" * 5000 + '<tool_call>\n{"name": "f", "arguments": ' + json.dumps(arguments) + "}\n</tool_call>"
    turn = fed("qwen_3", text * 3, size)
    assert turn.calls == [tools.Call("f", arguments)] * 3
    assert turn.content == "x" * 15000


def test_places_of_errors_count_from_the_beginning_of_the_turn() -> None:
    text = "x" * 9000 + "<tool_call>y"
    with pytest.raises(tools.TurnError) as caught:
        fed("qwen_3", text, 10)
    assert caught.value.offset == 9000


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": 3},
        {"properties": {"a": {"type": 3}}},
        {"properties": {"a": {"type": [[]]}}},
        {"properties": {"a": {"allOf": 3}}},
        {"patternProperties": 3},
        {"patternProperties": {"^(a+)+$": {"type": "string"}, "\\p{L}b": {"type": "number"}, "(": True}},
        {"properties": {"a": {"$ref": "#/a/b/0"}}},
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}] * 9}}},
    ],
)
def test_schemas_that_say_little_of_arguments(schema: Any) -> None:
    name = "a" * 40 + "!"
    text = f"<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter={name}>\ny\n</parameter>\n"
    tool = {"name": "f", "parameters": schema}
    turn = tools.parse("qwen_3_coder", text + "</function>\n</tool_call>", tools=[tool], check=False)
    assert turn.calls == [tools.Call("f", {"a": "x", name: "y"})]


def test_line_breaks_around_strings_are_not_part_of_them() -> None:
    text = "<tool_call>\n<function=search>\n<parameter=q>\n\na\n\n</parameter>\n</function>\n</tool_call>"
    assert tools.parse("qwen_3_5", text, tools=[SEARCH]).calls[0].arguments == {"q": "\na\n"}


@pytest.mark.parametrize("style", ["qwen_3_5", "mimo", "glm_4_7"])
@pytest.mark.parametrize("words", [["a", " a "], [" a ", "a"], ["\n\na", "b"], ["", " "], ["a \t"]])
def test_words_may_have_blanks_at_their_ends(style: str, words: list[str]) -> None:
    before, after = {
        "qwen_3_5": (
            "<tool_call>\n<function=f>\n<parameter=a>\n",
            "\n</parameter>\n</function>\n</tool_call>",
        ),
        "mimo": ("<tool_call><function=f><parameter=a>", "</parameter></function></tool_call>"),
        "glm_4_7": ("<tool_call>f<arg_key>a</arg_key><arg_value>", "</arg_value></tool_call>"),
    }[style]
    tool = {"name": "f", "parameters": {"properties": {"a": {"enum": words}}, "additionalProperties": False}}
    made = ByteMatcher(tools.grammar(style, [tool]))
    for word in words:
        assert made.matches(before + word + after)
        assert tools.parse(style, before + word + after, tools=[tool]).calls == [tools.Call("f", {"a": word})]


def test_ends_of_arguments_inside_of_json_are_no_ends() -> None:
    tool = {
        "name": "f",
        "parameters": {
            "properties": {"a": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": False,
        },
    }
    written = '["</arg_value></tool_call>", "\\"</arg_value></tool_call>"]'
    text = f"<tool_call>f<arg_key>a</arg_key><arg_value>{written}</arg_value></tool_call>"
    assert ByteMatcher(tools.grammar("glm_4_7", [tool])).matches(text)
    parser = tools.TurnParser("glm_4_7", [tool])
    for char in text:
        parser.feed(char)
    parser.close()
    assert parser.turn == tools.parse("glm_4_7", text, tools=[tool])
    assert parser.turn.calls == [tools.Call("f", {"a": json.loads(written)})]
    with pytest.raises(tools.TurnError, match="no `</arg_value>` outside of a string"):
        tools.parse("glm_4_7", text.replace('"]', "]"), tools=[tool])


def test_an_argument_may_be_called_item() -> None:
    number = {"type": "integer"}
    inner = {"type": "object", "properties": {"item": number, "b": {"type": "array", "items": number}}}
    tool = {"name": "f", "parameters": {"properties": {"item": inner, "x": number}}}
    mark = "]<]minimax[>["
    text = (
        f'{mark}<tool_call>\n{mark}<invoke name="f">{mark}<item>{mark}<item>1{mark}</item>{mark}<b>{mark}<item>2{mark}</item>'
        f"{mark}</b>{mark}</item>{mark}<x>3{mark}</x>{mark}</invoke>\n{mark}</tool_call>"
    )
    assert ByteMatcher(tools.grammar("minimax_m3", [tool])).matches(text)
    (call,) = tools.parse("minimax_m3", text, tools=[tool]).calls
    assert call.arguments == {"item": {"item": 1, "b": [2]}, "x": 3}


@pytest.mark.campaign
@pytest.mark.parametrize("style", ["cohere", "minimax_m3"])
def test_arguments_between_markers_nest_as_deep_as_the_text(style: str) -> None:
    depth = 20_000
    node: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    opening, closing = {
        "cohere": ('<cofl:value name="a" type="dict">', "</cofl:value>"),
        "minimax_m3": ("]<]minimax[>[<a>", "]<]minimax[>[</a>"),
    }[style]
    before, _, after = STYLES[style].calls[0][0].partition("{name}")
    begin, end = STYLES[style].section
    text = f"{begin}{before}f{after}".replace("{id}", "0") + opening * depth + closing * depth
    text += STYLES[style].calls[0][1] + end
    tool = {"name": "f", "parameters": node}
    assert ByteMatcher(tools.grammar(style, [tool])).matches(text)
    value: Any = tools.parse(style, text, tools=[tool]).calls[0].arguments
    for _ in range(depth):
        value = value.pop("a")
    assert value == {}
    with pytest.raises(tools.TurnError, match="is needed"):
        tools.parse(style, text.replace(closing, "", 1), tools=[tool])


def test_arguments_are_objects() -> None:
    made = ByteMatcher(tools.grammar("mistral", [{"name": "f", "parameters": {"properties": {}}}]))
    assert made.matches("[TOOL_CALLS]f[ARGS]{}")
    assert not made.matches("[TOOL_CALLS]f[ARGS]3")
    made = ByteMatcher(tools.grammar("mistral", [{"name": "f", "parameters": {"type": ["object", "null"]}}]))
    assert not made.matches("[TOOL_CALLS]f[ARGS]null")
    with pytest.raises(sm.SchemaError, match=r"/tools/0: .*arguments are an object"):
        tools.grammar("mistral", [{"name": "f", "parameters": {"type": "string"}}])


@pytest.mark.parametrize(
    "arguments",
    [
        {"tools": 1},
        {"tools": {"name": "a"}},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": "x"}},
        {"tool_choice": {"type": "allowed_tools", "tools": 3}},
        {"response_format": {"type": "structural_tag"}},
    ],
)
def test_requests_of_the_wrong_shape(arguments: dict[str, Any]) -> None:
    with pytest.raises(tools.ToolError):
        tools.grammar(**{"style": "qwen_3", "tools": [WEATHER], **arguments})


def test_calls_alone_begin_with_their_special_token() -> None:
    texts = [bytes([byte]) for byte in range(256)]
    vocabulary = sm.Vocabulary([*texts, None, None], stop_ids=[257], special_names={"<call>": 256})
    style = tools.ToolStyle((("<call>{name} ", ""),), trigger="<call>")
    made = tools.grammar(style, [WEATHER], tool_choice="get_weather", reasoning="off")
    matcher = sm.Compiler(vocabulary).compile(made).matcher()
    allowed = [token for token in range(258) if matcher.fork().accept_token(token)]
    assert allowed == [256]
