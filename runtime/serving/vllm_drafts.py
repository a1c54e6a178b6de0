"""Drafts in vLLM: the next tokens, predicted from grammar and prompt, for the model to verify in one step.

    vllm serve … --structured-outputs-config '{"backend": "stackmask"}' --speculative-config '{"method": "custom_class",
        "model": "stackmask.runtime.serving.vllm_drafts.GrammarProposer", "num_speculative_tokens": 8}'

vLLM's rejection sampler verifies drafts against the masked rows, so outputs are the same as without drafts. Its interface
for proposers does not identify requests, so the proposer gets the runner, which stores them. Each request with a grammar
has a second matcher in the worker. The grammar is compiled again there, in a thread; until it is ready, nothing is drafted.
Nothing is drafted within reasoning, or for requests without a grammar.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.structured_output.request import get_structured_output_key

from stackmask.pda.limits import Limits
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.serving.follower import Follower, end_drafts
from stackmask.runtime.serving.metrics import DRAFTS
from stackmask.runtime.serving.requests import grammar_of
from stackmask.runtime.serving.vllm_backend import KIND, options_of_request, options_of_server
from stackmask.runtime.serving.vllm_plugin import MARK
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MAX_GRAMMARS: Final = 256  # that are kept for further requests,
MAX_TEXT: Final = 1 << 24  # characters of all of them
MAX_WAITING: Final = 64  # grammars that wait to be compiled; requests with more of them are not drafted for


@dataclass(slots=True)
class _Followed:
    """A request: its grammar, and once that is ready what drafts its tokens."""

    compiled: Future[CompiledGrammar] | None
    start: int  # tokens of its prompt
    follower: Follower | None = None


class GrammarProposer:
    """Propose the next tokens of requests with a grammar; vLLM creates one in each worker.

    Raises: VocabularyError at startup if the bytes of the tokens cannot be determined.
    """

    def __init__(self, vllm_config: Any) -> None:
        model = vllm_config.model_config
        self.most: int = vllm_config.speculative_config.num_speculative_tokens
        self.max_model_len: int = model.max_model_len
        config = vllm_config.structured_outputs_config
        self.options = options_of_server(config, getattr(vllm_config, "additional_config", None))
        self.thinks = bool(getattr(config, "reasoning_parser", ""))
        tokenizer = cached_tokenizer_from_config(model)
        self.vocabulary = Vocabulary.from_huggingface(tokenizer, size=model.get_vocab_size())
        self.compiler = Compiler(self.vocabulary, limits=self.options.limits or Limits())
        self.runner: Any = None
        self._pool = ThreadPoolExecutor(1, "stackmask-drafts")
        self._grammars: dict[Any, Future[CompiledGrammar]] = {}
        self._requests: dict[str, _Followed] = {}
        _pass_on_runners()

    def load_model(self, *_: Any, **__: Any) -> None:
        """Do nothing, since there is no model to load."""

    def propose(
        self,
        sampled_token_ids: Sequence[Sequence[int]],
        num_tokens_no_spec: Any,
        token_ids_cpu: Any,
        slot_mappings: Any = None,
    ) -> list[list[int]]:
        """Return the drafts of a step, one list per request; after an error, a request gets no more drafts.

        Shapes: num_tokens_no_spec (requests,), token_ids_cpu (requests, max_model_len); rows are those of the runner's batch.
        """
        if self.runner is None or self.thinks:
            return [[] for _ in sampled_token_ids]
        ids = self.runner.input_batch.req_ids
        batch = len(sampled_token_ids)
        drafts: list[list[int]] = []
        for row, sampled in enumerate(sampled_token_ids):
            draft: Sequence[int] = ()
            count = int(num_tokens_no_spec[row])
            if sampled and count < self.max_model_len:
                followed = self._requests.get(ids[row]) or self._begin(ids[row])
                if followed.compiled is not None:
                    try:
                        draft = self._draft(followed, token_ids_cpu[row], count, batch)
                    except Exception as error:  # noqa: BLE001 - the output does not depend on it
                        end_drafts(ids[row], error, DRAFTS)
                        followed.compiled = None
            drafts.append(list(draft))
        if len(self._requests) > 2 * max(batch, len(self.runner.requests)):
            self._requests = {i: one for i, one in self._requests.items() if i in self.runner.requests}
        return drafts

    def _begin(self, request_id: str) -> _Followed:
        """Follow a request from now on."""
        request = self.runner.requests[request_id]
        params = getattr(request.sampling_params, "structured_outputs", None)
        prompt = request.prompt_token_ids
        followed = _Followed(None, len(prompt or ()))
        self._requests[request_id] = followed
        if params is None or prompt is None:
            return followed
        try:
            followed.compiled = self._compiled(params)
        except Exception as error:  # noqa: BLE001 - the backend says what is wrong with a grammar
            end_drafts(request_id, error, DRAFTS)
        return followed

    def _compiled(self, params: Any) -> Future[CompiledGrammar] | None:
        """Return the grammar of a request, which may not be compiled yet; None if too many are waiting."""
        kind, text = get_structured_output_key(params)
        options = options_of_request(self.options, params)
        key = kind, text, repr(options)
        found = self._grammars.get(key)
        if found is None:
            if sum(not one.done() for one in self._grammars.values()) >= MAX_WAITING:
                return None
            size = len(text) + sum(len(known) for _, known, _ in self._grammars)
            while self._grammars and (len(self._grammars) >= MAX_GRAMMARS or size > MAX_TEXT):
                oldest = next(iter(self._grammars))
                self._grammars.pop(oldest).cancel()  # if it still waits
                size -= len(oldest[1])
            found = self._pool.submit(lambda: self.compiler.compile(grammar_of(KIND[kind], text, options)))
            self._grammars[key] = found
        return found

    def _draft(self, one: _Followed, tokens: Any, count: int, batch: int) -> Sequence[int]:
        """Return the next draft of a request."""
        assert one.compiled is not None
        if not one.compiled.done():
            return ()
        if one.compiled.cancelled():  # to make room for other grammars
            one.compiled = None
            return ()
        if one.follower is None:
            one.follower = Follower(one.compiled.result(), tokens[: one.start].tolist())
        most = min(self.most, self.max_model_len - count - 1)
        draft = one.follower.draft(tokens, one.start, count, most, batch)
        if draft is None:
            one.compiled = None
        return draft or ()


def _pass_on_runners() -> None:
    """Make vLLM's model runner pass itself to its proposer, if that is ours."""
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    original = GPUModelRunner.propose_draft_token_ids
    if hasattr(original, MARK):
        return

    @functools.wraps(original)
    def propose(self: Any, *arguments: Any, **options: Any) -> Any:
        if type(self.drafter) is GrammarProposer:
            self.drafter.runner = self
        return original(self, *arguments, **options)

    setattr(propose, MARK, original)
    GPUModelRunner.propose_draft_token_ids = propose
