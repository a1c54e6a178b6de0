"""Vocabularies on disk: a file of the common form whose sections are the fields as JSON, the texts, and their order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes
from stackmask.runtime.vocabulary.container import ContainerError, Kind, write_whole

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
    """What a file holds.

    ``key`` is what it was saved under. ``fields`` are the arguments of a vocabulary but for its tokens, which are
    ``texts``; ``order`` is that of their trie.
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
    """Take the bytes of a file apart. The order is not checked here: building the trie does that.

    Raises: VocabularyError naming ``source`` if they are damaged, of another version, or something else.
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

    Raises: VocabularyError if it is none of ours or damaged; OSError if it cannot be read.
    """
    return parse(path.read_bytes(), str(path))


def write(path: Path, contents: Contents) -> None:
    """Write a file. Raises: OSError; nothing is left behind then."""
    write_whole(path, serialise(contents))
