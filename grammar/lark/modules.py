"""Follow the imports of a Lark file, and give every definition its full name.

What is imported gets the names that the importing file gives it; what it needs besides is named after its file, so that
``%override`` and ``%extend`` of an imported rule change it for all that came with it, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stackmask.grammar.ebnf.syntax import Part
from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.lark.library import LIBRARY
from stackmask.grammar.lark.parser import parse_module
from stackmask.grammar.lark.syntax import Definition, Import, Module, Name, Node, Use, is_terminal_name
from stackmask.grammar.source.diagnostics import Collector, GrammarFileError, line_and_column
from stackmask.grammar.source.files import read_text
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import check_text, spend

SUFFIX: Final = ".lark"
MAX_FILES: Final = 200  # imports, those of imported files included
MAX_SUGGESTIONS: Final = 20  # looking for similar names compares with every name there is


@dataclass(slots=True, eq=False)
class File:
    """A file as it is imported at one place: ``names`` are the full names of those that the importing file has named.

    ``again``: what is imported under a second name: the name in this file, and that name in the importing one.
    ``imported``: what this file has imported, by the names that it has here. ``wanted``: the names here of all its imports,
    found or not.
    """

    module: Module
    text: str
    folder: Path | None
    problems: Collector
    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    importer: File | None = None
    path: Path | None = None
    again: list[tuple[Name, Name]] = field(default_factory=list)
    imported: dict[str, tuple[Name, Import]] = field(default_factory=dict)
    wanted: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = frozenset(here.name for one in self.module.imports for _, here in one.items)

    def full(self, name: str) -> str:
        """Return the name that a definition of this file has in the whole grammar. Cost: linear in the importers."""
        file: File | None = self
        while file is not None and file.importer is not None:
            given = file.names.get(name)
            if given is not None:
                name = given  # mutant: given-name
            elif name.startswith("_"):
                name = f"_{file.prefix}__{name[1:]}"
            else:
                name = f"{file.prefix}__{name}"
            file = file.importer
        return name


@dataclass(slots=True, eq=False)
class Entry:
    """A definition under its full name. ``bodies``: what it stands for, each with the file that it is written in.

    A declared terminal has none.
    """

    name: str
    is_terminal: bool
    parameters: tuple[str, ...]
    span: Span
    bodies: list[tuple[Node, File]]
    priority: int | None = None


def _line_of(text: str, offset: int) -> int:
    """Return the number of a line. The lines before it are counted, so this is work."""
    spend(offset // 8)
    return line_and_column(text, offset)[0]


class Loader:
    """The files of a grammar, and what they define."""

    def __init__(self) -> None:
        self.sources: list[SourceText] = []
        self.files: list[File] = []
        self.entries: dict[str, Entry] = {}
        self.texts: dict[tuple[str, Path | None], tuple[Module, Collector]] = {}
        self.suggestions = 0

    @property
    def root(self) -> File:
        return self.files[0]

    @property
    def parts(self) -> dict[str, Part]:
        """All parts that are no Lark."""
        return {name: part for file in self.files for name, part in file.module.parts.items()}

    def load(self, text: str, name: str, folder: Path | None) -> None:
        """Read a text and all it imports. Problems are in the files."""
        module, problems = self._parsed(text, name, None)
        self.files.append(File(module, text, folder, problems))
        for file in self.files:  # grows while files are added
            for group in _by_path(file.module.imports):
                self._import(file, group)
        # what is imported is there before what changes it
        for file in reversed(self.files):
            for declared in file.module.declared:
                self._declare(file, declared)
            for definition in file.module.definitions:
                self._define(file, definition)
            for there, here in file.again:
                self._name_again(file, there, here)

    def _parsed(self, text: str, name: str, path: Path | None) -> tuple[Module, Collector]:
        known = self.texts.get((name, path))
        if known is None:
            check_text(f"`{name}`", text)
            problems = Collector(len(self.sources))
            self.sources.append(SourceText(name, text))
            known = self.texts[name, path] = (parse_module(text, problems.source, problems), problems)
        return known

    # -- imports ----------------------------------------------------------------------------------

    def _import(self, file: File, group: list[Import]) -> None:
        wanted = group[0]
        span = wanted.span
        if len(self.files) >= MAX_FILES:
            problem = f"more than {MAX_FILES} imports"
            file.problems.add(
                "G013", problem, span.start, span.end, help="imports that lead to each other never end"
            )
            return
        found = self._find(file, wanted)
        if found is None:
            return
        name, text, path = found
        outer: File | None = file
        while outer is not None and path is not None:
            if outer.path == path:
                file.problems.add("G013", f"`{name}` imports itself", span.start, span.end)
                return
            outer = outer.importer
        module, problems = self._parsed(text, name, path)
        known = {definition.name for definition in module.definitions}
        known.update(name.name for name in module.declared)
        known.update(here.name for inner in module.imports for _, here in inner.items)
        names: dict[str, str] = {}
        again: list[tuple[Name, Name]] = []
        renamed: set[str] = set()
        for one in group:
            for there, here in one.items:
                spend(4)
                self._check_import(file, ".".join(wanted.path), there, here, known)
                if not self._is_free(file, there, here, one):
                    continue
                if names.setdefault(there.name, here.name) != here.name and here.name not in renamed:
                    renamed.add(here.name)
                    again.append((there, here))  # mutant: named-again
        folder = path.parent if path is not None else None
        prefix = "__".join(wanted.path)
        self.files.append(File(module, text, folder, problems, prefix, names, file, path, again))

    def _is_free(self, file: File, there: Name, here: Name, wanted: Import) -> bool:
        """Return whether nothing else is imported under a name; else report it."""
        first, place = file.imported.setdefault(here.name, (there, wanted))
        same = (first.name, place.path, place.is_relative) == (there.name, wanted.path, wanted.is_relative)
        if not same:
            span = here.span
            line = _line_of(file.text, first.span.start)
            file.problems.add(
                "G004",
                f"two things are imported as `{here.name}`",
                span.start,
                span.end,
                help=f"the first is in line {line}; give this one another name with `->`",
            )
        return same

    def _find(self, file: File, wanted: Import) -> tuple[str, str, Path | None] | None:
        """Return the name, the text and the path of what is imported; None if it cannot be, which is reported."""
        span, dotted = wanted.span, ".".join(wanted.path)
        if not wanted.is_relative:
            text = LIBRARY.get(dotted)
            if text is not None:
                return f"lark/{dotted}{SUFFIX}", text, None
            close = similar(dotted, LIBRARY)
            help = (
                f"did you mean `{close}`?"
                if close
                else f"there are {', '.join(LIBRARY)}; a file beside this one is `.{dotted}`"
            )
            file.problems.add(
                "G013",
                f"`{dotted}` is not among Lark's bundled terminals here",
                span.start,
                span.end,
                help=help,
            )
            return None
        if file.folder is None:
            file.problems.add(
                "G013",
                f"cannot import `.{dotted}`: this grammar is not in a file",
                span.start,
                span.end,
                label="relative to which folder?",
                help="load it with Grammar.from_file, or pass base= to Grammar.from_lark",
            )
            return None
        path = file.folder.joinpath(*wanted.path).with_suffix(SUFFIX)
        try:
            return str(path), read_text(path), path.resolve()
        except GrammarFileError as error:
            file.problems.add("G013", str(error), span.start, span.end, label="imported here")
            return None

    def _check_import(self, file: File, target: str, there: Name, here: Name, known: set[str]) -> None:
        """Report a name that is not there, or that is to become a name of the other kind."""
        span = there.span
        if there.name not in known:
            close = similar(there.name, known)
            file.problems.add(
                "G014",
                f"`{target}` defines no `{there.name}`",
                span.start,
                span.end,
                label="nothing to import",
                help=f"did you mean `{close}`?" if close else "",
            )
        elif is_terminal_name(there.name) != is_terminal_name(here.name):
            kind = "a terminal" if is_terminal_name(there.name) else "a rule"
            file.problems.add(
                "G018",
                f"`{there.name}` is {kind}, `{here.name}` is not a name of one",
                here.span.start,
                here.span.end,
                help=f"write `-> {here.name.upper() if kind == 'a terminal' else here.name.lower()}`",
            )

    # -- definitions ------------------------------------------------------------------------------

    def _define(self, file: File, definition: Definition) -> None:
        spend(8)
        name, span = file.full(definition.name), definition.span
        parameters = tuple(parameter.name for parameter in definition.parameters)
        if is_terminal_name(definition.name) and parameters:
            place = definition.parameters[0].span
            file.problems.add(
                "G018", "a terminal has no parameters", place.start, place.end, help="a template is a rule"
            )
        known = self.entries.get(name)
        body = (definition.body, file)
        if definition.how == "extend" and known is not None:
            if known.parameters != parameters or not known.bodies:
                problem = f"`{definition.name}` is extended with other parameters, or was declared only"
                file.problems.add("G018", problem, span.start, span.end)
            known.bodies.append(body)
            return
        if definition.how != "define" and known is None:
            verb = "extend" if definition.how == "extend" else "override"
            self._nothing_to_change(file, definition, verb)
        if definition.how == "define" and known is not None and not known.bodies:
            problem = f"`{definition.name}` is declared and defined"
            file.problems.add("G004", problem, span.start, span.end, help="leave out one of the two")
            return
        if definition.how == "define" and known is not None:
            line = ""
            if known.span.source == span.source:
                line = f"first in line {_line_of(self.sources[span.source].text, known.span.start)}; "
            file.problems.add(
                "G004",
                f"`{definition.name}` is defined twice",
                span.start,
                span.end,
                label="defined again",
                help=f"{line}join the two with `|`, or write `%override` or `%extend`",
            )
            return
        self._check_parameters(file, definition)
        self.entries[name] = Entry(
            name, is_terminal_name(definition.name), parameters, span, [body], definition.priority
        )

    def _nothing_to_change(self, file: File, definition: Definition, verb: str) -> None:
        span = definition.span
        close = self.suggest(definition.name)
        file.problems.add(
            "G018",
            f"there is no `{definition.name}` to {verb}",
            span.start,
            span.end,
            help=f"did you mean `{close}`?" if close else f"leave out `%{verb}`",
        )

    def _check_parameters(self, file: File, definition: Definition) -> None:
        seen: set[str] = set()
        for parameter in definition.parameters:
            spend(2)
            if parameter.name in seen:
                span = parameter.span
                file.problems.add(
                    "G004", f"the parameter `{parameter.name}` is there twice", span.start, span.end
                )
            seen.add(parameter.name)

    def _declare(self, file: File, declared: Name) -> None:
        name = file.full(declared.name)
        known = self.entries.get(name)
        if known is not None:
            span = declared.span
            problem = f"`{declared.name}` is declared " + ("and defined" if known.bodies else "twice")
            file.problems.add("G004", problem, span.start, span.end, help="leave out one of the two")
            return
        self.entries[name] = Entry(name, is_terminal_name(declared.name), (), declared.span, [])

    def _name_again(self, file: File, there: Name, here: Name) -> None:
        """Define what is imported under a second name as a reference to the first one."""
        spend(8)
        importer = file.importer
        found = self.entries.get(file.full(there.name))
        if importer is None or found is None:  # which is reported
            return
        name = importer.full(here.name)
        if name in self.entries:
            span = here.span
            importer.problems.add("G004", f"`{here.name}` is imported twice", span.start, span.end)
            return
        arguments = tuple(Name(parameter, there.span) for parameter in found.parameters)
        body: Node = Use(there.name, arguments, there.span, 2) if arguments else Name(there.name, there.span)
        bodies = [(body, file)] if found.bodies else []
        self.entries[name] = Entry(name, found.is_terminal, found.parameters, here.span, bodies)

    def suggest(self, name: str) -> str | None:
        """Return a name of the first file that is like this one; only of the first few that are asked for."""
        self.suggestions += 1
        if self.suggestions > MAX_SUGGESTIONS:
            return None
        return similar(name, self.entries)


def _by_path(imports: list[Import]) -> list[list[Import]]:
    """Return the imports of a file, those from the same place together."""
    groups: dict[tuple[bool, tuple[str, ...]], list[Import]] = {}
    for one in imports:
        groups.setdefault((one.is_relative, one.path), []).append(one)
    return list(groups.values())
