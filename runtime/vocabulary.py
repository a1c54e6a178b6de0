"""The vocabulary: which bytes each token id stands for, which ids are special, which ones stop."""

from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from stackmask.pda.errors import VocabularyError

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.tokenizers.table import TokenTable

PrefixSpace: TypeAlias = Literal["auto", "strip", "keep"]
TokenArrays: TypeAlias = "tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int32]]"

MAX_SIZE = 1 << 26  # ids are int32 and a mask row is a few megabytes: anything wider is a mistake
NO_TEXT = 0xFFFFFFFF  # the length field of special and added tokens in the digest


@final
class Vocabulary:
    """Hold the bytes of every token id of one model; immutable and safe to share between threads.

    ``tokens[i]`` is the exact text of id ``i``, or None for ids that are never text: special tokens, stop
    tokens, gaps. Ids from ``len(tokens)`` to ``size`` are padding of the logits and are never allowed. Several
    ids may spell the same bytes; all are kept. A token of no bytes is never allowed.

    ``special_names`` names special tokens for grammars (``<|tool|>``); its ids are special as well. A stop
    token is special too, even if the tokenizer would decode it as text: it ends the output and is never part
    of it. ``added_ids`` are ids that are text but were added to the tokenizer's trained vocabulary; only
    ``digest`` looks at them.

    ``strip_first_space`` states what happens to SentencePiece's leading space: when set, one leading space of
    the first token of an output is not part of the text, as these tokenizers decode it. A first token that is
    only that space then stands for the empty string. When not set every token means its bytes.

    Raises: VocabularyError when an id is out of range, a name or a token has the wrong type, or ``size`` is too small.
    Cost: linear in the number of tokens; 128,000 tokens take about 20 ms.
    """

    __slots__ = (
        "_added_ids",
        "_arrays",
        "_digest",
        "_lock",
        "_size",
        "_special_ids",
        "_special_names",
        "_stop_ids",
        "_strip_first_space",
        "_tokens",
    )

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        *,
        stop_ids: Iterable[int] = (),
        special_ids: Iterable[int] = (),
        special_names: Mapping[str, int] | None = None,
        size: int | None = None,
        strip_first_space: bool = False,
        added_ids: Iterable[int] = (),
    ) -> None:
        count = len(tokens)
        width = count if size is None else int(size)
        if width < count:
            raise VocabularyError(f"size is {width}, but there are {count} tokens")
        if width > MAX_SIZE:
            raise VocabularyError(f"size is {width}, more than the limit of {MAX_SIZE}")
        if width == 0:
            raise VocabularyError("tokens is empty: a vocabulary needs at least one token")
        _check_types(tokens)
        names = dict(special_names or {})
        stops = tuple(dict.fromkeys(int(i) for i in stop_ids))
        special = frozenset(int(i) for i in special_ids) | frozenset(stops) | frozenset(names.values())
        for name, ids in (
            ("stop_ids", stops),
            ("special_names", names.values()),
            ("special_ids", special),
        ):
            _check_range(name, ids, width)

        kept = list(tokens)
        for i in special:
            if i < count:
                kept[i] = None
        self._tokens = tuple(kept)
        self._size = width
        self._stop_ids = stops
        self._special_ids = special
        self._special_names = MappingProxyType(names)
        self._strip_first_space = bool(strip_first_space)
        self._added_ids = frozenset(int(i) for i in added_ids) | special
        self._lock = threading.Lock()
        self._arrays: TokenArrays | None = None
        self._digest: str | None = None

    # readers ------------------------------------------------------------------------------------

    @classmethod
    def from_huggingface(
        cls,
        tokenizer: Any,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
        special_ids: Iterable[int] = (),
        generation_config: Any = None,
        prefix_space: PrefixSpace = "auto",
    ) -> Vocabulary:
        """Read a transformers tokenizer (fast or slow) or a ``tokenizers.Tokenizer``.

        The kind (byte-level BPE, SentencePiece with byte fallback, Metaspace, tiktoken) is read from the
        decoder, not from the class name. Added tokens that are not special are text; ``special_ids`` makes
        more of them special, so that a grammar can name them (``<tool_call>`` of Qwen3).

        ``size`` is the width of the model's logits, which may exceed the tokenizer's. ``stop_ids`` replaces
        the stop tokens; by default they are the tokenizer's ``eos_token_id`` and those of ``generation_config``.
        ``prefix_space`` is "strip" or "keep" for ``strip_first_space``; "auto" does what the decoder does.

        Raises: VocabularyError when the tokenizer's kind is unknown, naming the part that is.
        Cost: 128,000 tokens take about 0.2 s.
        """
        from stackmask.runtime.tokenizers.huggingface import read_huggingface

        table = read_huggingface(tokenizer)
        if generation_config is not None:
            table = table.with_stops(_as_ids(getattr(generation_config, "eos_token_id", None)))
        return cls.from_table(
            table, size=size, stop_ids=stop_ids, special_ids=special_ids, prefix_space=prefix_space
        )

    @classmethod
    def from_tiktoken(
        cls,
        encoding: Any,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
    ) -> Vocabulary:
        """Read a ``tiktoken.Encoding``; ``<|endoftext|>`` stops unless ``stop_ids`` says otherwise."""
        from stackmask.runtime.tokenizers.ranks import read_tiktoken

        return cls.from_table(read_tiktoken(encoding), size=size, stop_ids=stop_ids)

    @classmethod
    def from_sentencepiece(
        cls,
        processor: Any,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
        prefix_space: PrefixSpace = "auto",
    ) -> Vocabulary:
        """Read a ``sentencepiece.SentencePieceProcessor``; its ``eos`` stops unless ``stop_ids`` says otherwise."""
        from stackmask.runtime.tokenizers.pieces import read_sentencepiece

        return cls.from_table(
            read_sentencepiece(processor), size=size, stop_ids=stop_ids, prefix_space=prefix_space
        )

    @classmethod
    def from_table(
        cls,
        table: TokenTable,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
        special_ids: Iterable[int] = (),
        prefix_space: PrefixSpace = "auto",
    ) -> Vocabulary:
        """Build from what a reader returned. A ``size`` below the table drops special ids only, never text."""
        if prefix_space not in ("auto", "strip", "keep"):
            raise VocabularyError(f'prefix_space is {prefix_space!r}, not "auto", "strip" or "keep"')
        if size is not None and size < len(table.tokens):
            table = table.shortened(size)
        more = frozenset(int(i) for i in special_ids)
        _check_range("special_ids", more, len(table.tokens))
        names = {name: i for name, i in table.names.items() if i in table.special_ids or i in more}
        strip = table.strip_first_space if prefix_space == "auto" else prefix_space == "strip"
        return cls(
            table.tokens,
            stop_ids=table.stop_ids if stop_ids is None else stop_ids,
            special_ids=table.special_ids | more,
            special_names=names,
            size=size,
            strip_first_space=strip,
            added_ids=table.added_ids,
        )

    # what it holds ------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The width of the logits and of a mask, in tokens."""
        return self._size

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The text of each id; None for ids that are never text. It may be shorter than ``size``."""
        return self._tokens

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """The ids that end an output, in the order given."""
        return self._stop_ids

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids that are never text, stop tokens included."""
        return self._special_ids

    @property
    def special_names(self) -> Mapping[str, int]:
        """The special tokens that a grammar can name."""
        return self._special_names

    @property
    def strip_first_space(self) -> bool:
        """Whether one leading space of the first token is not part of the text."""
        return self._strip_first_space

    @property
    def text_ids(self) -> npt.NDArray[np.int32]:
        """The ids that spell at least one byte, ascending; read-only."""
        return self.token_table()[2]

    def token_table(self) -> TokenArrays:
        """Return ``(blob, offsets, ids)`` of the tokens that spell at least one byte, by ascending id; read-only.

        Shapes: blob (total bytes,) uint8, offsets (n + 1,) int64, ids (n,) int32; token ``ids[j]`` is
            ``blob[offsets[j]:offsets[j + 1]]``.
        Cost: built on the first call and kept.
        """
        with self._lock:
            if self._arrays is None:
                self._arrays = _build_arrays(self._tokens)
            return self._arrays

    def digest(self) -> str:
        """Return the SHA-256 of the id → bytes table, in hexadecimal.

        Over ascending ids: id and length as little-endian 32-bit words, then the bytes; special and added tokens
        have the length field ffffffff and no bytes; ids without a token are left out.
        """
        with self._lock:
            if self._digest is None:
                self._digest = _digest(self._tokens, self._added_ids)
            return self._digest

    def fits(self, other: Vocabulary) -> bool:
        """Tell whether masks for this vocabulary are right for a model of the other one.

        Every id must mean the same text, and what ends a text here must end it there. Padding of the logits may
        differ, and the other may have more stop tokens: masks never allow those.
        """
        return self is other or (
            set(self.stop_ids) <= set(other.stop_ids)
            and self.strip_first_space == other.strip_first_space
            and _without_padding(self.tokens) == _without_padding(other.tokens)
        )

    def decode(self, ids: Iterable[int]) -> bytes:
        """Join the text of a whole output; special and padding ids add nothing, ``strip_first_space`` is obeyed."""
        tokens = self._tokens
        parts = [tokens[i] or b"" if 0 <= i < len(tokens) else b"" for i in map(int, ids)]
        if self._strip_first_space and parts and parts[0].startswith(b" "):
            parts[0] = parts[0][1:]
        return b"".join(parts)

    def __repr__(self) -> str:
        return (
            f"Vocabulary(size={self._size}, tokens={len(self._tokens)}, special={len(self._special_ids)}, "
            f"stop_ids={self._stop_ids}, strip_first_space={self._strip_first_space})"
        )


def _without_padding(tokens: tuple[bytes | None, ...]) -> tuple[bytes | None, ...]:
    end = len(tokens)
    while end and tokens[end - 1] is None:
        end -= 1
    return tokens[:end]


def _check_types(tokens: Sequence[bytes | None]) -> None:
    if set(map(type, tokens)) <= {bytes, type(None)}:
        return
    bad = next(i for i, token in enumerate(tokens) if token is not None and type(token) is not bytes)
    raise VocabularyError(
        f"tokens[{bad}] is {type(tokens[bad]).__name__}, not bytes: give the bytes that the token stands for, "
        "or use Vocabulary.from_huggingface"
    )


def _check_range(name: str, ids: Iterable[int], width: int) -> None:
    for i in ids:
        if not 0 <= i < width:
            raise VocabularyError(f"{name} has id {i}, but the vocabulary has {width} ids")


def _as_ids(value: Any) -> tuple[int, ...]:
    """Read ``eos_token_id``, which is None, one id, or several."""
    if value is None:
        return ()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(int(i) for i in value) if isinstance(value, Iterable) else (int(value),)


def _build_arrays(tokens: tuple[bytes | None, ...]) -> TokenArrays:
    ids = [i for i, token in enumerate(tokens) if token]
    texts = [token for token in tokens if token]
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)), out=offsets[1:])
    blob = np.frombuffer(b"".join(texts), dtype=np.uint8)
    arrays = (blob, offsets, np.array(ids, dtype=np.int32))
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _digest(tokens: tuple[bytes | None, ...], without_text: frozenset[int]) -> str:
    head = struct.Struct("<II").pack
    parts: list[bytes] = []
    for i, token in enumerate(tokens):
        if i in without_text:
            parts.append(head(i, NO_TEXT))
        elif token is not None:
            parts.append(head(i, len(token)) + token)
    return hashlib.sha256(b"".join(parts)).hexdigest()
