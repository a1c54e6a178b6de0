"""Finite-state indexes on disk: one file, written whole or not at all, and checked before anything in it is used.

A file is a preamble, a header in JSON, and the arrays one after the other, each at a multiple of 8 bytes. The preamble
holds a SHA-256 of all that follows it; the header says which vocabulary the index is of.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackmask.runtime.fsm.dfa import Dfa
from stackmask.runtime.fsm.errors import FsmFileError
from stackmask.runtime.fsm.index import TokenIndex

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MAGIC = b"stackmask-fsm\n\0\0"
VERSION = 1  # of the format: higher when the meaning of any part changes
BYTE_ORDER = 0x01020304  # written in the machine's own order, as are the arrays
ALIGNMENT = 8
_PREAMBLE = struct.Struct("=16sIIQ32s")  # magic, version, byte order, bytes of the header, checksum
_ARRAYS = {
    "first": np.int32,
    "low": np.uint8,
    "high": np.uint8,
    "target": np.int32,
    "accepting": np.uint8,
    "special": np.int32,
    "row_of": np.int32,
    "dense": np.uint8,
    "offset": np.uint32,
    "count": np.int32,
    "words": np.uint32,
    "gaps": np.uint8,
}


def fingerprint(vocabulary: Vocabulary) -> str:
    """Return what an index depends on of a vocabulary, as a digest: texts, width, and the space that is not seen.

    Stop tokens are not part of it: they are added when a mask is filled.
    """
    digest = hashlib.sha256(vocabulary.token_bytes.block)
    digest.update(json.dumps([vocabulary.size, vocabulary.strip_first_space]).encode())
    return digest.hexdigest()


def write_index(path: Path, index: TokenIndex, vocabulary: Vocabulary, counts: dict[str, int]) -> None:
    """Write an index. Raises: OSError; nothing is left behind then."""
    arrays = {**index.dfa.arrays(), **index.arrays()}
    header = json.dumps(
        {
            "vocabulary": fingerprint(vocabulary),
            "special_ids": index.special_ids(),
            "counts": counts,
            "sizes": [len(arrays[name]) for name in _ARRAYS],
        }
    ).encode()
    body = b"".join([_padded(header), *(_padded(arrays[name].tobytes()) for name in _ARRAYS)])
    data = _PREAMBLE.pack(MAGIC, VERSION, BYTE_ORDER, len(header), hashlib.sha256(body).digest()) + body
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def read_index(path: Path, vocabulary: Vocabulary) -> tuple[TokenIndex, dict[str, int]]:
    """Read an index and what was counted when it was made.

    Raises: FsmFileError if the file is none of ours, damaged, or of another version or vocabulary; OSError.
    """
    data = path.read_bytes()
    try:
        header, arrays = _parse(data)
        if header["vocabulary"] != fingerprint(vocabulary):
            raise FsmFileError("it was made for another vocabulary")
        special_ids = [tuple(map(int, ids)) for ids in header["special_ids"]]
        dfa = Dfa(arrays, len(special_ids))
        index = TokenIndex.from_arrays(dfa, vocabulary.token_bytes, vocabulary.size, special_ids, arrays)
        return index, {str(name): int(count) for name, count in header["counts"].items()}
    except FsmFileError as error:
        raise FsmFileError(f"{path} is not an index that can be loaded: {error}") from None


def _parse(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    if len(data) < _PREAMBLE.size or not data.startswith(MAGIC):
        raise FsmFileError("it does not begin like one")
    _, version, byte_order, length, checksum = _PREAMBLE.unpack_from(data)
    if byte_order != BYTE_ORDER:
        raise FsmFileError("it was written by a machine of another byte order")
    if version != VERSION:
        raise FsmFileError(f"its format is version {version}, not {VERSION}")
    view = memoryview(data)
    if hashlib.sha256(view[_PREAMBLE.size :]).digest() != checksum:
        raise FsmFileError("it is damaged (the checksum differs)")
    at = _PREAMBLE.size
    try:
        header = json.loads(bytes(view[at : at + length]))
        sizes = dict(zip(_ARRAYS, header["sizes"], strict=True))
        at += length + -length % ALIGNMENT
        arrays = {}
        for name, kind in _ARRAYS.items():
            arrays[name] = np.frombuffer(data, kind, sizes[name], at)
            at += arrays[name].nbytes + -arrays[name].nbytes % ALIGNMENT
        return {key: header[key] for key in ("vocabulary", "special_ids", "counts")}, arrays
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FsmFileError("its header is wrong") from None


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % ALIGNMENT)
