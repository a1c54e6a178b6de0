"""The other ways in which transformers generates: caches, drafts, beams and compiled models keep the grammar."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from transformers import GenerationMixin

import stackmask as sm
from stackmask.runtime.generation.jumping import CACHE_KEYWORDS, cache_keyword

PATTERN = "(true|false), [0-9]{3}"


@pytest.mark.parametrize(
    "options",
    [
        {"cache_implementation": "static"},
        {"prompt_lookup_num_tokens": 3},
        {"num_beams": 3},
        {"assistant": True},
    ],
    ids=str,
)
def test_texts_are_of_the_grammar(
    model: Any, tokenizer: Any, assistant: Any, options: dict[str, Any]
) -> None:
    given = {"assistant_model": assistant} if "assistant" in options else options
    (result,) = sm.generate(
        model, tokenizer, ["ab"], [sm.Grammar.from_regex(PATTERN)], max_new_tokens=40, **given
    )
    assert re.fullmatch(PATTERN, result.text)


@pytest.mark.campaign
def test_a_compiled_model(model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's code is traced; the processor is none of it."""
    monkeypatch.setattr(model, "forward", torch.compile(model.forward, backend="eager"))
    (result,) = sm.generate(model, tokenizer, ["ab"], [sm.Grammar.from_regex(PATTERN)], max_new_tokens=40)
    assert re.fullmatch(PATTERN, result.text)


def test_the_keyword_of_the_cache_is_the_models_own() -> None:
    usual = cache_keyword(GenerationMixin)

    class Old:
        def prepare_inputs_for_generation(
            self, input_ids: Any, past_key_values: Any = None, **more: Any
        ) -> None: ...

    class Wrapper:
        def prepare_inputs_for_generation(self, *given: Any, **more: Any) -> None: ...

    assert usual in CACHE_KEYWORDS
    assert cache_keyword(Old()) == "past_key_values"
    assert cache_keyword(Wrapper()) == usual
