"""The format of all files on disk: written atomically, and verified before use.

A file is a preamble, a table, and sections of bytes, each aligned to 16 bytes. The preamble names the kind of
file, its version and the byte order, and contains a SHA-256 of the rest; the table has the size of each
section, and one number that the kind defines. A file is read, not memory-mapped: if another program changed a
mapped file in place, masks would change with it, and truncating it would end the process.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import struct
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BYTE_ORDER: Final = 0x01020304  # written in the machine's own order, as are the sections
ALIGNMENT: Final = 16
PREAMBLE: Final = struct.Struct("=16sII32s8x")  # kind, version, byte order, checksum


class ContainerError(ValueError):
    """The bytes are not a file of the expected kind; the message says why, without naming the file."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file. ``magic``: its first 16 bytes; ``version``: increases with changes of sections."""

    magic: bytes
    version: int
    sections: int

    def serialise(self, number: int, sections: Sequence[bytes | memoryview]) -> bytes:
        """Return the bytes of a file with a number and sections."""
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
    """Write a file under a temporary name, then rename it, replacing an existing file.

    Raises: OSError; no file remains then.
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


# --------------------------------------------------------------------------------------------------------
# A folder for data that processes would otherwise recompute at each start.
#
# Its files have the common form (``container``): each is checked before it is used, and appears whole or not at all, so
# that many processes may share the folder. What goes wrong with the folder is never an error: the caller goes on without
# it. The first trouble with a folder is a warning, the others of that process are silent.
# --------------------------------------------------------------------------------------------------------

MOST_BYTES: Final = 1 << 28  # of all files; a vocabulary of 262,000 tokens takes 5 MB
SUFFIX: Final = ".stackmask"  # of the files that are ours: no others are counted or removed
ABANDONED: Final = 3600.0  # seconds after which an unfinished file is one that its process left behind

_warned: set[Path] = set()
_warned_lock = threading.Lock()


class CacheFolder:
    """A folder that is created with its first file. Threads and processes may share it.

    ``most_bytes``: the maximum of all files together. The least recently used files are removed first.
    """

    def __init__(self, path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> None:
        self.path = Path(path)
        self.most_bytes = most_bytes
        self._trouble: str | None = None

    def file(self, name: str) -> Path:
        """Return the path of a file."""
        return self.path / (name + SUFFIX)

    def read(self, name: str, kind: Kind) -> tuple[int, list[memoryview]] | None:
        """Return the number and the sections of a file; None without a usable file."""
        path = self.file(name)
        try:
            data = _read_file(path, self.most_bytes)
            found = kind.parse(data)
        except (FileNotFoundError, NotADirectoryError):
            return None  # writing it says what is wrong with the folder
        except (OSError, ContainerError) as error:
            self.distrust(name, error)
            return None
        self.use(path)
        return found

    def use(self, path: Path) -> None:
        """Mark a file as recently used."""
        with suppress(OSError):  # a folder may be read-only
            os.utime(path)

    def write(self, name: str, kind: Kind, number: int, sections: Sequence[bytes | memoryview]) -> None:
        """Store a file, and remove the least recently used files beyond the limit."""
        data = kind.serialise(number, sections)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if self.make_room(len(data)):
                write_whole(self.file(name), data)
        except OSError as error:
            self._note(f"nothing can be kept in the cache folder {self.path}: {error}")

    def make_room(self, nbytes: int) -> bool:
        """Remove files until ``nbytes`` bytes fit; return False if they never fit.

        Raises: OSError if the folder cannot be listed.
        """
        if nbytes > self.most_bytes:
            return False
        now = time.time()
        held = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                if SUFFIX not in entry.name:
                    continue
                with suppress(OSError):  # another process may have removed it
                    found = entry.stat(follow_symlinks=False)
                    if not stat.S_ISREG(found.st_mode):
                        continue
                    if entry.name.endswith(SUFFIX):
                        held.append((found.st_mtime, found.st_size, entry.path))
                    elif entry.name.startswith(".") and now - found.st_mtime > ABANDONED:
                        Path(entry.path).unlink()
        total = nbytes + sum(size for _, size, _ in held)
        for _, size, path in sorted(held):
            if total <= self.most_bytes:
                break
            with suppress(FileNotFoundError):
                Path(path).unlink()
            total -= size
        return True

    def distrust(self, name: str, why: Exception) -> None:
        """Warn that a file cannot be used. It is recreated."""
        self._note(f"{self.file(name)} is ignored: {why}")

    def warn(self, stacklevel: int = 2) -> None:
        """Warn about errors since the last call, unless this process has already warned about the folder."""
        trouble, self._trouble = self._trouble, None
        if trouble is None:
            return
        with _warned_lock:
            if self.path in _warned:
                return
            _warned.add(self.path)
        warnings.warn(f"{trouble}; results are not affected, only speed", RuntimeWarning, stacklevel + 1)

    def _note(self, trouble: str) -> None:
        self._trouble = self._trouble or trouble


def _read_file(path: Path, most_bytes: int) -> bytes:
    """Return the bytes of a file. Raises: OSError, also for a file that is irregular or too large."""
    # a pipe of this name must not make the process wait
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is not a regular file")
        if found.st_size > most_bytes:
            raise OSError(f"it has {found.st_size} bytes, and the folder is for {most_bytes}")
        return file.read(most_bytes)
