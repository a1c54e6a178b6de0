"""All mutants, and the lines that they change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutants.grammar import ROWS as GRAMMAR
from mutants.mutant import Mutant
from mutants.pda import ROWS as PDA
from mutants.runtime import ROWS as RUNTIME

MUTANTS: tuple[Mutant, ...] = (*GRAMMAR, *PDA, *RUNTIME)
MARKER = re.compile(r"[ ]{2}(?:#|//) mutant: (\S+)$")
SOURCES = (".py", ".pyx", ".pxd", ".h", ".ebnf")


@dataclass(frozen=True, slots=True)
class Marked:
    """A line with a marker. ``number`` counts from 1; ``code`` is the line without the marker."""

    path: str
    number: int
    name: str
    code: str


def marked_lines(root: Path, paths: Iterable[str]) -> list[Marked]:
    """Return the marked lines of some sources, given relative to ``root``."""
    found = []
    for path in paths:
        if path.endswith(SOURCES):
            text = (root / path).read_text(encoding="utf-8")
            for number, line in enumerate(text.splitlines(), 1):
                if marker := MARKER.search(line):
                    found.append(Marked(path, number, marker[1], line[: marker.start()]))
    return found


def mutated(text: str, mutant: Mutant) -> str:
    """Return a source with the fault in it. Raises: ValueError if the marker or the old text is not there once."""
    lines = text.split("\n")
    at = [i for i, line in enumerate(lines) if (m := MARKER.search(line)) and m[1] == mutant.name]
    if len(at) != 1 or lines[at[0]].count(mutant.old) != 1:
        raise ValueError(f"mutant {mutant.name}: {mutant.old!r} is not in one marked line once")
    lines[at[0]] = lines[at[0]].replace(mutant.old, mutant.new)
    return "\n".join(lines)
