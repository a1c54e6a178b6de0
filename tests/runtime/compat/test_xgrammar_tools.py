"""The half of XGrammar's interface about tools: structural tags in the style of a model, choices of tools, helpers for tests."""

from __future__ import annotations

import json
import lzma
from typing import Any

import pytest
from support.datapack import datapack, needs_datapack
from support.turn_cases import RENDERED, SEARCH, WEATHER

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")

import stackmask as sm
import stackmask.compat.xgrammar as xgr
from stackmask.compat.xgrammar import openai_tool_call_schema as shapes
from stackmask.grammar.turns.styles import STYLES

FIND = {"type": "function", "function": {"name": "search", "parameters": SEARCH["input_schema"]}}
BROWSE = {"type": "web_search", "name": "browser.search", "parameters": {"type": "object"}}
TOOLS: list[Any] = [WEATHER, FIND]
FORCED: Any = {"type": "function", "function": {"name": "search"}}


def takes(tag: Any, *texts: str) -> list[bool]:
    made = xgr.Grammar.from_structural_tag(tag).native
    return [made.accepts(text) for text in texts]


@needs_datapack
def test_recorded_verdicts_of_tags_that_are_made_here() -> None:
    data = datapack()
    assert data is not None
    with lzma.open(data / "structural_tags" / "cases_dev.jsonl.xz", "rt", encoding="utf-8") as file:
        cases = [case for case in map(json.loads, file) if "model" in case]
    made: dict[str, sm.Grammar] = {}
    for case in cases:
        asked = case["model"]
        key = json.dumps(asked)
        if key not in made:
            options = {"model": asked["name"], **asked["kw"]}
            made[key] = xgr.Grammar.from_structural_tag(getattr(xgr, asked["fn"])(**options)).native
        assert made[key].accepts(case["text"]) == case["accept"], (asked, case["text"])
    assert len(cases) > 90


@pytest.mark.parametrize("model", [*(name for name in STYLES if name != "pythonic"), "deepseek_v4_1"])
def test_every_style_is_a_tag(model: str) -> None:
    style = STYLES.get(model, STYLES["deepseek_v4"])
    text = RENDERED.get(model, RENDERED["deepseek_v4"].replace("｜DSML｜tool_", "｜DSML｜ "))
    if model == "deepseek_v4_1":
        text = text.replace("｜DSML｜inv", "｜DSML｜ inv").replace("｜DSML｜par", "｜DSML｜ par")
    if model == "kimi_k3":  # whose prompt has begun the answer
        text = text.removeprefix("<|open|>response<|sep|>")
    first = "\n</think>" if model == "minimax" else ""  # whose prompt has begun the reasoning
    for choice, parallel in (("auto", True), ("auto", False), ("required", True), ("required", False)):
        tag = xgr.get_model_structural_tag(
            model,
            TOOLS,
            choice,
            "disabled",
            parallel_tool_calls=parallel,  # type: ignore[arg-type]
        )
        assert takes(tag, first + text, first + text.replace("Rome", "Oslo")) == [True, True]
        assert takes(tag, first + text.replace("get_weather", "get_whether")) == [False]
        assert xgr.StructuralTag.from_json(tag.model_dump_json(by_alias=True)) == tag
    forced = xgr.get_model_structural_tag(model, TOOLS, FORCED, "disabled")
    assert takes(forced, first + text) == [False]
    begin, end = style.thinking
    if model not in ("llama", "kimi_k3", "harmony"):
        auto = xgr.get_model_structural_tag(model, TOOLS, "required", "auto")
        assert takes(auto, f"{begin}why{end}{text}", text) == [True, True]
        opened = xgr.get_model_structural_tag(model, TOOLS, "required")
        own = begin if model == "mimo" else ""
        assert takes(opened, f"{own}why{end}{text}", text) == [True, False]
    none = xgr.get_model_structural_tag(model, TOOLS, "none", "disabled")
    assert takes(none, first + text) == [False]


def test_options_of_tags() -> None:
    def weather(arguments: str) -> str:
        return f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'

    call, turned = weather('{"city": "a", "days": 1}'), weather('{"days": 1, "city": "a"}')
    spaced = weather('{"city":   "a"}')
    made = xgr.get_builtin_structural_tag("qwen_3", TOOLS, "auto", False)
    assert takes(made, call, turned, spaced, f"a{call}b{call}", "<think>") == [True, False, True, True, False]
    made = xgr.get_model_structural_tag(
        "qwen_3", TOOLS, "auto", False, any_order=True, max_whitespace_cnt=1, exclude_special_tokens=False
    )
    assert takes(made, call, turned, spaced, "<think>") == [True, True, False, True]
    made = xgr.get_model_structural_tag("qwen_3", TOOLS, "auto", False, parallel_tool_calls=False)
    assert takes(made, f"a{call}", f"{call}b", f"{call}{call}", "a") == [True, False, False, True]
    loose = {"type": "function", "function": {**WEATHER["function"], "strict": False}}  # type: ignore[dict-item]
    assert takes(xgr.get_model_structural_tag("qwen_3", [loose], "auto", False), weather('{"x": 1}')) == [
        True
    ]


def test_builtin_tools_of_harmony() -> None:
    text = "<|channel|>commentary to=browser.search code<|message|>{}<|call|>"
    thought = "<|channel|>analysis<|message|>why<|end|><|start|>assistant"
    choice: Any = {"type": "web_search"}
    for tag in (
        xgr.get_model_structural_tag("harmony", [BROWSE, *TOOLS], "auto", "auto"),
        xgr.get_model_structural_tag("gpt_oss", [BROWSE, *TOOLS], choice),
        xgr.get_model_structural_tag("harmony", [BROWSE], "required", parallel_tool_calls=False),
    ):
        assert takes(tag, text, thought + text, "") == [True, True, False]
    with pytest.raises(ValueError, match="`llama` has no builtin tools"):
        xgr.get_model_structural_tag("llama", [BROWSE], "required")


def test_choices_of_tools() -> None:
    def names(choice: Any, tools: Any = (*TOOLS, BROWSE)) -> tuple[list[str], list[str], str]:
        functions, builtins, simple = xgr.normalize_tool_choice(list(tools), choice)
        return [tool.function.name for tool in functions], [tool.type for tool in builtins], simple

    both = ["get_weather", "search"]
    assert names("auto") == names(None) == (both, ["web_search"], "auto")
    assert names("required") == (both, ["web_search"], "required")
    assert names("none") == ([], [], "auto")
    assert names(FORCED) == (["search"], [], "forced")
    assert names({"type": "web_search"}) == ([], ["web_search"], "forced")
    allowed = {"mode": "required", "tools": [FORCED, {"type": "web_search"}]}
    some = {"type": "allowed_tools", "allowed_tools": allowed}
    assert names(some) == (["search"], ["web_search"], "required")
    assert names(shapes.AllowedToolChoiceParam.model_validate(some)) == names(some)
    assert xgr.normalize_tool_choice() == ([], [], "auto")
    for choice, tools, problem in (
        ("required", [], "there are no tools"),
        ({"type": "function", "function": {"name": "serch"}}, TOOLS, "names serch"),
        ({"type": "web_search"}, TOOLS, "names web_search"),
        ({"type": "web_search"}, [BROWSE, BROWSE], "2 fit it"),
        (
            {"type": "allowed_tools", "allowed_tools": {**allowed, "tools": [{"type": "function"}]}},
            TOOLS,
            "needs",
        ),
        ("always", TOOLS, "always"),
        (5, TOOLS, "5"),
    ):
        with pytest.raises(ValueError, match=problem):
            names(choice, tools)
    with pytest.raises(ValueError, match="must be a list"):
        xgr.normalize_tool_choice({"name": "a"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="function"):
        xgr.normalize_tool_choice([{"function": {}}])


def test_flat_tools_and_choices() -> None:
    flat = [{"type": "function", **tool["function"]} for tool in TOOLS]
    nested = xgr.normalize_tool_choice(TOOLS, "auto")
    assert xgr.normalize_tool_choice(flat, "auto") == nested
    for choice, own in (
        ({"type": "function", "name": "search"}, FORCED),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "search"}]},
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [FORCED]}},
        ),
    ):
        assert xgr.normalize_tool_choice(flat, choice) == xgr.normalize_tool_choice(TOOLS, own)
    tag = xgr.get_model_structural_tag("qwen_3", flat, {"type": "function", "name": "search"}, "disabled")
    assert tag == xgr.get_model_structural_tag("qwen_3", TOOLS, FORCED, "disabled")
    with pytest.raises(ValueError, match="function"):
        xgr.normalize_tool_choice([{"type": "function"}])


def test_styles_that_are_registered() -> None:
    seen: list[Any] = []

    @xgr.register_model_structural_tag("parrot")
    def parrot(
        tools: Any = None,
        builtin_tools: Any = None,
        tool_choice: str = "auto",
        reasoning: str = "",
        **options: Any,
    ) -> xgr.StructuralTag:
        seen.append((len(tools), len(builtin_tools), tool_choice, reasoning, options))
        return xgr.StructuralTag.from_json({"format": {"type": "const_string", "value": "hi"}})

    assert takes(xgr.get_model_structural_tag("parrot", TOOLS, FORCED, True), "hi") == [True]
    options = {
        "any_order": False,
        "exclude_special_tokens": True,
        "max_whitespace_cnt": None,
        "parallel_tool_calls": True,
    }
    assert seen == [(1, 0, "forced", "enabled", options)]
    sm.tools.register("dots", sm.tools.ToolStyle((("..{name} ", "!"),), trigger=".."))
    tag = xgr.get_model_structural_tag("dots", TOOLS, "required", "disabled")
    assert takes(tag, '..search {"q": "a"}!', "hi") == [True, False]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": "lama"}, "no style `lama`; did you mean `llama`"),
        ({"model": "pythonic"}, "calls of `pythonic` are no structural tag; there are .*qwen_3"),
        ({"reasoning": "maybe"}, "reasoning is 'maybe'"),
        ({"parallel_tool_calls": 1}, "parallel_tool_calls is 1"),
    ],
)
def test_what_no_tag_is_made_of(options: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        xgr.get_model_structural_tag(**{"model": "llama", "tools": TOOLS, **options})


def test_helpers_for_tests() -> None:
    helpers = xgr.testing
    assert helpers._is_grammar_accept_string('root ::= "ab" | "é"', "é")
    for text, whole, part in (("ab", True, True), ("a", False, True), ("b", False, False)):
        assert helpers._is_grammar_accept_string('root ::= "ab"', text) == whole
        assert helpers._is_grammar_accept_string('root ::= "ab"', text, require_termination=False) == part
    allowed = torch.arange(70)[None] % 3 == torch.tensor([[0], [1]])
    mask = helpers.bool_mask_to_bitmask(allowed)
    assert (mask.dtype, mask.shape) == (torch.int32, (2, 3))
    assert torch.equal(helpers.bitmask_to_bool_mask(mask, 70), allowed)
    assert helpers.bitmask_to_bool_mask(mask).shape == (2, 96)
    assert helpers._get_masked_tokens_from_bitmask(mask, 7, 1) == [0, 2, 3, 5, 6]
    one = helpers.bool_mask_to_bitmask(torch.arange(40)[None] == 31)
    assert helpers._is_single_token_bitmask(one, 40) == (True, 31)
    assert helpers._is_single_token_bitmask(mask, 70) == (False, -1)
    with pytest.raises(ValueError, match="covers 96 tokens"):
        helpers.bitmask_to_bool_mask(mask, 97)
    with pytest.raises(ValueError, match="is int32 on the CPU"):
        helpers.bitmask_to_bool_mask(mask.to(torch.int64))
    info = xgr.TokenizerInfo(["a", "b", "ab", "</s>"])
    matcher = helpers._get_matcher_from_grammar_and_tokenizer_info('root ::= "ab"', info)
    bits = xgr.allocate_token_bitmask(1, info.vocab_size)
    matcher.fill_next_token_bitmask(bits)
    assert helpers._get_masked_tokens_from_bitmask(bits, 4) == [1, 3]


def test_the_version_is_that_of_the_interface() -> None:
    assert xgr.__version__ == "0.2.8"
