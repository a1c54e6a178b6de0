"""Generate text that a grammar accepts: one call around ``model.generate``."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias, final

import torch
from transformers import LogitsProcessorList, StoppingCriteria, StoppingCriteriaList, StopStringCriteria

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.outputs import Output, OutputError
from stackmask.runtime.fsm.compiling import CompiledFsm
from stackmask.runtime.generation.arguments import (
    as_chat_options,
    chat_text,
    check_model_options,
    check_sources,
)
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.jumping import JumpDecoding
from stackmask.runtime.generation.models import compiler_for
from stackmask.runtime.generation.processor import GrammarLogitsProcessor
from stackmask.runtime.generation.result import GenerationResult, JumpReport, Prompt
from stackmask.runtime.generation.text import TokenStreamer
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

GrammarLike: TypeAlias = Any
"""A Grammar, a compiled one, anything that ``Grammar.of`` takes, or None for free text."""

DEFAULT_MAX_NEW_TOKENS = 256
_OURS = frozenset({"eos_token_id", "pad_token_id", "inputs", "input_ids", "attention_mask", "streamer"})


def generate(
    model: Any,
    tokenizer: Any,
    prompts: Prompt | Sequence[Prompt],
    grammar: GrammarLike | Sequence[GrammarLike],
    *,
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS,
    on_text: Callable[[int, str], None] | None = None,
    progress: bool = False,
    seed: int | None = None,
    jump: str = "canonical",
    vocabulary: Vocabulary | None = None,
    compiler: Compiler | None = None,
    chat_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[GenerationResult]:
    """Generate a text of the grammar for each prompt.

    ``prompts``: one or several; a prompt is text or a list of chat messages. ``grammar``: what is to be written, one for
    all prompts or, in a list beside a list of prompts, one per prompt: anything that ``Grammar.of`` takes (a type, a JSON
    Schema, a ``re.Pattern``, a list of choices, EBNF text), a compiled grammar, or None for free text. The value of the
    text is ``result.parsed``. ``chat_options`` go to the tokenizer's chat template: ``tools``, ``enable_thinking``,
    ``continue_final_message`` and so on. ``on_text(index, text)`` is
    called for each new piece of text of result ``index`` (not with beam search). ``progress`` shows a bar of
    steps. ``seed`` makes sampling repeatable and leaves torch's generators as they were. ``jump``: "canonical" writes
    text that the grammar forces without asking the model, as the tokenizer would; "off" asks it for every token. Beam
    search, drafts (prompt lookup, assistants) and encoder-decoder models are never jumped over.

    ``options`` go to ``model.generate``: do_sample, temperature, top_p, num_beams, num_return_sequences,
    prompt_lookup_num_tokens and so on; with several sequences per prompt the results lie side by side.
    ``compiler`` (or ``vocabulary``, to make one) is found from model and tokenizer, and kept for the next call.

    Raises: GenerationError for arguments that make no sense; GrammarError and VocabularyError as compiling does.
    """
    check_sources(model, tokenizer)
    batch = _as_prompts(prompts)
    _check_options(batch, max_new_tokens, on_text, options)
    check_model_options(model, options)
    chat_options = as_chat_options(chat_options)
    if not batch:
        return []
    if compiler is None:
        compiler = compiler_for(model, tokenizer) if vocabulary is None else Compiler(vocabulary)
    vocabulary = compiler.vocabulary
    compiled = _compile_all(compiler, grammar, len(batch), one=_is_one(prompts))
    inputs = _encode(tokenizer, batch, _pad_id(tokenizer, vocabulary), chat_options)
    inputs = {name: value.to(model.device) for name, value in inputs.items()}
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]

    criteria = StoppingCriteriaList(options.pop("stopping_criteria", ()))
    streamer = None if on_text is None else TokenStreamer(vocabulary, on_text)
    jumping = _jumping(model, compiled, jump, options, streamer)
    processors = LogitsProcessorList(options.pop("logits_processor", ()))
    if (stop_strings := options.pop("stop_strings", None)) is not None:
        # transformers would ask for the tokenizer
        criteria.append(StopStringCriteria(tokenizer, stop_strings))
    if jumping is None:
        processors.append(GrammarLogitsProcessor(compiled))
    else:
        options["custom_generate"] = jumping
        streamer = None  # not handed on by transformers
    with ExitStack() as stack:
        if progress:
            criteria.append(stack.enter_context(_ProgressBar(start, max_new_tokens)))
        stack.enter_context(_seeded(seed, model.device))
        output = model.generate(
            **inputs,
            max_new_tokens=max_new_tokens,
            eos_token_id=list(vocabulary.stop_ids),
            pad_token_id=_pad_id(tokenizer, vocabulary),
            logits_processor=processors,
            stopping_criteria=criteria,
            streamer=streamer,
            **options,
        )
    if jumping is None:
        rows = getattr(output, "sequences", output)[:, start:].tolist()
        reports: list[JumpReport | None] = [None] * len(rows)
    else:
        rows, reports = jumping.written, list(jumping.reports)
    each = len(rows) // len(batch)
    return [
        _result(batch[i // each], compiled[i // each], vocabulary, row, max_new_tokens, report)
        for i, (row, report) in enumerate(zip(rows, reports, strict=True))
    ]


def _jumping(
    model: Any,
    compiled: list[CompiledGrammar | None],
    jump: str,
    options: Mapping[str, Any],
    streamer: TokenStreamer | None,
) -> JumpDecoding | None:
    """Return the decoding that jumps, or None where transformers' own loop is to run."""
    if jump not in ("canonical", "off"):
        raise GenerationError(f'jump is {jump!r}, not "canonical" or "off"')
    config = options.get("generation_config")
    beams = options.get("num_beams", getattr(config, "num_beams", 1)) or 1
    drafts = any(
        options.get(name, getattr(config, name, None)) is not None
        for name in ("prompt_lookup_num_tokens", "assistant_model", "custom_generate")
    )
    if jump == "off" or beams > 1 or drafts or model.config.is_encoder_decoder or not any(compiled):
        return None
    return JumpDecoding(compiled, streamer=streamer)


@final
class TextStream(Iterator[str], AsyncIterator[str]):
    """The text of one generation, piece by piece, for ``for`` and ``async for``; ``result`` is there at its end.

    Closing it (or leaving its ``with`` block) early ends the generation at the next token, as cancelling the task does
    that iterates.
    """

    def __init__(
        self,
        run: Callable[[Callable[[int, str], None], StoppingCriteria], list[GenerationResult]],
        output: Output | None = None,
    ) -> None:
        self._output = output
        self._text: list[str] = []
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stop = _StopFlag()
        self._error: BaseException | None = None
        self._results: list[GenerationResult] = []
        self._thread = threading.Thread(target=self._work, args=(run,), name="stackmask-stream", daemon=True)
        self._thread.start()

    def _work(self, run: Callable[..., list[GenerationResult]]) -> None:
        try:
            self._results = run(lambda _, text: self._pieces.put(text), self._stop)
        except BaseException as error:  # noqa: BLE001  # handed to the thread that iterates
            self._error = error
        finally:
            self._pieces.put(None)

    def __next__(self) -> str:
        piece = self._pieces.get() if self._thread.is_alive() or not self._pieces.empty() else None
        if piece is not None:
            self._text.append(piece)
            return piece
        self._thread.join()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        raise StopIteration

    async def __anext__(self) -> str:
        try:
            piece = await asyncio.to_thread(next, self, None)
        except asyncio.CancelledError:
            self._stop.set()
            raise
        if piece is None:
            raise StopAsyncIteration
        return piece

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self._text)

    @property
    def partial(self) -> Any:
        """The value of what has come so far, in plain Python values; None while there is none, or no type.

        Cost: linear in the text. Needs pydantic where the text is JSON.
        """
        return None if self._output is None else self._output.partial(self.text)

    @property
    def result(self) -> GenerationResult:
        """The whole result. Raises: GenerationError while the generation goes on, or if it failed."""
        if self._thread.is_alive() or not self._results:
            raise GenerationError("the stream has no result yet: iterate over it to its end")
        return self._results[0]

    def close(self) -> None:
        """End the generation after its current step, and wait for that."""
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def stream(model: Any, tokenizer: Any, prompt: Prompt, grammar: GrammarLike, **options: Any) -> TextStream:
    """Generate for one prompt and yield the text as it comes; arguments as for ``generate``.

    Example: ``for piece in stream(model, tokenizer, "Say hello in JSON:", grammar): print(piece, end="")``
    """
    for name in ("on_text", "stopping_criteria"):
        if name in options:
            raise GenerationError(f"{name} cannot be given to stream: use generate")

    def run(on_text: Callable[[int, str], None], stop: StoppingCriteria) -> list[GenerationResult]:
        criteria = StoppingCriteriaList([stop])
        return generate(
            model, tokenizer, [prompt], [grammar], on_text=on_text, stopping_criteria=criteria, **options
        )

    if grammar is not None and not isinstance(grammar, CompiledGrammar | CompiledFsm):
        grammar = Grammar.of(grammar)
    source = getattr(grammar, "grammar", grammar)
    return TextStream(run, getattr(source, "output", None))


async def agenerate(
    model: Any,
    tokenizer: Any,
    prompts: Prompt | Sequence[Prompt],
    grammar: GrammarLike | Sequence[GrammarLike],
    **options: Any,
) -> list[GenerationResult]:
    """Generate in a thread, so that the event loop goes on; arguments, results and errors as of ``generate``.

    When the task is cancelled, the generation ends after its current step.
    """
    stop = _StopFlag()
    criteria = StoppingCriteriaList([*options.pop("stopping_criteria", ()), stop])
    try:
        return await asyncio.to_thread(
            generate, model, tokenizer, prompts, grammar, stopping_criteria=criteria, **options
        )
    except asyncio.CancelledError:
        stop.set()
        raise


class _StopFlag(StoppingCriteria):
    """Stop all rows once set, from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **_: Any) -> torch.Tensor:
        return torch.full((len(input_ids),), self._event.is_set(), dtype=torch.bool, device=input_ids.device)


@final
class _ProgressBar(StoppingCriteria):
    """Show the number of generated tokens per row; stops nothing."""

    def __init__(self, start: int, total: int) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        self._start = start
        self._bar = tqdm(total=total, desc="generating", unit="token")

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **_: Any) -> torch.Tensor:
        # rows of several lengths come one after the other
        self._bar.update(max(0, input_ids.shape[1] - self._start - self._bar.n))
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

    def __enter__(self) -> _ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def _is_one(prompts: Prompt | Sequence[Prompt]) -> bool:
    """Tell whether this is one prompt: a text, or the messages of one chat."""
    return isinstance(prompts, str) or (
        isinstance(prompts, Sequence)
        and bool(prompts)
        and all(isinstance(message, Mapping) for message in prompts)
    )


def _as_prompts(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str):
        return [prompts]
    if not isinstance(prompts, Sequence) or isinstance(prompts, bytes):
        raise GenerationError(f"a prompt is text or a list of messages, not {type(prompts).__name__}")
    listed: list[Any] = list(prompts)
    if listed and all(isinstance(item, Mapping) for item in listed):
        return [listed]
    for item in listed:
        if not isinstance(item, str) and not (
            isinstance(item, Sequence) and all(isinstance(message, Mapping) for message in item)
        ):
            raise GenerationError(f"a prompt is {type(item).__name__}: it must be text or a list of messages")
    return listed


def _check_options(
    prompts: list[Prompt], max_new_tokens: int, on_text: Any, options: Mapping[str, Any]
) -> None:
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int):
        raise GenerationError(f"max_new_tokens is {max_new_tokens!r:.60}, must be a whole number")
    if max_new_tokens < 1:
        raise GenerationError(f"max_new_tokens is {max_new_tokens}, must be 1 or more")
    if on_text is not None and options.get("num_beams", 1) > 1:
        raise GenerationError(
            f"on_text cannot be used with num_beams={options['num_beams']}: beams change places"
        )
    for name in ("prompt_lookup_num_tokens", "assistant_model"):
        if options.get(name) is not None and len(prompts) > 1:
            raise GenerationError(f"{name} works for one prompt at a time, but there are {len(prompts)}")
    if clash := _OURS.intersection(options):
        raise GenerationError(f"{', '.join(sorted(clash))} cannot be given: generate sets it itself")


def _compile_all(
    compiler: Compiler, grammar: GrammarLike | Sequence[GrammarLike], prompts: int, *, one: bool
) -> list[CompiledGrammar | None]:
    """Compile the grammar of each prompt; equal objects once. ``one``: the prompt was not given in a list."""
    listed: list[Any]
    is_choices = (
        one
        and isinstance(grammar, Sequence)
        and bool(grammar)
        and all(isinstance(item, str) for item in grammar)
    )
    if isinstance(grammar, Sequence) and not isinstance(grammar, str) and not is_choices:
        listed = list(grammar)
        if len(listed) != prompts:
            raise GenerationError(f"grammar has {len(listed)} entries, but there are {prompts} prompts")
    else:
        listed = [grammar] * prompts
    done: dict[int, Any] = {}
    for item in listed:
        if id(item) in done:
            continue
        if item is None:
            done[id(item)] = None
        elif isinstance(item, CompiledGrammar | CompiledFsm):
            if not item.vocabulary.fits(compiler.vocabulary):
                raise GenerationError(
                    f"the grammar was compiled for {item.vocabulary!r}, but the model's vocabulary is "
                    f"{compiler.vocabulary!r}: pass the Grammar itself, or its own compiler"
                )
            done[id(item)] = item
        else:
            try:
                done[id(item)] = compiler.compile(item)
            except OutputError as error:
                raise GenerationError(f"grammar is {type(item).__name__}: {error}") from None
    return [done[id(item)] for item in listed]


def _pad_id(tokenizer: Any, vocabulary: Vocabulary) -> int:
    pad = getattr(tokenizer, "pad_token_id", None)
    return int(pad) if pad is not None else vocabulary.stop_ids[0] if vocabulary.stop_ids else 0


def _encode(
    tokenizer: Any, prompts: list[Prompt], pad: int, chat_options: Mapping[str, Any]
) -> dict[str, torch.Tensor]:
    """Tokenise, and pad on the left: the tokenizer's own padding may be unset or on the right."""
    rows: list[list[int]] = []
    goes_on = bool(chat_options.get("continue_final_message"))
    template = {"add_generation_prompt": not goes_on, **chat_options, "tokenize": False}
    for prompt in prompts:
        if isinstance(prompt, str):
            ids = tokenizer(prompt)["input_ids"]
        else:
            text = chat_text(tokenizer, prompt, template)
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            start = next((i for i in (tokenizer.bos_token_id, tokenizer.eos_token_id) if i is not None), pad)
            ids = [start]
        rows.append(list(ids))
    width = max(map(len, rows))
    return {
        "input_ids": torch.tensor([[pad] * (width - len(row)) + row for row in rows]),
        "attention_mask": torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows]),
    }


def _seeded(seed: int | None, device: torch.device) -> Any:
    if seed is None:
        return nullcontext()
    stack = ExitStack()
    devices = [device] if device.type == "cuda" else []
    stack.enter_context(torch.random.fork_rng(devices=devices))
    torch.manual_seed(seed)
    return stack


def _result(
    prompt: Prompt,
    compiled: CompiledGrammar | None,
    vocabulary: Vocabulary,
    row: list[int],
    limit: int,
    jumps: JumpReport | None,
) -> GenerationResult:
    """Cut a row at its first stop token, and judge it with a matcher of its own."""
    stops = frozenset(vocabulary.stop_ids)
    end = next((i for i, token in enumerate(row) if token in stops), None)
    ids = row[:end]
    finished = end is not None
    if compiled is not None:
        matcher = compiled.matcher()
        finished = all(matcher.accept_token(token) for token in ids) and matcher.is_accepting()
    text = vocabulary.decode(ids).decode("utf-8", "replace")
    parsed, parse_error = _parsed(compiled, text, finished)
    return GenerationResult(
        prompt=prompt,
        text=text,
        token_ids=tuple(ids),
        finished=finished,
        reason="stop" if end is not None else "length" if len(ids) >= limit else "interrupted",
        jumps=jumps,
        parsed=parsed,
        parse_error=parse_error,
    )


def _parsed(compiled: CompiledGrammar | CompiledFsm | None, text: str, finished: bool) -> tuple[Any, str]:
    """Return the value of a text, or None and why there is none."""
    output = getattr(getattr(compiled, "grammar", None), "output", None)
    if output is None:
        return (
            None,
            "the grammar says nothing of values: make it of a type, a JSON Schema, choices or a pattern",
        )
    if not finished:
        return None, "the text is not finished"
    try:
        return output.value(text), ""
    except Exception as error:  # noqa: BLE001  # validators of a type may raise anything, and the text is not to be lost
        return None, f"{type(error).__name__}: {error}"
