"""Which style a chat template writes, from what it says; nothing is rendered.

A row is a style with the markers that its templates hold, and those that the templates of like styles hold. Rows with more
markers come before those with fewer. A template that says nothing of these has no style: a wrong guess would
force calls on a model that it has never seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple


class Signs(NamedTuple):
    """What the templates of a style hold, and what they do not hold."""

    style: str
    markers: tuple[str, ...]
    others: tuple[str, ...] = ()


_CALL: Final = "<tool_call>"
_NAMED: Final = (_CALL, '"name', '"arguments')

SIGNS: Final = (
    Signs("kimi_k3", ("<|open|>", "<|close|>", "<|sep|>")),
    Signs("kimi", ("<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>")),
    Signs("minimax_m3", ("]<]minimax[>[",)),
    Signs("minimax", ("<minimax:tool_call>", "<invoke name=")),
    Signs("deepseek_v3_2", ("｜DSML｜", "function_calls")),
    Signs("deepseek_v4", ("｜DSML｜", "tool_calls")),
    Signs("deepseek_r1", ("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "```json")),
    Signs("deepseek_v3_1", ("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>")),
    Signs("harmony", ("<|channel|>", "commentary", "<|call|>")),
    Signs("cohere", ("<cofl:tool_call ",)),
    Signs("mistral", ("[TOOL_CALLS]", "[ARGS]"), ("[CALL_ID]",)),
    Signs("glm_4_7", (_CALL, "<arg_key>", "<arg_value>")),
    Signs("mimo", ("<tool_call><function=",)),
    Signs("qwen_3_5", (_CALL, "<function=", "<parameter=", "<think>")),
    Signs("qwen_3_coder", (_CALL, "<function=", "<parameter=")),
    Signs("exaone", ("[|assistant|]", *_NAMED)),
    Signs("hermes", ("You are a function calling AI model", *_NAMED)),
    Signs("qwen_3", ("<|im_start|>", "You may call one or more functions", *_NAMED), ("<tool_calls>",)),
    Signs("hermes", _NAMED, ("<tool_calls>",)),
    Signs("pythonic", ("[func_name1(params_name1=",)),
    Signs(
        "llama", ("<|start_header_id|>", '{"name": ', '"parameters": '), (_CALL, "functools", "<function=")
    ),
)
PREFERRED: Final = ("tool_use", "default")  # of templates with names


def template_style(template: str) -> str | None:
    """Return the name of the style that a chat template writes calls in, or None if it says nothing of one."""
    for signs in SIGNS:
        has_all = all(marker in template for marker in signs.markers)
        if has_all and not any(marker in template for marker in signs.others):
            return signs.style
    return None


def template_of(tokenizer: Any) -> str | None:
    """Return the chat template of a tokenizer: of several the one for tools; None if there is none."""
    found = getattr(tokenizer, "chat_template", None)
    if isinstance(found, Iterable) and not isinstance(found, str | Mapping):
        found = {item.get("name"): item.get("template") for item in found if isinstance(item, Mapping)}
    if isinstance(found, Mapping):
        named = [found[name] for name in PREFERRED if name in found]
        found = named[0] if named else next(iter(found.values()), None)
    return found if isinstance(found, str) else None
