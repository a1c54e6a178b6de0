"""Read the samples of a bundled grammar (``tests/grammars``): texts that are in its language, and texts that are not.

A file holds blocks. A block begins with ``=== accepted``, ``=== rejected`` or ``=== outside`` (the grammar
rejects it and the wider language, which the judge knows, accepts it), then an optional comment in parentheses.
What follows, up to the next block and without the last line break, is the text. ``=== accepted lines`` makes
every line a text of its own; ``escaped`` reads ``\\r``, ``\\x00`` and the like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "grammars"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.samples")))

_HEADER = re.compile(r"^=== (accepted|rejected|outside)((?: lines| escaped)*)(?: \(.*\))?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    kind: str
    data: bytes
    line: int

    @property
    def accepted(self) -> bool:
        """Whether the grammar accepts it."""
        return self.kind == "accepted"

    @property
    def judged(self) -> bool:
        """Whether the judge accepts it."""
        return self.kind != "rejected"


def _unescaped(text: str) -> bytes:
    """Return the bytes of a text with Python's escapes; ``\\xHH`` is a byte, so that bad UTF-8 can be written."""
    return text.encode("utf-8").decode("unicode_escape").encode("latin-1")


def load_samples(name: str) -> list[Sample]:
    """Return the samples of ``grammars/<name>.ebnf``, in the order of the file."""
    text = (FOLDER / f"{name}.samples").read_text("utf-8")
    headers = list(_HEADER.finditer(text))
    assert headers and headers[0].start() == 0, f"{name}.samples must begin with a header"
    samples = []
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = text[header.end() : following.start() if following else len(text)].removesuffix("\n")
        line = text.count("\n", 0, header.end()) + 1
        flags = header.group(2).split()
        pieces = body.split("\n") if "lines" in flags else [body]
        for offset, piece in enumerate(pieces):
            data = _unescaped(piece) if "escaped" in flags else piece.encode("utf-8")
            samples.append(Sample(header.group(1), data, line + offset))
    return samples
