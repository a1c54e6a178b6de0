"""Follow the rows of a batch from step to step: which matcher belongs to which row of token ids.

``generate`` shows a logits processor only the whole batch of ids, again at every step. Rows grow by a token,
change places (beam search), lose their last tokens (assisted decoding), or belong to a new call. Comparing whole
rows would make a step cost more the longer the context is, so a few columns are read instead:

- *keys*: columns that tell apart the previous rows of one prompt. A row whose keys equal those of a previous row
  continues exactly that one, because its prefix is one of them. At most one column a row is needed.
- *probes*: columns of the prompt, and the last few tokens. They notice when the rows are not continued at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from stackmask.runtime.generation.tensor_peek import next_id

if TYPE_CHECKING:
    import numpy.typing as npt

PROBES = 16  # columns of the prompt that are compared at every step
RECENT = 16  # generated tokens that are compared at every step
HISTORY = 512  # generated tokens that a row remembers, and so the deepest rollback

Read: TypeAlias = "Callable[[Sequence[int] | None], npt.NDArray[np.int64]]"
"""Maps columns (None: all of them) to their values, (batch, columns)."""


class Matcher(Protocol):
    """What is needed of a matcher."""

    def accept_token(self, token_id: int, /) -> bool: ...
    def rollback(self, count: int, /) -> None: ...
    def fork(self) -> Any: ...
    def is_terminated(self) -> bool: ...


class MatcherSource(Protocol):
    """What is needed of a compiled grammar."""

    def matcher(self) -> Any: ...


class Track:
    """One row since its prompt: the matcher, and the tokens it was given.

    ``depth`` counts the row's tokens, ``accepted`` those that the matcher took; they differ once a stop token
    ended the row or a token was refused.
    """

    __slots__ = ("accepted", "closing", "depth", "matcher", "tokens", "whole")

    def __init__(self, matcher: Matcher) -> None:
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
        """Whether the next token is the grammar's to choose."""
        return self.accepted == self.depth and not self.matcher.is_terminated()

    def push(self, token: int) -> None:
        """Take the row's next token. Cost: one accept; amortised constant otherwise."""
        if self.is_live and self.matcher.accept_token(token):
            self.accepted += 1
        self.depth += 1
        self.tokens.append(token)
        if len(self.tokens) > 2 * HISTORY:
            del self.tokens[:HISTORY]

    def allows_first(self, token: int) -> bool:
        """Return whether the token may begin the text. Precondition: the whole history is remembered."""
        if self.depth == 0:
            allowed = self.matcher.accept_token(token)
            if allowed:
                self.matcher.rollback(1)
            return allowed
        probe = self.fork()
        probe.rewind(0)
        return probe.matcher.accept_token(token)

    def rewind(self, depth: int) -> None:
        """Forget the tokens from ``depth`` on. Precondition: ``depth`` lies in the remembered history."""
        del self.tokens[len(self.tokens) - (self.depth - depth) :]  # mutant: going-back
        if self.accepted > depth:
            self.matcher.rollback(self.accepted - depth)
            self.accepted = depth
        self.depth = depth

    def fork(self) -> Track:
        """Copy, so that both may go on differently. Cost: bounded by HISTORY, and the matcher's fork."""
        copy = Track(self.matcher.fork())
        copy.tokens = self.tokens.copy()
        copy.depth, copy.accepted, copy.whole = self.depth, self.accepted, self.whole
        copy.closing = self.closing
        return copy


class RowTracker:
    """Keep one track per row that has a grammar, through one call of ``generate`` after another.

    ``assign(batch)`` gives each row its compiled grammar, or None for free text.
    """

    def __init__(self, assign: Callable[[int], Sequence[MatcherSource | None]]) -> None:
        self._assign = assign
        self.reset()

    def reset(self) -> None:
        """Forget all rows: the next batch is a new one."""
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
        """The rows with equal prompts and grammars: beams, or samples of one prompt."""
        return self._groups

    def advance(
        self, batch: int, length: int, read: Read, *, drafting: bool = False, address: int | None = None
    ) -> list[Track | None]:
        """Return the track of each row, for rows of ``length`` ids.

        Rows that continue (or go back in) the previous ones keep their state; anything else is a new call,
        whose prompts are the rows as they are. ``drafting`` says that this step judges draft tokens: from then
        on in this call, the first token may be exchanged; otherwise that means a new call. ``address``: where the ids
        of an only row lie on the CPU, one of 64 bits after the other, if they do.
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
        """Take one more token of the only row, as ``_follow`` does; False, with nothing changed, if that must judge."""
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
        """Bring every track to ``length``; False, with nothing changed, if the rows are not continued."""
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
        """Return whether rows of one token more than the prompts are prompts themselves: of a new call.

        They are if the grammar refuses that token (but beams and drafts may hold refused ones), or if it replaces
        the first token of the previous call, unless draft tokens are being judged.
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
        """Return for each row the previous row that it continues, or None if there is none for some row."""
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
        """Hand each previous track to one of its rows and copies to the others."""
        taken: set[int] = set()
        tracks: list[Track | None] = []
        for parent in parents:
            track = self._tracks[parent]
            tracks.append(track.fork() if track is not None and parent in taken else track)
            taken.add(parent)
        return tracks

    def _choose_keys(self, columns: list[int], rows: list[list[int]]) -> None:
        """Keep the columns that are needed to tell the rows of each group apart, the newest first."""
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
    """Return up to PROBES columns of a prompt: half of them its last ones, the others spread over it."""
    tail = range(max(0, length - PROBES // 2), length)
    spread = range(0, length, max(1, length // (PROBES // 2)))
    return sorted({*tail, *list(spread)[: PROBES // 2]})
