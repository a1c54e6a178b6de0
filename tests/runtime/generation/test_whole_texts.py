"""Generation within a budget: texts end whole, whatever the model likes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from support.campaign import mostly_campaign
from transformers import LogitsProcessor

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.generation import GrammarLogitsProcessor, generate
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.matching.compiler import Compiler


class Likes(LogitsProcessor):  # type: ignore[misc]
    """Raise the scores of some tokens, and lower those of stop tokens."""

    def __init__(self, tokenizer: Any, pieces: str) -> None:
        self.liked = tokenizer.convert_tokens_to_ids(list(pieces))
        self.stop = tokenizer.eos_token_id

    def __call__(self, input_ids: Any, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        scores[:, self.liked] += 100.0
        scores[:, self.stop] -= 1000.0
        return scores


@pytest.mark.parametrize("pieces", mostly_campaign(["[", "1", "Ġ", "{", '"'], 3))
@pytest.mark.parametrize("how", [{}, {"jump": "off"}, {"num_beams": 2}, {"do_sample": True, "top_k": 5}])
def test_texts_end_whole(
    model: Any, tokenizer: Any, compiler: Compiler, pieces: str, how: dict[str, Any]
) -> None:
    for limit in (4, 9, 24):
        (result,) = generate(
            model, tokenizer, "p", Grammar.bundled("json"), compiler=compiler, max_new_tokens=limit, seed=1,
            logits_processor=[Likes(tokenizer, pieces)], **how,
        )  # fmt: skip
        assert result.finished and result.reason == "stop" and len(result.token_ids) < limit
        json.loads(result.text, strict=False)


def test_a_batch_of_budgets(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    grammars = ['root ::= "[" root "]" | "1"', None, 'root ::= "ab"+']
    results = generate(
        model, tokenizer, ["a", "b", "c"], grammars, compiler=compiler, max_new_tokens=12,
        logits_processor=[Likes(tokenizer, "[")],
    )  # fmt: skip
    assert [result.finished for result in results] == [True, False, True]


@pytest.mark.parametrize("how", [{}, {"jump": "off"}, {"finish": "cut"}])
def test_when_only_closing_is_left(
    model: Any, tokenizer: Any, compiler: Compiler, how: dict[str, Any]
) -> None:
    """The place is told, and no token changes."""
    grammar = Grammar.from_ebnf('root ::= "[" root "]" | "1"')
    liked = [Likes(tokenizer, "[")]
    arguments = {"compiler": compiler, "max_new_tokens": 20, "logits_processor": liked, "seed": 1, **how}
    (plain,) = generate(model, tokenizer, "p", grammar, **arguments)
    (result,) = generate(model, tokenizer, "p", grammar, wrap_up=0.5, **arguments)
    assert plain.token_ids == result.token_ids
    assert plain.closing_at is None
    matcher = compiler.compile(grammar).matcher()
    needed = [matcher.needs_at_least()]
    for token in result.token_ids:
        assert matcher.accept_token(token)
        needed.append(matcher.needs_at_least())
    assert result.closing_at == next(at for at, least in enumerate(needed) if least >= 10 - at) == 4
    (early,) = generate(
        model, tokenizer, "p", 'root ::= "1"', compiler=compiler, max_new_tokens=20, wrap_up=1.0
    )
    assert early.closing_at is None


def test_a_processor_tells_when_only_closing_is_left(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    compiled = compiler.compile(Grammar.from_ebnf('root ::= "[" root "]" | "1"'))
    processor = GrammarLogitsProcessor(compiled, max_new_tokens=20, wrap_up=0.5)
    inputs = tokenizer(["a", "b"], return_tensors="pt")
    for _ in range(2):
        model.generate(
            **inputs, logits_processor=[Likes(tokenizer, "["), processor], max_new_tokens=20, do_sample=False
        )
        assert processor.closing_at == [4, 4]
        processor.reset()
        assert processor.closing_at == []


@pytest.mark.parametrize("wrap_up", [0, 1.5, -0.1, True, "0.8", float("nan")])
def test_shares_that_are_none(model: Any, tokenizer: Any, compiler: Compiler, wrap_up: Any) -> None:
    with pytest.raises(GenerationError, match="wrap_up is"):
        generate(model, tokenizer, "p", 'root ::= "a"', compiler=compiler, wrap_up=wrap_up)
    with pytest.raises(GenerationError, match="wrap_up needs max_new_tokens"):
        GrammarLogitsProcessor(compiler.compile(Grammar.from_ebnf('root ::= "a"')), wrap_up=0.5)


@pytest.mark.parametrize("jump", ["canonical", "off"])
def test_a_limit_that_is_too_small(model: Any, tokenizer: Any, compiler: Compiler, jump: str) -> None:
    grammar = 'root ::= "x"{50}'
    how: dict[str, Any] = {"compiler": compiler, "max_new_tokens": 7, "jump": jump}
    with pytest.raises(
        GenerationError, match="takes 51 tokens, stop token included, but there is room for 7"
    ):
        generate(model, tokenizer, "p", grammar, finish="whole", **how)
    (result,) = generate(model, tokenizer, "p", grammar, **how)
    assert result.reason == "length" and "raise it" in result.note


def test_no_jump_breaks_the_budget(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    # what the tokenizer writes is single letters, and the model's tokens are longer
    grammar = 'root ::= [xy] "truetruetrue"'
    (free,) = generate(model, tokenizer, "a", grammar, compiler=compiler)
    assert free.finished
    needed = compiler.compile(Grammar.from_ebnf(grammar)).matcher().needs_at_least()
    (result,) = generate(
        model, tokenizer, "a", grammar, compiler=compiler, max_new_tokens=needed, finish="whole"
    )
    assert result.finished and len(result.token_ids) < needed


def test_what_finish_may_be(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    with pytest.raises(GenerationError, match="finish is 'soon'"):
        generate(model, tokenizer, "p", 'root ::= "a"', compiler=compiler, finish="soon")  # type: ignore[arg-type]
    with pytest.raises(GenerationError, match="needs max_new_tokens"):
        GrammarLogitsProcessor(compiler.compile(Grammar.from_ebnf('root ::= "a"')), finish="whole")


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "9"])
def test_what_is_no_number_of_tokens(model: Any, tokenizer: Any, compiler: Compiler, limit: Any) -> None:
    compiled = compiler.compile(Grammar.from_ebnf('root ::= "a"'))
    with pytest.raises(GenerationError, match="max_new_tokens is"):
        GrammarLogitsProcessor(compiled, max_new_tokens=limit)
    with pytest.raises(GenerationError, match="max_new_tokens"):
        generate(model, tokenizer, "p", compiled, max_new_tokens=limit)
