"""The entrance: a Lark text to rules and parts, with a report of what differs from Lark."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Literal, NamedTuple

from stackmask.grammar.ebnf.modules import Loaded
from stackmask.grammar.ebnf.syntax import Part
from stackmask.grammar.ir import RuleSet, Span
from stackmask.grammar.lark.dialects import foreign_text
from stackmask.grammar.lark.lower import Lowering
from stackmask.grammar.lark.modules import Loader
from stackmask.grammar.lark.names import check_names, unused_names
from stackmask.grammar.lark.report import LarkReport, Notes
from stackmask.grammar.lark.terminals import Terminals
from stackmask.grammar.regex.compile import Flavor
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import enter

DEFAULT_START: Final = "start"
FLAVORS: Final = ("python", "rust")
OnUnsupported = Literal["error", "relax"]


class LoadedLark(NamedTuple):
    loaded: Loaded
    report: LarkReport
    lowering: Lowering
    start: str


def load_lark(
    text: str,
    *,
    name: str,
    base: Path | None,
    start: str | None,
    flavor: Flavor = "python",
    on_unsupported: OnUnsupported = "error",
    given: Collection[str] = (),
    lowering: Callable[[Loader, Terminals, Notes, bool], Lowering] = Lowering,
) -> LoadedLark:
    """Make the rules of a Lark text.

    ``base``: the folder that ``%import .file`` is relative to. ``start``: None means ``start`` if there is such a rule,
    else the first one. ``flavor``: whose regular expressions. ``on_unsupported``: "relax" takes what is declared only for
    nothing. ``given``: names of grammars that `@name` may use. ``lowering``: what makes the rules.
    Raises: GrammarError with the problems of all files at once.
    """
    if on_unsupported not in ("error", "relax"):
        raise ArgumentError(f"`on_unsupported` is {on_unsupported!r:.60}, not error or relax")
    if flavor not in FLAVORS:
        raise ArgumentError(f"no regex flavour `{flavor!s:.60}`; there are: {', '.join(FLAVORS)}")
    enter("reading the grammar")
    loader = Loader()
    loader.load(text, name, base)
    uses = check_names(loader, given)
    first = _choose_start(loader, start)
    if loader.root.problems.found:
        _stop_on_another_language(loader)
    _stop_on_problems(loader)
    notes = Notes()
    for file in loader.files:
        for span, what, reason in file.module.notes:
            notes.add("annotation", span, what, reason)
    terminals = Terminals(loader.entries, notes, flavor)
    lowered = lowering(loader, terminals, notes, on_unsupported == "relax")
    begin = lowered.run(first)
    _check_rest(loader, terminals, lowered)
    _stop_on_problems(loader)
    rules = RuleSet(lowered.rules, begin, (), tuple(loader.sources))
    parts = loader.parts
    parts.update((f"%grammar.{one}", Part("grammar", one, loader.entries[first].span)) for one in given)
    report = notes.report(loader.sources, unused_names(loader, first, uses))
    return LoadedLark(Loaded(rules, parts), report, lowered, first)


def _choose_start(loader: Loader, start: str | None) -> str:
    """Return the rule to begin with, or report that there is none."""
    entries = loader.entries
    if start is None:
        first = next((found.name for found in loader.root.module.definitions), DEFAULT_START)
        start = DEFAULT_START if DEFAULT_START in entries else first
    found = entries.get(start)
    if found is not None and found.bodies and not found.parameters:
        return start
    problems = loader.root.problems
    if start in loader.root.module.broken:
        return start
    own = [entry.name for entry in entries.values() if not entry.is_terminal and not entry.parameters]
    if not entries:
        if not problems.found:
            problems.add("G016", "there are no rules", 0, 1, help='a rule looks like `start: "text"`')
        return start
    close = similar(start, own)
    cure = f'pass start="{close or own[0]}"' if close or own else "write one"
    problems.found.append(
        Diagnostic(
            "G016",
            f"no rule `{start:.60}` to begin with",
            None,
            help=f"did you mean `{close}`? {cure}"
            if close
            else f"there are {', '.join(own[:10]) or 'none'}: {cure}",
        )
    )
    return start


def _check_rest(loader: Loader, terminals: Terminals, lowering: Lowering) -> None:
    """Look for what is wrong in definitions of the first file that nothing leads to."""
    root = loader.root
    for name, entry in loader.entries.items():
        if (
            name in lowering.used
            or not entry.is_terminal
            or not entry.bodies
            or entry.bodies[0][1] is not root
        ):
            continue
        terminals.piece(name)


def _stop_on_another_language(loader: Loader) -> None:
    found = foreign_text(loader.root.text)
    if found is not None:  # all else that is wrong with it comes of this
        span = Span(found.start, found.end, loader.root.problems.source)
        raise GrammarError(
            [Diagnostic("G019", f"this is {found.what}, not a grammar of Lark", span, help=found.cure)],
            loader.sources,
        )


def _stop_on_problems(loader: Loader) -> None:
    found: list[Diagnostic] = []
    for file in loader.files:
        found += file.problems.found
    if found:
        raise GrammarError(list(dict.fromkeys(found)), loader.sources)
