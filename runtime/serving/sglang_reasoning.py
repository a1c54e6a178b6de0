"""Reasoning models in SGLang: SGLang's wrapper around the backend, with the masks of a step in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend, ReasonerGrammarObject
from sglang.srt.parser.reasoning_parser import ReasoningParser

from stackmask.runtime.serving.sglang_backend import StackmaskBackend, StackmaskGrammar


class ReasoningGrammar(ReasonerGrammarObject):
    """SGLang's wrapper: the grammar begins after the reasoning. Only the method for step masks differs."""

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: Any) -> None:
        """Write the masks of a step in one call, except for requests that are still reasoning."""
        StackmaskGrammar.fill_vocab_mask_batched(entries, vocab_mask)

    def copy(self) -> ReasoningGrammar:
        """Return a copy in the same state of the reasoning, and at the start of the same grammar."""
        return _as_ours(super().copy())


class ReasoningBackend(ReasonerGrammarBackend):
    """SGLang's wrapper, for our grammars."""

    def _make_grammar_object(self, grammar: Any, reasoning: bool) -> ReasoningGrammar:
        return _as_ours(super()._make_grammar_object(grammar, reasoning))


def _as_ours(made: Any) -> ReasoningGrammar:
    made.__class__ = ReasoningGrammar  # SGLang names its class where it makes one
    grammar: ReasoningGrammar = made
    return grammar


def with_reasoning(backend: StackmaskBackend, tokenizer: Any, parser: str, strict: bool) -> Any:
    """Return the backend of a server with a reasoning parser.

    ``strict``: forbid the tokens that the parser names inside the reasoning, and limit the reasoning to
    ``SGLANG_MAX_THINK_TOKENS``. If no tokens spell the parser's end marker, the backend is returned
    unchanged, as in SGLang.
    """
    reasoning = ReasoningParser(model_type=parser, stream_reasoning=False, tokenizer=tokenizer)
    if not reasoning.detector.get_think_end_token_ids(tokenizer):
        return backend
    return ReasoningBackend(backend, reasoning, tokenizer, enable_strict_thinking=bool(strict))
