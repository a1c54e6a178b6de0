"""SGLang's interface of a grammar backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
)

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.kernels.bitmask import apply_token_bitmask_inplace
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.serving.guarded import GuardedMatcher, fill_batch
from stackmask.runtime.serving.requests import Options, grammar_of
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

ANY_JSON = "$$ANY$$"  # what SGLang asks for where a request wants JSON of any schema


class StackmaskGrammar(BaseGrammarObject):
    """What SGLang follows one request with; a fault leaves stop tokens alone."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        super().__init__()
        self.compiled = compiled
        self.guarded = GuardedMatcher(compiled.matcher(), compiled.vocabulary.stop_ids)

    def accept_token(self, token: int) -> None:
        """Advance. Raises: ValueError if the token may not come next, with what was expected; SGLang asks for it."""
        if self.is_terminated():
            return
        self.current_token = token
        if not self.guarded.accept(token):
            raise ValueError(self.guarded.failure or self.guarded.matcher.refusal)

    def rollback(self, k: int) -> None:
        """Take tokens back."""
        self.guarded.rollback(k)

    def is_terminated(self) -> bool:
        """Tell whether the output has ended."""
        return self.guarded.is_terminated()

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Return rows that allow every token."""
        return torch.full((batch_size, (vocab_size + 31) // 32), -1, dtype=torch.int32)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the mask of the next token into a row."""
        self.guarded.fill(vocab_mask, idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Write the masks of a step in one call; those that SGLang has wrapped fill their rows themselves."""
        own = [entry for entry in entries if type(entry.grammar) is StackmaskGrammar]
        fill_batch([entry.grammar.guarded for entry in own], vocab_mask, [entry.row for entry in own])
        if len(own) < len(entries):
            for entry in entries:
                if type(entry.grammar) is not StackmaskGrammar:
                    entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Allow every token."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """Return the masks on a device."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Forbid what masks leave out."""
        apply_token_bitmask_inplace(logits, vocab_mask)

    def copy(self) -> StackmaskGrammar:
        """Return one at the start of the same grammar."""
        return StackmaskGrammar(self.compiled)


class StackmaskBackend(BaseGrammarBackend):
    """One for each scheduler: a compiler for the model's vocabulary.

    Raises: VocabularyError at start if the bytes of the tokens cannot be known or the logits are too narrow.
    """

    def __init__(
        self, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None, *, compact: bool = False
    ) -> None:
        super().__init__()
        stops = tuple(sorted(eos_token_ids)) if eos_token_ids else None
        self.options = Options().for_request(compact=compact)
        self.compiler = Compiler(Vocabulary.from_huggingface(tokenizer, size=vocab_size, stop_ids=stops))

    def dispatch_json(self, key_string: str) -> Any:
        """Compile a JSON Schema, or any JSON value."""
        return self._compiled("json", "true" if key_string == ANY_JSON else key_string)

    def dispatch_regex(self, key_string: str) -> Any:
        """Compile a pattern that the whole output matches."""
        return self._compiled("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> Any:
        """Compile EBNF or GBNF."""
        return self._compiled("grammar", key_string)

    def dispatch_structural_tag(self, key_string: str) -> Any:
        """Compile a structural tag, of either format."""
        return self._compiled("structural_tag", key_string)

    def _compiled(self, kind: str, text: str) -> Any:
        try:
            return StackmaskGrammar(self.compiler.compile(grammar_of(kind, text, self.options)))
        except (StackmaskError, ValueError, TypeError) as error:
            return InvalidGrammarObject(f"stackmask: {error}")
