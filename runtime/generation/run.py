"""Generate text that a grammar accepts, with one call of ``model.generate``."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any, Final, Literal, final, overload

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
    StopStringCriteria,
)

from stackmask.grammar.outputs import R, T
from stackmask.grammar.source.options import ELSEWHERE
from stackmask.grammar.source.similar import similar
from stackmask.runtime.generation.endings import Finish, check_finish, check_wrap_up, watched_tokens
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.jumping import JumpDecoding, check_jump
from stackmask.runtime.generation.models import compiler_for
from stackmask.runtime.generation.processor import GrammarLogitsProcessor
from stackmask.runtime.generation.prompts import as_prompts, encode, is_one, lay_out, pad_id
from stackmask.runtime.generation.result import GenerationResult, JumpReport, Prompt, Prompts, Results, Tools
from stackmask.runtime.generation.text import TokenStreamer
from stackmask.runtime.generation.turns import TurnPlan
from stackmask.runtime.generation.wanted import MISSING, compile_all, grammars_of, result_of
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

DEFAULT_MAX_NEW_TOKENS = 256
_OURS = frozenset({"eos_token_id", "pad_token_id", "inputs", "input_ids", "attention_mask", "streamer"})


@overload
def generate(
    model: Any, tokenizer: Any, prompts: Prompts, grammar: type[T] = ..., *, tools: Tools[R] = ..., **kw: Any
) -> list[GenerationResult[T, R]]: ...


@overload
def generate(
    model: Any, tokenizer: Any, prompts: Prompts, grammar: Any = ..., **kw: Any
) -> list[GenerationResult]: ...


def generate(
    model: Any,
    tokenizer: Any,
    prompts: Prompts,
    grammar: Any = MISSING,
    *,
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS,
    on_text: Callable[[int, str], None] | None = None,
    progress: bool = False,
    seed: int | None = None,
    jump: str = "canonical",
    finish: Finish = None,
    wrap_up: float | None = None,
    vocabulary: Vocabulary | None = None,
    compiler: Compiler | None = None,
    profile: Literal["exact", "model"] = "model",
    tools: Iterable[Any] | None = None,
    tool_choice: Any = "auto",
    reasoning: str | None = None,
    parallel: bool = True,
    style: Any = None,
    chat_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[GenerationResult]:
    """Generate a text of the grammar for each prompt.

    ``prompts``: one or several prompts, each a string or a list of chat messages. ``grammar``: the output
    format, for all prompts or, with a list of prompts, a list with one for each: anything that ``Grammar.of``
    accepts (a type, a JSON Schema, a ``re.Pattern``, a list of choices, EBNF text), a compiled grammar, or
    None for free text. The value of the text is ``result.parsed``. ``profile``: the spelling of JSON, as in
    ``Grammar.of``. ``chat_options``: passed to the tokenizer's chat template:
    ``enable_thinking``, ``continue_final_message`` and so on. ``on_text(index, text)`` is called for each new
    piece of text of result ``index`` (not with beam search). ``progress`` shows a bar of steps. ``seed``
    makes sampling reproducible without changing torch's global generators. ``jump``: "canonical" appends
    forced text without calling the model, tokenized as the tokenizer would; with "draft" the model chooses
    every token; both also draft tokens for the model to verify in one call, as in speculative decoding; "off"
    does neither. Jump-forward is not used with beam search, with prompt lookup or assistants of transformers,
    or with encoder-decoder models. ``finish``: "whole" completes each constrained text within
    ``max_new_tokens``, stop token included, and raises an error if the limit is too small; "cut" truncates
    texts at the limit; None, the default, means "whole" if the limit is large enough. ``wrap_up``: a share of
    ``max_new_tokens``; ``result.closing_at`` is the number of tokens after which the rest of this share only
    sufficed to complete the text. Tokens do not change.

    ``tools``, ``tool_choice``, ``reasoning``, ``parallel`` (or ``parallel_tool_calls``): the model generates
    a whole turn (``tools.grammar``), in the ``style`` of its chat template or a named style; ``grammar`` is
    then the grammar of the answer. The parts of the turn are in ``result.calls``, ``reasoning``, ``content``
    and ``parsed``. Tools and switches are passed to the chat template automatically.

    ``options`` are passed to ``model.generate``: do_sample, temperature, top_p, num_beams,
    num_return_sequences, prompt_lookup_num_tokens and so on; with several sequences per prompt, their results
    are adjacent. ``compiler`` (or ``vocabulary``, to create one): by default, a compiler for the model and
    tokenizer, cached for later calls.

    Raises: GenerationError for invalid arguments; GrammarError and VocabularyError as for compiling.
    """
    check_sources(model, tokenizer)
    check_finish(finish)
    check_wrap_up(wrap_up)
    chat_options = as_chat_options(chat_options)
    batch = as_prompts(prompts)
    _check_options(batch, max_new_tokens, on_text, chat_options, options)
    parallel = options.pop("parallel_tool_calls", parallel)  # OpenAI's name of it
    check_model_options(model, options)
    plan = plan_of(tokenizer, tools, tool_choice, reasoning, parallel, style)
    if not batch:
        return Results()
    grammars = grammars_of(grammar, len(batch), plan, one=is_one(prompts))
    if compiler is None:
        compiler = compiler_for(model, tokenizer) if vocabulary is None else Compiler(vocabulary)
    vocabulary = compiler.vocabulary
    criteria = StoppingCriteriaList(options.pop("stopping_criteria", ()))
    cancel = next((each for each in criteria if isinstance(each, StopFlag)), None)
    texts = lay_out(tokenizer, batch, chat_options if plan is None else plan.chat_options(chat_options))
    wanted = compile_all(compiler, grammars, profile, plan, texts, cancel)
    compiled = [each.compiled for each in wanted]
    inputs = encode(tokenizer, batch, texts, pad_id(tokenizer, vocabulary))
    inputs = {name: value.to(model.device) for name, value in inputs.items()}
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]

    named = {} if plan is None else plan.marker_texts(vocabulary)
    streamer = None if on_text is None else TokenStreamer(vocabulary, on_text, named)
    options |= {"stopping_criteria": criteria, "max_new_tokens": max_new_tokens}
    with ExitStack() as stack:
        if progress:
            criteria.append(stack.enter_context(ProgressBar(start, max_new_tokens)))
        stack.enter_context(_seeded(seed, model.device))
        rows, reports = _run(model, tokenizer, inputs, vocabulary, compiled, jump, finish, streamer, options)
    each = len(rows) // len(batch)
    watched = watched_tokens(wrap_up, max_new_tokens)
    return Results(
        result_of(batch[i // each], wanted[i // each], vocabulary, row, max_new_tokens, report, watched)
        for i, (row, report) in enumerate(zip(rows, reports, strict=True))
    )


def _run(
    model: Any,
    tokenizer: Any,
    inputs: dict[str, torch.Tensor],
    vocabulary: Vocabulary,
    compiled: list[CompiledGrammar | None],
    jump: str,
    finish: Finish,
    streamer: TokenStreamer | None,
    options: dict[str, Any],
) -> tuple[list[list[int]], list[JumpReport | None]]:
    """Return the tokens generated after the prompts, and the numbers of calls that jumping saved."""
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    jumping = _jumping(model, compiled, jump, finish, options, streamer)
    processors = LogitsProcessorList(options.pop("logits_processor", ()))
    if (stop_strings := options.pop("stop_strings", None)) is not None:
        # transformers would ask for the tokenizer
        options["stopping_criteria"].append(StopStringCriteria(tokenizer, stop_strings))
    if jumping is None:
        room = options["max_new_tokens"]
        processors.append(GrammarLogitsProcessor(compiled, max_new_tokens=room, finish=finish))
    else:
        options["custom_generate"] = jumping
    output = model.generate(
        **inputs,
        eos_token_id=list(vocabulary.stop_ids),
        pad_token_id=pad_id(tokenizer, vocabulary),
        logits_processor=processors,
        streamer=streamer if jumping is None else None,  # transformers does not hand it on
        **options,
    )
    if jumping is not None:
        return jumping.written, list(jumping.reports)
    rows: list[list[int]] = getattr(output, "sequences", output)[:, start:].tolist()
    return rows, [None] * len(rows)


def _jumping(
    model: Any,
    compiled: list[CompiledGrammar | None],
    jump: str,
    finish: Finish,
    options: Mapping[str, Any],
    streamer: TokenStreamer | None,
) -> JumpDecoding | None:
    """Return the decoding with jump-forward, or None if transformers' own loop must run."""
    check_jump(jump)
    config = options.get("generation_config")
    beams = options.get("num_beams", getattr(config, "num_beams", 1)) or 1
    drafts = any(
        options.get(name, getattr(config, name, None)) is not None
        for name in ("prompt_lookup_num_tokens", "assistant_model", "custom_generate")
    )
    if jump == "off" or beams > 1 or drafts or model.config.is_encoder_decoder or not any(compiled):
        return None
    return JumpDecoding(compiled, jump=jump, streamer=streamer, finish=finish)


def plan_of(
    tokenizer: Any,
    tools: Iterable[Any] | None,
    tool_choice: Any,
    reasoning: str | None,
    parallel: bool,
    style: Any,
) -> TurnPlan | None:
    """Return the plan of turns, or None if no turn is requested. Raises: as ``TurnPlan``."""
    if tools is None and reasoning is None and style is None:
        if tool_choice != "auto":
            raise GenerationError("tool_choice chooses among tools: give tools=[…]")
        return None
    return TurnPlan(
        tokenizer, style, tools, tool_choice, "auto" if reasoning is None else reasoning, parallel
    )


def _check_options(
    prompts: list[Prompt], max_new_tokens: int, on_text: Any, chat_options: Any, options: Mapping[str, Any]
) -> None:
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int):
        raise GenerationError(f"max_new_tokens is {max_new_tokens!r:.60}, must be a whole number")
    if max_new_tokens < 1:
        raise GenerationError(f"max_new_tokens is {max_new_tokens}, must be 1 or more")
    if on_text is not None and not callable(on_text):
        raise GenerationError(f"on_text is {type(on_text).__name__}: give a function of (index, text)")
    if on_text is not None and options.get("num_beams", 1) > 1:
        raise GenerationError(
            f"on_text cannot be used with num_beams={options['num_beams']}: beams change places"
        )
    for name in ("prompt_lookup_num_tokens", "assistant_model"):
        if options.get(name) is not None and len(prompts) > 1:
            raise GenerationError(f"{name} works for one prompt at a time, but there are {len(prompts)}")
    if chat_options and all(isinstance(prompt, str) for prompt in prompts):
        raise GenerationError(
            "chat_options are for chats, but the prompts are strings: give lists of messages"
        )
    if clash := _OURS.intersection(options):
        raise GenerationError(f"{', '.join(sorted(clash))} cannot be given: generate sets it itself")


def _seeded(seed: int | None, device: torch.device) -> Any:
    if seed is None:
        return nullcontext()
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise GenerationError(f"seed is {seed!r:.60}: give a whole number, or None")
    stack = ExitStack()
    devices = [device] if device.type == "cuda" else []
    stack.enter_context(torch.random.fork_rng(devices=devices))
    torch.manual_seed(seed)
    return stack


# -- What is wrong with the arguments of a generation, said before transformers meets it -------------------


OURS: Final = (
    "max_new_tokens",
    "on_text",
    "progress",
    "seed",
    "jump",
    "vocabulary",
    "compiler",
    "chat_options",
)


def check_sources(model: Any, tokenizer: Any) -> None:
    """Check that a model and a tokenizer are given, in this order. Raises: GenerationError."""
    is_model = hasattr(model, "generate") and hasattr(model, "get_output_embeddings")
    is_tokenizer = callable(tokenizer) and not hasattr(tokenizer, "get_output_embeddings")
    if not is_model and hasattr(tokenizer, "get_output_embeddings"):
        raise GenerationError("the model comes first, and then the tokenizer: generate(model, tokenizer, …)")
    if not is_model:
        cure = (
            f": write AutoModelForCausalLM.from_pretrained({model!r:.60})" if isinstance(model, str) else ""
        )
        raise GenerationError(
            f"the model is {type(model).__name__}, not a model of transformers that generates{cure}"
        )
    if not is_tokenizer:
        cure = (
            f": write AutoTokenizer.from_pretrained({tokenizer!r:.60})" if isinstance(tokenizer, str) else ""
        )
        raise GenerationError(f"the tokenizer is {type(tokenizer).__name__}, not one of transformers{cure}")


def check_model_options(model: Any, options: Mapping[str, Any]) -> None:
    """Check that no option is misspelt. Options unlike known ones go to the model. Raises: GenerationError."""
    if not options:
        return
    elsewhere = ELSEWHERE["generate"]
    known = set(vars(GenerationConfig()))  # type: ignore[no-untyped-call]
    for call in (model.generate, model.forward):
        known |= set(inspect.signature(call).parameters)
    for name in options:
        if name in elsewhere:
            raise GenerationError(f"generate has no option `{name}`; write {elsewhere[name]}")
        if name in known:
            continue
        close = similar(name, sorted({*known, *OURS}))
        if close:
            raise GenerationError(f"generate has no option `{name:.60}`; did you mean `{close}`?")


def as_chat_options(options: Any) -> dict[str, Any]:
    """Return the options of a chat template as a dict. Raises: GenerationError for other arguments."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise GenerationError(
            f'chat_options is {type(options).__name__}, must be a dict such as {{"enable_thinking": False}}'
        )
    return dict(options)


# -- Criteria of ours beside those of transformers: stop when asked to, and show progress ----------------


class StopFlag(StoppingCriteria):
    """A flag that stops all rows, and compilation, once any thread sets it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **_: Any) -> torch.Tensor:
        return torch.full((len(input_ids),), self._event.is_set(), dtype=torch.bool, device=input_ids.device)


@final
class ProgressBar(StoppingCriteria):
    """Shows the number of generated tokens of each row; as a criterion, it never stops a row."""

    def __init__(self, start: int, total: int) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        self._start = start
        self._bar = tqdm(total=total, desc="generating", unit="token")

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **_: Any) -> torch.Tensor:
        # rows of several lengths come one after the other
        self._bar.update(max(0, input_ids.shape[1] - self._start - self._bar.n))
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
