"""Write the ``.ready`` files of the grammars that come with the package: ``./dev grammars``; ``--check`` only compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import stackmask as sm
from stackmask.grammar import ir, ready
from stackmask.grammar.source.files import read_text

REPO = Path(__file__).resolve().parents[2]


def sources() -> Iterator[tuple[Path, str]]:
    """Yield the sources with what diagnostics call them: the bundled grammars, and those of SQL over a schema."""
    for path in sorted((REPO / "grammars").glob("*.ebnf")):
        yield path, f"stackmask/grammars/{path.name}"
    for path in sorted((REPO / "grammar" / "sql" / "scope").glob("*.ebnf")):
        yield path, f"stackmask/{path.name}"


def ready_text(path: Path, name: str) -> str:
    """Return the file of a source. Raises: KeyError, TypeError for what no row can say."""
    grammar = sm.Grammar.from_ebnf(read_text(path), None, name=name, base=path.parent)
    # the rules of SQL over a schema are put together before they are made ready
    is_whole = path.parent.name == "grammars"
    rules = grammar.rules
    written, normalized = line(rules), line(grammar.normalized) if is_whole else ""
    imported = [Path(source.name).stem for source in rules.sources[1:]]
    head = " ".join([ready.digest_of(list(rules.sources), written, normalized), *imported])
    return f"{head}\n{written}\n{normalized}\n"


def line(rules: ir.RuleSet) -> str:
    """Return the line of a rule set: equal expressions are one row, which comes after those that it names."""
    rows: list[list[Any]] = []
    known: dict[ir.Expr, int] = {}
    listed = []
    for name, rule in rules.rules.items():
        todo = [rule.body]
        while todo:
            expr = todo[-1]
            waiting = [part for part in ir.children(expr) if part not in known]
            if waiting:
                todo += reversed(waiting)
                continue
            todo.pop()
            if expr not in known:
                known[expr] = len(rows)
                rows.append(row(expr, [known[part] for part in ir.children(expr)]))
        span = rule.span
        listed.append([name, known[rule.body], *([span.start, span.end, span.source] if span else [])])
    assert isinstance(rules.initial, tuple)
    stack = [text.decode("latin-1") for text in rules.initial]
    return json.dumps([rows, listed, rules.start, stack], separators=(",", ":"))


def row(expr: ir.Expr, parts: list[int]) -> list[Any]:
    """Return the row of an expression whose parts have these numbers."""
    match expr:
        case ir.Literal(data):
            return ["text", data.decode("latin-1")]
        case ir.CharClass(ranges):
            return ["chars", *[bound for each in ranges for bound in each]]
        case ir.ByteClass(mask):
            return ["bytes", mask]
        case ir.RuleRef(name, nonempty):
            return ["rule", name, nonempty]
        case ir.NotFollowedBy(mask):
            return ["follow", mask]
        case ir.Repeat(_, low, high):
            return ["rep", *parts, low, high]
        case ir.Capture(_, action):
            return ["capture", *parts, action]
        case ir.Dynamic(resolver):
            return ["dynamic", resolver]
    names: dict[type, str] = {ir.Sequence: "seq", ir.Choice: "any", ir.Intersection: "all"}
    names |= {ir.Complement: "not", ir.Scope: "scope"}
    return [names[type(expr)], *parts]


def main() -> int:
    """Write the files that are not as they must be; with ``--check`` return 1 if there are some."""
    stale = 0
    for path, name in sources():
        file = path.with_suffix(ready.SUFFIX)
        wanted = ready_text(path, name)
        if not file.exists() or file.read_text() != wanted:
            stale = 1
            print(file.relative_to(REPO))
            if "--check" not in sys.argv:
                file.write_text(wanted)
    return stale if "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
