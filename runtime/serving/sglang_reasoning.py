"""Models that think before they answer: SGLang's wrapper around the backend, whose masks come in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend, ReasonerGrammarObject
from sglang.srt.parser.reasoning_parser import ReasoningParser

from stackmask.runtime.serving.sglang_backend import StackmaskBackend, StackmaskGrammar


class ReasoningGrammar(ReasonerGrammarObject):
    """SGLang's: the grammar begins where the thoughts end. Only what fills the masks of a step is ours."""

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: Any) -> None:
        """Write the masks of a step, in one call but for requests that still think."""
        StackmaskGrammar.fill_vocab_mask_batched(entries, vocab_mask)

    def copy(self) -> ReasoningGrammar:
        """Return one at the same place in its thoughts, and at the start of the same grammar."""
        return _as_ours(super().copy())


class ReasoningBackend(ReasonerGrammarBackend):
    """SGLang's, with our grammars in it."""

    def _make_grammar_object(self, grammar: Any, reasoning: bool) -> ReasoningGrammar:
        return _as_ours(super()._make_grammar_object(grammar, reasoning))


def _as_ours(made: Any) -> ReasoningGrammar:
    made.__class__ = ReasoningGrammar  # SGLang names its class where it makes one
    grammar: ReasoningGrammar = made
    return grammar


def with_reasoning(backend: StackmaskBackend, tokenizer: Any, parser: str, strict: bool) -> Any:
    """Return the backend of a server with a reasoning parser.

    ``strict``: keep thoughts free of the tokens that their parser names, and within ``SGLANG_MAX_THINK_TOKENS``.
    A parser whose end of thoughts no tokens spell leaves the backend as it is, as in SGLang.
    """
    reasoning = ReasoningParser(model_type=parser, stream_reasoning=False, tokenizer=tokenizer)
    if not reasoning.detector.get_think_end_token_ids(tokenizer):
        return backend
    return ReasoningBackend(backend, reasoning, tokenizer, enable_strict_thinking=bool(strict))
