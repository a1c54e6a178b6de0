"""What an engine answered, as lines that two processes write alike; and the one answer that is to be looked at."""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.int32]


class Found(Exception):
    """The answer that was asked for is there; the walk ends."""


class Recorder:
    """Write one line for each item and part of it: its name, and the answers in order, masks as digests.

    ``target``: (item, part, place) of the answer to be described in full on its own line; nothing else is written then.
    """

    def __init__(self, target: tuple[int, str, int] | None = None) -> None:
        self.target = target
        self.strings = self.masks = self.answers = self.refused = self.raw = 0
        self._weights: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._item = 0
        self._part = ""
        self._answers: list[int | str] = []

    def begin(self, item: int) -> None:
        """Begin an item."""
        self._item = item
        self.part("grammar")

    def part(self, name: str) -> None:
        """Begin a part of the item, such as one of its strings."""
        self.flush()
        self._part = name

    def mask(
        self, row: Row, needed: bool, before: Callable[[], bytes], texts: Sequence[bytes | None]
    ) -> None:
        """Record a mask: ``row``, and whether it has to be applied. ``before``: the text so far; ``texts``: of all tokens."""
        self.masks += 1
        self._answers.append(self._digest(row) * 2 + needed)
        if self._is_target():
            tokens = [*map(repr, texts), *(["None"] * (32 * len(row) - len(texts)))]
            self._describe(mask=row.tobytes().hex(), needed=needed, before=repr(before()), tokens=tokens)

    def rows(self, rows: npt.NDArray[np.int32]) -> None:
        """Record the masks of a batch."""
        self.masks += len(rows)
        self._answers.append(" ".join(str(self._digest(row)) for row in rows))
        if self._is_target():
            self._describe(value=self._answers[-1])

    def say(self, value: Any) -> None:
        """Record another answer, as text."""
        self.answers += 1
        self._answers.append(value if isinstance(value, str) else repr(value))
        if self._is_target():
            self._describe(value=self._answers[-1])

    def refuse(self, error: BaseException) -> None:
        """Record an error: its type and message."""
        self.refused += 1
        self.say(f"{type(error).__name__}: {error}")

    def fail(self, error: Exception) -> None:
        """Record an error that is none of the engine's own; its message may name addresses."""
        self.raw += 1
        self.say(re.sub(r"0x[0-9a-f]+", "0x…", f"raw {type(error).__name__}: {error}"))

    def flush(self) -> None:
        """Write what was recorded of a part."""
        if self._answers and self.target is None:
            print(json.dumps([self._item, self._part, self._answers]))
        self._answers = []

    def counts(self) -> dict[str, int]:
        """Return how much was recorded."""
        names = ("strings", "masks", "answers", "refused", "raw")
        return {name: getattr(self, name) for name in names}

    def _is_target(self) -> bool:
        return self.target == (self._item, self._part, len(self._answers) - 1)

    def _describe(self, **found: Any) -> None:
        print(json.dumps(found))
        sys.stdout.flush()
        raise Found

    def _digest(self, row: Row) -> int:
        """Return a sum of the words with odd weights, modulo 2^62: another row of which one word differs has another one."""
        if len(self._weights) != len(row):
            self._weights = _weights(len(row))
        return int((row.view(np.uint32) * self._weights).sum()) >> 2


def _weights(count: int) -> npt.NDArray[np.uint64]:
    drawn = np.random.default_rng(zlib.crc32(b"weights")).integers(1 << 63, size=count, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def decoded(tokens: tuple[bytes | None, ...], ids: Iterable[int]) -> bytes:
    """Return the text of tokens, special ones by their number."""
    return b"".join(
        text if (text := tokens[i] if i < len(tokens) else None) is not None else b"<%d>" % i for i in ids
    )
