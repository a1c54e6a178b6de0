"""What follows from the tokens of a vocabulary: each of it is computed on first use, once, and kept."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias, final

import numpy as np

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes
from stackmask.pda.vocabulary.token_trie import TokenOrder, Trie
from stackmask.runtime.vocabulary.container import Kind

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.vocabulary.cache_folder import CacheFolder

TokenArrays: TypeAlias = "tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int32]]"

ORDER: Final = Kind(b"stackmask-order\n", version=1, sections=1)  # its number is that of the tokens

_tries: weakref.WeakValueDictionary[bytes, Trie] = weakref.WeakValueDictionary()  # by SHA-256 of the tokens
_tries_lock = threading.Lock()


@final
class DerivedData:
    """The tuple, the arrays, the trie and the digest of some tokens; safe to share between threads.

    ``tokens`` are the bytes of each id. ``added_ids`` are those that the digest takes for added or special.
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
        """Return the tokens as Python objects, one each."""
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
        """Take the order of the tokens from a file. Raises: VocabularyError if it is not theirs."""
        self._order = TokenOrder(self._tokens, data)

    def has_trie(self) -> bool:
        """Return whether the trie is made."""
        return self._trie is not None

    def trie(self, folder: CacheFolder | None = None) -> Trie:
        """Return the prefix trie of the tokens. ``folder``: where their order is kept for other processes."""
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
    """Return the trie of the tokens that this process has, or build it, from their order if that is known."""
    key = hashlib.sha256(tokens.block).digest()
    with _tries_lock:
        trie = _tries.get(key)
        if trie is None:
            if order is None and folder is not None:
                order = _kept_order(tokens, folder, key.hex())
            trie = _tries[key] = Trie(tokens, order)
        return trie


def _kept_order(tokens: TokenBytes, folder: CacheFolder, digest: str) -> TokenOrder:
    """Return the order of the tokens from a folder, or sort them and keep it there."""
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
