"""Finite-state indexes on disk: a file in the common format whose sections are a JSON header and the arrays.

The header identifies the vocabulary of the index.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stackmask.runtime.fsm.dfa import Dfa
from stackmask.runtime.fsm.errors import FsmFileError
from stackmask.runtime.fsm.index import TokenIndex
from stackmask.runtime.vocabulary.container import ContainerError, Kind, write_whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

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
KIND: Final = Kind(b"stackmask-fsm\n\0\0", version=2, sections=1 + len(_ARRAYS))


def fingerprint(vocabulary: Vocabulary) -> str:
    """Return a digest of the parts of a vocabulary on which an index depends: texts, width, and the stripped
    first space.

    Stop tokens are excluded, since they are added when a mask is filled.
    """
    digest = hashlib.sha256(vocabulary.token_bytes.block)
    digest.update(json.dumps([vocabulary.size, vocabulary.strip_first_space]).encode())
    return digest.hexdigest()


def write_index(path: Path, index: TokenIndex, vocabulary: Vocabulary, counts: dict[str, int]) -> None:
    """Write an index. Raises: OSError; no file remains then."""
    arrays = {**index.dfa.arrays(), **index.arrays()}
    header = json.dumps(
        {
            "vocabulary": fingerprint(vocabulary),
            "special_ids": index.special_ids(),
            "counts": counts,
        }
    ).encode()
    write_whole(path, KIND.serialise(0, (header, *(arrays[name].tobytes() for name in _ARRAYS))))


def read_index(path: Path, vocabulary: Vocabulary) -> tuple[TokenIndex, dict[str, int]]:
    """Read an index and the counts recorded when it was built.

    Raises: FsmFileError if the file is damaged, or of another kind, version or vocabulary; OSError.
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
    try:
        _, (written, *sections) = KIND.parse(data)
    except ContainerError as error:
        raise FsmFileError(str(error)) from None
    try:
        header = json.loads(bytes(written))
        arrays = {
            name: np.frombuffer(section, kind)
            for (name, kind), section in zip(_ARRAYS.items(), sections, strict=True)
        }
        return {key: header[key] for key in ("vocabulary", "special_ids", "counts")}, arrays
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FsmFileError("its header is wrong") from None
