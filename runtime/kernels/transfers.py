"""Sending rows of masks to a device: a stream of its own, and the pinned buffers that what it sends comes from.

On a CPU there are no streams: everything is done at once, and nothing waits.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch


class SendStream:
    """The stream that sends to a device, and the events that order it with the streams that read there."""

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
        """Return a buffer on the host that the device can copy from."""
        return torch.empty(words, dtype=torch.int32, pin_memory=self.device.type == "cuda")

    def sending(self) -> Any:
        """Return the context in which copies and allocations belong to this stream."""
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def record(self) -> Any:
        """Return an event of all that was sent so far; None on a CPU."""
        return None if self._stream is None else self._stream.record_event()

    def mark_read(self) -> None:
        """Note that what the current stream has launched so far reads the table."""
        stream = torch.cuda.current_stream(self.device)
        self._readers[stream.cuda_stream] = stream.record_event()

    def wait_for_readers(self) -> None:
        """Send nothing more before all that reads the table is done."""
        for event in self._readers.values():
            self._stream.wait_event(event)

    def wait_for_current(self) -> None:
        """Send nothing more before all that the current stream has launched is done."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def hand_over(self, old: torch.Tensor, new: torch.Tensor) -> None:
        """Keep the memory of both while they are in use: ``old`` was copied to ``new``, which other streams read."""
        if self._stream is not None:
            old.record_stream(self._stream)
            new.record_stream(torch.cuda.current_stream(self.device))

    @property
    def orders_streams(self) -> bool:
        """Whether the current stream must wait for this one: not on a CPU, nor while a graph is captured."""
        return self._stream is not None and not torch.cuda.is_current_stream_capturing()


class StagingBuffers:
    """Pinned buffers for rows on their way: from ``first`` to ``most`` of them."""

    def __init__(self, stream: SendStream, words: int, first: int, most: int) -> None:
        self._stream, self._words, self._most = stream, words, most
        self._buffers = [stream.pinned(words) for _ in range(first)]
        self._sent: list[Any] = [None] * first  # events, one a buffer

    def free(self) -> tuple[int, torch.Tensor]:
        """Return the number of a buffer that may be written to, and the buffer."""
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
        """Note that a buffer is on its way."""
        self._sent[at] = self._stream.record()


class StepBuffers:
    """Pinned buffers for the entries of the last ``steps`` steps, which may still be on their way; ``width`` words a row."""

    def __init__(self, stream: SendStream, steps: int, width: int) -> None:
        self._stream, self._width = stream, width
        self._buffers: list[torch.Tensor | None] = [None] * steps
        self._sent: list[Any] = [None] * steps

    def buffer(self, step: int, rows: int) -> torch.Tensor:
        """Return the buffer of a step, with at least so many rows; it may be filled at once."""
        at = step % len(self._buffers)
        if self._sent[at] is not None:
            self._sent[at].synchronize()
        buffer = self._buffers[at]
        if buffer is None or len(buffer) < rows:
            buffer = self._stream.pinned(max(rows, 8) * self._width).view(-1, self._width)
            self._buffers[at] = buffer
        return buffer

    def mark_sent(self, step: int) -> Any:
        """Note that the buffer of a step is on its way; return the event of its arrival."""
        event = self._sent[step % len(self._buffers)] = self._stream.record()
        return event
