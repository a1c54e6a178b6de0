"""Vocabularies on disk: one file, written whole or not at all, and checked before anything in it is used.

A file is a preamble, the fields as JSON, the texts, and the trie, each part at a multiple of 16 bytes. The
preamble holds a SHA-256 of all that follows it. The file is read, not memory-mapped: if another program changed
a mapped file in place, masks would change with it, and cutting it short would end the process.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes

MAGIC = b"stackmask-vocab\n"
VERSION = 1  # of the format: higher when the meaning of any part changes
BYTE_ORDER = 0x01020304  # written in the machine's own order, as are the arrays
ALIGNMENT = 16
_PREAMBLE = struct.Struct("=16sII32s8x")
_SIZES = struct.Struct("=QQQQ")  # tokens, and the bytes of the fields, the texts, the trie
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
    """What a file holds.

    ``key`` is what it was saved under. ``fields`` are the arguments of a vocabulary but for its tokens, which are
    ``texts``; ``trie`` is the block of their trie.
    """

    key: str
    fields: Mapping[str, Any]
    texts: TokenBytes
    trie: memoryview


def serialise(contents: Contents) -> bytes:
    """Return the bytes of a file."""
    fields = json.dumps({"key": contents.key, **contents.fields}, separators=(",", ":")).encode()
    texts = contents.texts
    parts: list[bytes | memoryview] = [
        _SIZES.pack(len(texts), len(fields), texts.nbytes, len(contents.trie)),
        _padded(fields),
        _padded(texts.block),
        contents.trie,
    ]
    body = b"".join(parts)
    return _PREAMBLE.pack(MAGIC, VERSION, BYTE_ORDER, hashlib.sha256(body).digest()) + body


def parse(data: bytes, source: str = "the data") -> Contents:
    """Take the bytes of a file apart. The trie is not checked here: that takes the texts.

    Raises: VocabularyError naming ``source`` if they are damaged, of another version, or something else.
    """

    def refuse(why: str) -> VocabularyError:
        return VocabularyError(f"{source} is not a vocabulary that can be loaded: {why}")

    if len(data) < _PREAMBLE.size + _SIZES.size or not data.startswith(MAGIC):
        raise refuse("it does not begin like one")
    _, version, byte_order, checksum = _PREAMBLE.unpack_from(data)
    if byte_order != BYTE_ORDER:
        raise refuse("it was written by a machine of another byte order")
    if version != VERSION:
        raise refuse(f"its format is version {version}, not {VERSION}")
    view = memoryview(data)
    if hashlib.sha256(view[_PREAMBLE.size :]).digest() != checksum:
        raise refuse("it is damaged (the checksum differs)")
    count, *sizes = _SIZES.unpack_from(data, _PREAMBLE.size)
    parts = []
    at = _PREAMBLE.size + _SIZES.size
    for size in sizes:
        parts.append(view[at : at + size])
        at += size + -size % ALIGNMENT
    if any(len(part) != size for part, size in zip(parts, sizes, strict=True)):
        raise refuse("parts of it are missing")
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


def _padded(part: bytes | memoryview) -> bytes:
    return b"".join((part, bytes(-len(part) % ALIGNMENT)))


def read(path: Path) -> Contents:
    """Read a file.

    Raises: VocabularyError if it is none of ours or damaged; OSError if it cannot be read.
    """
    return parse(path.read_bytes(), str(path))


def write(path: Path, contents: Contents) -> None:
    """Write a file under a name of its own, then give it the name asked for, which replaces what was there.

    Raises: OSError; nothing is left behind then.
    """
    data = serialise(contents)
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
