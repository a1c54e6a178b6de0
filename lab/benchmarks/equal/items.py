"""An item of a corpus: what its grammar is made of, and the strings that are followed through it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import stackmask as sm

# no limit on the clock: the machine's other work would decide what is refused
LIMITS = sm.Limits(max_seconds=1e6)


@dataclass(frozen=True)
class Item:
    """``how``: which call makes the grammar, of ``source`` with ``options``. ``strings``: what is followed."""

    name: str
    how: str
    source: Any
    strings: tuple[str | bytes, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def grammar(self) -> sm.Grammar:
        """Make the grammar. Raises: whatever the engine does."""
        options = {**self.options, "limits": LIMITS}
        match self.how:
            case "bundled":
                return sm.Grammar.bundled(self.source)
            case "ebnf":
                return sm.Grammar.from_ebnf(self.source, **options)
            case "lark":
                return sm.Grammar.from_lark(self.source, **options)
            case "file":
                return sm.Grammar.from_file(self.source, **options)
            case "schema":
                return sm.Grammar.from_json_schema(self.source, **options)
            case "regex":
                return sm.Grammar.from_regex(self.source, **options)
            case "sql":
                return sm.Grammar.from_sql(self.source, **options)
            case "tag":
                return sm.Grammar.from_structural_tag(self.source, **options)
            case "tools":
                return sm.tools.grammar(self.source, **options)
        raise ValueError(self.how)

    def described(self) -> str:
        """Return the call that makes the grammar, as text."""
        source = self.source if isinstance(self.source, str) else json.dumps(self.source, ensure_ascii=False)
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{self.how}({source}{options})"


@dataclass(frozen=True)
class Corpus:
    """Items, what is asked of each, and with which tokenizer; the names are those of ``asked.py`` and ``vocabularies.py``."""

    name: str
    asked: str
    items: list[Item]
    tokenizers: tuple[str, ...] = ("large", "large", "large", "small")  # in turns


@dataclass(frozen=True)
class Source:
    """Where corpora come from: the repository, and the data pack if there is one.

    ``full``: all of it; else ``share`` of the usual numbers.
    """

    repository: Path
    data: Path | None
    full: bool = False
    share: float = 1.0

    def number(self, usual: int, full: int) -> int:
        """Return how many of something there are to be."""
        return full if self.full else max(1, min(full, round(usual * self.share)))
