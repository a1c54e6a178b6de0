"""Turn token ids into text as they arrive."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary import Vocabulary


class TextDecoder:
    """Decode one output token by token; a character that spans tokens appears when it is whole.

    Bytes that are no UTF-8 become U+FFFD. After a stop token nothing more comes.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = vocabulary.token_bytes
        self._stops = frozenset(vocabulary.stop_ids)
        self._strip = vocabulary.strip_first_space
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.ended = False

    def push(self, token: int) -> str:
        """Return the text that the token completes."""
        if self.ended:
            return ""
        if token in self._stops:
            return self.finish()
        data = (self._tokens[token] or b"") if 0 <= token < len(self._tokens) else b""
        if self._strip:
            self._strip = False
            data = data.removeprefix(b" ")
        return self._decoder.decode(data)

    def finish(self) -> str:
        """Return what is left when no token follows."""
        if self.ended:
            return ""
        self.ended = True
        return self._decoder.decode(b"", final=True)


class TokenStreamer:
    """A streamer for ``model.generate`` that takes batches: ``on_text(row, text)`` for every new piece of text.

    ``generate`` puts the prompts first, then either one token per row, (rows,), or, in assisted decoding, several
    tokens of the only row, (1, tokens).
    """

    def __init__(self, vocabulary: Vocabulary, on_text: Callable[[int, str], None]) -> None:
        self._vocabulary = vocabulary
        self._on_text = on_text
        self._rows: list[TextDecoder] | None = None

    def put(self, value: Any) -> None:
        """Take the prompts (first call) or new tokens."""
        if self._rows is None:
            self._rows = [TextDecoder(self._vocabulary) for _ in range(len(value))]
            return
        tokens = value.tolist()
        if len(self._rows) == 1:
            for token in tokens[0] if value.ndim == 2 else tokens:
                self._emit(0, self._rows[0].push(token))
        else:
            for row, token in enumerate(tokens):
                self._emit(row, self._rows[row].push(token))

    def end(self) -> None:
        """Give out what is left of rows that no stop token ended."""
        for row, decoder in enumerate(self._rows or ()):
            self._emit(row, decoder.finish())

    def _emit(self, row: int, text: str) -> None:
        if text:
            self._on_text(row, text)
