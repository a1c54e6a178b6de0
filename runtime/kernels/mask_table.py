"""A table of masks on the device: each row is copied once, and a step copies 64 bytes per sequence.

Most steps need masks that the engine has computed before. The table keeps those rows on the device, under the
engine's own numbers; a step then names, for each sequence, up to 4 rows to unite and up to 12 tokens to flip
(``Matcher.mask_rows``). The kernels gather, unite and apply in one pass, and the result equals the bitmask
exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from stackmask.runtime.kernels.apply import apply_token_bitmask_inplace, check_apart, check_masked, has_triton
from stackmask.runtime.kernels.bitmask import bitmask_shape
from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.kernels.gpu.sizes import ENTRY, ENTRY_ROWS, ENTRY_TOKENS
from stackmask.runtime.kernels.sampling import MaskedSampler, SampledTokens
from stackmask.runtime.matching.row_references import copy_row, fill_entries

if TYPE_CHECKING:
    from stackmask.runtime.matching.matcher import Matcher

ALL = 0  # the row that allows everything
NONE = -1
IN_FLIGHT = 4  # steps whose entries may still be on their way to the device


@dataclass(frozen=True, slots=True)
class StepEntries:
    """The entries of a step: ``tensor`` int32 (sequences, 16) on the device, 4 rows and then 12 tokens, -1 for none.

    ``empty``: the sequences without an allowed token. ``rows``: the table at that time, since growth moves
    rows, and earlier entries must not wait for it.
    """

    tensor: torch.Tensor
    rows: torch.Tensor
    step: int
    version: int
    ready: Any
    empty: tuple[int, ...]


class DeviceMaskTable:
    """Rows of masks on a device, shared by all grammars and requests over one vocabulary.

    Threads and streams may share it: every call takes its lock, and a row is overwritten only after all
    streams have read it. A graph's replay is outside the lock: call ``entries``, ``wait``, replay and
    ``mark_read`` on one thread at a time.

    ``max_rows`` bounds the table (16 KB a row for 128,000 tokens); it begins with ``first_rows`` and doubles.
    Growth moves the rows and increments ``version``: a captured graph must then be captured again, so give
    graphs a table of its final size. In a full table, the least recently used rows are overwritten. Rows are
    sent through at most ``max_staging`` pinned buffers, on a separate stream; their users wait for that
    stream on the device, and the host waits only if all buffers are in flight.
    """

    def __init__(
        self,
        vocab_size: int,
        device: str | torch.device = "cuda",
        *,
        first_rows: int = 256,
        max_rows: int = 4096,
        first_staging: int = 16,
        max_staging: int = 256,
    ) -> None:
        for name, value, least in (("first_rows", first_rows, 2), ("first_staging", first_staging, 1)):
            if value < least:
                raise BitmaskError(f"{name} is {value}, must be {least} or more")
        if max_rows < first_rows or max_staging < first_staging:
            raise BitmaskError(
                f"max_rows is {max_rows} and max_staging {max_staging}, but first_rows is {first_rows} and "
                f"first_staging {first_staging}"
            )
        self.vocab_size = vocab_size
        self.device = torch.device(device)
        self.version = 0
        self.sent_bytes = 0
        self.evictions = 0
        self._words = bitmask_shape(1, vocab_size)[1]
        self._max_rows = max_rows
        self._lock = threading.RLock()
        self._step = 0
        self._evicted_step = -1  # entries up to this step may name rows that are gone
        self._slots: dict[Any, int] = {}
        self._keys: dict[int, Any] = {}
        self._used_at = np.zeros(max_rows, dtype=np.int64)  # the step of each row's last use
        self._sources: dict[int, list[Any]] = {}  # kept alive, so that their ids stay theirs: [source, rows]
        self._out = 0  # where the entries of the last step with an ``out`` went
        self.rows = torch.zeros(first_rows, self._words, dtype=torch.int32, device=device)
        self.rows[ALL] = -1
        self.device = self.rows.device  # with its number, whichever device is current later
        self._stream = SendStream(self.device)
        self._free = list(range(first_rows - 1, ALL, -1))
        self._staging = StagingBuffers(self._stream, self._words, first_staging, max_staging)
        self._step_buffers = StepBuffers(self._stream, IN_FLIGHT, ENTRY)

    # -- naming the masks of a step --------------------------------------------------------------------

    def entries(self, matchers: Sequence[Matcher | None], *, out: torch.Tensor | None = None) -> StepEntries:
        """Return the entries of the matchers' masks, and send missing rows to the device; None allows every token.

        ``out`` receives the entries, int32 (at least len(matchers), 16) on the device, where a captured graph reads them.
            Its rows after those of the matchers, which a graph of a larger batch also reads, allow every token.
        Raises: BitmaskError if the step needs more rows than the table can have, or a matcher has another
            vocabulary.
        """
        with self._lock:
            self._step += 1
            rows = len(matchers)
            if out is not None:
                self._check_out(out, rows)
            sent = rows if out is None else len(out)
            host = self._step_buffers.buffer(self._step, sent)
            host[:sent] = NONE
            host[rows:sent, 0] = ALL
            empty = []
            lines = host.numpy()
            for i in fill_entries(matchers, self._slots, lines, self._used_at, self._step, ENTRY_ROWS):
                named = self._name(i, cast("Matcher", matchers[i]))
                lines[i, : len(named)] = named
                if max(named) == NONE:
                    empty.append(i)
            if out is None:
                with self._stream.sending():
                    out = torch.empty(rows, ENTRY, dtype=torch.int32, device=self.device)
            else:
                # the step before reads its entries there
                self._stream.wait_for_readers()
                if self._out != out.data_ptr():
                    # a new buffer: what the caller has launched to fill it comes first
                    self._stream.wait_for_current()
                self._out = out.data_ptr()
            with self._stream.sending():
                out[:sent].copy_(host[:sent], non_blocking=True)
            self.sent_bytes += 4 * ENTRY * sent
            ready = self._step_buffers.mark_sent(self._step)
            return StepEntries(out[:rows], self.rows, self._step, self.version, ready, tuple(empty))

    def _check_out(self, out: torch.Tensor, rows: int) -> None:
        """Refuse an unsuitable buffer for entries, which kernels would misread."""
        if out.shape[1:] != (ENTRY,) or len(out) < rows or out.device != self.device:
            raise BitmaskError(
                f"out is {tuple(out.shape)} on {out.device}, must be ({rows}, {ENTRY}) on {self.device}"
            )
        if out.dtype != torch.int32:
            raise BitmaskError(f"out has dtype {out.dtype}, must be torch.int32")
        if not out.is_contiguous():
            raise BitmaskError(f"out has strides {out.stride()}, must have ({ENTRY}, 1): rows side by side")

    def _name(self, number: int, matcher: Matcher) -> list[int]:
        """Return the entry of one matcher, and ensure that its rows are on the device."""
        while True:
            mask = matcher.mask_rows(ENTRY_ROWS, ENTRY_TOKENS)
            if matcher.compiled.vocabulary.size != self.vocab_size:
                raise BitmaskError(
                    f"matchers[{number}] has a vocabulary of {matcher.compiled.vocabulary.size}, but the table is for "
                    f"{self.vocab_size}"
                )
            if mask.words is not None:
                slots = [self._slot(mask.words, None, matcher, 0, 0)]
            else:
                slots = [
                    self._slot((id(mask.source), mask.epoch, row), mask.source, matcher, mask.epoch, row)
                    for row in mask.rows
                ]
            if None not in slots:
                return [*slots, *[NONE] * (ENTRY_ROWS - len(slots)), *mask.tokens]
            # the engine has dropped its masks in between: recompute the entry

    def _slot(self, key: Any, source: Any, matcher: Matcher, epoch: int, row: int) -> int | None:
        """Return the slot of a row on the device, sending it if necessary; None if the engine no longer has it."""
        slot = self._slots.get(key)
        if slot is None:
            at, buffer = self._staging.free()
            if source is None:
                buffer.numpy()[:] = np.frombuffer(key, dtype=np.int32)
            elif not copy_row(matcher, epoch, row, buffer.data_ptr()):
                return None
            slot = self._free_slot()
            self._slots[key] = slot
            self._keys[slot] = key
            if source is not None:
                self._sources.setdefault(id(source), [source, 0])[1] += 1
            with self._stream.sending():
                self.rows[slot].copy_(buffer, non_blocking=True)
            self._staging.mark_sent(at)
            self.sent_bytes += 4 * self._words
        self._used_at[slot] = self._step
        return slot

    def _free_slot(self) -> int:
        """Return a row that may be overwritten: grow, or take the least recently used row."""
        if not self._free and len(self.rows) < self._max_rows:
            self._grow()
        if self._free:
            return self._free.pop()
        # row 0 stays; all others are taken
        slot = int(self._used_at[1 : len(self.rows)].argmin()) + 1
        if self._used_at[slot] == self._step:
            raise BitmaskError(
                f"max_rows is {self._max_rows}, but this step needs more: at least {len(self._slots) + 2} rows"
            )
        key = self._keys[slot]
        del self._slots[key]
        if isinstance(key, tuple):
            holder = self._sources[key[0]]
            holder[1] -= 1
            if not holder[1]:
                del self._sources[key[0]]
        self.evictions += 1
        self._evicted_step = max(self._evicted_step, int(self._used_at[slot]))
        # what was launched with the old row reads it first
        self._stream.wait_for_readers()
        return slot

    def _grow(self) -> None:
        size = min(2 * len(self.rows), self._max_rows)
        with self._stream.sending():
            larger = torch.zeros(size, self._words, dtype=torch.int32, device=self.device)
            larger[: len(self.rows)].copy_(self.rows, non_blocking=True)
        self._stream.hand_over(self.rows, larger)
        self._free.extend(range(size - 1, len(self.rows) - 1, -1))
        self.rows = larger
        self.version += 1

    # -- using them --------------------------------------------------------------------------------------

    def wait(self, entries: StepEntries) -> None:
        """Make the current stream wait, on the device, until rows and entries have arrived.

        ``apply`` and ``sample`` call it, except while a graph is captured; then call it before each replay, and
        ``mark_read`` after it.
        Raises: BitmaskError if the entries are too old: their rows may have been overwritten.
        """
        with self._lock:
            if entries.step <= self._evicted_step:
                raise BitmaskError(
                    f"entries is of step {entries.step}, but rows that were last used in step {self._evicted_step} "
                    "are gone"
                )
            if self._stream.orders_streams:
                current = torch.cuda.current_stream(self.device)
                current.wait_event(entries.ready)
                # they may be given back before this stream has read them; and it need not be the one of ``entries``
                entries.tensor.record_stream(current)
                entries.rows.record_stream(current)

    def apply(self, logits: torch.Tensor, entries: StepEntries, *, vocab_size: int | None = None) -> None:
        """Set the logits of forbidden tokens to -inf, in place, as ``apply_token_bitmask_inplace``.

        Shapes: logits (sequences, vocab). Cost: one launch; reads up to 4 rows of the table per sequence.
        """
        with self._lock:
            columns = self._check(logits, entries, vocab_size)
            check_apart(logits)
            if logits.is_cuda and has_triton():
                from stackmask.runtime.kernels.gpu.apply import launch_apply

                launch_apply(logits, entries.rows, columns=columns, entries=entries.tensor)
                self.mark_read()
            else:
                apply_token_bitmask_inplace(logits, self.bitmask(entries), vocab_size=columns)

    def sample(
        self,
        sampler: MaskedSampler,
        logits: torch.Tensor,
        entries: StepEntries,
        *,
        vocab_size: int | None = None,
        **parameters: Any,
    ) -> SampledTokens:
        """Sample a token for each sequence, as ``MaskedSampler``; on a GPU, no bitmask is created.

        Raises: BitmaskError before any launch if a sequence has no allowed token.
        """
        with self._lock:
            columns = self._check(logits, entries, vocab_size)
            if entries.empty:
                raise BitmaskError(
                    f"entries allow no token for sequence {entries.empty[0]}: 0 of {columns} tokens are allowed"
                )
            if not (logits.is_cuda and has_triton()):
                return sampler(logits, self.bitmask(entries), vocab_size=columns, **parameters)
            drawn = sampler.launch_with_table(logits, entries.rows, entries.tensor, columns, parameters)
            self.mark_read()
            return drawn

    def bitmask(self, entries: StepEntries) -> torch.Tensor:
        """Return the masks as a bitmask on the device, computed with torch operations."""
        with self._lock:
            self.wait(entries)
            mask = expand_entries(entries.rows, entries.tensor)
            self.mark_read()
            return mask

    def mark_read(self) -> None:
        """Record that the work launched so far reads the table; call it after replaying a graph that does."""
        if self._stream.orders_streams:
            with self._lock:
                self._stream.mark_read()

    def _check(self, logits: torch.Tensor, entries: StepEntries, vocab_size: int | None) -> int:
        self.wait(entries)
        if logits.ndim != 2 or len(logits) != len(entries.tensor):
            raise BitmaskError(
                f"logits is {tuple(logits.shape)}, but entries are for {len(entries.tensor)} sequences"
            )
        if logits.device != self.rows.device:
            raise BitmaskError(f"logits is on {logits.device}, but the table is on {self.rows.device}")
        columns = min(self.vocab_size, logits.shape[1]) if vocab_size is None else vocab_size
        if columns > self.vocab_size:
            raise BitmaskError(f"vocab_size is {columns}, but the table is for {self.vocab_size} tokens")
        stand_in = self.rows[:1].expand(len(logits), -1)
        return check_masked(logits, stand_in, columns)


def expand_entries(rows: torch.Tensor, entries: torch.Tensor) -> torch.Tensor:
    """Return the bitmask of entries, computed with torch operations: the reference for the kernels.

    Shapes: rows (any number, words) int32; entries (sequences, 16) int32; the result (sequences, words).
    """
    mask = torch.zeros(len(entries), rows.shape[1], dtype=torch.int32, device=rows.device)
    for k in range(ENTRY_ROWS):
        named = entries[:, k].long()
        mask |= torch.where((named >= 0)[:, None], rows[named.clamp(min=0)], 0)
    bits = torch.ones(32, dtype=torch.int32, device=rows.device) << torch.arange(
        32, dtype=torch.int32, device=rows.device
    )
    sequences = torch.arange(len(entries), device=rows.device)
    for k in range(ENTRY_ROWS, ENTRY):
        tokens = entries[:, k].long()
        words = tokens.clamp(min=0) // 32
        flip = torch.where(tokens >= 0, bits[tokens.clamp(min=0) % 32], 0)
        mask[sequences, words] ^= flip
    return mask


# Sending rows of masks to a device: a stream of its own, and the pinned buffers that what it sends comes from
# On a CPU there are no streams: everything is done at once, and nothing waits.


class SendStream:
    """The stream that sends to a device, with the events that order it relative to the reading streams."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream: Any = None
        self._readers: dict[
            int, Any
        ] = {}  # of each stream, recorded after its last launch that reads the table
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._stream.wait_stream(torch.cuda.current_stream(device))

    def pinned(self, words: int) -> torch.Tensor:
        """Return a pinned host buffer."""
        return torch.empty(words, dtype=torch.int32, pin_memory=self.device.type == "cuda")

    def sending(self) -> Any:
        """Return the context in which copies and allocations belong to this stream."""
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def record(self) -> Any:
        """Return an event for everything sent so far; None on a CPU."""
        return None if self._stream is None else self._stream.record_event()

    def mark_read(self) -> None:
        """Record that the work launched on the current stream so far reads the table."""
        stream = torch.cuda.current_stream(self.device)
        self._readers[stream.cuda_stream] = stream.record_event()

    def wait_for_readers(self) -> None:
        """Delay sending until all readers of the table are done."""
        for event in self._readers.values():
            self._stream.wait_event(event)

    def wait_for_current(self) -> None:
        """Delay sending until all work launched on the current stream is done."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def hand_over(self, old: torch.Tensor, new: torch.Tensor) -> None:
        """Keep the memory of both while in use: ``old`` was copied to ``new``, which other streams read."""
        if self._stream is not None:
            old.record_stream(self._stream)
            new.record_stream(torch.cuda.current_stream(self.device))

    @property
    def orders_streams(self) -> bool:
        """Whether the current stream must wait for this one: not on a CPU, nor while a graph is captured."""
        return self._stream is not None and not torch.cuda.is_current_stream_capturing()


class StagingBuffers:
    """Pinned buffers for rows in flight: from ``first`` to ``most`` of them."""

    def __init__(self, stream: SendStream, words: int, first: int, most: int) -> None:
        self._stream, self._words, self._most = stream, words, most
        self._buffers = [stream.pinned(words) for _ in range(first)]
        self._sent: list[Any] = [None] * first  # events, one a buffer

    def free(self) -> tuple[int, torch.Tensor]:
        """Return a buffer that may be written to, as its number and the buffer."""
        at = self._free_number()
        return at, self._buffers[at]

    def _free_number(self) -> int:
        for at, event in enumerate(self._sent):
            if event is None or event.query():
                return at
        if len(self._buffers) < self._most:
            self._buffers.append(self._stream.pinned(self._words))
            self._sent.append(None)
            return len(self._buffers) - 1
        self._sent[0].synchronize()
        return 0

    def mark_sent(self, at: int) -> None:
        """Record that a buffer is in flight."""
        self._sent[at] = self._stream.record()


class StepBuffers:
    """Pinned buffers for the entries of the last ``steps`` steps, which may still be in flight; ``width``
    words per row.
    """

    def __init__(self, stream: SendStream, steps: int, width: int) -> None:
        self._stream, self._width = stream, width
        self._buffers: list[torch.Tensor | None] = [None] * steps
        self._sent: list[Any] = [None] * steps

    def buffer(self, step: int, rows: int) -> torch.Tensor:
        """Return the buffer of a step, with at least ``rows`` rows; it may be filled immediately."""
        at = step % len(self._buffers)
        if self._sent[at] is not None:
            self._sent[at].synchronize()
        buffer = self._buffers[at]
        if buffer is None or len(buffer) < rows:
            buffer = self._stream.pinned(max(rows, 8) * self._width).view(-1, self._width)
            self._buffers[at] = buffer
        return buffer

    def mark_sent(self, step: int) -> Any:
        """Record that the buffer of a step is in flight; return the event of its arrival."""
        event = self._sent[step % len(self._buffers)] = self._stream.record()
        return event
