"""Decoding that jumps over forced text: a ``custom_generate`` for transformers.

The loop is that of sampling and greedy search, but a row may write several tokens at a time, and may write its last
ones anew. All that a row has written and the model has not read goes through it in one forward pass. With a cache
that allows gaps, rows of a batch jump by different lengths: shorter ones are filled up on the left with columns that
the attention mask hides, and tokens taken back are hidden, or cropped once no row needs their columns. With other
caches all rows take as many tokens as the shortest has to offer, and only a single row may take tokens back.
"""

from __future__ import annotations

import inspect
import math
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import torch
from transformers import EosTokenCriteria, GenerationMixin, LogitsProcessorList, MaxLengthCriteria
from transformers.generation.utils import GenerateDecoderOnlyOutput

from stackmask.runtime.generation.caches import CACHE_KEYWORDS, CacheView, cache_keyword
from stackmask.runtime.generation.endings import Finish, check_finish, ends_whole
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.jump_choice import StoppingChecks, TokenChoice
from stackmask.runtime.generation.jump_rows import JumpRow, RowTable
from stackmask.runtime.generation.jump_streaming import JumpStream
from stackmask.runtime.generation.models import compile_for
from stackmask.runtime.generation.processor import common_vocabulary
from stackmask.runtime.generation.text import TokenStreamer

if TYPE_CHECKING:
    from stackmask.runtime.generation.result import JumpReport
    from stackmask.runtime.matching.compiler import CompiledGrammar
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

_PER_TOKEN = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
_TYPE_NAMES = ("token_type_ids", "mm_token_type_ids")


class JumpDecoding:
    """Sample or search greedily under grammars, with jump-forward; ``model.generate(..., custom_generate=JumpDecoding(g))``.

    ``grammars``: one compiled grammar for every row, or one (or None, for free text) per prompt. ``jump``: "canonical"
    writes forced text as the tokenizer would, without asking the model; "off" asks it for every token. ``finish``: "whole" ends
    each text within the tokens there are, "cut" stops it there; None is "whole" where it can be kept. Everything
    else is up to ``generate``: sampling, processors, stopping criteria, caches. Beams and drafts are not. ``streamer``
    is given here, since ``generate`` does not hand it on. After a call, ``written`` has the tokens and ``reports`` a
    ``JumpReport`` of each row; also after one that an error or an interrupt has ended.

    Raises: GenerationError for what it cannot do (encoder-decoder models, beams, scores per token, prompts without
        ids), and as ``GrammarLogitsProcessor`` does.
    """

    grammars: list[CompiledGrammar | None]
    """One for every row, or one for each prompt; None is free text."""

    vocabulary: Vocabulary | None
    """That of all its grammars; None if there is none but free text."""

    jump: str
    """"canonical" or "off", as it was given."""

    finish: Finish
    """"whole", "cut" or None, as it was given."""

    streamer: Any
    """What gets the tokens as they come; None if nothing does."""

    reports: list[JumpReport]
    """What was saved in each row of the last call."""

    written: list[list[int]]
    """The tokens of each row of the last call, without prompt and padding."""

    def __init__(
        self,
        grammars: Any,
        *,
        tokenizer: Any = None,
        jump: str = "canonical",
        streamer: Any = None,
        finish: Finish = None,
    ) -> None:
        check_finish(finish)
        if jump not in ("canonical", "off"):
            raise GenerationError(f'jump is {jump!r}, not "canonical" or "off"')
        self.grammars = compile_for(grammars, tokenizer)
        self.vocabulary = common_vocabulary(self.grammars)
        self.jump = jump
        self.finish = finish
        self.streamer = streamer
        self.reports = []
        self.written = []

    def __repr__(self) -> str:
        return f"<JumpDecoding of {self.grammars!r:.200}>"

    def __call__(
        self,
        model: Any,
        input_ids: torch.LongTensor,
        logits_processor: Any = None,
        stopping_criteria: Any = None,
        generation_config: Any = None,
        **model_kwargs: Any,
    ) -> Any:
        """Generate; called by ``generate`` in place of its own loop. Returns the ids, padded on the right."""
        if model.config.is_encoder_decoder:
            raise GenerationError(
                "jump-forward works with decoder-only models; use jump='off' with the processor"
            )
        if (getattr(generation_config, "num_beams", 1) or 1) > 1:
            raise GenerationError(f"jump-forward cannot be used with num_beams={generation_config.num_beams}")
        if not input_ids.shape[1]:
            raise GenerationError("jump-forward needs the ids of the prompt, not only inputs_embeds")
        if asked := [name for name in _PER_TOKEN if getattr(generation_config, name, None)]:
            raise GenerationError(
                f"{', '.join(asked)} cannot be had with jump-forward: the model is not asked for forced tokens; use "
                "GrammarLogitsProcessor"
            )
        if self.streamer is not None and not isinstance(self.streamer, TokenStreamer) and len(input_ids) > 1:
            raise GenerationError(f"a streamer of tokens takes one row, but the batch has {len(input_ids)}")
        for name in ("synced_gpus", "tokenizer", "assistant_tokenizer", "assistant_model", "inputs_tensor"):
            model_kwargs.pop(name, None)
        run = _Run(self, model, input_ids, generation_config, model_kwargs)
        run.prepare(logits_processor or LogitsProcessorList(), stopping_criteria or ())
        try:
            with torch.no_grad(), ThreadPoolExecutor(1, "stackmask-masks") as pool:
                run.run(pool)
        finally:
            # what was written is there also after an error or an interrupt
            note = run.note if self.jump == "canonical" else "jumping is off"
            self.reports = [row.report(self.jump, note) for row in run.rows]
            self.written = [row.ids for row in run.rows]
        return run.result()


class _Run:
    """One call: the rows, the cache and its columns."""

    def __init__(
        self,
        decoding: JumpDecoding,
        model: Any,
        input_ids: torch.Tensor,
        config: Any,
        kwargs: Any,
    ) -> None:
        self.decoding, self.model, self.config, self.kwargs = decoding, model, config, kwargs
        self.prompt = input_ids
        self.device = input_ids.device
        batch, length = input_ids.shape
        attention = kwargs.pop("attention_mask", None)
        kwargs.pop("position_ids", None)
        if attention is None:
            attention = torch.ones_like(input_ids)
        self.attention = attention.to(torch.long)
        given = [kwargs.pop(keyword, None) for keyword in CACHE_KEYWORDS]
        self.cache = CacheView(next((cache for cache in given if cache is not None), None))
        self.cache_keyword = cache_keyword(model)
        self.note = ""
        self.jumps = decoding.jump == "canonical"
        stops = _as_tuple(config.eos_token_id)
        if decoding.vocabulary is not None:
            stops = decoding.vocabulary.stop_ids
        self.stops = stops
        pad = config.pad_token_id
        self.pad = int(pad) if pad is not None else stops[0] if stops else 0
        self.real = self.attention.sum(1).tolist()
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None) or math.inf
        grammars = _spread(decoding.grammars, batch)
        room = int(config.max_length) - length
        self.rows = [
            JumpRow(
                prompt=input_ids[i].tolist(),
                matcher=None if grammar is None else grammar.matcher(),
                room=room,
                context=int(min(room, positions - self.real[i])),
                stops=stops,
            )
            for i, grammar in enumerate(grammars)
        ]
        for row in self.rows:
            row.whole = ends_whole(row.matcher, room, decoding.finish)
            row.strict = decoding.finish == "whole"
        self.batch = RowTable(self.rows, self.pad, self.device)
        self.stream = JumpStream(decoding.streamer, self.batch, holds_last=self.jumps)
        self.takes_positions = "position_ids" in inspect.signature(model.forward).parameters
        # transformers before 5: there the columns of the cache are said as well
        self.takes_columns = (
            "cache_position" in inspect.signature(model.prepare_inputs_for_generation).parameters
        )
        self.limit = self._rollback_limit(batch)

    def _rollback_limit(self, batch: int) -> int | None:
        """Return how many tokens a row may take back: None for any number."""
        cache = self.cache
        self.note = ""  # what was said of the cache before this one
        if cache.cache is None and not self.kwargs.get("use_cache"):
            return None  # everything is read anew in every step
        if cache.gaps or (cache.crops and batch == 1):
            return None
        self.note = "the cache cannot be cropped: no tokens are taken back"
        return 0

    def prepare(self, processors: Any, criteria: Any) -> None:
        """Take the processors, and the criteria that the rows do not know by themselves."""
        self.choice = TokenChoice(
            self.batch, self.decoding.vocabulary, processors, samples=self.config.do_sample
        )
        self.stopping = StoppingChecks(self.batch, [c for c in criteria if not self._is_ours(c)])

    def _is_ours(self, criterion: Any) -> bool:
        """Return whether a criterion is one that the rows know: the room they have, and the stop tokens."""
        if isinstance(criterion, MaxLengthCriteria):
            return bool(criterion.max_length >= self.config.max_length)
        if isinstance(criterion, EosTokenCriteria):
            return set(criterion.eos_token_id.tolist()) <= set(self.stops)
        return False

    # -- the loop ----------------------------------------------------------------------------------

    def run(self, pool: ThreadPoolExecutor) -> None:
        self.stream.begin(self.prompt)
        self.stopping.check(self._jump_all())
        self.stream.put_new()
        first = True
        while any(not row.done for row in self.rows):
            live = [i for i, row in enumerate(self.rows) if not row.done]
            width = self._width(live, first)
            asked = [i for i in live if len(self.rows[i].pending) <= width]
            filled: Future[bool] | None = pool.submit(self.choice.fill, asked) if asked else None
            logits = self._forward(width, first)
            first = False
            if filled is None:
                continue
            filled.result()
            lengths = self.batch.lengths()
            for i, token in zip(asked, self.choice.choose(logits, asked), strict=True):
                self.rows[i].write(token)
            # before anything is forced: what the model has written may be taken back then
            self.stopping.check(lengths, everywhere=True)
            self.stopping.check(self._jump_all())
            self.stream.put_new()
        self.stream.end()

    def _width(self, live: list[int], first: bool) -> int:
        counts = [len(self.rows[i].pending) for i in live]
        if self.cache.gaps or self._reads_all():
            return max(counts)
        return min(1, *counts) if self.cache.steps and not first else min(counts)

    def _reads_all(self) -> bool:
        return self.cache.cache is None and not self.kwargs.get("use_cache")

    def _jump_all(self) -> list[int]:
        """Let the rows jump; return how many of the first tokens of each are not new."""
        return [self._jump(i, row) if self.jumps else len(row.ids) for i, row in enumerate(self.rows)]

    def _jump(self, i: int, row: JumpRow) -> int:
        if row.done or not row.wrote:
            return len(row.ids)
        row.wrote = False
        limits = [n for n in (self.limit, self.stream.rollback_limit(i)) if n is not None]
        same, dropped = row.jump(min(limits, default=None))
        if not dropped or self._reads_all():
            return same
        self.attention[i, dropped] = 0
        surplus = 0
        while not self.attention[:, self.attention.shape[1] - 1 - surplus].any():
            surplus += 1
        if surplus:
            self.cache.crop(surplus)
            self.attention = self.attention[:, : self.attention.shape[1] - surplus]
        return same

    def _forward(self, width: int, first: bool) -> torch.Tensor:
        """Let the model read the next tokens of each row, at most ``width``, and return the last logits."""
        batch = len(self.rows)
        # the last token of the prompts comes with the first block, so that no row's block is empty
        with_prompt = first or self._reads_all()
        total = width + 1 if with_prompt else width
        block = torch.full((batch, total), self.pad, dtype=torch.long)
        shown = torch.zeros((batch, total), dtype=torch.long)
        places = torch.zeros((batch, total), dtype=torch.long)
        start = self.attention.shape[1] - (total - width)
        for i, row in enumerate(self.rows):
            tokens = [] if row.done else list(row.pending[:width])
            columns = range(start + total - len(tokens), start + total)
            place = self.real[i] + len(row.columns)
            if with_prompt:
                tokens, place = [row.prompt[-1], *tokens], place - 1
            if tokens:
                gap = total - len(tokens)
                block[i, gap:] = torch.tensor(tokens)
                shown[i, gap:] = 1
                places[i, gap:] = torch.arange(len(tokens)) + place
            if not row.done:
                row.calls += 1
                if not self._reads_all():
                    row.columns += columns
        ids, positions = block.to(self.device), places
        attention = torch.cat([self.attention[:, :start], shown.to(self.device)], 1)
        if with_prompt:
            ids = torch.cat([self.prompt[:, :-1], ids], 1)
            before = (self.attention[:, :-1].cumsum(1) - 1).clamp(min=0)
            positions = torch.cat([before.cpu(), places], 1)
            past = self.cache.length
            if past:  # a cache that came with part of the prompt
                ids, positions = ids[:, past:], positions[:, past:]
        if not self._reads_all():
            self.attention = attention
        arguments = {**self.kwargs, **self._types(attention.shape[1])}
        if self.takes_positions:
            arguments["position_ids"] = positions.to(self.device)
        if self.takes_columns:
            columns_read = attention.shape[1]
            arguments["cache_position"] = torch.arange(
                columns_read - ids.shape[1], columns_read, device=self.device
            )
        if self.cache.cache is not None:
            arguments[self.cache_keyword] = self.cache.cache
        inputs = self.model.prepare_inputs_for_generation(
            ids, attention_mask=attention, is_first_iteration=first, **arguments
        )
        outputs = self.model(**inputs, return_dict=True)
        self._keep_state(outputs)
        logits: torch.Tensor = outputs.logits[:, -1]
        return logits.to(dtype=torch.float32, device=self.device, copy=True)

    def _types(self, columns: int) -> dict[str, torch.Tensor]:
        """Return the types of tokens, if the prompt came with any: what is written has that of the last one."""
        found = {}
        for name in _TYPE_NAMES:
            types = self.kwargs.get(name)
            if types is not None:
                found[name] = torch.cat([types, types[:, -1:].expand(-1, columns - types.shape[1])], 1)
        return found

    def _keep_state(self, outputs: Any) -> None:
        cache = getattr(outputs, self.cache_keyword, None)
        if cache is not None and self.cache.cache is not cache:
            self.cache = CacheView(cache)
            self.limit = self._rollback_limit(len(self.rows))
        if self.cache_keyword == "past_key_values":
            # transformers before 5.24: the state of models without attention goes by another name
            state = getattr(outputs, "cache_params", None)
            if state is not None:
                self.kwargs["cache_params"] = state

    def result(self) -> Any:
        width = max(len(row.ids) for row in self.rows)
        table = [row.ids + [self.pad] * (width - len(row.ids)) for row in self.rows]
        new = torch.tensor(table, dtype=torch.long, device=self.device).reshape(len(table), width)
        ids = torch.cat([self.prompt, new], 1)
        if getattr(self.config, "return_dict_in_generate", False):
            caches = {cache_keyword(GenerationMixin): self.cache.cache}
            return GenerateDecoderOnlyOutput(sequences=ids, **caches)  # type: ignore[arg-type]
        return ids


def _as_tuple(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(int(i) for i in value) if isinstance(value, list | tuple) else (int(value),)


def _spread(grammars: list[CompiledGrammar | None], rows: int) -> list[CompiledGrammar | None]:
    """Return the grammar of each row; several rows in a row belong to one prompt."""
    if rows % len(grammars):
        raise GenerationError(
            f"grammars has {len(grammars)} entries, but the batch has {rows} rows: give one grammar, or one per prompt"
        )
    each = rows // len(grammars)
    return [grammar for grammar in grammars for _ in range(each)]
