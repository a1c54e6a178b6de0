"""The style of a tokenizer, from its chat template."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackmask import tools
from stackmask.grammar.turns.styles import SIGNS, STYLES, template_style

# what templates of these models say where they write calls
CASES = {
    "{% if m.tool_calls %}{{ '<tool_call>\\n{\"name\": \"' + f.name + '\", \"arguments\": ' }}": "hermes",
    "<|im_start|>You may call one or more functions <tool_call>{\"name\": <n>, \"arguments\": <a>}": "qwen_3",
    "<tool_call>\n<function=' + name + '>\n<parameter=' + key + '>": "qwen_3_coder",
    "<think></think><tool_call>\n<function=' + name + '>\n<parameter=' + key + '>": "qwen_3_5",
    "<tool_call>{{ name }}<arg_key>{{ k }}</arg_key><arg_value>": "glm_4_7",
    "[TOOL_CALLS]' + name + '[ARGS]' + arguments": "mistral",
    "[TOOL_CALLS]' + name + '[CALL_ID]' + id + '[ARGS]' + arguments": None,
    "[TOOL_CALLS][{\"name\": ": None,
    "<|start_header_id|>{{ '{\"name\": \"' + name + '\", ' }}{{ '\"parameters\": ' }}": "llama",
    "<|start_header_id|>functools[{\"name\": }] \"parameters\": ": None,
    "<｜tool▁calls▁begin｜>function<｜tool▁sep｜>' + name + '\\n```json": "deepseek_r1",
    "<｜tool▁calls▁begin｜>' + name + '<｜tool▁sep｜>": "deepseek_v3_1",
    "set dsml = '｜DSML｜' ... dsml + 'function_calls>'": "deepseek_v3_2",
    "set dsml = '｜DSML｜' ... dsml + 'tool_calls>'": "deepseek_v4",
    "<|start_of_role|>assistant": None,
    "<tool_calls>[{\"name\": , \"arguments\": }] or <tool_call>": None,
    "": None,
}  # fmt: skip

# the templates that llama.cpp ships, by the names of their files; those with no row here have none of the styles
REAL = {
    "Bielik-11B-v3.0-Instruct": "hermes",
    "GLM-4.6": "glm_4_7",
    "GLM-4.7-Flash": "glm_4_7",
    "Kimi-K2-Instruct": "kimi",
    "Kimi-K2-Thinking": "kimi",
    "Kimi-K3": "kimi_k3",
    "MiMo-VL": "qwen_3",
    "MiniMax-M2": "minimax",
    "MiniMax-M3": "minimax_m3",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen_3_5",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "Qwen-QwQ-32B": "qwen_3",
    "Qwen-Qwen2.5-7B-Instruct": "qwen_3",
    "Qwen-Qwen3-0.6B": "qwen_3",
    "Qwen3-Coder": "qwen_3_coder",
    "Qwen3.5-4B": "qwen_3_5",
    "Reka-Edge": "hermes",
    "Spark2.5": "glm_4_7",
    "StepFun3.5-Flash": "qwen_3_5",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_r1",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek_r1",
    "deepseek-ai-DeepSeek-V3.1": "deepseek_v3_1",
    "deepseek-ai-DeepSeek-V3.2": "deepseek_v3_2",
    "deepseek-ai-DeepSeek-V4": "deepseek_v4",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek_v4",
    "ibm-granite-granite-4.0": "hermes",
    "ibm-granite-granite-4.1": "hermes",
    "inclusionai-ling-3.0-flash": "glm_4_7",
    "llama-cpp-deepseek-r1": "deepseek_r1",
    "meta-llama-Llama-3.1-8B-Instruct": "llama",
    "meta-llama-Llama-3.2-3B-Instruct": "llama",
    "meta-llama-Llama-3.3-70B-Instruct": "llama",
    "mistralai-Ministral-3-14B-Reasoning-2512": "mistral",
    "moonshotai-Kimi-K2": "kimi",
    "openai-gpt-oss-120b": "harmony",
    "poolside-Laguna-S-2.1": "glm_4_7",
    "poolside-Laguna-XS-2.1": "glm_4_7",
    "poolside-Laguna-XS.2": "glm_4_7",
    "unsloth-mistral-Devstral-Small-2507": "mistral",
}


@pytest.mark.parametrize(("template", "style"), CASES.items())
def test_templates_tell_their_style(template: str, style: str | None) -> None:
    assert template_style(template) == style


def test_every_style_has_signs() -> None:
    assert {signs.style for signs in SIGNS} == set(STYLES)
    assert all(signs.markers for signs in SIGNS)


def test_real_templates() -> None:
    folder = Path(os.environ.get("STACKMASK_TEMPLATES", "no folder"))
    if not folder.is_dir():
        pytest.skip(
            "STACKMASK_TEMPLATES names no folder of chat templates, such as models/templates of llama.cpp"
        )
    found = {path.stem: template_style(path.read_text("utf-8")) for path in folder.glob("*.jinja")}
    assert {name: style for name, style in found.items() if style != REAL.get(name)} == {}
    assert found


@pytest.mark.parametrize(
    "templates",
    [
        "[TOOL_CALLS][ARGS]",
        {"default": "none", "tool_use": "[TOOL_CALLS][ARGS]"},
        {"default": "[TOOL_CALLS][ARGS]", "rag": "none"},
        [{"name": "default", "template": ""}, {"name": "tool_use", "template": "[TOOL_CALLS][ARGS]"}],
        {"other": "[TOOL_CALLS][ARGS]"},
    ],
)
def test_tokenizers_tell_their_style(templates: Any) -> None:
    tokenizer = SimpleNamespace(chat_template=templates)
    assert tools.style_of(tokenizer) == STYLES["mistral"]
    assert tools.grammar(tokenizer, [{"name": "f"}], tool_choice="required").accepts("[TOOL_CALLS]f[ARGS]{}")
    assert tools.parse(tokenizer, "[TOOL_CALLS]f[ARGS]{}").calls[0].name == "f"


@pytest.mark.parametrize("templates", [None, "", {}, [], ["x"], "no calls at all", 3])
def test_those_that_tell_none_say_what_to_do(templates: Any) -> None:
    with pytest.raises(tools.ToolError, match=r"give the style by name, one of .*cohere, "):
        tools.style_of(SimpleNamespace(chat_template=templates))
