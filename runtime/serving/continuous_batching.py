"""Continuous batching in transformers with a grammar for each request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import torch
from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.generation.continuous_batching.cb_logits_processors import (
    ContinuousBatchingLogitsProcessor,
)

from stackmask.runtime.kernels.bitmask import apply_token_bitmask_inplace
from stackmask.runtime.matching.compiler import CompiledGrammar
from stackmask.runtime.matching.step import StepMask
from stackmask.runtime.serving.guarded import GuardedMatcher, fill_batch
from stackmask.runtime.serving.requests import RequestError

KEY: Final = "grammar"  # of ``add_request``
POLL_SECONDS: Final = 1.0


class _Followed:
    """The grammar of one request, and the length of the output that was read so far.

    transformers copies the options of a request when it is preempted and restarted, and when it is forked.
    """

    def __init__(self, guarded: GuardedMatcher, taken: int = 0) -> None:
        self.guarded = guarded
        self.taken = taken

    def __deepcopy__(self, memo: Any) -> _Followed:
        return _Followed(self.guarded.fork(), self.taken)


class GrammarBatching(ContinuousBatchingLogitsProcessor):
    """Forbids the tokens that the requests' grammars forbid. ``attach_grammars`` creates it.

    If a mask cannot be computed, the request may only end; see ``GuardedMatcher``.
    """

    def __init__(self, vocab_size: int) -> None:
        self.supported_kwargs = {KEY: object}
        self.ignored_kwargs = ()
        self._size = vocab_size
        self._mask = StepMask(1, vocab_size)

    def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
        """Complete row 0, which allows every token."""
        int32_tensor.fill_(0)

    def prepare_tensor_args(self, requests_with_new_token: Sequence[Any]) -> torch.Tensor:
        """Read the new tokens of the requests, and write their masks. Returns: the rows of requests."""
        rows, followed = [], []
        for request in requests_with_new_token:
            one = _follow(request.state, self._size)
            if one is None or one.guarded.is_terminated():
                rows.append(0)
            else:
                followed.append(one.guarded)
                rows.append(len(followed))
        if len(self._mask.array) <= len(followed):
            self._mask = StepMask(2 * len(followed) + 1, self._size)
        fill_batch(followed, self._mask, range(1, len(followed) + 1))
        return torch.tensor(rows, dtype=torch.int32)

    def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
        """Set the scores of forbidden tokens to -inf, in place."""
        rows = tensor_arg[: scores.shape[0]].cpu().numpy()
        masks = torch.from_numpy(self._mask.array[rows])  # a copy of these rows
        apply_token_bitmask_inplace(scores, masks.to(scores.device))
        return scores


def _follow(state: Any, size: int) -> _Followed | None:
    """Return the matcher of a request, after all its tokens; None if it has no grammar."""
    wanted = state.logit_processor_kwargs.get(KEY)
    if wanted is None:
        return None
    if not isinstance(wanted, _Followed):
        stops = tuple(sorted(state._eos_token_ids)) or None
        matcher = wanted.matcher(stop_ids=stops)
        stops = wanted.vocabulary.stop_ids if stops is None else stops
        wanted = _Followed(GuardedMatcher(matcher, stops, str(state.request_id)))
        state.logit_processor_kwargs[KEY] = wanted
    written = state.generated_tokens
    if state._true_initial_tokens:  # it was begun again, with what it had written as part of its prompt
        written = state.initial_tokens[state._true_initial_tokens :] + written
    wanted.guarded.accept_all(written[wanted.taken :])
    wanted.taken = len(written)
    return wanted


def attach_grammars(manager: Any, vocab_size: int) -> None:
    """Let requests of a ``ContinuousBatchingManager`` have a grammar: ``add_request(ids, grammar=compiled)``.

    ``vocab_size``: the width of the model's logits, equal to that of the grammars' vocabulary. Call it before
    the manager is started. Raises: RequestError if the manager samples ahead (asynchronous batching, graphs),
    since a mask needs the previous token.
    """
    config = manager.continuous_batching_config
    if config.use_async_batching:
        raise RequestError(
            "a grammar needs the token before: ContinuousBatchingConfig(use_async_batching=False)"
        )
    if any(config.cuda_graph_booleans):
        raise RequestError("masks are not captured in graphs: ContinuousBatchingConfig(use_cuda_graph=False)")
    processors = manager.logit_processor
    # before those that keep the most probable tokens: these must find one that is allowed
    processors.logits_processor.insert(0, GrammarBatching(vocab_size))
    processors.tensors_required += 1
    processors.supported_keys[KEY] = object
    processors.do_processing = True


def generate_batch(
    model: Any,
    inputs: Sequence[Sequence[int]],
    grammars: Sequence[CompiledGrammar | None],
    generation_config: GenerationConfig,
    continuous_batching_config: ContinuousBatchingConfig | None = None,
    *,
    timeout: float = 600.0,
) -> list[Any]:
    """Generate for prompts in one continuous batch, with a grammar for each; None for free text.

    Returns: transformers' ``GenerationOutput`` for each prompt, in order.
    Raises: RequestError if lengths, vocabularies or the configuration do not fit; TimeoutError if no text was
    finished for ``timeout`` seconds.
    """
    if len(inputs) != len(grammars):
        raise RequestError(f"{len(inputs)} prompts, but {len(grammars)} grammars: None where there is none")
    size = model.get_output_embeddings().weight.shape[0]
    for number, grammar in enumerate(grammars):
        if grammar is not None and grammar.vocabulary.size != size:
            raise RequestError(
                f"grammar {number} is compiled for {grammar.vocabulary.size} tokens, the model has {size}: "
                "Vocabulary.from_huggingface(tokenizer, size=…)"
            )
    config = continuous_batching_config or ContinuousBatchingConfig(
        use_async_batching=False, use_cuda_graph=False
    )
    manager = model.init_continuous_batching(
        generation_config=generation_config, continuous_batching_config=config
    )
    attach_grammars(manager, size)
    results: dict[Any, Any] = {}
    manager.start()
    try:
        for number, (ids, grammar) in enumerate(zip(inputs, grammars, strict=True)):
            options = {} if grammar is None else {KEY: grammar}
            manager.add_request(list(ids), request_id=str(number), **options)
        last = time.monotonic()
        while len(results) < len(inputs):
            result = manager.get_result(timeout=POLL_SECONDS)
            if result is not None and result.is_finished():
                results[result.request_id] = result
                last = time.monotonic()
            elif time.monotonic() - last > timeout or not manager.is_running():
                raise TimeoutError(
                    f"{len(inputs) - len(results)} of {len(inputs)} requests were not finished"
                )
    finally:
        manager.stop(block=True)
    return [results[str(number)] for number in range(len(inputs))]
