"""A transformers logits processor that constrains every row of a batch to its grammar."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import torch
from transformers import LogitsProcessor

from stackmask.runtime.generation.endings import (
    Finish,
    check_finish,
    check_room,
    check_wrap_up,
    ends_whole,
    is_closing,
    watched_tokens,
)
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.models import compile_for
from stackmask.runtime.generation.tensor_peek import has_choice, next_id
from stackmask.runtime.jump_forward.jump_forward import allowed_ids
from stackmask.runtime.kernels.apply import MINUS_INF
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from stackmask.runtime.kernels.forbid import forbid_at
from stackmask.runtime.matching.step import fill_next_token_bitmask

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.matching.compiler import CompiledGrammar
    from stackmask.runtime.matching.matcher import Matcher
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary


SHOWN_TOKENS = 8  # allowed tokens named in an error


class GrammarLogitsProcessor(LogitsProcessor):
    """Set the scores of tokens that the grammar forbids to -inf, for ``model.generate(logits_processor=[...])``.

    ``grammars``: one compiled grammar for all rows, or a list with one (or None, for free text) for each
    prompt; with several beams or samples, a prompt's rows share its grammar. With ``tokenizer``, anything
    that ``Grammar.of`` accepts is compiled for the tokenizer's own vocabulary and stop tokens. Prompts must
    be padded on the left, as ``generate`` requires. The text starts after the prompt; stop tokens are allowed
    exactly when the grammar accepts, and after them only stop tokens (``generate`` pads such rows).

    Works with greedy search, sampling, beam search, prompt lookup and assisted decoding, and can be reused:
    new prompts are detected. Call ``reset`` between two calls if the prompts of the second are those of the
    first plus generated tokens, since this looks like a continuation of the first call.

    ``max_new_tokens``, as passed to ``generate``: each text is completed within this limit if possible;
    ``finish="whole"`` raises an error if it is impossible, ``finish="cut"`` does not complete it.
    ``wrap_up``: a share of ``max_new_tokens``; ``closing_at`` is the number of tokens after which the rest of
    this share only suffices to complete the text. Scores do not change.

    Cost: one mask for each row and step, independent of the context length after the first step.
    Raises: GenerationError if the number of rows or the width of the scores does not fit, or if another processor
        forbids all tokens that the grammar allows.
    """

    supports_continuous_batching = False
    """False, since rows cannot change during a call; an attribute required by transformers."""

    closing_at: list[int | None]
    """For each row, the number of tokens after which the rest of ``wrap_up`` only sufficed to end."""

    def __init__(
        self,
        grammars: Any,
        *,
        tokenizer: Any = None,
        max_new_tokens: int | None = None,
        finish: Finish = None,
        wrap_up: float | None = None,
    ) -> None:
        check_finish(finish)
        check_wrap_up(wrap_up)
        if finish == "whole" and max_new_tokens is None:
            raise GenerationError('finish="whole" needs max_new_tokens, as it is given to generate')
        if wrap_up is not None and max_new_tokens is None:
            raise GenerationError("wrap_up needs max_new_tokens, as it is given to generate")
        check_room(max_new_tokens)
        self._watched = watched_tokens(wrap_up, max_new_tokens)
        self.closing_at = []
        """Empty before the first step."""
        self._room = None if finish == "cut" else max_new_tokens
        self._finish = finish
        self._grammars: list[CompiledGrammar | None] = compile_for(grammars, tokenizer)
        self._vocabulary = common_vocabulary(self._grammars)
        self._tracker = RowTracker(partial(spread, self._grammars))
        self._mask: torch.Tensor | None = None
        self._rows: npt.NDArray[np.int32] | None = None  # of the mask
        stops = () if self._vocabulary is None else self._vocabulary.stop_ids
        self._size = 0 if self._vocabulary is None else self._vocabulary.size
        self._stop_words = _words_of(stops, self._size)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._grammars!r:.200}>"

    def reset(self) -> None:
        """Forget the rows, so that the rows of the next call are prompts."""
        self._tracker.reset()
        self.closing_at = []

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Return the scores with forbidden tokens at -inf; the given scores are not modified.

        Shapes: input_ids (rows, length); scores (rows, width), where columns past the vocabulary are forbidden.
        """
        vocabulary = self._vocabulary
        if vocabulary is None:
            return scores
        check_width(scores, self._size)
        rows = len(scores)
        # assisted decoding hands over slices of the scores of several positions
        drafting = scores.untyped_storage().nbytes() >= 2 * scores.nbytes
        tracks = self._tracker.advance(
            rows,
            input_ids.shape[1],
            partial(_read, input_ids),
            drafting=drafting,
            address=input_ids.data_ptr() if rows == 1 and _lies_open(input_ids) else None,
        )
        constrained = None if all(tracks) else [row for row, track in enumerate(tracks) if track is not None]
        mask = self._mask_for(rows, pin=scores.is_cuda)
        assert self._rows is not None
        if self._watched is not None:
            self._watch(tracks, self._watched)
        live = self._fill(tracks, self._rows)
        result = scores.clone(memory_format=torch.contiguous_format)
        forbid_tokens(result, mask, constrained, self._size)
        self._check_not_stuck(result, live, tracks)
        return cast("torch.FloatTensor", result)

    def _mask_for(self, rows: int, *, pin: bool) -> torch.Tensor:
        """Return the mask buffer. It is safe to refill: reading the next ids waits for the copy to the device."""
        assert self._vocabulary is not None
        if self._mask is None or self._rows is None or len(self._rows) != rows:
            self._mask = allocate_token_bitmask(rows, self._vocabulary.size, like="torch", pin_memory=pin)
            self._rows = self._mask.numpy()
        return self._mask

    def _fill(self, tracks: Sequence[Track | None], mask: npt.NDArray[np.int32]) -> list[int]:
        """Fill the rows that have a grammar; return the rows that the grammar constrains."""
        live: list[int] = []
        plain: list[int] = []  # of these, without a budget
        matchers: list[Matcher] = []
        for row, track in enumerate(tracks):
            if track is not None and track.is_live:
                live.append(row)
                if self._keeps_budget(track) and self._fill_within(track, mask, row):
                    continue
                plain.append(row)
                matchers.append(cast("Matcher", track.matcher))
            elif track is not None:
                mask[row] = self._stop_words
        fill_next_token_bitmask(matchers, mask, rows=plain)
        return live

    def _watch(self, tracks: Sequence[Track | None], watched: int) -> None:
        """Record the rows whose remaining budget is only enough to complete the text."""
        for track in tracks:
            if track is None:
                continue
            if track.closing is not None and track.closing > track.depth:  # tokens were taken back
                track.closing = None
            if track.closing is None and track.is_live and is_closing(track.matcher, watched - track.depth):
                track.closing = track.depth
        self.closing_at = [None if track is None else track.closing for track in tracks]

    def _fill_within(self, track: Track, mask: npt.NDArray[np.int32], row: int) -> bool:
        """Fill a row under its budget. Return False if a completion is neither known nor required."""
        from stackmask.runtime.matching.budgets import CompletionError

        assert self._room is not None
        try:
            cast("Matcher", track.matcher).fill_next_token_bitmask(mask, row, budget=self._room - track.depth)
        except CompletionError:
            if self._finish == "whole":
                raise
            track.whole = False
            return False
        return True

    def _keeps_budget(self, track: Track) -> bool:
        """Return whether the text of a row must end within the remaining tokens; drafts may look past the limit."""
        if self._room is None or track.depth >= self._room:
            return False
        if track.whole is None:
            track.whole = track.depth == 0 and ends_whole(track.matcher, self._room, self._finish)
        return track.whole

    def _check_not_stuck(self, scores: torch.Tensor, live: list[int], tracks: Sequence[Track | None]) -> None:
        """Raise an error if no token is left. A beam may get stuck as long as another beam of its prompt continues."""
        if self._mask is None or self._vocabulary is None:
            return
        dead = set(stuck_rows(scores, self._mask, live, self._size))
        if not dead:
            return
        for group in self._tracker.groups:
            going = [row for row in group if row in live]
            if going and dead.issuperset(going):
                track = tracks[going[0]]
                assert track is not None
                raise stuck_error(going[0], cast("Matcher", track.matcher), self._vocabulary)


# transformers asks each processor for its signature in every step; finding it takes longer than a mask
setattr(GrammarLogitsProcessor.__call__, "__signature__", inspect.signature(GrammarLogitsProcessor.__call__))  # noqa: B010


def spread(grammars: Sequence[CompiledGrammar | None], rows: int) -> list[CompiledGrammar | None]:
    """Return the grammar of each row; several consecutive rows belong to one prompt. Raises: GenerationError."""
    each, rest = divmod(rows, len(grammars))
    if rest:
        raise GenerationError(
            f"grammars has {len(grammars)} entries, but the batch has {rows} rows: give one grammar, or one per prompt"
        )
    return [grammar for grammar in grammars for _ in range(each)]


def check_width(scores: torch.Tensor, size: int) -> None:
    """Check that scores have a column for each token. Raises: GenerationError."""
    width = scores.shape[1]
    if width < size:
        raise GenerationError(
            f"scores have {width} columns, but the grammar was compiled for a vocabulary of {size}: "
            f"build it with size={width}"
        )


def forbid_tokens(scores: torch.Tensor, mask: torch.Tensor, rows: list[int] | None, columns: int) -> None:
    """Set the scores of forbidden tokens to -inf, in place; a CPU mask is copied to the scores' device.

    Shapes: scores (rows, width), mask (rows, ceil(columns / 32)); ``rows``: the rows to change, None for all.
    Cost: for single precision on the CPU, no repeated checks; otherwise that of
        ``apply_token_bitmask_inplace``.
    """
    if _is_plain(scores):
        count, width = scores.shape
        forbid_at(
            scores.data_ptr(),
            mask.data_ptr(),
            rows=count,
            columns=columns,
            width=width,
            logits_stride=width,
            words_stride=mask.shape[1],
            itemsize=4,
            minus_inf=MINUS_INF["float32"],
            chosen=None if rows is None else np.asarray(rows, dtype=np.int64),
        )
        return
    apply_token_bitmask_inplace(
        scores, mask.to(scores.device, non_blocking=True), indices=rows, vocab_size=columns
    )


def stuck_rows(scores: torch.Tensor, mask: torch.Tensor, rows: Sequence[int], columns: int) -> list[int]:
    """Return the rows in which every allowed token is at -inf; forbidden tokens must already be at -inf.

    Shapes: scores (rows, width), mask (rows, ceil(columns / 32)) on the CPU.
    """
    if not _is_plain(scores):
        best = scores.amax(dim=-1).tolist()
        return [row for row in rows if best[row] == -math.inf]
    at, each = scores.data_ptr(), scores.shape[1] * scores.element_size()
    words, step = mask.data_ptr(), mask.shape[1] * mask.element_size()
    return [row for row in rows if not has_choice(at + row * each, words + row * step, columns)]


def _is_plain(scores: torch.Tensor) -> bool:
    """Return whether scores can be written in place."""
    return scores.is_cpu and scores.dtype is torch.float32 and scores.is_contiguous()


def stuck_error(row: int, matcher: Matcher, vocabulary: Vocabulary) -> GenerationError:
    """Return the error for a row without any token left, with the first few tokens that its matcher allows."""
    allowed = allowed_ids(matcher, vocabulary.size)
    tokens = vocabulary.token_bytes
    names = {i: name for name, i in vocabulary.special_names.items()}
    shown = [
        names.get(i, f"id {i}") if i >= len(tokens) or tokens[i] is None else repr(tokens[i])[1:]
        for i in allowed[:SHOWN_TOKENS].tolist()
    ]
    more = len(allowed) - len(shown)
    listed = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return GenerationError(
        f"no token is left for row {row}: the grammar allows {listed}, and other "
        "processors (min_new_tokens, bad_words_ids, forced tokens, ...) forbid all of it"
    )


def common_vocabulary(grammars: Sequence[CompiledGrammar | None]) -> Vocabulary | None:
    """Return the vocabulary of some grammars, or None without grammars. Raises: GenerationError if they differ."""
    for grammar in grammars:
        if grammar is not None and not hasattr(grammar, "vocabulary"):
            raise GenerationError(
                f"{type(grammar).__name__} is not compiled: give Compiler(vocabulary).compile(grammar), or tokenizer=…"
            )
    vocabularies = [g.vocabulary for g in grammars if g is not None]
    if not grammars:
        raise GenerationError("grammars is empty: give one grammar, or one (or None) per prompt")
    if not vocabularies:
        return None
    first: Vocabulary = vocabularies[0]
    for other in vocabularies:
        if other is not first and (other.size, other.stop_ids) != (first.size, first.stop_ids):
            raise GenerationError(
                f"the grammars were compiled for different vocabularies: {first!r} and {other!r}"
            )
    if not first.stop_ids:
        raise GenerationError(
            "the vocabulary has no stop tokens, so generation could not end: give it stop_ids"
        )
    return first


def _words_of(ids: Sequence[int], size: int) -> npt.NDArray[np.int32]:
    bits = np.zeros(-(-size // 32) * 32, dtype=np.uint8)
    bits[list(ids)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)


def _lies_open(input_ids: torch.Tensor) -> bool:
    """Return whether ids can be read in place."""
    return input_ids.is_cpu and input_ids.dtype is torch.int64 and input_ids.stride(1) == 1


def _read(input_ids: torch.Tensor, columns: Sequence[int] | None) -> npt.NDArray[np.int64]:
    """Read columns of the ids; on an accelerator only these columns are copied."""
    if not input_ids.is_cpu and columns is not None:
        input_ids = input_ids[:, torch.tensor(columns, device=input_ids.device)]
        columns = None
    values: npt.NDArray[np.int64] = input_ids.cpu().numpy()
    return values if columns is None else values[:, columns]


# --------------------------------------------------------------------------------------------------------
# Follow the rows of a batch from step to step: which matcher belongs to which row of token ids.
#
# ``generate`` shows a logits processor only the whole batch of ids, again at every step. Rows grow by a token,
# change places (beam search), lose their last tokens (assisted decoding), or belong to a new call. Comparing whole
# rows would make a step cost more the longer the context is, so a few columns are read instead:
#
# - *keys*: columns that tell apart the previous rows of one prompt. A row whose keys equal those of a previous row
#   continues exactly that one, because its prefix is one of them. At most one column a row is needed.
# - *probes*: columns of the prompt, and the last few tokens. They notice when the rows are not continued at all.
# --------------------------------------------------------------------------------------------------------

PROBES = 16  # columns of the prompt that are compared at every step
RECENT = 16  # generated tokens that are compared at every step
HISTORY = 512  # generated tokens that a row remembers, and so the deepest rollback

Read: TypeAlias = "Callable[[Sequence[int] | None], npt.NDArray[np.int64]]"
"""A function from columns (None: all) to their values, (batch, columns)."""


class AnyMatcher(Protocol):
    """The interface that a matcher must have."""

    def accept_token(self, token_id: int, /) -> bool: ...
    def rollback(self, count: int, /) -> None: ...
    def fork(self) -> Any: ...
    def is_terminated(self) -> bool: ...


class MatcherSource(Protocol):
    """The interface that a compiled grammar must have."""

    def matcher(self) -> Any: ...


class Track:
    """One row since its prompt: its matcher and its tokens.

    ``depth``: the number of the row's tokens; ``accepted``: the number that the matcher accepted, which
    differs after a stop token or a refused token.
    """

    __slots__ = ("accepted", "closing", "depth", "matcher", "tokens", "whole")

    def __init__(self, matcher: AnyMatcher) -> None:
        self.matcher = matcher
        self.tokens: list[int] = []  # the last ones, at least HISTORY of them
        self.depth = 0
        self.accepted = 0
        self.closing: int | None = (
            None  # the depth from which only closing is left of a budget that is watched
        )
        self.whole: bool | None = None  # the text is to end within its tokens; None until that is asked

    @property
    def is_live(self) -> bool:
        """Whether the grammar constrains the next token."""
        return self.accepted == self.depth and not self.matcher.is_terminated()

    def push(self, token: int) -> None:
        """Append the row's next token. Cost: one accept; amortised constant otherwise."""
        if self.is_live and self.matcher.accept_token(token):
            self.accepted += 1
        self.depth += 1
        self.tokens.append(token)
        if len(self.tokens) > 2 * HISTORY:
            del self.tokens[:HISTORY]

    def allows_first(self, token: int) -> bool:
        """Return whether the token may begin the text. Precondition: the whole history is stored."""
        if self.depth == 0:
            allowed = self.matcher.accept_token(token)
            if allowed:
                self.matcher.rollback(1)
            return allowed
        probe = self.fork()
        probe.rewind(0)
        return probe.matcher.accept_token(token)

    def rewind(self, depth: int) -> None:
        """Drop the tokens from ``depth`` on. Precondition: ``depth`` is within the stored history."""
        del self.tokens[len(self.tokens) - (self.depth - depth) :]  # mutant: going-back
        if self.accepted > depth:
            self.matcher.rollback(self.accepted - depth)
            self.accepted = depth
        self.depth = depth

    def fork(self) -> Track:
        """Copy the track, so that both can continue independently. Cost: bounded by HISTORY, and the matcher's fork."""
        copy = Track(self.matcher.fork())
        copy.tokens = self.tokens.copy()
        copy.depth, copy.accepted, copy.whole = self.depth, self.accepted, self.whole
        copy.closing = self.closing
        return copy


class RowTracker:
    """Keeps one track for each constrained row, across calls of ``generate``.

    ``assign(batch)`` gives each row its compiled grammar, or None for free text.
    """

    def __init__(self, assign: Callable[[int], Sequence[MatcherSource | None]]) -> None:
        self._assign = assign
        self.reset()

    def reset(self) -> None:
        """Forget all rows, since the next batch is new."""
        self._start = 0
        self._length = -1
        self._drafting = False
        self._tracks: list[Track | None] = []
        self._groups: list[list[int]] = []
        self._group_of: list[int] = []
        self._probe_columns: list[int] = []
        self._probe_values: list[list[int]] = []
        self._keys: list[int] = []
        self._key_rows: list[tuple[int, ...]] = []

    @property
    def groups(self) -> Sequence[Sequence[int]]:
        """The rows with equal prompts and grammars, which are beams or samples of one prompt."""
        return self._groups

    def advance(
        self, batch: int, length: int, read: Read, *, drafting: bool = False, address: int | None = None
    ) -> list[Track | None]:
        """Return the track of each row, for rows of ``length`` ids.

        Rows that continue the previous ones, or a prefix of them, keep their state; all others start a new
        call, with the rows as prompts. ``drafting``: this step verifies draft tokens; from then on in this
        call, the first token may be replaced, which otherwise indicates a new call. ``address``: the address
        of the contiguous 64-bit ids of a single row on the CPU, if available.
        Cost: independent of ``length``, except for the first step of a call.
        """
        self._drafting |= drafting
        if (
            address is not None
            and batch == 1
            and length == self._length + 1
            and self._follow_one(length, address)
        ):
            return self._tracks
        same_call = batch == len(self._tracks) and self._start < length <= self._length + 1
        if not (same_call and self._follow(length, read)):
            self._begin(batch, length, read)
            self._drafting = drafting
        self._length = length
        return self._tracks

    def _begin(self, batch: int, length: int, read: Read) -> None:
        self.reset()
        sources = self._assign(batch)
        self._start = length
        self._tracks = [None if source is None else Track(source.matcher()) for source in sources]
        self._probe_columns = _probes(length)
        if batch == 1:
            self._groups, self._group_of = [[0]], [0]
            self._probe_values = read(self._probe_columns).tolist()
        else:
            ids = read(None)
            self._probe_values = ids[:, self._probe_columns].tolist()
            classes: dict[tuple[bytes, int], int] = {}
            for row in range(batch):
                key = (np.ascontiguousarray(ids[row]).tobytes(), id(sources[row]))
                self._group_of.append(classes.setdefault(key, len(classes)))
            self._groups = [[] for _ in classes]
            for row, group in enumerate(self._group_of):
                self._groups[group].append(row)
        self._key_rows = [()] * batch

    def _follow_one(self, length: int, address: int) -> bool:
        """Append one token to the only row, as ``_follow`` does. Return False, without a change, if
        ``_follow`` must decide.
        """
        track = self._tracks[0] if len(self._tracks) == 1 else None
        base = length - 1 - self._start
        if track is None or base < 1 or track.depth != base:
            return False
        token = next_id(
            address, length, self._probe_columns, self._probe_values[0], track.tokens, min(base, RECENT)
        )
        if token < 0:
            return False
        track.push(token)
        self._length = length
        return True

    def _follow(self, length: int, read: Read) -> bool:
        """Advance every track to ``length``. Return False, without a change, if rows are not continued."""
        base = length - 1 - self._start  # generated tokens that the tracks must already have
        recent = min(base, RECENT)
        is_step = length == self._length + 1
        keys = [column for column in self._keys if column < length - 1]
        columns = [*self._probe_columns, *keys, *range(length - 1 - recent, length)]
        values: list[list[int]] = read(columns).tolist()
        keys_from = len(self._probe_columns)
        recent_from = keys_from + len(keys)

        parents = (
            self._find_parents(values, keys_from, recent_from) if is_step else list(range(len(self._tracks)))
        )
        if parents is None:
            return False
        for row, parent in enumerate(parents):
            track = self._tracks[parent]
            if track is None:
                continue
            if values[row][:keys_from] != self._probe_values[parent]:
                return False
            end = len(track.tokens) - (track.depth - base)
            if end < recent or track.tokens[end - recent : end] != values[row][recent_from:-1]:
                return False
        if base == 0 and self._is_other_prompt([row[-1] for row in values], is_step):
            return False

        if not is_step:
            for track in self._tracks:
                if track is not None:
                    track.rewind(base)
        self._tracks = self._inherit(parents)
        self._probe_values = [self._probe_values[parent] for parent in parents]
        for row, track in enumerate(self._tracks):
            if track is not None:
                track.push(values[row][-1])
        self._choose_keys([*keys, length - 1], [[*row[keys_from:recent_from], row[-1]] for row in values])
        return True

    def _is_other_prompt(self, firsts: list[int], is_step: bool) -> bool:
        """Return whether rows one token longer than the prompts are the prompts of a new call.

        They are new prompts if the grammar refuses that token (though beams and drafts may contain refused
        ones), or if it replaces the first token of the previous call, unless draft tokens are being verified.
        """
        if is_step and (self._drafting or len(self._groups) < len(self._tracks)):
            return False
        for track, first in zip(self._tracks, firsts, strict=True):
            if track is None:
                continue
            if is_step or self._drafting:
                if not track.allows_first(first):
                    return True
            elif track.tokens[0] != first:
                return True
        return False

    def _find_parents(self, values: list[list[int]], start: int, stop: int) -> list[int] | None:
        """Return for each row the previous row that it continues, or None if some row continues none."""
        indexes: list[dict[tuple[int, ...], int]] = []
        for members in self._groups:
            index: dict[tuple[int, ...], int] = {}
            for row in members:
                index.setdefault(self._key_rows[row], row)
            indexes.append(index)
        parents: list[int] = []
        for row, group in enumerate(self._group_of):
            key = tuple(values[row][start:stop])
            if self._tracks[row] is None or self._key_rows[row] == key:
                parents.append(row)  # a row that kept its place keeps its own track: nothing is forked
            elif key in indexes[group]:
                parents.append(indexes[group][key])
            else:
                return None
        return parents

    def _inherit(self, parents: list[int]) -> list[Track | None]:
        """Pass each previous track to one of its rows, and copies to the others."""
        taken: set[int] = set()
        tracks: list[Track | None] = []
        for parent in parents:
            track = self._tracks[parent]
            tracks.append(track.fork() if track is not None and parent in taken else track)
            taken.add(parent)
        return tracks

    def _choose_keys(self, columns: list[int], rows: list[list[int]]) -> None:
        """Choose the columns that distinguish the rows of each group, newest first."""
        kept: set[int] = set()
        for group in self._groups:
            if len(group) == 1 or self._tracks[group[0]] is None:
                continue
            classes = dict.fromkeys(group, 0)
            count = 1
            for at in range(len(columns) - 1, -1, -1):
                names: dict[tuple[int, int], int] = {}
                finer = {row: names.setdefault((classes[row], rows[row][at]), len(names)) for row in group}
                if len(names) > count:
                    classes, count = finer, len(names)
                    kept.add(at)
                if count == len(group):
                    break
        chosen = sorted(kept)
        self._keys = [columns[at] for at in chosen]
        self._key_rows = [tuple(row[at] for at in chosen) for row in rows]


def _probes(length: int) -> list[int]:
    """Return up to PROBES columns of a prompt: half of them the last ones, the others spread over the rest."""
    tail = range(max(0, length - PROBES // 2), length)
    spread = range(0, length, max(1, length // (PROBES // 2)))
    return sorted({*tail, *list(spread)[: PROBES // 2]})
