"""Bundled grammars in normal form, which are read from files instead of being computed again.

``./dev grammars`` writes a ``.ready`` file next to each source. A file is valid if its digest matches the
format, the sources and its own lines; otherwise it is ignored, and the sources are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, Rule, RuleSet, SourceText, Span
from stackmask.grammar.source.diagnostics import GrammarFileError
from stackmask.grammar.source.files import bundled_folder, read_text
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.source.work import spend

FORMAT: Final = "stackmask grammar 1"  # another number where the rows or their meaning change
SUFFIX: Final = ".ready"

# by the first entry of a row: what makes a node of the other entries, and of the nodes so far, which rows name by number
ROWS: Final[dict[str, Callable[[list[Expr], list[Any]], Expr]]] = {
    "text": lambda made, row: ir.Literal(row[1].encode("latin-1")),
    "chars": lambda made, row: ir.CharClass(tuple(zip(row[1::2], row[2::2], strict=True))),
    "bytes": lambda made, row: ir.ByteClass(row[1]),
    "seq": lambda made, row: ir.Sequence(tuple([made[i] for i in row[1:]])),
    "any": lambda made, row: ir.Choice(tuple([made[i] for i in row[1:]])),
    "all": lambda made, row: ir.Intersection(tuple([made[i] for i in row[1:]])),
    "not": lambda made, row: ir.Complement(made[row[1]]),
    "rep": lambda made, row: ir.Repeat(made[row[1]], row[2], row[3]),
    "rule": lambda made, row: ir.RuleRef(row[1], row[2]),
    "follow": lambda made, row: ir.NotFollowedBy(row[1]),
    "capture": lambda made, row: ir.Capture(made[row[1]], row[2]),
    "scope": lambda made, row: ir.Scope(made[row[1]]),
    "dynamic": lambda made, row: ir.Dynamic(row[1]),
}


class Ready:
    """The rules of one file, as written and in normal form."""

    __slots__ = ("_normalized", "_sources", "_written")

    def __init__(self, sources: tuple[SourceText, ...], written: str, normalized: str) -> None:
        self._sources, self._written, self._normalized = sources, written, normalized

    def written(self) -> RuleSet:
        """Return the rules as written; their expressions have no positions, but the rules have them."""
        return self._rules(self._written)

    def normalized(self) -> RuleSet:
        """Return the rules in normal form. Cost: about 1 µs for each distinct expression."""
        return self._rules(self._normalized)

    def _rules(self, line: str) -> RuleSet:
        with without_collection():
            rows, rules, start, initial = json.loads(line)
            spend(len(rows) + len(rules))
            made: list[Expr] = []
            for row in rows:
                made.append(ROWS[row[0]](made, row))
            found = {
                name: Rule(name, made[body], Span(*span) if span else None) for name, body, *span in rules
            }
            stack = tuple(text.encode("latin-1") for text in initial)
        return RuleSet(found, start, stack, self._sources)


def find_ready(path: Path, name: str) -> Ready | None:
    """Return the contents of the file next to a source; None if there is no valid file.

    ``name``: the name of the source in diagnostics. Cost: reading both files, with the digest, about 0.1 ms.
    """
    try:
        head, written, normalized, _ = path.with_suffix(SUFFIX).read_text("utf-8").split("\n")
        digest, *imported = head.split(" ")
        sources = [SourceText(name, read_text(path))]
        for each in imported:
            file = bundled_folder() / f"{each}.ebnf"
            sources.append(SourceText(f"stackmask/grammars/{file.name}", read_text(file)))
    except (OSError, ValueError, GrammarFileError):
        return None
    if digest != digest_of(sources, written, normalized):  # mutant: stale-ready
        return None
    return Ready(tuple(sources), written, normalized)


def digest_of(sources: list[SourceText], written: str, normalized: str) -> str:
    """Return the digest at the beginning of a file."""
    found = blake2b(FORMAT.encode(), digest_size=16)
    for part in (*[source.text for source in sources], written, normalized):
        data = part.encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()


def written_rules(path: Path, name: str, start: str) -> RuleSet:
    """Return the rules of a bundled file as written, with another start rule, which may begin with whitespace."""
    from stackmask.grammar.ebnf.modules import load_rules
    from stackmask.grammar.notation.loading import START_RULE

    ready = find_ready(path, name)
    if ready is None:
        return load_rules(read_text(path), name=name, base=path.parent, start=start).rules
    rules = ready.written()
    begin = rules.rules[START_RULE].body
    assert isinstance(begin, ir.Sequence)
    first = Rule(START_RULE, ir.Sequence((begin.items[0], ir.RuleRef(start))))
    return replace(rules, rules={**rules.rules, START_RULE: first})
