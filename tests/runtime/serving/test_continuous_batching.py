"""Continuous batching of transformers, with a grammar for each request."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from support.campaign import mostly_campaign

pytest.importorskip("torch")
pytest.importorskip("transformers.generation.continuous_batching")

from support.tiny_model import compiler, model, tokenizer, vocab
from transformers import ContinuousBatchingConfig, GenerationConfig

import stackmask as sm
from stackmask.runtime.serving.continuous_batching import _follow, attach_grammars, generate_batch
from stackmask.runtime.serving.requests import RequestError

__all__ = ["compiler", "model", "tokenizer", "vocab"]

PATTERNS = ("[ab]{3}-[0-9]{2,4}", "(true|false)(, (true|false)){3}", "x{30}")


def batching(**options: Any) -> ContinuousBatchingConfig:
    given = {"use_async_batching": False, "use_cuda_graph": False, "num_blocks": 32, "max_batch_tokens": 64}
    return ContinuousBatchingConfig(**{**given, **options})


def sampling(tokenizer: Any, **options: Any) -> GenerationConfig:
    return GenerationConfig(
        do_sample=True, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, **options
    )


@pytest.mark.parametrize("blocks", mostly_campaign([4, 32], 1))
def test_each_request_keeps_its_grammar(model: Any, tokenizer: Any, compiler: Any, blocks: int) -> None:
    """With few blocks, requests are taken out of the batch and begun again."""
    compiled = [compiler.compile(sm.Grammar.from_regex(pattern)) for pattern in PATTERNS]
    grammars = [*compiled, None] * 4
    prompts = [tokenizer.encode("ab" * (i % 3 + 1)) for i in range(len(grammars))]
    config = sampling(tokenizer, max_new_tokens=40)
    found = generate_batch(model, prompts, grammars, config, batching(num_blocks=blocks))
    for i, output in enumerate(found):
        assert output.error is None and output.prompt_ids == prompts[i]
        if grammars[i] is not None:
            text = tokenizer.decode(output.generated_tokens, skip_special_tokens=True)
            assert re.fullmatch(PATTERNS[i % 4], text), text
            assert output.generated_tokens[-1] == tokenizer.eos_token_id


def test_the_most_probable_tokens_are_of_those_allowed(model: Any, tokenizer: Any, compiler: Any) -> None:
    compiled = compiler.compile(sm.Grammar.from_regex(PATTERNS[0]))
    config = sampling(tokenizer, max_new_tokens=40, top_k=1, temperature=0.7)
    (found,) = generate_batch(model, [[5, 6]], [compiled], config, batching(per_request_processors=True))
    assert re.fullmatch(PATTERNS[0], tokenizer.decode(found.generated_tokens, skip_special_tokens=True))


def test_what_does_not_fit_is_refused(model: Any, tokenizer: Any, compiler: Any) -> None:
    compiled = compiler.compile(sm.Grammar.from_regex("a"))
    config = sampling(tokenizer, max_new_tokens=4)
    with pytest.raises(RequestError, match="2 prompts, but 1 grammars"):
        generate_batch(model, [[1], [2]], [compiled], config)
    narrow = sm.Compiler(sm.Vocabulary([b"a", None], stop_ids=[1])).compile(sm.Grammar.from_regex("a"))
    with pytest.raises(RequestError, match="grammar 0 is compiled for 2 tokens"):
        generate_batch(model, [[1]], [narrow], config)
    for options, message in (
        ({"use_async_batching": True}, "use_async_batching=False"),
        ({"use_cuda_graph": True}, "use_cuda_graph=False"),
    ):

        class Manager:
            continuous_batching_config = batching(**options)

        with pytest.raises(RequestError, match=message):
            attach_grammars(Manager(), 320)


def test_a_request_that_begins_again_goes_on(compiler: Any) -> None:
    """transformers makes another state then, and copies its options; a fork goes its own way."""

    class State:
        request_id = "1"
        _eos_token_ids = frozenset({299})
        _true_initial_tokens = 0
        initial_tokens = (7, 8)
        generated_tokens: Any = ()
        logit_processor_kwargs: Any = None

    grammar = compiler.compile(sm.Grammar.from_regex("abc"))
    first = State()
    first.logit_processor_kwargs = {"grammar": grammar}
    guarded = _follow(first, 320).guarded  # type: ignore[union-attr]
    (a,) = [t for t in range(256) if guarded.valid_prefix([t])]
    first.generated_tokens = (a,)
    assert _follow(first, 320).taken == 1  # type: ignore[union-attr]
    again = State()
    again.logit_processor_kwargs = copy.deepcopy(first.logit_processor_kwargs)
    again._true_initial_tokens, again.initial_tokens = 2, (7, 8, a)
    followed = _follow(again, 320)
    assert followed is not None and followed.taken == 1 and followed.guarded is not guarded
    (b,) = [t for t in range(256) if followed.guarded.valid_prefix([t])]
    again.generated_tokens = (b,)
    assert _follow(again, 320).taken == 2 and guarded.matcher.accept_calls == 1  # type: ignore[union-attr]
    free = State()
    free.logit_processor_kwargs = {}
    assert _follow(free, 320) is None
