"""vLLM's interface for a structured-output backend, and the checks of its API server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from vllm import sampling_params
from vllm.exceptions import VLLMValidationError
from vllm.outputs import RequestError
from vllm.v1.engine import EngineCoreOutput
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.limits import Limits
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.matching.step import StepMask, step
from stackmask.runtime.serving.guarded import GuardedMatcher, Thoughts, fill_batch, forbid
from stackmask.runtime.serving.metrics import DRAFTS, Metrics, publish, refusal
from stackmask.runtime.serving.requests import Options, check, grammar_of
from stackmask.runtime.serving.vllm_plugin import COUNTS, NAME, OPTIONS
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

KIND = {
    StructuredOutputOptions.JSON: "json",
    StructuredOutputOptions.JSON_OBJECT: "json_object",
    StructuredOutputOptions.REGEX: "regex",
    StructuredOutputOptions.GRAMMAR: "grammar",
    StructuredOutputOptions.CHOICE: "choice",
    StructuredOutputOptions.STRUCTURAL_TAG: "structural_tag",
}
# options of a request that forbid tokens, whatever the grammar says
NARROWING = ("allowed_token_ids", "bad_words", "logit_bias", "min_tokens")
TELLS_WHY = "error" in EngineCoreOutput.__struct_fields__  # since 0.33


def options_of_server(config: Any, additional: Any = None) -> Options:
    """Return the options of ``--structured-outputs-config`` and of ``--additional-config '{"stackmask": {…}}'``."""
    given = additional.get(NAME, {}) if isinstance(additional, dict) else {}
    options = Options.read(given)
    return options.for_request(
        compact=bool(getattr(config, "disable_any_whitespace", False)),
        closed_objects=bool(getattr(config, "disable_additional_properties", False)),
    )


def options_of_request(options: Options, params: Any) -> Options:
    """Return the options of a server, overridden by those of a request."""
    return options.for_request(
        compact=bool(params.disable_any_whitespace),
        pattern=params.whitespace_pattern,
        closed_objects=bool(params.disable_additional_properties),
    )


def validate_request(sampling: Any, model_config: Any, config: Any, tokenizer: Any) -> None:
    """Check a request in the API server's process. Raises: VLLMValidationError, which becomes HTTP 400."""
    params = sampling.structured_outputs
    if getattr(model_config, "is_diffusion", False):
        raise VLLMValidationError("structured outputs are not yet supported for diffusion models")
    if tokenizer is None:
        raise VLLMValidationError("structured outputs need a tokenizer: not with skip_tokenizer_init")
    if params._backend and params._backend != NAME:
        raise VLLMValidationError(
            f"the request names the backend {params._backend!r:.60}, but this server was started with {NAME!r}"
        )
    params._backend = NAME
    refuse_what_servers_refuse(params)
    try:
        options = getattr(config, OPTIONS, None) or options_of_server(config)
        kind, text = get_structured_output_key(params)
        check(KIND[kind], text, options_of_request(options, params))
    except (StackmaskError, ValueError, TypeError) as error:
        publish({refusal(error): 1})
        raise refused(error) from error


def refused(error: Exception) -> VLLMValidationError:
    """Return the message for a client: vLLM's own prefix, which clients may match, and the reason."""
    return VLLMValidationError(f"Invalid grammar specification: stackmask: {error}")


def refuse_what_servers_refuse(params: Any) -> None:
    """Refuse all requests that vLLM refuses for each of its backends. Raises:
    VLLMValidationError.
    """
    for name in ("json", "grammar", "structural_tag"):
        text = getattr(params, name, None)
        if isinstance(text, str) and not text.strip():
            raise VLLMValidationError(f"{name} cannot be an empty string")
    if getattr(params, "json_object", None) is False:
        raise VLLMValidationError("json_object must be True, or left out")
    if "\x00" in (getattr(params, "regex", None) or ""):
        raise VLLMValidationError("regex contains a NUL character: write \\x00")
    check_nesting = getattr(sampling_params, "check_json_nesting", None)
    if check_nesting is not None:  # since 0.32
        check_nesting(params.json)
        check_nesting(params.structural_tag, structural_tag=True)


class StackmaskBackend(StructuredOutputBackend):
    """The backend of one engine core: a compiler for the model's vocabulary.

    Raises: VocabularyError at start if the bytes of the tokens cannot be determined or the logits are too
        narrow.
    """

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        self.vllm_config = vllm_config
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.options = options_of_server(
            vllm_config.structured_outputs_config, getattr(vllm_config, "additional_config", None)
        )
        self.vocabulary = Vocabulary.from_huggingface(tokenizer, size=vocab_size)
        self.compiler = Compiler(self.vocabulary, limits=self.options.limits or Limits())
        self.metrics = Metrics()
        # requests whose token was refused in this step, where ``report`` is called after it
        self.ended: dict[str, StackmaskGrammar] | None = None
        self._mask: StepMask | None = None
        self._request = threading.local()  # vLLM compiles in threads of its own

    @contextmanager
    def options_of(self, params: Any) -> Iterator[None]:
        """Compile with the options of a request, in this thread."""
        self._request.options = options_of_request(self.options, params)
        try:
            yield
        finally:
            self._request.options = None

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> StackmaskGrammar:
        """Compile a request. Raises: VLLMValidationError, which ends only this request."""
        options = getattr(self._request, "options", None) or self.options
        stops = tuple(sorted(stop_token_ids)) if stop_token_ids else None
        begun = time.perf_counter()
        try:
            compiled = self.compiler.compile(grammar_of(KIND[request_type], grammar_spec, options))
            matcher = compiled.matcher(stop_ids=stops)
        except (StackmaskError, ValueError, TypeError) as error:
            self.metrics.add(refusal(error))
            raise refused(error) from error
        made = StackmaskGrammar(
            matcher, self.vocabulary.stop_ids if stops is None else stops, self.metrics, self.ended
        )
        made.guarded.prepare()  # vLLM compiles in threads beside the scheduler
        self.metrics.add("compiles")
        self.metrics.add("compile_seconds", time.perf_counter() - begun)
        return made

    def narrow(self, grammar: Any, params: Any) -> None:
        """Restrict a grammar to the tokens that the other options of its request allow."""
        grammar.narrowing = [name for name in NARROWING if getattr(params, name, None)]
        ids = getattr(params, "allowed_token_ids", None)
        if ids:
            only = np.zeros((self.vocab_size + 31) // 32, np.uint32)
            np.bitwise_or.at(only, np.array(ids) >> 5, np.uint32(1) << (np.array(ids) & 31).astype(np.uint32))
            grammar.guarded.only = only

    def report(self, outputs: Mapping[int, Any]) -> None:
        """Add the reasons of failed requests, and the counters, to the scheduler's output of a step.

        ``outputs``: vLLM's ``EngineCoreOutputs`` by client. Before 0.33, clients see only "Internal server error".
        """
        if self.ended:
            for output in [output for sent in outputs.values() for output in sent.outputs]:
                ended = self.ended.get(output.request_id)
                if ended is not None and TELLS_WHY:
                    is_of_request, message = ended.reason()
                    code = "validation_error" if is_of_request else "internal_error"
                    output.error = RequestError(code=code, message=f"stackmask: {message}")
            self.ended.clear()
        for sent in outputs.values():
            if sent.scheduler_stats is not None:
                setattr(sent.scheduler_stats, COUNTS, self.metrics.take() | DRAFTS.take())

    def bound(self, grammar: Any, tokens: int, *, thinks: bool = False, end: int | None = None) -> None:
        """Complete the text of a request within its token limit.

        ``thinks``: reasoning precedes the text, and the token ``end`` ends it (None: there is no such token).
        """
        if thinks:
            grammar.thoughts = Thoughts(grammar.guarded, end)
        else:
            grammar.guarded.room = tokens

    def fill_step(
        self,
        grammars: Sequence[StackmaskGrammar | None],
        most: int,
        held: Mapping[int, Sequence[int]] | None = None,
        thoughts: Mapping[int, Thoughts] | None = None,
    ) -> NDArray[np.int32]:
        """Return the masks of a step, one row each, at most ``most``. None and ended requests allow all.

        ``held``, ``thoughts``: forbidden tokens, and the bounds of reasoning, by row, for rows without a
        grammar. The masks are read-only, and valid until the next step.
        """
        begun = time.perf_counter()
        if self._mask is None or len(self._mask.array) < len(grammars):
            self._mask = StepMask(max(most, len(grammars)), self.vocab_size)
        free = [row for row, one in enumerate(grammars) if one is None]
        rows: list[int] | None
        if free:
            rows = [row for row, one in enumerate(grammars) if one is not None]
            masked = [grammars[row].guarded for row in rows]  # type: ignore[union-attr]
        else:
            rows, masked = None, [one.guarded for one in grammars]  # type: ignore[union-attr]
        result = fill_batch(masked, self._mask, rows)
        if True in result.ended or any(
            one.failure is not None or one.room is not None or one.only is not None for one in masked
        ):
            numbers = range(len(masked)) if rows is None else rows
            free += [row for row, one in zip(numbers, masked, strict=True) if one.is_terminated()]
        if free:
            step([None] * len(free), [None] * len(free), self._mask, free)
        for row, tokens in (held or {}).items():
            forbid(self._mask.row_to_write(row).view(np.uint32), tokens)
        for row, one in (thoughts or {}).items():
            one.restrict(self._mask.row_to_write(row).view(np.uint32))
        self.metrics.add("mask_seconds", time.perf_counter() - begun)
        return self._mask.array[: len(grammars)]

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Return rows that allow every token."""
        return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Drop all grammars."""
        self.compiler = Compiler(self.vocabulary, limits=self.options.limits or Limits())


class StackmaskGrammar(StructuredOutputGrammar):
    """The object with which vLLM follows one request; ``GuardedMatcher`` handles errors."""

    def __init__(
        self,
        matcher: Any,
        stop_ids: Sequence[int],
        metrics: Metrics,
        ended: dict[str, StackmaskGrammar] | None,
    ) -> None:
        self.guarded = GuardedMatcher(matcher, stop_ids, metrics=metrics)
        self.narrowing: list[str] = []  # options of the request that forbid tokens too
        self._ended = ended
        self._ended_as: str | None = None  # the request, where a token of it was refused
        self.thoughts: Thoughts | None = None  # before the text, where these are bounded
        self._accept = matcher.accept_token

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Advance. Tokens after the end are ignored. The result False ends the request with an error."""
        if len(tokens) == 1 and self.guarded.failure is None:  # the usual step
            try:
                if self._accept(tokens[0]):
                    return True
            except Exception as error:  # noqa: BLE001 - nothing may reach the engine
                self.guarded.fail(error)
        taken = self.guarded.accept_all(tokens)
        if not taken and self._ended is not None:
            self._ended[request_id] = self
            self._ended_as = request_id
        return taken

    def reason(self) -> tuple[bool, str]:
        """Return whether the request caused the refusal of a token, and the reason."""
        if self.guarded.failure is not None:
            return self.guarded.is_of_request, self.guarded.failure
        where = f"the server sampled a token that the grammar does not allow: {self.guarded.matcher.refusal}"
        if self.narrowing:
            where += f" ({', '.join(self.narrowing)} of the request may leave no token that it allows)"
        return bool(self.narrowing), where

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Return the leading allowed tokens, without advancing."""
        return self.guarded.valid_prefix(tokens)

    def rollback(self, num_tokens: int) -> None:
        """Undo the last tokens."""
        self.guarded.rollback(num_tokens)
        if self._ended is not None and self._ended_as is not None and self.guarded.failure is None:
            self._ended.pop(self._ended_as, None)  # a draft was refused, not the text
            self._ended_as = None

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write the mask of the next token into a row."""
        begun = time.perf_counter()
        if self.thoughts is not None:
            self.thoughts.begin_text()
        self.guarded.fill(bitmask, batch_index)
        self.guarded.metrics.add("mask_seconds", time.perf_counter() - begun)

    def is_terminated(self) -> bool:
        """Return whether the output has ended."""
        return self.guarded.is_terminated()

    def reset(self) -> None:
        """Return to the start."""
        self.guarded.reset()
