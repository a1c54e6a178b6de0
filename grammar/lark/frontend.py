"""The entrance: a Lark text to rules and parts, with a report of what differs from Lark."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Literal, NamedTuple

from stackmask.grammar.ir import RuleSet
from stackmask.grammar.lark.lower import LarkRules
from stackmask.grammar.lark.modules import Loader
from stackmask.grammar.lark.report import LarkReport, Notes
from stackmask.grammar.lark.terminals import Terminals
from stackmask.grammar.notation.foreign import foreign_to_lark
from stackmask.grammar.notation.loading import Loaded
from stackmask.grammar.notation.tree import Part
from stackmask.grammar.regex.compile import Flavor
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import enter

DEFAULT_START: Final = "start"
FLAVORS: Final = ("python", "rust")
OnUnsupported = Literal["error", "relax"]


class LoadedLark(NamedTuple):
    loaded: Loaded
    report: LarkReport
    made: LarkRules
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
    rules: Callable[[Loader, Terminals, Notes, bool], LarkRules] = LarkRules,
) -> LoadedLark:
    """Make the rules of a Lark text.

    ``base``: the folder that ``%import .file`` is relative to. ``start``: None means ``start`` if there is such a rule,
    else the first one. ``flavor``: whose regular expressions. ``on_unsupported``: "relax" takes what is declared only for
    nothing. ``given``: names of grammars that `@name` may use. ``rules``: makes the rules.
    Raises: GrammarError with the problems of all files at once.
    """
    if on_unsupported not in ("error", "relax"):
        raise ArgumentError(f"`on_unsupported` is {on_unsupported!r:.60}, not error or relax")
    if flavor not in FLAVORS:
        raise ArgumentError(f"no regex flavour `{flavor!s:.60}`; there are: {', '.join(FLAVORS)}")
    enter("reading the grammar")
    loader = Loader()
    loader.load(text, name, base)
    uses = loader.check_names(given)
    first = _choose_start(loader, start)
    root = loader.root.problems
    loader.sources.stop_on_problems(foreign_to_lark if root.found else None)
    notes = Notes()
    for file in loader.files:
        for span, what, reason in file.module.notes:
            notes.add("annotation", span, what, reason)
    terminals = Terminals(loader.entries, notes, flavor)
    made = rules(loader, terminals, notes, on_unsupported == "relax")
    begin = made.run(first)
    for full, entry in loader.entries.items():  # what is wrong in terminals that nothing leads to
        if full not in made.used and entry.is_terminal and entry.bodies and entry.bodies[0][1] is loader.root:
            terminals.piece(full)
    loader.sources.stop_on_problems(None)
    texts = loader.sources.texts
    parts = loader.parts
    parts.update((f"%grammar.{one}", Part("grammar", one, loader.entries[first].span)) for one in given)
    report = notes.report(texts, loader.unused_names(first, uses))
    return LoadedLark(Loaded(RuleSet(made.rules, begin, (), tuple(texts)), parts), report, made, first)


def _choose_start(loader: Loader, start: str | None) -> str:
    """Return the rule to begin with, or report that there is none."""
    entries = loader.entries
    if start is None:
        first = next((found.name for found in loader.root.module.definitions), DEFAULT_START)
        start = DEFAULT_START if DEFAULT_START in entries else first
    found = entries.get(start)
    problems = loader.root.problems
    if found is not None and found.bodies and not found.parameters:
        return start
    if not entries and not problems.found:
        problems.add("G016", "there are no rules", 0, 1, help='a rule looks like `start: "text"`')
    elif entries and (found is not None or start not in loader.root.module.known):
        own = [entry.name for entry in entries.values() if not entry.is_terminal and not entry.parameters]
        close = similar(start, own)
        cure = f'pass start="{close or own[0]}"' if close or own else "write one"
        others = f"there are {', '.join(own[:10]) or 'none'}: {cure}"
        help = f"did you mean `{close}`? {cure}" if close else others
        problems.at(None, "G016", f"no rule `{start:.60}` to begin with", help)
    return start
