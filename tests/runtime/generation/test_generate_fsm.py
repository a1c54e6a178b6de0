"""Generation takes grammars that were compiled to finite automata."""

from __future__ import annotations

from typing import Any

import pytest

import stackmask
from stackmask.runtime.generation import GrammarLogitsProcessor, generate, stream
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.matching.compiler import Compiler

GRAMMAR = stackmask.Grammar.from_ebnf('root ::= "true" | "12" "," [a-c]{3} | "é🎉"')


def test_generate_takes_either_engine(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    finite = stackmask.fsm.compile(GRAMMAR, compiler.vocabulary)
    how: dict[str, Any] = {"do_sample": True, "seed": 3, "compiler": compiler}
    ours = generate(model, tokenizer, ["a", "b", "c"], finite, **how)
    theirs = generate(model, tokenizer, ["a", "b", "c"], compiler.compile(GRAMMAR), **how)
    assert [r.text for r in ours] == [r.text for r in theirs]
    assert all(r.finished and finite.dfa.matches(r.text.encode()) for r in ours)
    mixed = generate(model, tokenizer, ["a", "b"], [finite, compiler.compile(GRAMMAR)], compiler=compiler)
    assert all(r.finished for r in mixed)
    text = "".join(stream(model, tokenizer, "a", finite, compiler=compiler))
    assert finite.dfa.matches(text.encode())


def test_beams_and_the_processor(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    finite = stackmask.fsm.compile(GRAMMAR, compiler.vocabulary)
    ids = tokenizer(["ab"], return_tensors="pt")["input_ids"]
    outputs = [
        model.generate(
            ids, logits_processor=[GrammarLogitsProcessor(compiled)], num_beams=3, max_new_tokens=12
        )
        for compiled in (finite, compiler.compile(GRAMMAR))
    ]
    assert outputs[0].tolist() == outputs[1].tolist()


def test_the_vocabulary_must_fit(model: Any, tokenizer: Any) -> None:
    other = stackmask.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    with pytest.raises(GenerationError, match="compiled for"):
        generate(model, tokenizer, "a", stackmask.fsm.compile(GRAMMAR, other), max_new_tokens=3)
