"""The vocabulary: the bytes of each token id, the special ids, and the stop tokens."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

import numpy as np

from stackmask.grammar.source.diagnostics import MissingFileError, NotAFileError
from stackmask.grammar.source.options import ELSEWHERE, ArgumentError, explains_options, whole_number
from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes, pack
from stackmask.pda.vocabulary.token_trie import TokenOrder, Trie
from stackmask.runtime.vocabulary.container import ContainerError, Kind, write_whole
from stackmask.runtime.vocabulary.tokenizers.encoders import Encoder, encoder_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.vocabulary.container import CacheFolder
    from stackmask.runtime.vocabulary.tokenizers.table import TokenTable


PrefixSpace: TypeAlias = Literal["auto", "strip", "keep"]

MAX_SIZE = 1 << 26  # ids are int32 and a mask row is a few megabytes: anything wider is a mistake


@final
class Vocabulary:
    """The bytes of every token id of one model. Immutable; threads may share it.

    ``tokens[i]`` is the exact text of id ``i``, or None for ids that are never text: special tokens, stop
    tokens, gaps. Ids from ``len(tokens)`` to ``size`` are padding of the logits and are never allowed.
    Several ids may spell the same bytes; all are kept. A token without bytes is never allowed.

    ``special_names`` names special tokens for grammars (``<|tool|>``); its ids are special as well. A stop
    token is also special, even if the tokenizer would decode it as text, since it ends the output and is
    never part of the output. ``added_ids`` are ids that are text but were added to the tokenizer's trained
    vocabulary; only ``digest`` uses them.

    ``strip_first_space`` controls SentencePiece's leading space: if set, one leading space of the first token
    of an output is not part of the text, as these tokenizers decode it. A first token that only consists of
    this space is then the empty string. If not set, every token is exactly its bytes.

    The tokens are stored in one block of memory (1.8 MB for 128,000), without a Python object for each.

    Raises: VocabularyError when an id is out of range, a name or a token has the wrong type, ``size`` is too small,
        or the tokens have more than two billion bytes together.
    Cost: linear in the number of tokens; 128,000 tokens take about 5 ms.
    """

    __slots__ = (
        "__weakref__",
        "_added_ids",
        "_derived",
        "_encoder",
        "_silent_texts",
        "_size",
        "_special_ids",
        "_special_names",
        "_stop_ids",
        "_strip_first_space",
        "_texts",
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
        if isinstance(tokens, str | bytes) or not isinstance(tokens, Sequence | TokenBytes):
            raise ArgumentError(
                f"`tokens` is a list with the bytes of each id, or None, not {type(tokens).__name__}: of a tokenizer it is "
                "Vocabulary.from_huggingface(tokenizer)"
            )
        count = len(tokens)
        width = count if size is None else whole_number("size", size, 1)
        if width < count:
            raise VocabularyError(f"size is {width}, but there are {count} tokens")
        if width > MAX_SIZE:
            raise VocabularyError(f"size is {width}, more than the limit of {MAX_SIZE}")
        if width == 0:
            raise VocabularyError("tokens is empty: a vocabulary needs at least one token")
        texts = _pack(tokens)
        names = dict(special_names or {})
        stops = tuple(dict.fromkeys(_ids("stop_ids", stop_ids)))
        special = frozenset(_ids("special_ids", special_ids)) | frozenset(stops) | frozenset(names.values())
        for name, ids in (
            ("stop_ids", stops),
            ("special_names", names.values()),
            ("special_ids", special),
        ):
            _check_range(name, ids, width)

        # what special and stop tokens would spell if they were text, for errors; not saved
        self._silent_texts = {i: text for i in sorted(special) if i < count and (text := texts[i])}
        self._texts = texts.overlay({i: None for i in special if i < count})  # mutant: special-text
        self._size = width
        self._stop_ids = stops
        self._special_ids = special
        self._special_names = MappingProxyType(names)
        self._strip_first_space = bool(strip_first_space)
        self._added_ids = frozenset(_ids("added_ids", added_ids)) | special
        self._derived = DerivedData(self._texts, self._added_ids)
        self._encoder: Encoder | None = None

    # readers ------------------------------------------------------------------------------------

    @classmethod
    @explains_options(ELSEWHERE["vocabulary"])
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

        The kind (byte-level BPE, SentencePiece with byte fallback, Metaspace, tiktoken) is determined by the
        decoder, not the class name. Added tokens that are not special are text; ``special_ids`` makes further
        ones special, so that a grammar can name them (``<tool_call>`` of Qwen3).

        ``size`` is the width of the model's logits, which may exceed the tokenizer's. ``stop_ids`` replaces
        the stop tokens; the default is the tokenizer's ``eos_token_id`` and those of ``generation_config``.
        ``prefix_space`` is "strip" or "keep" for ``strip_first_space``; "auto" follows the decoder.

        Raises: VocabularyError if the kind of tokenizer is unknown, naming the unknown part.
        Cost: 128,000 tokens take about 0.2 s.
        """
        from stackmask.runtime.vocabulary.tokenizers.huggingface import read_huggingface

        table = read_huggingface(tokenizer)
        if generation_config is not None:
            table = table.with_stops(_stops_of(generation_config))
        made = cls._from_table(
            table, size=size, stop_ids=stop_ids, special_ids=special_ids, prefix_space=prefix_space
        )
        with suppress(VocabularyError):  # masks need no encoder
            made._encoder = encoder_of(tokenizer)
        return made

    @classmethod
    def from_tiktoken(
        cls,
        encoding: Any,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
    ) -> Vocabulary:
        """Read a ``tiktoken.Encoding``; stop tokens are ``stop_ids``, or else ``<|endoftext|>``."""
        from stackmask.runtime.vocabulary.tokenizers.huggingface import read_tiktoken

        made = cls._from_table(read_tiktoken(encoding), size=size, stop_ids=stop_ids)
        with suppress(VocabularyError):
            made._encoder = encoder_of(encoding)
        return made

    @classmethod
    def from_sentencepiece(
        cls,
        processor: Any,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
        prefix_space: PrefixSpace = "auto",
    ) -> Vocabulary:
        """Read a ``sentencepiece.SentencePieceProcessor``; stop tokens are ``stop_ids``, or else its ``eos``."""
        from stackmask.runtime.vocabulary.tokenizers.huggingface import read_sentencepiece

        made = cls._from_table(
            read_sentencepiece(processor), size=size, stop_ids=stop_ids, prefix_space=prefix_space
        )
        with suppress(VocabularyError):
            made._encoder = encoder_of(processor)
        return made

    @classmethod
    def _from_table(
        cls,
        table: TokenTable,
        *,
        size: int | None = None,
        stop_ids: Iterable[int] | None = None,
        special_ids: Iterable[int] = (),
        prefix_space: PrefixSpace = "auto",
    ) -> Vocabulary:
        """Build from a reader's result. A ``size`` below that of the table may drop special ids, but never text."""
        if prefix_space not in ("auto", "strip", "keep"):
            raise VocabularyError(f'prefix_space is {prefix_space!r}, not "auto", "strip" or "keep"')
        if size is not None and whole_number("size", size, 1) < len(table.tokens):
            table = table.shortened(size)
        more = frozenset(_ids("special_ids", special_ids))
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

    def with_encoder(self, tokenizer: Any) -> Vocabulary:
        """Return the same vocabulary with a tokenizer for jump-forward; the readers set it automatically.

        ``tokenizer``: one that a reader accepts, or a function from text to ids. It is not saved or pickled.
        Raises: VocabularyError if it cannot encode text.
        """
        other = Vocabulary(self._texts, **self._fields())
        other._derived = self._derived
        other._silent_texts = self._silent_texts
        other._encoder = encoder_of(tokenizer)
        return other

    def with_stop_ids(self, stop_ids: Iterable[int]) -> Vocabulary:
        """Return the same vocabulary with other stop tokens, which are no longer text.

        Former stop tokens stay special. Raises: VocabularyError if an id is out of range.
        """
        other = Vocabulary(self._texts, **{**self._fields(), "stop_ids": stop_ids})
        if other._special_ids == self._special_ids:
            other._derived = self._derived
        other._encoder = self._encoder
        return other

    # files --------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the vocabulary and the order of its trie to a file that ``load`` reads in milliseconds.

        The file is written atomically, so that several processes may write the same file. It can be read by
        the same version of the format on machines with the same byte order.

        Raises: OSError if it cannot be written.
        """
        write(_path(path), self._contents())

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read a file written by ``save``.

        The file is not trusted: a checksum detects damage, and the arrays are checked for consistency, so
        that no file can cause out-of-bounds access.

        Raises: VocabularyError if the file is damaged, of another version, or of another kind; OSError if it
            cannot be read (MissingFileError or NotAFileError, which are also StackmaskErrors, if there is
            none).
        Cost: about 6 ms for 128,000 tokens, 12 ms for 262,000.
        """
        try:
            contents = read(_path(path))
        except FileNotFoundError:
            raise MissingFileError(f"no such file: {path}; Vocabulary.save(path) writes one") from None
        except IsADirectoryError:
            raise NotAFileError(
                f"{path} is a folder: Vocabulary.load reads the file that Vocabulary.save wrote"
            ) from None
        try:
            return cls._from_contents(contents)
        except VocabularyError as error:
            raise VocabularyError(f"{path} is not a vocabulary that can be loaded: {error}") from None

    @classmethod
    def cached(cls, path: str | Path, key: str, build: Callable[[], Vocabulary]) -> Vocabulary:
        """Load the vocabulary saved under ``key``, or build it and save it to ``path``.

        ``path``: a file, or an existing folder. In a folder each key has a separate file; it may be the
        ``cache_dir`` of compilers, with the same size limit. ``key`` must identify everything that ``build``
        depends on: the model's name and revision, and the arguments of the reader. A file that is missing,
        damaged, of another version or of another key is rebuilt and replaced. ``build`` is not called if the
        file is valid, so the tokenizer need not be loaded. If the folder cannot be written to, a warning is
        issued, and the vocabulary is returned anyway.

        Raises: the exceptions of ``build``.
        """
        from stackmask.runtime.vocabulary.container import CacheFolder

        if not isinstance(key, str) or not callable(build):
            raise ArgumentError(
                "Vocabulary.cached takes a path, a key (a str) and a function that makes the vocabulary, as in "
                f"cached(path, name, lambda: …), not {type(key).__name__} and {type(build).__name__}"
            )
        path = _path(path)
        folder = CacheFolder(path) if path.is_dir() else None
        if folder is not None:
            digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
            path = folder.file(f"vocabulary-{digest[:32]}-{KIND.version}")
        with suppress(OSError, VocabularyError):
            contents = read(path)
            if contents.key == key:
                if folder is not None:
                    folder.use(path)
                return cls._from_contents(contents)
        vocabulary = build()
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(
                f"the function returned {type(vocabulary).__name__}, not a Vocabulary: of a tokenizer make one with "
                "Vocabulary.from_huggingface(tokenizer)"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = serialise(vocabulary._contents(key))
            if folder is None or folder.make_room(len(data)):
                write_whole(path, data)
        except OSError as error:
            warnings.warn(f"the vocabulary could not be saved: {error}", RuntimeWarning, stacklevel=2)
        return vocabulary

    @classmethod
    def _from_contents(cls, contents: Contents) -> Vocabulary:
        vocabulary = cls(contents.texts, **contents.fields)
        vocabulary._derived.take_order(contents.order)
        return vocabulary

    def _contents(self, key: str = "") -> Contents:
        return Contents(key, self._fields(), self._texts, self._trie().order)

    def _fields(self) -> dict[str, Any]:
        """Return the constructor arguments as JSON values, without the tokens."""
        return {
            "size": self._size,
            "stop_ids": list(self._stop_ids),
            "special_ids": sorted(self._special_ids),
            "special_names": dict(self._special_names),
            "strip_first_space": self._strip_first_space,
            "added_ids": sorted(self._added_ids),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (serialise(self._contents()),)

    # what it holds ------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The width of the logits and of a mask, in tokens."""
        return self._size

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The text of each id; None for ids that are never text. It may be shorter than ``size``.

        Cost: created on first use and kept, one object for each token; ``token_bytes`` avoids this.
        """
        return self._derived.objects()

    @property
    def token_bytes(self) -> TokenBytes:
        """The text of each id, as a sequence that creates objects on access."""
        return self._texts

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """The ids that end an output, in the given order."""
        return self._stop_ids

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids that are never text, including stop tokens."""
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
        return self._token_table()[2]

    def _token_table(self) -> TokenArrays:
        """Return ``(blob, offsets, ids)`` of the tokens that spell at least one byte, by ascending id; read-only.

        Shapes: blob (total bytes,) uint8, offsets (n + 1,) int64, ids (n,) int32; token ``ids[j]`` is
            ``blob[offsets[j]:offsets[j + 1]]``.
        Cost: built on the first call and kept.
        """
        return self._derived.arrays()

    def digest(self) -> str:
        """Return the SHA-256 of the id → bytes table, in hexadecimal.

        Over ascending ids: id and length as little-endian 32-bit words, then the bytes; special and added
        tokens have the length field ffffffff and no bytes; ids without a token are excluded.
        """
        return self._derived.digest()

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of text for this model's tokenizer, or None."""
        return self._encoder

    def _trie(self, folder: CacheFolder | None = None) -> Trie:
        """Return the prefix trie of the texts; vocabularies with the same texts share a trie in a process.

        ``folder``: stores the order of the texts for other processes.
        Cost: about 25 ms for 128,000 tokens the first time; 15 ms after ``load``.
        """
        return self._derived.trie(folder)

    def _has_trie(self) -> bool:
        """Return whether ``trie`` has already been requested."""
        return self._derived.has_trie()

    def fits(self, other: Vocabulary) -> bool:
        """Return whether masks for this vocabulary are correct for a model with another one.

        Every id must have the same text, and stop tokens of this vocabulary must be stop tokens of the other.
        Padding of the logits may differ, and the other may have further stop tokens, which masks never allow.
        """
        return self is other or (
            set(self.stop_ids) <= set(other.stop_ids)
            and self.strip_first_space == other.strip_first_space
            and self._texts.same_texts(other._texts)
        )

    def decode(self, ids: Iterable[int]) -> bytes:
        """Join the text of a whole output; special and padding ids add nothing, and ``strip_first_space`` is
        applied.
        """
        tokens = self._texts
        try:
            numbers = list(map(index, ids))
        except TypeError:
            raise ArgumentError(f"`ids` is a list of token ids, not {ids!r:.60}: write decode([…])") from None
        parts = [tokens[i] or b"" if 0 <= i < len(tokens) else b"" for i in numbers]
        if self._strip_first_space and parts and parts[0].startswith(b" "):
            parts[0] = parts[0][1:]
        return b"".join(parts)

    def __repr__(self) -> str:
        return (
            f"Vocabulary(size={self._size}, tokens={len(self._texts)}, special={len(self._special_ids)}, "
            f"stop_ids={self._stop_ids}, strip_first_space={self._strip_first_space})"
        )


def _restore(data: bytes) -> Vocabulary:
    return Vocabulary._from_contents(parse(data))


def _pack(tokens: Sequence[bytes | None]) -> TokenBytes:
    if isinstance(tokens, TokenBytes):
        return tokens
    try:
        return pack(tokens)
    except TypeError:
        _check_types(tokens)
        raise


def _ids(name: str, ids: Any) -> list[int]:
    """Return the token ids of an argument. Raises: ArgumentError for other arguments."""
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        raise ArgumentError(f"`{name}` is a list of token ids, not {ids!r:.60}: write {name}=[…]")
    return [whole_number(f"an id of {name}", i, -(1 << 62)) for i in ids]


def _check_types(tokens: Sequence[bytes | None]) -> None:
    bad = next(i for i, token in enumerate(tokens) if token is not None and type(token) is not bytes)
    raise VocabularyError(
        f"tokens[{bad}] is {type(tokens[bad]).__name__}, not bytes: give the bytes of the token, "
        "or use Vocabulary.from_huggingface"
    )


def _check_range(name: str, ids: Iterable[int], width: int) -> None:
    for i in ids:
        if not 0 <= i < width:
            raise VocabularyError(f"{name} has id {i}, but the vocabulary has {width} ids")


def _path(path: Any) -> Path:
    """Return the path of a file or folder. Raises: ArgumentError for other arguments."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"a path is str or os.PathLike, not {type(path).__name__}")
    return Path(path)


def _stops_of(generation_config: Any) -> tuple[int, ...]:
    """Return the stop tokens of ``model.generation_config``, or of an equivalent dict. Raises: ArgumentError."""
    if isinstance(generation_config, Mapping):
        return _as_ids(generation_config.get("eos_token_id"))
    if not hasattr(generation_config, "eos_token_id"):
        kind = type(generation_config).__name__
        raise ArgumentError(
            f"`generation_config` is model.generation_config, not {kind}: it has the stop tokens"
        )
    return _as_ids(generation_config.eos_token_id)


def _as_ids(value: Any) -> tuple[int, ...]:
    """Read ``eos_token_id``, which is None, one id, or several."""
    if value is None:
        return ()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(int(i) for i in value) if isinstance(value, Iterable) else (int(value),)


# Vocabularies on disk: a file of the common form whose sections are the fields as JSON, the texts, and their order


KIND: Final = Kind(b"stackmask-vocab\n", version=2, sections=3)  # its number is that of the tokens
_FIELDS = {
    "key": str,
    "size": int,
    "stop_ids": list,
    "special_ids": list,
    "special_names": dict,
    "strip_first_space": bool,
    "added_ids": list,
}


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a file.

    ``key``: the file's key. ``fields``: the arguments of a vocabulary, without its tokens; ``texts``: the
    tokens; ``order``: the order of their trie.
    """

    key: str
    fields: Mapping[str, Any]
    texts: TokenBytes
    order: memoryview


def serialise(contents: Contents) -> bytes:
    """Return the bytes of a file."""
    fields = json.dumps({"key": contents.key, **contents.fields}, separators=(",", ":")).encode()
    return KIND.serialise(len(contents.texts), (fields, contents.texts.block, contents.order))


def parse(data: bytes, source: str = "the data") -> Contents:
    """Parse the bytes of a file. The order is not checked here, but when the trie is built.

    Raises: VocabularyError naming ``source`` if the data are damaged, of another version, or of another kind.
    """

    def refuse(why: str) -> VocabularyError:
        return VocabularyError(f"{source} is not a vocabulary that can be loaded: {why}")

    try:
        count, parts = KIND.parse(data)
    except ContainerError as error:
        raise refuse(str(error)) from None
    try:
        fields = json.loads(bytes(parts[0]))
    except (ValueError, RecursionError):
        raise refuse("its fields are not JSON") from None
    if not isinstance(fields, dict) or fields.keys() != _FIELDS.keys():
        raise refuse("its fields are others")
    for name, kind in _FIELDS.items():
        value = fields[name]
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if type(value) is not kind or any(type(i) is not int for i in inner):
            raise refuse(f"its field {name} has the wrong type")
    try:
        return Contents(fields.pop("key"), fields, TokenBytes(parts[1], count), parts[2])
    except (VocabularyError, OverflowError) as error:
        raise refuse(str(error)) from None


def read(path: Path) -> Contents:
    """Read a file.

    Raises: VocabularyError if the file is of another kind or damaged; OSError if it cannot be read.
    """
    return parse(path.read_bytes(), str(path))


def write(path: Path, contents: Contents) -> None:
    """Write a file. Raises: OSError; no file remains then."""
    write_whole(path, serialise(contents))


# -- What follows from the tokens of a vocabulary: each of it is computed on first use, once, and kept -----


TokenArrays: TypeAlias = "tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int32]]"

ORDER: Final = Kind(b"stackmask-order\n", version=1, sections=1)  # its number is that of the tokens

_tries: weakref.WeakValueDictionary[bytes, Trie] = weakref.WeakValueDictionary()  # by SHA-256 of the tokens
_tries_lock = threading.Lock()


@final
class DerivedData:
    """The tuple, the arrays, the trie and the digest of some tokens. Threads may share them.

    ``tokens``: the bytes of each id. ``added_ids``: the ids that the digest treats as added or special.
    """

    __slots__ = ("_added_ids", "_arrays", "_digest", "_lock", "_objects", "_order", "_tokens", "_trie")

    def __init__(self, tokens: TokenBytes, added_ids: Iterable[int]) -> None:
        self._tokens = tokens
        self._added_ids = added_ids
        self._lock = threading.Lock()
        self._objects: tuple[bytes | None, ...] | None = None
        self._arrays: TokenArrays | None = None
        self._order: TokenOrder | None = None  # until the trie is made
        self._trie: Trie | None = None
        self._digest: str | None = None

    def objects(self) -> tuple[bytes | None, ...]:
        """Return the tokens as Python objects, one for each."""
        with self._lock:
            if self._objects is None:
                self._objects = tuple(self._tokens)
            return self._objects

    def arrays(self) -> TokenArrays:
        """Return ``(blob, offsets, ids)`` of the tokens that have at least one byte."""
        with self._lock:
            if self._arrays is None:
                self._arrays = _build_arrays(self._tokens)
            return self._arrays

    def take_order(self, data: memoryview) -> None:
        """Use the order of the tokens from a file. Raises: VocabularyError if the order does not fit."""
        self._order = TokenOrder(self._tokens, data)

    def has_trie(self) -> bool:
        """Return whether the trie has been built."""
        return self._trie is not None

    def trie(self, folder: CacheFolder | None = None) -> Trie:
        """Return the prefix trie of the tokens. ``folder``: stores their order for other processes."""
        with self._lock:
            if self._trie is None:
                self._trie = _shared_trie(self._tokens, self._order, folder)
                self._order = None
            return self._trie

    def digest(self) -> str:
        """Return the SHA-256 of the table of ids and bytes, in hexadecimal."""
        with self._lock:
            if self._digest is None:
                hidden = bytearray(len(self._tokens))
                for i in self._added_ids:
                    if 0 <= i < len(hidden):
                        hidden[i] = 1
                self._digest = hashlib.sha256(self._tokens.digest_input(hidden)).hexdigest()
            return self._digest


def _shared_trie(tokens: TokenBytes, order: TokenOrder | None, folder: CacheFolder | None) -> Trie:
    """Return this process's trie of the tokens, or build it, from the tokens' order if this is known."""
    key = hashlib.sha256(tokens.block).digest()
    with _tries_lock:
        trie = _tries.get(key)
        if trie is None:
            if order is None and folder is not None:
                order = _kept_order(tokens, folder, key.hex())
            trie = _tries[key] = Trie(tokens, order)
        return trie


def _kept_order(tokens: TokenBytes, folder: CacheFolder, digest: str) -> TokenOrder:
    """Return the order of the tokens from a folder, or sort them and store it there."""
    name = f"{digest[:32]}-{ORDER.version}"  # versions of the library may share the folder
    found = folder.read(name, ORDER)
    if found is not None:
        try:
            return TokenOrder(tokens, found[1][0])
        except VocabularyError as error:
            folder.distrust(name, error)
    order = TokenOrder(tokens)
    folder.write(name, ORDER, len(tokens), (order.data,))
    return order


def _build_arrays(tokens: TokenBytes) -> TokenArrays:
    block = tokens.block
    starts = np.frombuffer(block, dtype=np.uint32, count=len(tokens) + 1).astype(np.int64)
    ids = np.flatnonzero(starts[1:] > starts[:-1]).astype(np.int32)
    offsets = np.append(starts[ids], starts[-1])
    blob = np.frombuffer(block, dtype=np.uint8, offset=len(block) - int(starts[-1]))
    arrays = (blob, offsets, ids)
    for array in arrays:
        array.setflags(write=False)
    return arrays
