"""Requests of servers become grammars, with the options of server and request, or errors that say why."""

from __future__ import annotations

import json

import pytest

import stackmask as sm
from stackmask.runtime.serving.requests import Options, RequestError, check, grammar_of
from stackmask.runtime.serving.versions import ServerVersionError, check_version

OBJECT = '{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}'
TAG = '{"structures": [{"begin": "<f>", "schema": {"type": "null"}, "end": "</f>"}], "triggers": ["<f>"]}'


def accepts(grammar: sm.Grammar, text: str) -> bool:
    tokens = [bytes([i]) for i in range(256)]
    matcher = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[256])).compile(grammar).matcher()
    return matcher.accept_string(text) and matcher.is_accepting()


@pytest.mark.parametrize(
    "kind, text, good, bad",
    [
        ("json", OBJECT, '{"a": true}', '{"a":  true}'),
        ("json_object", "", '{"b": [1, {}]}', "[1]"),
        ("regex", "[a-c]{2}", "ab", "abc"),
        ("choice", '["yes", "no"]', "no", "maybe"),
        ("grammar", 'answer ::= "a" answer | "b"', "aab", "aa"),
        ("grammar", 'other: "x"\nstart: "a" other', "ax", "x"),
        ("structural_tag", TAG, "so <f>null</f> it is", "<f>1</f>"),
    ],
)
def test_kinds(kind: str, text: str, good: str, bad: str) -> None:
    check(kind, text, Options())
    grammar = grammar_of(kind, text, Options())
    assert accepts(grammar, good)
    assert not accepts(grammar, bad)


@pytest.mark.parametrize(
    "options, good, bad",
    [
        (Options(), '{"a": true, "b": 1}', '{"a":\ttrue}'),
        (Options(profile="exact"), '{"a":\ttrue}', '{"a":'),
        (Options().for_request(compact=True), '{"a":true}', '{"a": true}'),
        (Options().for_request(pattern="[\t]"), '{\t"a"\t:\ttrue\t}', '{"a": true}'),
        (Options().for_request(closed_objects=True), '{"a": true}', '{"a": true, "b": 1}'),
        (Options.read({"whitespace": "compact"}).for_request(), '{"a":true}', '{"a": true}'),
    ],
)
def test_options(options: Options, good: str, bad: str) -> None:
    grammar = grammar_of("json", OBJECT, options)
    assert accepts(grammar, good)
    assert not accepts(grammar, bad)


@pytest.mark.parametrize(
    "kind, text, message",
    [
        ("json", '{"a":', "the schema is not JSON: line 1, column 6"),
        ("json", '{"type": "nope"}', "is not a type"),
        ("json", "[" * 100_000, "nested too deeply|no schema"),
        ("regex", "[a-", "unclosed class"),
        ("choice", "[]", "one string or more"),
        ("choice", "[1]", "int"),
        ("grammar", "root ::= nope", "undefined rule"),
        ("grammar", 'rule: "a"', "no rule `start`"),
        ("grammar", '%import "/etc/hostname" (x)\nroot ::= x', "not in a file"),
        ("structural_tag", "{}", "structural tag"),
        ("poem", "", "no requests of kind 'poem'"),
    ],
)
def test_what_is_wrong_is_told(kind: str, text: str, message: str) -> None:
    with pytest.raises(sm.StackmaskError, match=message):
        check(kind, text, Options())


@pytest.mark.parametrize(
    "given, message",
    [
        ({"profil": "model"}, "unknown option 'profil'"),
        ({"profile": "loose"}, "not exact or model"),
        ({"closed_objects": 1}, "true or false"),
        ({"limits": {"max_word": 1}}, "max_word"),
        ({"limits": 3}, "names and numbers"),
    ],
)
def test_wrong_options(given: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Options.read(given)


def test_versions() -> None:
    for version in ("0.29.0", "0.33.1+cpu", "0.32.0rc1", "dev", "0.1.dev1+g0"):
        check_version("vllm", version)
    for version in ("0.28.9", "0.34.0", "1.0.0"):
        with pytest.raises(ServerVersionError, match=r"for vllm 0\.29 to 0\.33, not"):
            check_version("vllm", version)


def test_a_grammar_may_be_a_structural_tag() -> None:
    tag = sm.tools.structural_tag("qwen_3", [{"name": "go"}], tool_choice="required", reasoning="off")
    grammar = grammar_of("grammar", " " + json.dumps(tag), Options())
    assert accepts(grammar, '<tool_call>\n{"name": "go", "arguments": {}}\n</tool_call>')
    with pytest.raises(sm.StackmaskError, match="no format `stackmask_turns`"):
        grammar_of(
            "grammar",
            json.dumps({"type": "structural_tag", "format": {"type": "stackmask_turns"}}),
            Options(),
        )


def test_a_server_decides_how_long_a_request_may_be() -> None:
    long = '{"type": "string"' + " " * (sm.Limits().max_input_bytes + 1) + "}"
    with pytest.raises(RequestError, match="the limit is"):
        check("json", long, Options())
    check("json", long, Options(limits=sm.Limits(max_input_bytes=2 * len(long))))
