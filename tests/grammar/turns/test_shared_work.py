"""What turns with tools share: free text, what is known of a tool, what is known of a schema."""

from __future__ import annotations

import pickle
from copy import copy
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import stackmask as sm
from stackmask import tools
from stackmask.grammar.ir import RuleSet
from stackmask.grammar.ir.parts import PartedRules
from stackmask.grammar.turns import frontend
from stackmask.grammar.turns import tool as tool_module
from stackmask.grammar.turns.frontend import Turn
from stackmask.grammar.turns.parts.merge import Merged
from stackmask.grammar.turns.tool import KnownTools

MARKERS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
BYTES = [bytes([b]) for b in range(256)]
MARKED = sm.Vocabulary(
    [*BYTES, None, *[None] * len(MARKERS)],
    stop_ids=[256],
    special_names={name: 257 + i for i, name in enumerate(MARKERS)},
)
PLAIN = sm.Vocabulary([*BYTES, None], stop_ids=[256])


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties}},
    }


def first_mask(compiler: sm.Compiler, given: list[Any], style: str) -> tuple[sm.CompiledGrammar, list[int]]:
    compiled = compiler.compile(tools.grammar(style, given, reasoning="off"))
    mask = sm.allocate_token_bitmask(1, compiler.vocabulary.size)
    compiled.matcher().fill_next_token_bitmask(mask)
    return compiled, np.asarray(mask).ravel().tolist()


@pytest.mark.parametrize("style", ["qwen_3", "llama"])
@pytest.mark.parametrize("vocabulary", [MARKED, PLAIN], ids=["special tokens", "text"])
def test_free_text_is_walked_once_for_all_tools(style: str, vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    compiled, expected = first_mask(compiler, [tool("search", q={"type": "string"})], style)
    first_mask(compiler, [tool("other", q={"type": "string"})], style)
    before = compiled.stats()["walks"]
    _, found = first_mask(compiler, [tool("find", n={"type": "integer"})], style)
    assert found == expected
    assert compiled.stats()["walks"] == before


def test_free_text_may_be_empty_and_may_come_before_and_after_calls() -> None:
    grammar = tools.grammar("hermes", [tool("f", a={"enum": [1]})], reasoning="off")
    call = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    for text in ("", "Hello.", call, f"{call}{call}", f"One{call}\ntwo{call}.", f"{call} <tool"):
        assert grammar.accepts(text), text
    for text in (f"{call[:-1]}", "a<tool_call>", f"<tool_call>{call}"):
        assert not grammar.accepts(text), text


def test_a_tool_in_another_order_and_beside_others_means_the_same() -> None:
    given = [tools.Tool.of(tool(name, q={"type": "string"})) for name in ("a", "b", "c")]
    for chosen in (given, given[::-1], given[1:], [given[0], tools.Tool.of(tool("tag1"))]):
        for vocabulary in (MARKED, PLAIN):
            again = [tools.Tool(one.name, one.parameters) for one in chosen]
            compiler = sm.Compiler(vocabulary)
            kept, fresh = (compiler.compile(tools.grammar("qwen_3", these)) for these in (chosen, again))
            assert kept.grammar.dump() == fresh.grammar.dump()
            assert kept is fresh


def test_a_tool_that_is_changed_is_read_anew_and_so_is_a_copy_of_it() -> None:
    def accepts(given: list[tools.Tool], name: str, arguments: str) -> bool:
        grammar = tools.grammar("hermes", given, tool_choice="required", reasoning="off")
        return grammar.accepts(f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>')

    one = tools.Tool("one", {"type": "object", "required": ["a"]})
    assert accepts([one], "one", '{"a": 1}')
    other = copy(one)
    other.name = "other"
    for _ in range(3):
        assert accepts([one, other], "one", '{"a": 1}')
        assert accepts([one, other], "other", '{"a": 1}')
    assert not accepts([other], "one", '{"a": 1}')
    other.parameters = {"type": "object", "required": ["b"]}
    assert accepts([one, other], "other", '{"b": 1}')
    assert not accepts([one, other], "other", '{"a": 1}')
    assert not accepts([one, other], "one", '{"b": 1}')
    other.strict = False
    assert accepts([one, other], "other", "{}")
    assert not accepts([one.with_strict(True), other], "one", "{}")


def test_rules_of_tools_are_put_under_names_of_the_turn_only_when_asked_for() -> None:
    given = [tools.Tool.of(tool(name, q={"type": "string"}, other={})) for name in ("a", "b")]
    compiler = sm.Compiler(MARKED)
    for chosen in (given, given[::-1]):
        grammar = tools.grammar("qwen_3", chosen).for_vocabulary(MARKED.special_names)
        compiled = compiler.compile(grammar)
        assert isinstance(grammar.rules.rules, PartedRules)
        assert grammar.rules.rules._all is None
        written = RuleSet(grammar.rules.rules.all(), grammar.rules.start, grammar.rules.initial)
        assert {"a/root", "b/root", "json"} <= written.rules.keys()
        assert compiler.compile(sm.Grammar(written, normalized=written)) is compiled
        again = pickle.loads(pickle.dumps(grammar.rules))
        assert again == grammar.rules
        assert type(again.rules) is dict


def test_a_dict_that_comes_again_is_the_tool_of_before() -> None:
    known = KnownTools()
    first = known.of(tool("search", q={"type": "string"}), tools.Tool.of)
    assert known.of(tool("search", q={"type": "string"}), tools.Tool.of) is first
    for other in (
        tool("search", q={"type": "string", "minLength": True}),
        tool("search", q={"type": "string", "minLength": 1}),
        tool("search", q={"type": "string", "minLength": 1.0}),
    ):
        assert known.of(other, tools.Tool.of) is not first
        assert repr(known.of(other, tools.Tool.of).parameters) == repr(other["function"]["parameters"])


def test_a_dict_that_is_changed_afterwards_is_another_tool() -> None:
    given = tool("search", q={"type": "string"})
    asked = tool("search", q={"type": "string"})
    assert "q" in tools.grammar("hermes", [given], tool_choice="required").dump()
    given["function"]["parameters"]["properties"]["n"] = given["function"]["parameters"]["properties"].pop(
        "q"
    )
    for style in ("hermes", "qwen_3_coder"):
        before, after = (tools.grammar(style, [one], tool_choice="required").dump() for one in (asked, given))
        assert '"q' in before.replace("\\", "") or "=q>" in before
        assert before != after
        assert before == tools.grammar(style, [tools.Tool.of(asked)], tool_choice="required").dump()


def test_a_dict_with_a_part_in_two_places_is_copied_too() -> None:
    part = {"type": "string"}
    known = KnownTools()
    first = known.of(tool("search", q=part, r=part), tools.Tool.of)
    assert known.of(tool("search", q={"type": "string"}, r={"type": "string"}), tools.Tool.of) is first
    part["type"] = "integer"
    assert first.parameters["properties"]["q"] == {"type": "string"}


def test_tools_that_are_known_are_few_and_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_module, "MAX_TOOLS", 3)
    known = KnownTools()
    made = [known.of(tool(f"t{i}"), tools.Tool.of) for i in range(5)]
    assert known.of(tool("t4"), tools.Tool.of) is made[4]
    assert known.of(tool("t0"), tools.Tool.of) is not made[0]
    long = tool("long", q={"type": "string", "description": "a" * tool_module.MAX_BYTES})
    assert known.of(long, tools.Tool.of) is not known.of(long, tools.Tool.of)
    odd = tool("odd", q={"const": Decimal("1.5")})
    assert known.of(odd, tools.Tool.of) is not known.of(odd, tools.Tool.of)


def test_a_dict_that_came_before_is_still_too_large_for_a_small_limit() -> None:
    given = tool("large", q={"type": "string", "description": "a" * 2000})
    tools.grammar("hermes", [given])
    with pytest.raises(sm.BudgetError, match="max_input_bytes"):
        tools.grammar("hermes", [given], limits=sm.Limits(max_input_bytes=1000))


def test_a_tool_keeps_what_it_is_when_it_is_not_strict() -> None:
    one = tools.Tool.of(tool("search", q={"type": "string"}))
    assert one.with_strict(False) is one.with_strict(False)
    assert one.with_strict(True) is not one.with_strict(False)
    assert one.with_strict(False).strict is False
    assert one.strict is None


def test_rules_without_a_vocabulary_are_made_when_asked_for() -> None:
    calls: list[frozenset[str]] = []

    class Watched(Turn):
        def rules(self, special_names: frozenset[str]) -> Merged:
            calls.append(special_names)
            return super().rules(special_names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontend, "Turn", Watched)
        grammar = sm.tools.grammar("qwen_3", [tool("weather", city={"type": "string"})])
        assert calls == []
        assert grammar.rules is grammar.rules
        assert grammar.normalized is grammar.normalized
        assert "<tool_call>" in grammar.dump()
        assert calls == [frozenset()]
        # what could have other errors is read at once
        sm.tools.grammar(
            "qwen_3", [tool("weather", city={"type": "string"})], response_format={"type": "integer"}
        )
        assert calls == [frozenset()] * 2


def test_what_is_no_json_is_not_taken_for_bytes() -> None:
    """Numbers and strings of NumPy have buffers, and subclasses of Python's are as good as these."""
    known = KnownTools()
    limited = tool("f", q={"type": "number", "maximum": np.float64(5)})
    limited["function"]["name"] = np.str_("f")
    made = known.of(limited, tools.Tool.of)
    assert made.name == "f"
    grammar = tools.grammar("hermes", [made], tool_choice="required")
    call = '<tool_call>\n{"name": "f", "arguments": {"q": %s}}\n</tool_call>'
    assert [grammar.accepts(call % number) for number in ("5", "6")] == [True, False]
    assert known.of(limited, tools.Tool.of) is not made
    with pytest.raises(tools.ToolError, match="name"):
        known.of({**limited, "function": {**limited["function"], "name": bytearray(b"f")}}, tools.Tool.of)


def test_a_stack_of_one_grammar_is_not_one_of_the_next() -> None:
    compiler = sm.Compiler(PLAIN)
    given = [tool("search", q={})]
    compiler.compile(tools.grammar("minimax_m3", given))  # which keeps the names of other arguments
    answer = sm.Grammar.from_json_schema({"type": "array"}, profile="model")
    made = compiler.compile(tools.grammar("qwen_3_coder", given, reasoning="off", response_format=answer))
    assert made.matcher().accept_string("[\n  1,\n  2\n]")
