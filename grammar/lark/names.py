"""Look at every name that a grammar uses, and report those that mean nothing, or not what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, TypeAlias

from stackmask.grammar.ir import RuleRef
from stackmask.grammar.lark.library import LIBRARY
from stackmask.grammar.lark.modules import Entry, File, Loader
from stackmask.grammar.lark.parser import parse_module
from stackmask.grammar.lark.syntax import Leaf, Name, Node, Use, is_terminal_name, walk_nodes
from stackmask.grammar.source.diagnostics import Collector, Diagnostic, line_and_column
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import spend, uncounted

_CLASS: Final = re.compile(r"[A-Za-z0-9]-[A-Za-z0-9]")
IGNORED: Final = "%ignore"  # in place of a name, for what `%ignore` uses
Uses: TypeAlias = dict[str, dict[str, None]]  # the names that each rule and terminal uses
GIVEN: Final = "%grammar."  # before the names of grammars given by name


def check_names(loader: Loader, given: Collection[str]) -> Uses:
    """Report what is undefined or used with other arguments than it has. ``given``: what `@name` may name.

    Everything in the first file is looked at, and of imported files what that leads to.
    Returns: what each of these uses. Cost: linear.
    """
    root = loader.root
    seen: set[str] = set()
    todo: list[str] = []
    uses: Uses = {}

    def visit(node: Node, file: File, parameters: tuple[str, ...], used: dict[str, None]) -> None:
        for part in walk_nodes(node):
            spend(3)
            if isinstance(part, Leaf) and isinstance(part.expr, RuleRef) and part.expr.name.startswith(GIVEN):
                _check_given(file, part, part.expr.name.removeprefix(GIVEN), given)
            if not isinstance(part, Name | Use):
                continue
            full = file.full(part.name)
            used[full] = None
            if part.name in parameters:
                continue
            entry = loader.entries.get(full)
            if entry is None:
                _undefined(loader, file, part)
                continue
            if isinstance(part, Use) or entry.parameters:
                _check_arguments(file, part, entry)
            if full not in seen:
                seen.add(full)
                todo.append(full)

    for name, entry in loader.entries.items():
        if any(file is root for _, file in entry.bodies) and name not in seen:
            seen.add(name)
            todo.append(name)
    ignored = uses[IGNORED] = {}
    for node in root.module.ignored:
        visit(node, root, (), ignored)
    while todo:
        name = todo.pop()
        entry = loader.entries[name]
        own = uses[name] = {}
        for node, file in entry.bodies:
            visit(node, file, entry.parameters, own)
    return uses


def unused_names(loader: Loader, start: str, uses: Uses) -> list[Diagnostic]:
    """Return warnings about what the first file defines and the start rule does not lead to. Cost: linear."""
    root = loader.root
    seen = {start, IGNORED}
    todo = [start, IGNORED]
    while todo:
        found = [name for name in uses.get(todo.pop(), ()) if name in loader.entries and name not in seen]
        spend(2 + len(found))
        seen.update(found)
        todo += found
    return [
        Diagnostic(
            "G201",
            f"{'terminal' if entry.is_terminal else 'rule'} `{entry.name}` is not used",
            entry.span,
            f"`{start}` does not lead here",
            "use it, remove it, or begin with it: start=…"
            if not entry.is_terminal
            else "use it, or remove it",
            "warning",
        )
        for entry in loader.entries.values()
        if entry.name not in seen and any(file is root for _, file in entry.bodies)
    ]


def _check_given(file: File, part: Leaf, name: str, given: Collection[str]) -> None:
    if name in given:
        return
    close = similar(name, given)
    names = (
        f"there are {', '.join(list(given)[:10])}"
        if given
        else f'pass grammars={{"{name}": …}} to Grammar.from_lark'
    )
    file.problems.add(
        "G003",
        f"no grammar `{name}` is given by name",
        part.span.start,
        part.span.end,
        help=f"did you mean `@{close}`?" if close else names,
    )


def _check_arguments(file: File, part: Name | Use, entry: Entry) -> None:
    given = len(part.arguments) if isinstance(part, Use) else 0
    wanted = len(entry.parameters)
    if given == wanted or (not given and wanted):  # as an argument itself, which is looked at when it is used
        return
    span = part.span
    message = (
        f"`{part.name}` takes {wanted} arguments, not {given}" if wanted else f"`{part.name}` is no template"
    )
    help = f"`{part.name}{{{', '.join(entry.parameters)}}}`" if wanted else "leave the braces out"
    file.problems.add("G018", message, span.start, span.end, help=help)


def _undefined(loader: Loader, file: File, part: Name | Use) -> None:
    name, span = part.name, part.span
    if name in file.module.broken:
        return  # its definition is reported
    if name in file.wanted:
        return  # as is its import
    kind = "terminal" if is_terminal_name(name) else "rule"
    other = name.lower() if kind == "terminal" else name.upper()
    before = file.text[max(span.start - 1, 0) : span.start]
    library = next((path for path in LIBRARY if name in _library_names(path)), None)
    if _CLASS.fullmatch(name):
        help = f"a class of characters stands in a regex: `/[{name}]/`"
    elif before == "/":
        help = "the flags of a regex are i, m, s, u and x"
    elif library is not None:
        help = f"`%import {library}.{name}`"
    elif other in loader.entries:
        help = f"did you mean `{other}`?"
    else:
        close = loader.suggest(name)
        if close is None:
            help = f'define it, `{name}: …`, or put text into quotes: `"{name}"`'
        else:
            place = loader.entries[close].span
            line = line_and_column(loader.sources[place.source].text, place.start)[0]
            help = f"did you mean `{close}`" + (f" (line {line})?" if place.source == span.source else "?")
    file.problems.add(
        "G003", f"undefined {kind} `{name}`", span.start, span.end, label=f"no {kind} of this name", help=help
    )


_known: dict[str, frozenset[str]] = {}


@uncounted
def _library_names(path: str) -> frozenset[str]:
    """Return what a bundled file defines."""
    if path not in _known:
        module = parse_module(LIBRARY[path], 0, Collector())
        _known[path] = frozenset(definition.name for definition in module.definitions)
    return _known[path]
