"""One form of file for all that is kept on disk: written whole or not at all, and checked before anything in it is used.

A file is a preamble, a table, and sections of bytes, each at a multiple of 16. The preamble names the kind of file, the
version of that kind and the byte order, and holds a SHA-256 of all that follows it; the table has one number of the kind's
own and the size of each section. A file is read, not memory-mapped: if another program changed a mapped file in place, masks
would change with it, and cutting it short would end the process.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BYTE_ORDER: Final = 0x01020304  # written in the machine's own order, as are the sections
ALIGNMENT: Final = 16
PREAMBLE: Final = struct.Struct("=16sII32s8x")  # kind, version, byte order, checksum


class ContainerError(ValueError):
    """Bytes are no file of the kind that is looked for; the message says why, without naming the file."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file. ``magic``: its first 16 bytes; ``version``: higher when the meaning of a section changes."""

    magic: bytes
    version: int
    sections: int

    def serialise(self, number: int, sections: Sequence[bytes | memoryview]) -> bytes:
        """Return the bytes of a file that holds a number and sections."""
        assert len(self.magic) == ALIGNMENT and len(sections) == self.sections
        parts: list[bytes | memoryview] = [self._table.pack(number, *map(len, sections))]
        parts.append(bytes(-self._table.size % ALIGNMENT))
        for section in sections[:-1]:
            parts += (section, bytes(-len(section) % ALIGNMENT))
        body = b"".join((*parts, sections[-1]))
        return PREAMBLE.pack(self.magic, self.version, BYTE_ORDER, hashlib.sha256(body).digest()) + body

    def parse(self, data: bytes) -> tuple[int, list[memoryview]]:
        """Return the number and the sections of a file. Raises: ContainerError."""
        if len(data) < PREAMBLE.size + self._table.size or not data.startswith(self.magic):
            raise ContainerError("it does not begin like one")
        _, version, byte_order, checksum = PREAMBLE.unpack_from(data)
        if byte_order != BYTE_ORDER:
            raise ContainerError("it was written by a machine of another byte order")
        if version != self.version:
            older = ", an older one" if version < self.version else ""
            raise ContainerError(f"its format is version {version}, not {self.version}{older}")
        view = memoryview(data)
        if hashlib.sha256(view[PREAMBLE.size :]).digest() != checksum:
            raise ContainerError("it is damaged (the checksum differs)")
        number, *sizes = self._table.unpack_from(data, PREAMBLE.size)
        sections = []
        at = PREAMBLE.size + self._table.size + -self._table.size % ALIGNMENT
        for size in sizes:
            sections.append(view[at : at + size])
            at += size + -size % ALIGNMENT
        if any(len(section) != size for section, size in zip(sections, sizes, strict=True)):
            raise ContainerError("parts of it are missing")
        return number, sections

    @property
    def _table(self) -> struct.Struct:
        return struct.Struct(f"={1 + self.sections}Q")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a name of its own, then give it the name asked for, which replaces what was there.

    Raises: OSError; nothing is left behind then.
    """
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
