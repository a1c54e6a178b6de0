"""A tiny random model, its tokenizer, and sampling that repeats itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from support.tiny_model import assistant, compiler, model, seeded, tokenizer, vocab

__all__ = ["assistant", "compiler", "model", "seeded", "tokenizer", "vocab"]

QWEN = """{%- if tools %}<|im_start|>You may call one or more functions: <tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}
{%- for message in messages %}{{ message.content }}{% endfor %}
{%- if add_generation_prompt %}A:{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% elif opened is defined %}<think>
{% endif %}{% endif %}"""


@pytest.fixture(scope="module")
def chatting(tokenizer: Any) -> Any:
    """Return the tokenizer with a chat template like Qwen's."""
    made = copy.deepcopy(tokenizer)
    made.chat_template = QWEN
    return made
