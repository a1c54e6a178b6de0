"""Golden cases: text files of titled cases with named sections, one format for all stages.

=== title of the case
root ::= "a"            (the grammar, until the first section)
--- rules               (what comes out; rewritten by ``pytest --update-goldens``)
…
--- accepted            (one sample a line, see ``read_sample``)
"a"
--- rejected
""
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from oracle.earley import Recognizer, Symbol
from oracle.stacked import called

from stackmask.grammar.ir import Dynamic, RuleSet, TokenTerminal, walk

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r'\s*(?:("(?:\\.|[^"\\])*")|(<\S+>))')


@dataclass
class Case:
    title: str
    grammar: str
    sections: dict[str, str] = field(default_factory=dict)

    def samples(self, section: str) -> list[str]:
        return [line for line in self.sections.get(section, "").splitlines() if line.strip()]


def read_cases(path: Path) -> list[Case]:
    """Read all cases of a golden file."""
    cases = []
    for part in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        grammar, *sections = re.split(r"^--- ", rest, flags=re.MULTILINE)
        named = (section.partition("\n") for section in sections)
        cases.append(Case(title, grammar, {name.strip(): text for name, _, text in named}))
    return cases


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    """Write a golden file."""
    parts = []
    for case in cases:
        parts += [f"=== {case.title}\n", case.grammar]
        for name, text in case.sections.items():
            parts += [f"--- {name}\n", text]
    path.write_text("".join(parts), encoding="utf-8")


def read_sample(line: str, tokens: dict[str, int]) -> list[Symbol]:
    """Return the symbols of a line of quoted texts (JSON strings) and special tokens (``<|x|>``)."""
    symbols: list[Symbol] = []
    position = 0
    while line[position:].strip():
        item = _ITEM.match(line, position)
        assert item, f"not a sample: {line}"
        if item[1]:
            symbols += json.loads(item[1]).encode()
        else:
            symbols.append(("token", tokens.setdefault(item[2], 1000 + len(tokens))))
        position = item.end()
    return symbols


def page_examples(page: Path, language: str) -> list[tuple[str, list[str], list[str]]]:
    """Return each grammar of a page of documentation with its accepted and rejected lines."""
    found: list[tuple[str, list[str], list[str]]] = []
    for block, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if block == language:
            found.append((text, [], []))
        elif block in ("accepted", "rejected"):
            found[-1][1 if block == "accepted" else 2].extend(text.splitlines())
    return found


def check_samples(rules: RuleSet, accepted: Iterable[str], rejected: Iterable[str]) -> None:
    """Check with the oracle that the language of a rule set holds some samples and not others."""
    accepted, rejected = list(accepted), list(rejected)
    tokens: dict[str, int] = {}
    for rule in rules.rules.values():
        for expr in walk(rule.body):
            if isinstance(expr, TokenTerminal):
                for name in expr.names:
                    tokens.setdefault(name, 1000 + len(tokens))
    samples = [read_sample(line, tokens) for line in [*accepted, *rejected]]
    named = (e.resolver for rule in rules.rules.values() for e in walk(rule.body) if isinstance(e, Dynamic))
    if {"level", "deeper"} & {resolver for resolver in named if isinstance(resolver, str)}:
        rules = called(rules)
    recognizer = Recognizer(rules, tokens)
    for line, sample in zip([*accepted, *rejected], samples, strict=True):
        assert recognizer.accepts(sample) == (line in accepted), f"{line} (accepted: {line in accepted})"
