"""Decode token ids into text as they arrive."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

EMPTY: Final[Mapping[int, bytes]] = MappingProxyType({})


class TextDecoder:
    """Decodes one output token by token. A character that spans tokens appears when it is complete.

    Invalid UTF-8 becomes U+FFFD. A stop token ends the text. ``named``: special tokens to show, with their
    texts; a stop token among them is shown before it ends the text.
    """

    def __init__(self, vocabulary: Vocabulary, named: Mapping[int, bytes] = EMPTY) -> None:
        self._tokens = vocabulary.token_bytes
        self._stops = frozenset(vocabulary.stop_ids)
        self._strip = vocabulary.strip_first_space
        self._named = named
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.ended = False

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes to show for a token; none for padding, or for special tokens without a name."""
        found = self._tokens[token] if 0 <= token < len(self._tokens) else None
        return self._named.get(token, b"") if found is None else found

    def push(self, token: int) -> str:
        """Return the text that the token completes."""
        if self.ended:
            return ""
        if token in self._stops:
            return self.push_bytes(self.bytes_of(token)) + self.finish()
        return self.push_bytes(self.bytes_of(token))

    def push_bytes(self, data: bytes) -> str:
        """Return the text that the bytes of a token complete."""
        if self._strip:
            self._strip = False  # mutant: strip-once
            data = data.removeprefix(b" ")
        return self._decoder.decode(data)

    def finish(self) -> str:
        """Return the remaining text when no token follows."""
        if self.ended:
            return ""
        self.ended = True
        return self._decoder.decode(b"", final=True)


class TokenStreamer:
    """A streamer for ``model.generate`` that supports batches: ``on_text(row, text)`` receives new text.

    ``generate`` first puts the prompts, then either one token for each row, (rows,), or, in assisted
    decoding, several tokens of the only row, (1, tokens). ``named``: special tokens to show, with texts.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        on_text: Callable[[int, str], None],
        named: Mapping[int, bytes] = EMPTY,
    ) -> None:
        self._vocabulary = vocabulary
        self._on_text = on_text
        self._named = named
        self._rows: list[TextDecoder] | None = None
        self._given: dict[int, list[int]] = {}  # by row

    def put(self, value: Any) -> None:
        """Receive the prompts (first call) or new tokens."""
        if self._rows is None:
            self._rows = [TextDecoder(self._vocabulary, self._named) for _ in range(len(value))]
            return
        tokens = value.tolist()
        if len(self._rows) == 1:
            for token in tokens[0] if value.ndim == 2 else tokens:
                self._emit(0, self._rows[0].push(token))
        else:
            for row, token in enumerate(tokens):
                self._emit(row, self._rows[row].push(token))

    def put_row(self, row: int, tokens: Sequence[int]) -> None:
        """Receive all tokens of a row so far. Earlier tokens may have changed, but not their text."""
        assert self._rows is not None
        stops = frozenset(self._vocabulary.stop_ids)
        decoder = self._rows[row]
        if decoder.ended:
            return
        # only the tokens that differ are spelled again
        given = self._given.setdefault(row, [])
        same = 0
        while same < min(len(given), len(tokens)) and given[same] == tokens[same]:
            same += 1
        skip = sum(len(decoder.bytes_of(token)) for token in given[same:])
        for token in tokens[same:]:
            if token in stops:
                self._emit(row, decoder.push(token))
                break
            data = decoder.bytes_of(token)
            self._emit(row, decoder.push_bytes(data[skip:] if skip < len(data) else b""))
            skip = max(0, skip - len(data))
        given[same:] = tokens[same:]

    def end(self) -> None:
        """Emit the remaining text of rows that no stop token ended."""
        for row, decoder in enumerate(self._rows or ()):
            self._emit(row, decoder.finish())

    def _emit(self, row: int, text: str) -> None:
        if text:
            self._on_text(row, text)
