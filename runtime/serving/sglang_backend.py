"""SGLang's interface for a grammar backend."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
)

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.kernels.bitmask import apply_token_bitmask_inplace
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.serving.follower import Follower
from stackmask.runtime.serving.guarded import GuardedMatcher, fill_batch
from stackmask.runtime.serving.metrics import Metrics, publish, refusal
from stackmask.runtime.serving.requests import Options, grammar_of, parsed_json
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

ANY_JSON = "$$ANY$$"  # what SGLang asks for where a request wants JSON of any schema


class Counts:
    """The counters of a scheduler's backend. ``is_shown``: whether the server exports them."""

    def __init__(self, is_shown: bool) -> None:
        self.metrics = Metrics()
        self.of_trees = [0.0, 0.0]  # tokens that came of a draft tree by a grammar, and by SGLang, of late
        self._is_shown = is_shown

    @contextmanager
    def of_masks(self) -> Iterator[None]:
        """Count the seconds of a block that computes masks, and export all counters."""
        begun = time.perf_counter()
        yield
        self.metrics.add("mask_seconds", time.perf_counter() - begun)
        self.show()

    def show(self) -> None:
        """Pass the counts to the Prometheus client."""
        counts = self.metrics.take()
        if self._is_shown:
            publish(counts)


class StackmaskGrammar(BaseGrammarObject):
    """The object with which SGLang follows one request. After an error, only stop tokens are allowed."""

    def __init__(self, compiled: CompiledGrammar, counts: Counts) -> None:
        super().__init__()
        self.compiled = compiled
        self.counts = counts
        stops = compiled.vocabulary.stop_ids
        self.guarded = GuardedMatcher(compiled.matcher(), stops, metrics=counts.metrics)
        self.is_looking_ahead = False  # SGLang tries drafts, and catches no error of theirs
        self.follower: Follower | None = None  # what drafts
        self.is_drafted = True
        self.rival: Any = None  # the tree that SGLang had beside the last draft,
        self.drafted_at = 0  # and the accepted tokens before it

    def accept_token(self, token: int) -> None:
        """Advance. Raises: ValueError with the expected text if the token is not allowed, as SGLang requires."""
        if self.is_terminated():
            return
        self.current_token = token
        if not self.guarded.accept(token) and not (self.is_looking_ahead and self.guarded.failure):
            raise ValueError(self.guarded.failure or self.guarded.matcher.refusal)

    def rollback(self, k: int) -> None:
        """Undo the last tokens."""
        self.guarded.rollback(k)

    def is_terminated(self) -> bool:
        """Return whether the output has ended."""
        return self.guarded.is_terminated()

    def draft(self, request: Any, begin: int, most: int) -> Sequence[int]:
        """Return up to ``most`` tokens that probably come next in a request, whose text begins after so many tokens."""
        if self.follower is None:
            self.follower = Follower(self.compiled, request.origin_input_ids_unpadded)
        draft = self.follower.draft(request.output_ids, begin, len(request.output_ids), most)
        self.is_drafted = draft is not None
        return draft or ()

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Return rows that allow every token."""
        return torch.full((batch_size, (vocab_size + 31) // 32), -1, dtype=torch.int32)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the mask of the next token into a row."""
        with self.counts.of_masks():
            self.guarded.fill(vocab_mask, idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Write the masks of a step in one call, except for requests that are still reasoning."""
        own: list[StackmaskGrammar] = []
        rows = []
        for entry in entries:
            grammar = governing(entry.grammar)
            if grammar is None:
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)
            else:
                own.append(grammar)
                rows.append(entry.row)
        if own:
            with own[0].counts.of_masks():
                fill_batch([grammar.guarded for grammar in own], vocab_mask, rows)

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
        """Apply the masks to the logits."""
        apply_token_bitmask_inplace(logits, vocab_mask)

    def copy(self) -> StackmaskGrammar:
        """Return a new matcher at the start of the same grammar."""
        return StackmaskGrammar(self.compiled, self.counts)


def governing(grammar: Any) -> StackmaskGrammar | None:
    """Return our grammar, possibly inside SGLang's wrapper, if it alone constrains the next token.

    Otherwise, return None: during the reasoning, the wrapper constrains the tokens.
    """
    if getattr(grammar, "tokens_after_end", -1) >= 0:  # a wrapper counts tokens once the thoughts have ended
        grammar = grammar.grammar
    return grammar if type(grammar) is StackmaskGrammar else None


def with_schemas(tag: Any) -> Any:
    """Replace null schemas in a structural tag, from tools without parameters, by one that allows every
    value, in place.
    """
    work = [tag]
    while work:
        value = work.pop()
        if isinstance(value, list):
            work.extend(value)
        elif isinstance(value, dict):
            for name in ("json_schema", "schema"):
                if name in value and value[name] is None:
                    value[name] = {}
            work.extend(inner for name, inner in value.items() if name not in ("json_schema", "schema"))
    return tag


class StackmaskBackend(BaseGrammarBackend):
    """The backend of one scheduler: a compiler for the model's vocabulary.

    Raises: VocabularyError at start if the bytes of the tokens cannot be determined or the logits are too
        narrow.
    """

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        eos_token_ids: Iterable[int] | None,
        *,
        compact: bool = False,
        shows_counts: bool = False,
    ) -> None:
        super().__init__()
        self.counts = Counts(shows_counts)
        stops = tuple(sorted(eos_token_ids)) if eos_token_ids else None
        self.options = Options().for_request(compact=compact)
        self.compiler = Compiler(Vocabulary.from_huggingface(tokenizer, size=vocab_size, stop_ids=stops))

    # what is asked of it where a request has thoughts to be kept in bounds, and no grammar
    allocate_vocab_mask = staticmethod(StackmaskGrammar.allocate_vocab_mask)
    move_vocab_mask = staticmethod(StackmaskGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(StackmaskGrammar.apply_vocab_mask)

    @property
    def is_support_token_filter(self) -> bool:
        """Report that tokens can be filtered, as ``--enable-strict-thinking`` requires."""
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor,
        token_ids: Iterable[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or forbid tokens in a row; with ``reset_vocab_mask`` all others become the opposite."""
        row = vocab_mask[batch_idx].numpy()
        if reset_vocab_mask:
            row[:] = 0 if is_allowed else -1
        words = row.view(np.uint32)
        for token in token_ids:
            bit = np.uint32(1 << (token & 31))
            words[token >> 5] = words[token >> 5] | bit if is_allowed else words[token >> 5] & ~bit

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

    def _compiled(self, kind: str, text: Any) -> Any:
        metrics, begun = self.counts.metrics, time.perf_counter()
        try:
            if kind == "structural_tag":
                text = with_schemas(parsed_json(text, "the structural tag"))
            compiled = self.compiler.compile(grammar_of(kind, text, self.options))
            made = StackmaskGrammar(compiled, self.counts)
        except (StackmaskError, ValueError, TypeError) as error:
            metrics.add(refusal(error))
            self.counts.show()
            return InvalidGrammarObject(f"stackmask: {error}")
        made.guarded.prepare()  # SGLang compiles in threads beside the scheduler
        metrics.add("compiles")
        metrics.add("compile_seconds", time.perf_counter() - begun)
        return made
