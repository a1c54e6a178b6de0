"""Grammar files: reading with clear errors, and a search for bundled grammars."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stackmask.grammar.source.diagnostics import GrammarFileError

SUFFIX: Final = ".ebnf"
_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*$")
_PARTS: Final = re.compile(r"(\d+)")
MAX_FILE_BYTES: Final = 16 << 20  # grammars are text that people write; more than this is a mistake


def read_text(path: Path, kind: str = "grammar") -> str:
    """Read a grammar file, or a file of another ``kind``.

    Raises: GrammarFileError with a one-line message, if the file is missing, a directory, too large, binary
    or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise GrammarFileError(f"no such {kind} file: {path}") from None
    except IsADirectoryError:
        raise GrammarFileError(f"not a {kind} file but a directory: {path}") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise GrammarFileError(f"cannot read the {kind} file {path}: {reason}") from None
    if len(data) > MAX_FILE_BYTES:
        raise GrammarFileError(f"the {kind} file is larger than {MAX_FILE_BYTES >> 20} MiB: {path}")
    if b"\0" in data:
        raise GrammarFileError(f"not a {kind} but a binary file: {path}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GrammarFileError(
            f"the {kind} file is not UTF-8 (byte 0x{data[error.start]:02X} at offset {error.start}): {path}"
        ) from None


def bundled_folder() -> Path:
    """Return the folder of the bundled grammars."""
    import stackmask.grammars

    return Path(stackmask.grammars.__path__[0])


def bundled_names() -> list[str]:
    """Return the names of the bundled grammars, sorted, without their versions."""
    return sorted({_VERSION.sub("", stem) for stem in _stems()})


def find_bundled(name: str, version: str | None = None) -> Path:
    """Return the file of a bundled grammar. Raises: GrammarFileError if no grammar has this name and version."""
    path = bundled_path(name if version is None else f"{name}-{version}")
    if path is None and version is not None and name in bundled_names():
        known = [stem.removeprefix(f"{name}-") for stem in _stems() if stem.startswith(f"{name}-")]
        cure = f"there are: {', '.join(known)}" if known else "it has no versions"
        raise GrammarFileError(f"no version {version!s:.20} of the bundled grammar `{name}`; {cure}")
    if path is None:
        from stackmask.grammar.source.similar import advice

        known = bundled_names()
        cure = advice(str(name).lower(), known, f"there are: {', '.join(known)}")
        raise GrammarFileError(f"no bundled grammar `{name!s:.60}`; {cure}")
    return path


def bundled_path(name: str) -> Path | None:
    """Return the file of a bundled grammar; None if no grammar has this name.

    ``name``: one of ``bundled_names``, for the newest version, or a name with a version: ``python-3.12``.
    """
    found = [stem for stem in _stems() if name in (stem, _VERSION.sub("", stem))]
    return bundled_folder() / f"{found[-1]}{SUFFIX}" if found else None


def _stems() -> list[str]:
    """Return the names of the files, with the versions of each grammar in order."""
    stems = [path.stem for path in bundled_folder().glob(f"*{SUFFIX}")]
    return sorted(
        stems, key=lambda stem: [int(part) if part.isdigit() else part for part in _PARTS.split(stem)]
    )
