"""Exact structured generation for language models.

Given a grammar and a tokenizer, stackmask tells at every decoding step exactly which tokens may come next::

    import stackmask as sm

    vocab = sm.Vocabulary.from_huggingface(tokenizer)
    compiled = sm.Compiler(vocab).compile(sm.Grammar.bundled("json"))
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, vocab.size)
    matcher.fill_next_token_bitmask(mask)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackmask.grammar.diagnostics import Diagnostic, GrammarError, StackmaskError
from stackmask.grammar.grammar import Grammar
from stackmask.pda.errors import BudgetError, VocabularyError
from stackmask.pda.limits import Limits
from stackmask.runtime.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from stackmask.runtime.compiler import CompiledGrammar, Compiler
from stackmask.runtime.matcher import Matcher, MatcherError, fill_next_token_bitmask
from stackmask.runtime.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask.runtime.generation import GrammarLogitsProcessor, generate

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "CompiledGrammar",
    "Compiler",
    "Diagnostic",
    "Grammar",
    "GrammarError",
    "GrammarLogitsProcessor",
    "Limits",
    "Matcher",
    "MatcherError",
    "StackmaskError",
    "Vocabulary",
    "VocabularyError",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "fill_next_token_bitmask",
    "generate",
]


def __getattr__(name: str) -> Any:
    # torch is imported with these, and only then
    if name in ("GrammarLogitsProcessor", "generate"):
        from stackmask.runtime import generation

        return getattr(generation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
