"""Exact structured generation for language models.

Given a grammar and a tokenizer, stackmask computes at every decoding step exactly which tokens may come next:

>>> import stackmask as sm
>>> vocab = sm.Vocabulary([b"y", b"e", b"s", b"n", b"o", b"es", None], stop_ids=[6])
>>> compiled = sm.Compiler(vocab).compile(sm.Grammar.from_ebnf('root ::= "yes" | "no"'))
>>> matcher = compiled.matcher()
>>> mask = sm.allocate_token_bitmask(1, vocab.size)
>>> matcher.fill_next_token_bitmask(mask)  # False would mean that every token is allowed
True
>>> f"{mask[0, 0]:07b}"  # token 0 is the last bit: `y` and `n` may begin
'0001001'
>>> matcher.accept_token(0), matcher.accept_token(3)
(True, False)
>>> matcher.refusal
"token 3 ('n') refused; expected 'e'"

Real tokenizers: ``Vocabulary.from_huggingface(tokenizer)``. Grammars that come with the package:
``Grammar.bundled("json")``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stackmask.grammar.grammar import Grammar, concat, union
from stackmask.grammar.json_schema.document.errors import (
    DialectError,
    SchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from stackmask.grammar.outputs import OutputError, prompt_for
from stackmask.grammar.source.diagnostics import (
    CancelledError,
    Diagnostic,
    GrammarError,
    GrammarFileError,
    MissingFileError,
    NotAFileError,
    StackmaskError,
)
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.whole_strings import provide
from stackmask.pda.errors import BudgetError, ResolverError, SpoiledError, VocabularyError
from stackmask.pda.limits import Limits
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherTypeError
from stackmask.runtime.matching.matcher import Matcher, MatcherError
from stackmask.runtime.matching.step import fill_next_token_bitmask
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask import fsm, tools
    from stackmask.grammar.marked_texts import tag, text
    from stackmask.grammar.sql.schema.errors import SQLError
    from stackmask.grammar.turns.formats.fields import StructuralTagError
    from stackmask.runtime.extras import MissingExtraError
    from stackmask.runtime.generation import (
        GenerationResult,
        GrammarLogitsProcessor,
        JumpDecoding,
        TextStream,
        TurnStream,
        agenerate,
        generate,
        stream,
    )
    from stackmask.runtime.generation.errors import GenerationError
    from stackmask.runtime.matching.budgets import CompletionError
    from stackmask.runtime.matching.step import StepMask, StepResult, step
    from stackmask.runtime.strings.engine import ByteEngine, SampleError

__version__ = "0.2.0"

__all__ = [
    "ArgumentError",
    "BitmaskError",
    "BudgetError",
    "CancelledError",
    "CompiledGrammar",
    "Compiler",
    "CompletionError",
    "Diagnostic",
    "DialectError",
    "EmptyMaskError",
    "GenerationError",
    "GenerationResult",
    "Grammar",
    "GrammarError",
    "GrammarFileError",
    "GrammarLogitsProcessor",
    "JumpDecoding",
    "Limits",
    "Matcher",
    "MatcherError",
    "MatcherTypeError",
    "MissingExtraError",
    "MissingFileError",
    "NotAFileError",
    "OutputError",
    "ResolverError",
    "SQLError",
    "SampleError",
    "SchemaError",
    "SpoiledError",
    "StackmaskError",
    "StepMask",
    "StepResult",
    "StructuralTagError",
    "TextStream",
    "TurnStream",
    "UnsatisfiableSchemaError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "agenerate",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "concat",
    "fill_next_token_bitmask",
    "fsm",
    "generate",
    "prompt_for",
    "step",
    "stream",
    "tag",
    "text",
    "tools",
    "union",
]


# torch is imported with these, and only then
_GENERATION = frozenset(
    {
        "GenerationResult",
        "GrammarLogitsProcessor",
        "JumpDecoding",
        "TextStream",
        "TurnStream",
        "agenerate",
        "generate",
        "stream",
    }
)

_ERRORS = {
    "CompletionError": "runtime.matching.budgets",
    "GenerationError": "runtime.generation.errors",
    "MissingExtraError": "runtime.extras",
    "SQLError": "grammar.sql.schema.errors",
    "SampleError": "runtime.strings.engine",
    "StructuralTagError": "grammar.turns.formats.fields",
}


def _string_engine() -> ByteEngine:
    from stackmask.runtime.strings.engine import ByteEngine

    return ByteEngine()


provide(_string_engine)


def __getattr__(name: str) -> Any:
    if name in _GENERATION:
        from stackmask.runtime import generation

        return getattr(generation, name)
    if name in _ERRORS:
        return getattr(importlib.import_module(f"stackmask.{_ERRORS[name]}"), name)
    if name in ("StepMask", "StepResult", "step"):
        made = getattr(importlib.import_module("stackmask.runtime.matching.step"), name)
        return globals().setdefault(name, made)  # servers ask at each step
    if name in ("tag", "text"):
        return getattr(importlib.import_module("stackmask.grammar.marked_texts"), name)
    if name in ("fsm", "tools"):
        return importlib.import_module(f"stackmask.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])  # what editors offer: nothing that was only imported
