"""The vLLM plugin: adds ``stackmask`` to the backends of its structured outputs.

vLLM has no registry of such backends, so the functions that know their names are wrapped. The plugin runs in
each vLLM process, possibly several times.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import logging
from typing import Any, Final

from stackmask.runtime.serving.versions import ServerVersionError, check_version

NAME: Final = "stackmask"
MARK: Final = "_stackmask_original"  # of a function that was wrapped
COUNTS: Final = "stackmask"  # of a step, among what the scheduler tells the front end
OPTIONS: Final = "_stackmask_options"  # of the server, at its configuration of structured outputs

logger = logging.getLogger("stackmask.serving")


def register() -> None:
    """Register the backend; the entry point of ``vllm.general_plugins``. Repeated calls change nothing.

    For an unsupported version of vLLM, an error is logged, and the backend is not registered: vLLM then
    refuses the name.
    """
    import vllm

    try:
        check_version("vllm", getattr(vllm, "__version__", ""))
    except ServerVersionError as error:
        logger.error("%s", error)
        return
    _allow_name()
    _wrap("vllm.v1.engine.input_processor", "InputProcessor", "__init__", _receiving)
    _wrap("vllm.sampling_params", "SamplingParams", "_validate_structured_outputs", _validating)
    manager = ("vllm.v1.structured_output", "StructuredOutputManager")
    _wrap(*manager, "__init__", _starting)
    _wrap(*manager, "_create_grammar", _creating)
    _wrap(*manager, "grammar_bitmask", _filling)
    _wrap(*manager, "_fill_bitmasks", _filling_rows)
    _wrap(*manager, "validate_tokens", _drafting)
    _wrap("vllm.v1.core.sched.scheduler", "Scheduler", "update_from_output", _reporting)
    _carry_counts()
    _wrap("vllm.v1.metrics.loggers", "PrometheusStatLogger", "record", _recording)
    _wrap_beam_search()


def _wrap(module: str, owner: str, name: str, wrapper: Any) -> None:
    cls = getattr(importlib.import_module(module), owner)
    original = getattr(cls, name, None)
    if original is None or hasattr(original, MARK):
        return
    wrapped = functools.wraps(original)(wrapper(original))
    setattr(wrapped, MARK, original)
    setattr(cls, name, wrapped)


def _allow_name() -> None:
    """Make the configuration accept the name, and the options that it reserves for other backends."""
    from pydantic.dataclasses import rebuild_dataclass
    from vllm.config import structured_outputs as config

    cls = config.StructuredOutputsConfig
    if cls.__annotations__["backend"] is str:
        return
    known = cls.__annotations__["backend"]
    cls.__annotations__["backend"] = str
    cls.__dataclass_fields__["backend"].type = str
    validator = cls.__pydantic_decorators__.model_validators.get("_validate_structured_output_config")

    def validated(self: Any) -> Any:
        if self.backend == NAME:
            return self
        names = known.__args__
        if self.backend not in names:
            raise ValueError(f"backend is {self.backend!r}: it is one of {', '.join(names)}, {NAME}")
        return original(self) if original is not None else self

    original = validator.func if validator is not None else None
    if validator is not None:
        validator.func = validated
    rebuild_dataclass(cls, force=True)
    # it has a copy of that check, and tries it on the configuration that it is given
    rebuild_dataclass(importlib.import_module("vllm.config").VllmConfig, force=True)


def _receiving(original: Any) -> Any:
    """Store the server's options in the part of its configuration that the front end uses to validate requests."""

    def start(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
        original(self, vllm_config, *args, **kwargs)
        config = vllm_config.structured_outputs_config
        if config.backend == NAME:
            from stackmask.runtime.serving.vllm_backend import options_of_server

            setattr(config, OPTIONS, options_of_server(config, vllm_config.additional_config))

    return start


def _validating(original: Any) -> Any:
    def validate(self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> Any:
        config = structured_outputs_config
        if config is None or self.structured_outputs is None or config.backend != NAME:
            return original(self, model_config, config, tokenizer)
        from stackmask.runtime.serving.vllm_backend import validate_request

        return validate_request(self, model_config, config, tokenizer)

    return validate


def _is_ours(backend: Any) -> bool:
    """Return whether a backend's class has the methods of this plugin; objects may be mocks with any attribute."""
    return hasattr(type(backend), "fill_step")


def _starting(original: Any) -> Any:
    """Create the backend with its manager, which chooses by name. An unreadable tokenizer is an error at start."""

    def start(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
        original(self, vllm_config, *args, **kwargs)
        wanted = getattr(vllm_config.structured_outputs_config, "backend", None) == NAME
        if wanted and self.backend is None and not vllm_config.model_config.skip_tokenizer_init:
            from stackmask.runtime.serving.vllm_backend import StackmaskBackend

            size = vllm_config.model_config.get_vocab_size()
            self.backend = StackmaskBackend(vllm_config, tokenizer=self.tokenizer, vocab_size=size)
            self.backend.ended = {}

    return start


def _creating(original: Any) -> Any:
    """Compile with the options of the request, which vLLM does not pass to backends."""

    def create(self: Any, request: Any) -> Any:
        if not _is_ours(self.backend):
            return original(self, request)
        with self.backend.options_of(request.sampling_params.structured_outputs):
            grammar = original(self, request)
        self.backend.narrow(grammar, request.sampling_params)
        if self.backend.options.whole:  # vLLM makes a parser of thoughts where it first needs one
            reasoner = _reasoner(self, request)
            end = _end_of_thoughts(reasoner)
            self.backend.bound(grammar, _most_tokens(self, request), thinks=reasoner is not None, end=end)
        return grammar

    return create


def _most_tokens(manager: Any, request: Any) -> int:
    """Return the maximum number of tokens of a request."""
    room: int = manager.vllm_config.model_config.max_model_len - request.num_prompt_tokens
    given = request.sampling_params.max_tokens
    return room if given is None else min(given, room)


def _reasoner(manager: Any, request: Any) -> Any:
    """Return the reasoning parser of a request, or None."""
    if getattr(manager, "enable_in_reasoning", False):
        return None
    if getattr(manager, "reasoner_cls", None) is not None:  # since 0.33 each request has its own
        return manager._get_reasoner(request)
    return getattr(manager, "reasoner", None)


def _end_of_thoughts(reasoner: Any) -> int | None:
    """Return the token that ends the reasoning, or None if there is no such token."""
    token = getattr(reasoner, "end_token_id", None)
    if token is None and getattr(reasoner, "reasoning_end_str", None):
        token = getattr(reasoner, "vocab", {}).get(reasoner.reasoning_end_str)
    return token if isinstance(token, int) else None


def _thoughts(manager: Any, request: Any) -> Any:
    """Return the bounds of a request's reasoning at its next token; None without reasoning."""
    thoughts = getattr(request.structured_output_request.grammar, "thoughts", None)
    if thoughts is not None:
        thoughts.start_step(_most_tokens(manager, request) - request.num_output_tokens)
    return thoughts


def _drafting(original: Any) -> Any:
    """Truncate drafts where the reasoning must end, or must not end."""

    def validate_tokens(self: Any, request: Any, spec_tokens: list[int]) -> Any:
        if request.use_structured_output and _is_ours(self.backend) and not _applies(self, request):
            thoughts = _thoughts(self, request)
            place = None if thoughts is None else thoughts.first_forbidden(spec_tokens)
            if place is not None:
                return spec_tokens[:place]
        return original(self, request, spec_tokens)

    return validate_tokens


def _filling_rows(original: Any) -> Any:
    """Bound the reasoning in a step with drafts, whose masks vLLM fills row by row."""

    def _fill_bitmasks(self: Any, batch: Any) -> None:
        for row in batch:
            grammar, index, applies = row[:3]
            original(self, (row,))
            thoughts = None if applies else getattr(grammar, "thoughts", None)
            if thoughts is not None and not grammar.guarded.matcher.accept_calls:
                thoughts.restrict(self._grammar_bitmask[index].numpy().view("uint32"))

    return _fill_bitmasks


def _filling(original: Any) -> Any:
    """Fill the masks of a step in one call if there are no drafts."""

    # arguments have vLLM's names, since it may hand them over by name
    def grammar_bitmask(
        self: Any, requests: Any, structured_output_request_ids: Any, scheduled_spec_decode_tokens: Any
    ) -> Any:
        ids, drafts = structured_output_request_ids, scheduled_spec_decode_tokens
        drafted = drafts or getattr(self.vllm_config, "num_speculative_tokens", 1)
        if not ids or not _is_ours(self.backend):
            return original(self, requests, ids, drafts)
        for request_id in ids:
            _thoughts(self, requests[request_id])
        if drafted:
            return original(self, requests, ids, drafts)
        grammars: list[Any] = []
        held, thoughts = {}, {}
        # since 0.33: tokens that end a thought and begin the text, while the grammar refuses them there
        ends = getattr(self, "_masked_reasoning_ends", None)
        for row, request_id in enumerate(ids):
            request = requests[request_id]
            grammar = request.structured_output_request.grammar
            if _applies(self, request):
                grammars.append(grammar)
                if grammar.thoughts is not None:
                    grammar.thoughts.begin_text()
                continue
            grammars.append(None)
            if grammar.thoughts is not None:
                thoughts[row] = grammar.thoughts
            if ends is not None and (tokens := ends(request)):
                held[row] = tokens
        return self.backend.fill_step(
            grammars, self.vllm_config.scheduler_config.max_num_seqs, held, thoughts
        )

    return grammar_bitmask


def _applies(manager: Any, request: Any) -> bool:
    """Return whether the next token of a request is constrained, which it is not during reasoning."""
    ended = getattr(request.structured_output_request, "reasoning_ended", None)
    if ended or getattr(manager, "enable_in_reasoning", False):
        return True
    bounds = getattr(manager, "_get_constraint_bounds", None)
    if bounds is not None:
        return bool(bounds(request, ()).constraint_start == 0)
    return bool(manager.should_fill_bitmask(request))


def _reporting(original: Any) -> Any:
    def update_from_output(self: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = original(self, *args, **kwargs)
        backend = self.structured_output_manager.backend
        if _is_ours(backend):
            backend.report(outputs)
        return outputs

    return update_from_output


def _carry_counts() -> None:
    """Add a field for counters to the scheduler's statistics, since another process exports them."""
    from vllm.v1.metrics.stats import SchedulerStats

    known = SchedulerStats.__dataclass_fields__
    if COUNTS not in known:
        kind = dict[str, float] | None
        place = dataclasses.field(default=None, init=False)
        (known[COUNTS],) = dataclasses.fields(dataclasses.make_dataclass("_", [(COUNTS, kind, place)]))
        SchedulerStats.__annotations__[COUNTS] = kind
        setattr(SchedulerStats, COUNTS, None)


def _recording(original: Any) -> Any:
    def record(self: Any, scheduler_stats: Any, *args: Any, **kwargs: Any) -> None:
        original(self, scheduler_stats, *args, **kwargs)
        counts = getattr(scheduler_stats, COUNTS, None)
        if counts:
            from stackmask.runtime.serving.metrics import publish

            publish(counts)

    return record


def _wrap_beam_search() -> None:
    """Make ``LLM.beam_search``, which creates its backend by name separately, use this one."""
    try:
        module = importlib.import_module("vllm.entrypoints.generate.beam_search.offline")
    except ImportError:  # earlier versions have no structured beam search
        return
    name = "_init_beam_search_structured_output"
    for found in list(vars(module).values()):
        if isinstance(found, type) and name in vars(found):
            _wrap(found.__module__, found.__name__, name, _beam_search)


def _beam_search(original: Any) -> Any:
    def init(self: Any, structured_outputs: Any, tokenizer: Any) -> Any:
        config = self.llm_engine.vllm_config
        if (structured_outputs._backend or config.structured_outputs_config.backend) != NAME:
            return original(self, structured_outputs, tokenizer)
        from vllm.v1.structured_output.request import get_structured_output_key

        from stackmask.runtime.serving.vllm_backend import StackmaskBackend

        structured_outputs._backend = NAME
        size = self.model_config.get_vocab_size()
        backend = StackmaskBackend(config, tokenizer=tokenizer, vocab_size=size)
        return backend, get_structured_output_key(structured_outputs), backend.allocate_token_bitmask(1)

    return init
