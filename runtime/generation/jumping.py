"""Decoding that appends forced text and drafts other text, as a ``custom_generate`` for transformers.

The loop is that of sampling and greedy search, but a row may append several tokens at a time, and may replace
its last tokens. One forward pass processes all tokens of a row that the model has not read yet. With a cache
that allows gaps, rows of a batch jump by different lengths: shorter ones are padded on the left with columns
hidden by the attention mask, and removed tokens are hidden, or cropped once no row needs their columns. With
other caches, all rows advance by the length of the shortest jump, and only a single row may remove tokens.

If tokens can be removed, the model also reads a draft of the next tokens (``jump_forward.drafts``). It
chooses each token as it would without a draft. If it chooses a draft token, it has already read this token;
the other draft tokens are removed.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from transformers import EosTokenCriteria, GenerationMixin, LogitsProcessorList, MaxLengthCriteria
from transformers.generation.utils import GenerateDecoderOnlyOutput

from stackmask.pda.errors import BudgetError
from stackmask.runtime.generation.endings import Finish, check_finish, ends_whole
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.models import compile_for
from stackmask.runtime.generation.processor import (
    check_width,
    common_vocabulary,
    forbid_tokens,
    spread,
    stuck_error,
    stuck_rows,
)
from stackmask.runtime.generation.result import JumpReport
from stackmask.runtime.generation.text import TokenStreamer
from stackmask.runtime.jump_forward.drafts import EMPTY, Draft, Sources
from stackmask.runtime.jump_forward.jump_forward import NOTHING
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.step import fill_next_token_bitmask
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask.runtime.matching.compiler import CompiledGrammar
    from stackmask.runtime.matching.matcher import Matcher


_PER_TOKEN = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
MAX_DRAFT = 16  # tokens that are drafted for all rows of a batch together,
LEAST_DRAFT = 4  # but for each at least these
_TYPE_NAMES = ("token_type_ids", "mm_token_type_ids")


def check_jump(jump: str) -> None:
    """Check the name of a mode. Raises: GenerationError if it is unknown."""
    if jump not in ("canonical", "draft", "off"):
        raise GenerationError(f'jump is {jump!r}, not "canonical", "draft" or "off"')


class JumpDecoding:
    """Sample or search greedily under grammars, with jump-forward: ``model.generate(...,
    custom_generate=JumpDecoding(g))``.

    ``grammars``: one compiled grammar for all rows, or one grammar (or None, for free text) for each prompt.
    ``jump``: "canonical" tokenizes forced text as the tokenizer would, without calling the model, and drafts
    other text; "draft" also drafts forced text, so that the model chooses every token; "off" does neither.
    ``finish``: "whole" completes each text within the token limit, "cut" truncates it there; None is "whole"
    where possible. All other options work as in ``generate`` (sampling, processors, stopping criteria,
    caches), except for beams and drafts of transformers. ``streamer`` is an argument here, since ``generate``
    does not forward it. After a call, even one ended by an error or an interrupt, ``written`` has the tokens
    and ``reports`` a ``JumpReport`` for each row.

    Raises: GenerationError if something is unsupported (encoder-decoder models, beams, scores per token,
    prompts without ids), and as ``GrammarLogitsProcessor``.
    """

    grammars: list[CompiledGrammar | None]
    """One grammar for all rows, or one for each prompt; None means free text."""

    vocabulary: Vocabulary | None
    """The vocabulary of the grammars; None without grammars."""

    jump: str
    """The mode: "canonical", "draft" or "off"."""

    finish: Finish
    """The argument ``finish``: "whole", "cut" or None."""

    streamer: Any
    """The receiver of new tokens, or None."""

    reports: list[JumpReport]
    """A report on each row of the last call."""

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
        check_jump(jump)
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
        """Generate; ``generate`` calls this instead of its own loop. Returns the ids, padded on the right."""
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
                f"{', '.join(asked)}: not available with jump-forward, which does not call the model for forced tokens; use "
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
            note = run.note if self.jump != "off" else "jumping is off"
            self.reports = [row.report(self.jump, note) for row in run.rows]
            self.written = [row.ids for row in run.rows]
        return run.result()


class _Run:
    """One call, with its rows, its cache and the cache's columns."""

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
        grammars = spread(decoding.grammars, batch)
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
        texts = () if decoding.vocabulary is None else decoding.vocabulary.token_bytes
        for row, real in zip(self.rows, self.real, strict=True):
            if row.matcher is not None and decoding.jump != "off":
                read = [
                    texts[i] if 0 <= i < len(texts) else None for i in row.prompt[len(row.prompt) - real :]
                ]
                row.sources = Sources(b"".join(text or b"" for text in read))
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
        """Return the number of tokens that a row may remove, or None for any number."""
        cache = self.cache
        self.note = ""  # what was said of the cache before this one
        if cache.cache is None and not self.kwargs.get("use_cache"):
            return None  # everything is read anew in every step
        if cache.gaps or (cache.crops and batch == 1):
            return None
        self.note = "the cache cannot be cropped: no tokens are taken back"
        return 0

    def prepare(self, processors: Any, criteria: Any) -> None:
        """Store the processors, and the criteria that the rows do not check themselves."""
        self.choice = TokenChoice(
            self.batch, self.decoding.vocabulary, processors, samples=self.config.do_sample
        )
        self.stopping = StoppingChecks(self.batch, [c for c in criteria if not self._is_ours(c)])

    def _is_ours(self, criterion: Any) -> bool:
        """Return whether the rows check a criterion themselves: the token limit, or the stop tokens."""
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
            self._draft(live)
            asked = [i for i in live if len(self.rows[i].pending) <= width]
            filled: Future[bool] | None = pool.submit(self.choice.fill, asked) if asked else None
            logits = self._forward(width, first)
            first = False
            while filled is not None:
                filled.result()
                self._choose(logits, asked)
                # those whose next token the model has read already
                asked = [i for i in asked if self.rows[i].is_read and not self._reads_all()]
                filled = pool.submit(self.choice.fill, asked) if asked else None
        self.stream.end()

    def _choose(self, logits: torch.Tensor, asked: list[int]) -> None:
        """Let rows write a token each and jump. ``logits``: (rows, columns, vocabulary), the last columns."""
        lengths = self.batch.lengths()
        # what is left of a draft stands in the last columns
        places = torch.tensor(
            [-1 - min(len(row.ahead), logits.shape[1] - 1) for row in self.rows], device=logits.device
        )
        here = logits[torch.arange(len(self.rows), device=logits.device), places]
        here = here.to(dtype=torch.float32, device=self.device, copy=True)
        for i, token in zip(asked, self.choice.choose(here, asked), strict=True):
            self._drop(i, self.rows[i].write(token))
        # before anything is forced: what the model has written may be taken back then
        self.stopping.check(lengths, everywhere=True)
        self.stopping.check(self._jump_all())
        self.stream.put_new()

    def _draft(self, live: list[int]) -> None:
        """Let the rows propose tokens, if tokens that the model does not choose can be removed."""
        if self.limit is None and self.cache.cache is not None and not self._reads_all():
            for i in live:
                self.rows[i].draft(len(live))

    def _width(self, live: list[int], first: bool) -> int:
        counts = [len(self.rows[i].pending) for i in live]
        if self.cache.gaps or self._reads_all():
            return max(counts)
        return min(1, *counts) if self.cache.steps and not first else min(counts)

    def _reads_all(self) -> bool:
        return self.cache.cache is None and not self.kwargs.get("use_cache")

    def _jump_all(self) -> list[int]:
        """Let the rows jump; return each row's number of unchanged leading tokens."""
        return [self._jump(i, row) if self.jumps else len(row.ids) for i, row in enumerate(self.rows)]

    def _jump(self, i: int, row: JumpRow) -> int:
        if row.done or not row.wrote:
            return len(row.ids)
        row.wrote = False
        limits = [n for n in (self.limit, self.stream.rollback_limit(i)) if n is not None]
        same, dropped = row.jump(min(limits, default=None))
        self._drop(i, dropped)
        return same

    def _drop(self, i: int, dropped: list[int]) -> None:
        """Hide columns of a row, and remove the last ones that no row needs."""
        if not dropped or self._reads_all():
            return
        self.attention[i, dropped] = 0
        surplus = 0
        while not self.attention[:, self.attention.shape[1] - 1 - surplus].any():
            surplus += 1
        if surplus:
            self.cache.crop(surplus)
            self.attention = self.attention[:, : self.attention.shape[1] - surplus]

    def _forward(self, width: int, first: bool) -> torch.Tensor:
        """Let the model read at most ``width`` next tokens of each row, and the row's draft.

        Returns: the logits of the last columns, one more than the longest draft has.
        """
        batch = len(self.rows)
        drafted = max(0 if row.done else len(row.ahead) for row in self.rows)
        width = max(width, *(len(row.pending) + len(row.ahead) for row in self.rows)) if drafted else width
        # the last token of the prompts comes with the first block, so that no row's block is empty
        with_prompt = first or self._reads_all()
        total = width + 1 if with_prompt else width
        block = torch.full((batch, total), self.pad, dtype=torch.long)
        shown = torch.zeros((batch, total), dtype=torch.long)
        places = torch.zeros((batch, total), dtype=torch.long)
        start = self.attention.shape[1] - (total - width)
        for i, row in enumerate(self.rows):
            tokens = [] if row.done else [*row.pending[:width], *row.ahead]
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
        if "logits_to_keep" in arguments:
            arguments["logits_to_keep"] = 1 + drafted
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
        if outputs.logits.shape[1] <= drafted:
            raise GenerationError(
                'the model returns logits of fewer tokens than it was given: use jump="off"'
            )
        logits: torch.Tensor = outputs.logits[:, -1 - drafted :]
        return logits

    def _types(self, columns: int) -> dict[str, torch.Tensor]:
        """Return the token types, if the prompt has any; generated tokens get the type of the last one."""
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


# -- Giving out tokens while a generation jumps over forced text -------------------------------------------


class JumpStream:
    """Passes the new tokens of all rows to a streamer, or discards them if it is None.

    ``holds_last``: the last token of an unfinished row may still be removed, so it is passed together with
    the next one. A ``TokenStreamer`` receives all tokens at once, and handles removed tokens itself.
    """

    def __init__(self, streamer: Any, batch: RowTable, holds_last: bool) -> None:
        self._streamer, self._batch, self._holds_last = streamer, batch, holds_last
        self._takes_rows = isinstance(streamer, TokenStreamer)
        self._given = [0] * len(batch.rows)

    def begin(self, prompt: torch.Tensor) -> None:
        """Pass the prompts."""
        if self._streamer is not None:
            self._streamer.put(prompt.cpu())

    def rollback_limit(self, i: int) -> int | None:
        """Return how many last tokens row ``i`` may remove, since they were not passed yet; None for all."""
        if self._streamer is None or self._takes_rows:
            return None
        return len(self._batch.rows[i].ids) - self._given[i]

    def put_new(self) -> None:
        """Pass the tokens generated since the last call."""
        if self._streamer is None:
            return
        for i, row in enumerate(self._batch.rows):
            if self._takes_rows:
                self._streamer.put_row(i, row.ids)
                continue
            end = len(row.ids) if row.done or not self._holds_last else max(self._given[i], len(row.ids) - 1)
            for token in row.ids[self._given[i] : end]:
                self._streamer.put(torch.tensor([token]))
            self._given[i] = end

    def end(self) -> None:
        """Inform the streamer that the output has ended."""
        if self._streamer is not None:
            self._streamer.end()


# -- Choosing the next token of rows under grammars, and stopping, as ``generate`` does --------------------
# Processors and stopping criteria may judge by the number of columns, so they see rows of one length at a time.


class TokenChoice:
    """Applies processors and masks to logits, and samples or chooses the most probable token.

    The mask is applied before the first warper, which must not see forbidden tokens. ``vocabulary``: the
    vocabulary of the grammars, or None without grammars.
    """

    def __init__(
        self, batch: RowTable, vocabulary: Vocabulary | None, processors: Any, *, samples: bool
    ) -> None:
        at = next(
            (i for i, p in enumerate(processors) if type(p).__name__.endswith("Warper")), len(processors)
        )
        self._before, self._after = LogitsProcessorList(processors[:at]), LogitsProcessorList(processors[at:])
        self._batch, self._vocabulary, self._samples = batch, vocabulary, samples
        self._constrained: list[int] = []  # the rows whose masks were filled
        if vocabulary is not None and any(row.matcher is not None for row in batch.rows):
            self._mask = allocate_token_bitmask(
                len(batch.rows), vocabulary.size, like="torch", pin_memory=batch.device.type == "cuda"
            )

    def fill(self, asked: list[int]) -> bool:
        """Fill the masks of the rows that need a model call. This may run during the forward pass."""
        rows = [i for i in asked if self._batch.rows[i].is_live]
        self._constrained = rows
        if rows:
            fill_next_token_bitmask([self._batch.rows[i].matcher for i in rows], self._mask, rows=rows)
        return bool(rows)

    def choose(self, logits: torch.Tensor, asked: list[int]) -> list[int]:
        """Return the next token of each requested row. ``logits``: of all rows; may be modified."""
        scores = self._process(logits, asked) if self._before else logits
        rows = self._constrained
        if rows and self._vocabulary is not None:
            width = self._vocabulary.size
            check_width(scores, width)
            forbid_tokens(scores, self._mask, None if len(rows) == len(scores) else rows, width)
        masked = scores
        if self._after:
            scores = self._after(self._batch.padded(self._batch.lengths()), scores)
        self._check_not_stuck(scores, rows)
        wanted = scores if len(asked) == len(scores) else scores[asked]
        result = self._draw(wanted)
        for k, i in enumerate(asked):
            if i in rows and not self._batch.rows[i].fits_after(result[k]):
                result[k] = self._choose_again(masked, i)
        return result

    def _draw(self, scores: torch.Tensor) -> list[int]:
        """Return one token for each row of the scores."""
        if self._samples:
            chosen = torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1).squeeze(1)
        else:
            chosen = scores.argmax(dim=-1)
        result: list[int] = chosen.tolist()
        return result

    def _choose_again(self, scores: torch.Tensor, i: int) -> int:
        """Return a token after which row i can end in time, drawn as if other tokens had always been
        forbidden.

        ``scores``: of all rows, before the warpers; may be modified.
        """
        row, vocabulary = self._batch.rows[i], self._vocabulary
        assert row.matcher is not None
        assert vocabulary is not None
        row.matcher.fill_next_token_bitmask(self._mask, i, budget=row.room - len(row.ids))
        forbid_tokens(scores, self._mask, [i], vocabulary.size)
        if self._after:
            scores = self._after(self._batch.padded(self._batch.lengths()), scores)
        self._check_not_stuck(scores, [i])
        return self._draw(scores[i : i + 1])[0]

    def _process(self, logits: torch.Tensor, asked: list[int]) -> torch.Tensor:
        """Run the processors, once for each length among the rows."""
        lengths = self._batch.lengths()
        wanted = sorted({lengths[i] for i in asked})
        result = logits
        for length in wanted:
            ids = self._batch.padded([min(n, length) for n in lengths])
            scores = self._before(ids, logits if len(wanted) == 1 else logits.clone())
            if len(wanted) == 1:
                return scores
            if result is logits:
                result = torch.empty_like(scores)
            rows = [i for i, n in enumerate(lengths) if n == length]
            result[rows] = scores[rows]
        return result

    def _check_not_stuck(self, scores: torch.Tensor, rows: list[int]) -> None:
        vocabulary = self._vocabulary
        if not rows or vocabulary is None:
            return
        for i in stuck_rows(scores, self._mask, rows, vocabulary.size):
            matcher = self._batch.rows[i].matcher
            assert matcher is not None
            raise stuck_error(i, matcher, vocabulary)


class StoppingChecks:
    """Runs stopping criteria after every new token, as if the model had generated one token at a time."""

    def __init__(self, batch: RowTable, criteria: list[Any]) -> None:
        self._batch, self._criteria = batch, criteria

    def check(self, known: Sequence[int], *, everywhere: bool = False) -> None:
        """End the rows that a criterion stops, after the token where it stops.

        ``known``: the number of leading tokens of each row that are not new. ``everywhere``: also check rows
        without new tokens.
        """
        if not self._criteria:
            return
        rows = self._batch.rows
        counts = self._batch.lengths()
        new = [count - n for count, n in zip(counts, known, strict=True)]
        over = [not n and (row.done or not everywhere) for n, row in zip(new, rows, strict=True)]
        for step in range(1, max(new) + 1):
            lengths = [count - n + min(step, n) for count, n in zip(counts, new, strict=True)]
            here = [i for i, n in enumerate(new) if not over[i] and step <= max(1, n)]
            for length in sorted({lengths[i] for i in here}):
                stops = self._stops(self._batch.padded([min(n, length) for n in lengths]))
                for i in here:
                    if lengths[i] == length and stops[i]:
                        over[i] = True
                        rows[i].cut(length)

    def _stops(self, ids: torch.Tensor) -> list[bool]:
        ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
        for criterion in self._criteria:
            ended |= torch.as_tensor(criterion(ids, None), device=ids.device)
        stops: list[bool] = ended.tolist()
        return stops


# -- The rows of a generation with jump-forward: what each has written, and what the model has read of it


class _Context(Sequence[int]):
    """The last token of a prompt, if any, with the generated tokens, without copies."""

    def __init__(self, prompt: list[int], ids: list[int]) -> None:
        self._prompt, self._ids = prompt[-1:], ids

    def __len__(self) -> int:
        return len(self._prompt) + len(self._ids)

    def __getitem__(self, i: Any) -> Any:
        return self._prompt[i] if i < len(self._prompt) else self._ids[i - len(self._prompt)]


@dataclass(slots=True)
class JumpRow:
    """One row. ``ids``: its tokens. The leading ones, and then ``ahead``, are in the cache, at ``columns``.

    ``ahead``: the unverified rest of a draft that the model has read together with all of ``ids``; or empty.

    ``room``: the maximum number of tokens; ``context``: the maximum after a jump. ``whole``: the text must
    end within the maximum; ``strict``: even if no completion can be found after a token. ``wrote``: whether
    tokens were added since the last jump.
    """

    prompt: list[int]
    matcher: Matcher | None
    room: int
    context: int
    stops: tuple[int, ...]
    ids: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    done: bool = False
    wrote: bool = True
    calls: int = 0
    forced: int = 0
    taken_back: int = 0
    sources: Sources | None = None
    ahead: tuple[int, ...] = ()
    proposed: Draft = EMPTY
    drafted: int = 0
    accepted: int = 0
    note: str = ""
    whole: bool = False
    strict: bool = False

    @property
    def pending(self) -> Sequence[int]:
        """The tokens that the model has not read yet."""
        return self.ids[len(self.columns) :]

    @property
    def is_read(self) -> bool:
        """Whether the model has read all tokens of the row, so that the next logits are known."""
        return not self.done and len(self.columns) >= len(self.ids)

    @property
    def is_live(self) -> bool:
        """Whether the grammar constrains the next token."""
        return self.matcher is not None and not self.matcher.is_terminated()

    def write(self, token: int) -> list[int]:
        """Append a token chosen by the model; return the cache columns that are no longer valid."""
        if self.matcher is not None and not self.matcher.accept_token(token):
            raise GenerationError(f"the token chosen is refused: {self.matcher.refusal}")
        self.accepted += self.ahead[:1] == (token,)
        dropped = self.replace(len(self.ids), (token,))
        self.wrote = True
        self.done = token in self.stops or len(self.ids) >= self.room
        return dropped

    def draft(self, batch: int) -> None:
        """Draft tokens for the model to read. ``batch``: the number of rows in the forward pass."""
        if self.matcher is None or self.sources is None or not self.is_live:
            return
        room = min(self.room, self.context) - len(self.ids) - 1
        try:
            # rows of a batch are filled up to the longest
            most = max(MAX_DRAFT // batch, LEAST_DRAFT)
            self.proposed = self.matcher.draft(self.sources, max(0, min(most, room)), batch=batch)
        except BudgetError as error:
            self.note = str(error)
            self.sources = None
            return
        self.ahead = self.proposed.tokens
        self.drafted += len(self.ahead)

    def replace(self, keep: int, tokens: Sequence[int]) -> list[int]:
        """Replace the tokens after the first ``keep``; return the cache columns that are no longer valid.

        The model has already read tokens that equal the draft, which ends at the first difference.
        """
        read = self.ahead if keep == len(self.ids) else ()
        same = 0
        while same < min(len(tokens), len(read)) and tokens[same] == read[same]:
            same += 1
        self.ids[keep:] = tokens
        self.ahead = read[same:] if same == len(tokens) else ()
        if self.sources is not None and self.proposed.tokens and not self.ahead:
            self.sources.judge(self.proposed, len(self.proposed.tokens) - len(read) + same)
            self.proposed = EMPTY
        dropped = [] if self.ahead else self.columns[keep + same :]
        del self.columns[len(self.columns) - len(dropped) :]
        return dropped

    def jump(self, max_rollback: int | None) -> tuple[int, list[int]]:
        """Append the forced text.

        Returns: the number of unchanged leading tokens, and the cache columns that are no longer valid.
        """
        matcher = self.matcher
        if matcher is None or self.done:
            return len(self.ids), []
        try:
            plan = matcher.plan_jump(_Context(self.prompt, self.ids), max_rollback)
        except BudgetError as error:
            # what is forced is a question that need not be answered
            self.note = str(error)
            return len(self.ids), []
        if plan.reason not in ("", NOTHING.reason):
            self.note = plan.reason
        keep = len(self.ids) - plan.rollback
        end = next((i for i, token in enumerate(plan.tokens, 1) if token in self.stops), len(plan.tokens))
        tokens = plan.tokens[: min(end, max(0, min(self.room, self.context) - keep))]
        dropped: list[int] = []
        same = len(self.ids)
        if tokens and (not plan.rollback or len(tokens) == end):
            if not self._follow(matcher, keep, tokens):
                return len(self.ids), []
            same = keep
            dropped = self.replace(keep, tokens)
            self.forced += len(tokens)
            self.taken_back += plan.rollback
        elif plan.tokens:
            self.note = "the length left is too short for the forced tokens"
        # a grammar may ask for a stop token by name
        self.done = len(self.ids) >= self.room or (same < len(self.ids) and self.ids[-1] in self.stops)
        if not self.done and self._must_stop(matcher):
            # only a stop token is left: no need to ask the model for it
            matcher.accept_token(self.stops[0])
            self.ids.append(self.stops[0])
            self.forced += 1
            self.done = True
        return same, dropped

    def _follow(self, matcher: Matcher, keep: int, tokens: Sequence[int]) -> bool:
        """Roll the matcher back to the first ``keep`` tokens, then accept others. At a limit, restore its position."""
        done, fits = 0, False
        matcher.rollback(len(self.ids) - keep)
        try:
            for token in tokens:
                if not matcher.accept_token(token):
                    raise GenerationError(f"a forced token is refused: {matcher.refusal}")
                done += 1
            fits = self.fits(keep + len(tokens))
            if not fits:
                self.note = "the length left is too short for the forced tokens and an end"
        except BudgetError as error:
            self.note = str(error)
        finally:
            if not fits:
                matcher.rollback(done)
                for token in self.ids[keep:]:
                    matcher.accept_token(token)
        return fits

    def fits(self, written: int) -> bool:
        """Return whether the text can still end in time after ``written`` tokens in total."""
        if not self.whole or self.matcher is None:
            return True
        from stackmask.runtime.matching.budgets import can_end_within

        fits = can_end_within(self.matcher, self.room - written)
        if fits is None and not self.strict:
            # completing the text was not explicitly requested: the model's choice comes first
            self.whole = False
            self.note = "no end of the text was found, so it may be cut"
            return True
        return bool(fits)

    def fits_after(self, token: int) -> bool:
        """Return whether the text can still end in time after one more allowed token."""
        if not self.whole or self.matcher is None:
            return True
        self.matcher.accept_token(token)
        try:
            return self.fits(len(self.ids) + 1)
        finally:
            self.matcher.rollback(1)

    def _must_stop(self, matcher: Matcher) -> bool:
        try:
            return matcher.must_stop()
        except BudgetError as error:
            self.note = str(error)
            return False

    def cut(self, length: int) -> None:
        """Truncate the row to ``length`` tokens, and end it."""
        surplus = len(self.ids) - length
        self.forced -= min(surplus, self.forced)
        del self.ids[length:], self.columns[length:]
        self.ahead = ()
        self.done = True

    def report(self, mode: str, note: str) -> JumpReport:
        return JumpReport(
            mode=mode,
            model_calls=self.calls,
            avoided_calls=len(self.ids) - self.calls,
            forced_tokens=self.forced,
            taken_back=self.taken_back,
            note=note or self.note,
            drafted_tokens=self.drafted,
            accepted_tokens=self.accepted,
        )


@dataclass(frozen=True, slots=True)
class RowTable:
    """The rows of a batch, in the forms that processors and criteria need."""

    rows: list[JumpRow]
    pad: int
    device: torch.device

    def lengths(self) -> list[int]:
        """Return the number of generated tokens of each row."""
        return [len(row.ids) for row in self.rows]

    def padded(self, lengths: Sequence[int]) -> Any:
        """Return the prompt and leading tokens of each row, padded on the left."""
        width = max(lengths)
        table = [
            [self.pad] * (width - length) + row.prompt + row.ids[:length]
            for row, length in zip(self.rows, lengths, strict=True)
        ]
        return torch.tensor(table, device=self.device)


# -- What a cache of keys and values can do: forget its last tokens, and leave gaps ----------------------

CACHE_KEYWORDS = ("cache", "past_key_values")  # transformers since 5.24, and before


def cache_keyword(model: Any) -> str:
    """Return the name of a model's cache, both as a keyword argument and in its output.

    Models with custom code may use the old keyword. Wrappers accept any keyword, and get that of
    transformers.
    """
    for owner in (model, GenerationMixin):
        parameters = inspect.signature(owner.prepare_inputs_for_generation).parameters
        for keyword in CACHE_KEYWORDS:
            if keyword in parameters:
                return keyword
    return CACHE_KEYWORDS[-1]


class CacheView:
    """The cache of one generation, as columns of tokens.

    ``gaps``: columns may be hidden by the attention mask, so that rows can have different lengths. ``crops``:
    the last columns can be removed. ``steps``: after the first call, the model only takes one column at a
    time. Sliding windows and linear attention count or mix every column and cannot restore earlier states, so
    that they support neither gaps nor crops. Many models with a recurrent state read one token at a time.
    """

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        layers = list(getattr(cache, "layers", ()))
        sliding = any(getattr(layer, "is_sliding", False) for layer in layers)
        recurrent = any(
            not hasattr(layer, "get_seq_length") or hasattr(layer, "conv_states") for layer in layers
        )
        fixed = [layer for layer in layers if getattr(layer, "is_compileable", False)]
        plain = cache is not None and hasattr(cache, "get_seq_length") and not sliding and not recurrent
        self.fixed = bool(fixed)
        self.gaps = plain and not fixed and _is_made_of_growing_layers(cache, layers)
        self.crops = plain and (self.gaps or all(_can_step_back(layer) for layer in layers))
        self.steps = recurrent or cache is None

    @property
    def length(self) -> int:
        """The number of cached columns."""
        try:
            return 0 if self.cache is None else int(self.cache.get_seq_length())
        except ValueError:  # there is no layer that would know
            return 0

    def crop(self, count: int) -> None:
        """Remove the last columns. Precondition: ``crops``."""
        if not count:
            return
        if not self.fixed:
            self.cache.crop(-count)
            return
        length = self.length
        for layer in self.cache.layers:
            if hasattr(layer, "cumulative_length"):
                # what lies after the length is never read, and is overwritten
                layer.cumulative_length.sub_(count)
            else:  # transformers before 5.4: the columns that hold anything are counted
                layer.keys[:, :, length - count : length].zero_()


def _is_made_of_growing_layers(cache: Any, layers: list[Any]) -> bool:
    names = {type(layer).__name__ for layer in layers}
    if not layers:  # made when they are first used
        kind = getattr(cache, "layer_class_to_replicate", None)
        names = {getattr(kind, "__name__", "")}
    return names == {"DynamicLayer"} and hasattr(cache, "crop")


def _can_step_back(layer: Any) -> bool:
    if type(layer).__name__ != "StaticLayer":
        return False
    return not hasattr(layer, "cumulative_length") or hasattr(layer.cumulative_length, "sub_")
