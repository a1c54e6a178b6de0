"""The common form of files: what comes back, and what is refused."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from stackmask.runtime.vocabulary.container import (
    ALIGNMENT,
    BYTE_ORDER,
    PREAMBLE,
    ContainerError,
    Kind,
    write_whole,
)

KIND = Kind(b"kind-of-a-test\n\0", version=3, sections=3)


def signed(body: bytes, version: int = 3) -> bytes:
    return PREAMBLE.pack(KIND.magic, version, BYTE_ORDER, hashlib.sha256(body).digest()) + body


@pytest.mark.parametrize("sections", [(b"", b"", b""), (b"a", b"b" * 16, b"c" * 17), (bytes(100), b"", b"x")])
def test_what_is_written_comes_back(sections: tuple[bytes, ...]) -> None:
    data = KIND.serialise(7, sections)
    number, found = KIND.parse(data)
    assert (number, [bytes(section) for section in found]) == (7, list(sections))


def test_sections_are_aligned() -> None:
    data = KIND.serialise(7, (b"first", b"the second", b"third"))
    assert [data.index(text) % ALIGNMENT for text in (b"first", b"the second", b"third")] == [0, 0, 0]


def test_every_change_is_found() -> None:
    data = KIND.serialise(7, (b"first", b"second", b"third"))
    padding = range(PREAMBLE.size - 8, PREAMBLE.size)
    for at in range(len(data)):
        if at in padding:
            continue
        with pytest.raises(ContainerError):
            KIND.parse(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
    for size in range(len(data)):
        with pytest.raises(ContainerError):
            KIND.parse(data[:size])


def test_other_kinds_and_versions_are_named() -> None:
    data = KIND.serialise(0, (b"", b"", b""))
    for kind, message in (
        (Kind(b"another kind....", 3, 3), "does not begin like one"),
        (Kind(KIND.magic, 4, 3), "version 3, not 4, an older one"),
        (Kind(KIND.magic, 2, 3), "version 3, not 2$"),
        (Kind(KIND.magic, 3, 300), "does not begin like one"),  # too short for its table
    ):
        with pytest.raises(ContainerError, match=message):
            kind.parse(data)


def test_sizes_cannot_lead_outside() -> None:
    for sizes in ((1, 0, 0), (0, 0, 1 << 63), ((1 << 64) - 1, (1 << 64) - 1, 0)):
        body = b"".join(number.to_bytes(8, sys.byteorder) for number in (0, *sizes))
        with pytest.raises(ContainerError, match="parts of it are missing"):
            KIND.parse(signed(body))


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"one", b"another"):
        write_whole(path, data)
        assert path.read_bytes() == data
    assert [found.name for found in tmp_path.iterdir()] == ["file"]
