"""Follow the imports of a Lark file, give every definition its full name, and check every name that is used.

Imported definitions get the names chosen by the importing file. Their dependencies are named after their
file, so that ``%override`` and ``%extend`` of an imported rule affect only definitions imported with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Literal

from stackmask.grammar.ir import RuleRef, SourceText, Span
from stackmask.grammar.lark.parser import is_terminal_name, parse_module
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.modules import File, Found, Loader, Notation, SourceFiles
from stackmask.grammar.notation.tree import Import, Name, Node, Use
from stackmask.grammar.source.diagnostics import Collector, line_and_column
from stackmask.grammar.source.notes import NoteReport
from stackmask.grammar.source.similar import advice, similar
from stackmask.grammar.source.work import spend, uncounted

SUFFIX: Final = ".lark"
MAX_FILES: Final = 200  # imports, those of imported files included
MAX_NOTES: Final = 1_000
NOTATION: Final = Notation(
    "Lark",
    "Grammar.from_lark",
    SUFFIX,
    "`.{}`",
    "defines no",
    'define it, `{0}: …`, or put text into quotes: `"{0}"`',
)
Kind = Literal["narrowed", "annotation", "relaxed"]
GIVEN: Final = "%grammar."  # before the names of grammars given by name
_CLASS: Final = re.compile(r"[A-Za-z0-9]-[A-Za-z0-9]")


@dataclass(slots=True, eq=False)
class LarkFile(File):
    """A file imported at one place. ``names``: full names of the definitions that the importing file names.

    ``again``: definitions imported under a second name: their name in this file, and their name in the
    importing file. ``imported``: the imports of this file, by their local names. ``wanted``: the local names
    of all its imports, even of missing ones.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    importer: LarkFile | None = None
    again: list[tuple[Name, Name]] = field(default_factory=list)
    imported: dict[str, tuple[Name, Import]] = field(default_factory=dict)
    wanted: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = frozenset(here.name for one in self.module.imports for _, here in one.items)

    def full(self, name: str) -> str:
        """Return the full name of a definition of this file in the whole grammar. Cost: linear in the importers."""
        file: LarkFile | None = self
        while file is not None and file.importer is not None:
            spend(len(name) // 16)
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
    """A definition under its full name. ``bodies``: its bodies, each with its file.

    A terminal that is only declared has none.
    """

    name: str
    is_terminal: bool
    parameters: tuple[str, ...]
    span: Span
    bodies: list[tuple[Node, LarkFile]]
    priority: int | None = None
    attributes: Mapping[str, tree.Attribute] = field(default_factory=dict)
    counts: bool = False

    @property
    def is_one(self) -> bool:
        """Whether the definition is one terminal, in which nothing is ignored."""
        return self.is_terminal or bool(self.attributes)

    @property
    def is_lazy(self) -> bool:
        """Whether the definition ends as early as possible."""
        return bool(self.attributes.keys() & {"lazy", "suffix", "stop"})


class LarkLoader(Loader[LarkFile]):
    """The files of a grammar, and their definitions."""

    def __init__(self, sources: SourceFiles | None = None, as_json: bool = False) -> None:
        super().__init__(sources or SourceFiles(partial(_parsed_module, as_json=as_json), NOTATION))
        self.entries: dict[str, Entry] = {}

    def load(self, text: str, name: str, folder: Path | None) -> None:
        """Read a text and its imports. Problems are recorded in the files."""
        module, problems = self.sources.parsed(text, name, None)
        self.load_module(LarkFile(module, text, folder, problems))

    def load_module(self, root: LarkFile) -> None:
        """Read the imports of a file, and its definitions."""
        self.files.append(root)
        self.follow_imports()
        # what is imported is there before what changes it
        for file in reversed(self.files):
            for declared in file.module.declared:
                self._declare(file, declared)
            for definition in file.module.definitions:
                self._define(file, definition)
            for there, here in file.again:
                self._name_again(file, there, here)

    # -- imports ----------------------------------------------------------------------------------

    def add_imported(self, file: LarkFile, group: list[Import], found: Found | None) -> None:
        """Add a file for the imports from one place."""
        wanted = group[0]
        if found is None:
            return
        if len(self.files) >= MAX_FILES:
            help = "imports that lead to each other never end"
            file.problems.at(wanted.span, "G013", f"more than {MAX_FILES} imports", help)
            return
        path = found.path
        spend(1_000)
        outer: LarkFile | None = file
        while outer is not None and path is not None:
            if outer.path == path:
                file.problems.at(wanted.span, "G013", f"`{found.name}` imports itself")
                return
            outer = outer.importer
        module, problems = self.sources.parsed(found.text, found.name, path)
        known = {*module.known, *(name.name for name in module.declared)}
        known.update(here.name for inner in module.imports for _, here in inner.items)
        names: dict[str, str] = {}
        again: dict[str, tuple[Name, Name]] = {}
        for one in group:
            for there, here in one.items:
                spend(4)
                self._check_import(file, wanted.target, there, here, known)
                if not self._is_free(file, there, here, one):
                    continue
                if names.setdefault(there.name, here.name) != here.name:
                    again.setdefault(here.name, (there, here))  # mutant: named-again
        prefix, others = wanted.target.replace(".", "__"), [*again.values()]
        folder = path.parent if path is not None else None
        self.files.append(LarkFile(module, found.text, folder, problems, path, prefix, names, file, others))

    def _is_free(self, file: LarkFile, there: Name, here: Name, wanted: Import) -> bool:
        """Return whether no other import uses a name yet; otherwise report the conflict."""
        first, place = file.imported.setdefault(here.name, (there, wanted))
        same = (first.name, place.target, place.is_path) == (there.name, wanted.target, wanted.is_path)
        if not same:
            help = f"the first is in line {self.sources.line_of(first.span)}; give this one another name with `->`"
            file.problems.at(here.span, "G004", f"two things are imported as `{here.name}`", help)
        return same

    def bundled(self, file: LarkFile, wanted: Import) -> Found | None:
        target = wanted.target
        if target in LIBRARY:
            return Found(f"lark/{target}{SUFFIX}", LIBRARY[target], None)
        others = f"there are {', '.join(LIBRARY)}; a file beside this one is `.{target}`"
        message = f"`{target}` is not among Lark's bundled terminals here"
        file.problems.at(wanted.span, "G013", message, advice(target, LIBRARY, others))
        return None

    def _check_import(self, file: LarkFile, target: str, there: Name, here: Name, known: set[str]) -> None:
        """Report a name that is missing or would be renamed to the other kind."""
        if self.has(file, target, there, known) and is_terminal_name(there.name) != is_terminal_name(
            here.name
        ):
            is_terminal = is_terminal_name(there.name)
            kind = "a terminal" if is_terminal else "a rule"
            help = f"write `-> {here.name.upper() if is_terminal else here.name.lower()}`"
            message = f"`{there.name}` is {kind}, `{here.name}` is not a name of one"
            file.problems.at(here.span, "G018", message, help)

    # -- definitions ------------------------------------------------------------------------------

    def _define(self, file: LarkFile, definition: tree.RuleDefinition) -> None:
        spend(8)
        own, how, span, problems = definition.name, definition.how, definition.span, file.problems
        name = file.full(own)
        parameters = tuple([parameter.name for parameter in definition.parameters])
        is_terminal = is_terminal_name(own)
        if is_terminal and parameters:
            place = definition.parameters[0].span
            problems.at(place, "G018", "a terminal has no parameters", "a template is a rule")
        known = self.entries.get(name)
        body = (definition.body, file)
        if how == "extend" and known is not None:
            given, there = definition.attributes, known.attributes
            is_same = (known.parameters, known.counts) == (parameters, definition.counts) and known.bodies
            if not is_same or any(there.get(word, (0,))[0] != value for word, (value, _) in given.items()):
                problems.at(span, "G018", f"`{own}` is extended with another head, or was declared only")
            known.bodies.append(body)
            return
        if how != "define" and known is None:
            close = self.sources.suggest(own, self.entries)
            help = f"did you mean `{close}`?" if close else f"leave out `%{how}`"
            problems.at(span, "G018", f"there is no `{own}` to {how}", help)
        if how == "define" and known is not None:
            if not known.bodies:
                problems.at(span, "G004", f"`{own}` is declared and defined", "leave out one of the two")
                return
            is_here = known.span.source == span.source
            line = f"first in line {self.sources.line_of(known.span)}; " if is_here else ""
            help = f"{line}join the two with `|`, or write `%override` or `%extend`"
            problems.at(span, "G004", f"`{own}` is defined twice", help, "defined again")
            return
        for at, parameter in enumerate(definition.parameters):
            spend(2)
            if parameter.name in parameters[:at]:
                problems.at(parameter.span, "G004", f"the parameter `{parameter.name}` is there twice")
        self.entries[name] = Entry(
            name,
            is_terminal,
            parameters,
            span,
            [body],
            definition.priority,
            definition.attributes,
            definition.counts,
        )

    def _declare(self, file: LarkFile, declared: Name) -> None:
        name = file.full(declared.name)
        known = self.entries.get(name)
        if known is not None:
            problem = f"`{declared.name}` is declared " + ("and defined" if known.bodies else "twice")
            file.problems.at(declared.span, "G004", problem, "leave out one of the two")
            return
        self.entries[name] = Entry(name, is_terminal_name(declared.name), (), declared.span, [])

    def _name_again(self, file: LarkFile, there: Name, here: Name) -> None:
        """Define a second name of an import as a reference to the first name."""
        spend(8)
        importer = file.importer
        found = self.entries.get(file.full(there.name))
        if importer is None or found is None:  # which is reported
            return
        name = importer.full(here.name)
        if name in self.entries:
            importer.problems.at(here.span, "G004", f"`{here.name}` is imported twice")
            return
        arguments = tuple(Name(parameter, there.span) for parameter in found.parameters)
        body: Node = Use(there.name, arguments, there.span, 2) if arguments else Name(there.name, there.span)
        bodies = [(body, file)] if found.bodies else []
        self.entries[name] = Entry(name, found.is_terminal, found.parameters, here.span, bodies)

    # -- names ------------------------------------------------------------------------------------

    def check_names(self, given: Collection[str]) -> None:
        """Report undefined names, and uses with the wrong arguments. ``given``: the names that `@name` may use.

        This checks all of the first file, and all that it reaches in imported files. Cost: linear.
        """
        todo: dict[str, None] = {}
        for node in self.root.module.skips:
            self._visit(node, self.root, (), todo, given)
        own = [entry for entry in self.entries.values() if any(file is self.root for _, file in entry.bodies)]
        todo.update((entry.name, None) for entry in own)
        seen: set[str] = set()
        while todo:
            name, _ = todo.popitem()
            entry = self.entries.get(name)
            if entry is None or name in seen:
                continue
            seen.add(name)
            for node, file in entry.bodies:
                self._visit(node, file, entry.parameters, todo, given)
                for value, _ in entry.attributes.values():
                    if value is not None and not isinstance(value, int):
                        self._visit(value, file, (), todo, given)

    def _visit(
        self,
        node: Node,
        file: LarkFile,
        parameters: tuple[str, ...],
        todo: dict[str, None],
        given: Collection[str],
    ) -> None:
        for part in tree.walk_nodes(node):
            spend(3)
            if isinstance(part, tree.Terminal):
                if isinstance(part.expr, RuleRef) and part.expr.name.startswith(GIVEN):
                    _check_given(file, part, part.expr.name.removeprefix(GIVEN), given)
            elif isinstance(part, Name | Use | tree.CountedUse) and part.name not in parameters:
                full = file.full(part.name)
                todo[full] = None
                entry = self.entries.get(full)
                if entry is None:
                    self._undefined(file, part)
                elif isinstance(part, tree.CountedUse) != entry.counts:
                    message = f"`{part.name}` is not a rule that counts"
                    if entry.counts:
                        message = f"`{part.name}` counts, and is used without a number"
                    help = (
                        "leave out `::` and what follows it"
                        if not entry.counts
                        else f"write `{part.name}::0`"
                    )
                    file.problems.at(part.span, "G018", message, help)
                elif isinstance(part, tree.CountedUse):
                    pass
                elif isinstance(part, Use) or entry.parameters:
                    _check_arguments(file, part, entry)

    def _undefined(self, file: LarkFile, part: Name | Use | tree.CountedUse) -> None:
        name, span = part.name, part.span
        if name in file.module.known or name in file.wanted:
            return  # what is wrong with its definition or its import is reported
        kind = "terminal" if is_terminal_name(name) else "rule"
        other = name.lower() if kind == "terminal" else name.upper()
        library = next((path for path in LIBRARY if name in _parsed_library(path, 0).known), None)
        if _CLASS.fullmatch(name):
            help = f"a character class is written in a regex: `/[{name}]/`"
        elif file.text[max(span.start - 1, 0) : span.start] == "/":
            help = "the flags of a regex are i, m, s, u and x"
        elif library is not None:
            help = f"`%import {library}.{name}`"
        elif other in self.entries:
            help = f"did you mean `{other}`?"
        else:
            help = self.meant(part, self.entries, lambda close: self.entries[close].span)
        file.problems.at(span, "G003", f"undefined {kind} `{name}`", help, f"no {kind} of this name")


def _check_given(file: LarkFile, part: tree.Terminal, name: str, given: Collection[str]) -> None:
    if name in given:
        return
    close = similar(name, given)
    help = f"did you mean `@{close}`?" if close else f"there are {', '.join(list(given)[:10])}"
    if not given:
        help = f'pass grammars={{"{name}": …}} to Grammar.from_lark'
    file.problems.at(part.span, "G003", f"no grammar `{name}` is given by name", help)


def _check_arguments(file: LarkFile, part: Name | Use, entry: Entry) -> None:
    given = len(part.arguments) if isinstance(part, Use) else 0
    wanted = len(entry.parameters)
    if given == wanted or (not given and wanted):  # as an argument itself, which is looked at when it is used
        return
    message = f"`{part.name}` is not a template"
    help = "leave the braces out"
    if wanted:
        message = f"`{part.name}` takes {wanted} arguments, not {given}"
        help = f"`{part.name}{{{', '.join(entry.parameters)}}}`"
    file.problems.at(part.span, "G018", message, help)


def _parsed_module(text: str, source: int, problems: Collector, as_json: bool) -> tree.Module:
    for name, known in LIBRARY.items():
        if text is known:
            return _parsed_library(name, source)
    return parse_module(text, source, problems, as_json)


@lru_cache(8)
@uncounted
def _parsed_library(name: str, source: int) -> tree.Module:
    """Return a bundled file, which has no problems and must not be modified."""
    return parse_module(LIBRARY[name], source, Collector(source))


@dataclass(frozen=True, slots=True)
class LarkNote:
    """A note about a construct and its effect. ``place``: the file with line and column."""

    kind: Kind
    place: str
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: `{self.what}`: {self.reason}"


class LarkReport(NoteReport[LarkNote]):
    """The differences between the grammar and its source.

    ``narrowed``: texts that Lark accepts, but the grammar does not. ``relaxed``: texts that the grammar
    accepts, but Lark does not. ``annotations``: constructs without effect on the language, as priorities.
    """

    __slots__ = ("_notes",)

    def __init__(self, notes: Iterable[LarkNote] = ()) -> None:
        self._notes = list(dict.fromkeys(notes))[:MAX_NOTES]


class Notes:
    """Collects notes with their positions, until all sources are read."""

    def __init__(self) -> None:
        self.found: list[tuple[Kind, Span, str, str]] = []

    def add(self, kind: Kind, span: Span, what: str, reason: str) -> None:
        if len(self.found) < MAX_NOTES:
            self.found.append((kind, span, what, reason))

    def report(self, sources: list[SourceText]) -> LarkReport:
        """Return the report, ordered by position. Cost: linear in the texts, for each note."""
        lines = []
        for kind, span, what, reason in sorted(self.found, key=lambda note: (note[1].source, note[1].start)):
            source = sources[span.source]
            line, column = line_and_column(source.text, span.start)
            lines.append(LarkNote(kind, f"{source.name}:{line}:{column}", what, reason))
        return LarkReport(lines)


# the terminals that Lark comes with, after what its documentation says of them
_COMMON: Final = r"""
DIGIT: /[0-9]/
HEXDIGIT: /[0-9a-fA-F]/
INT: DIGIT+
SIGNED_INT: /[+-]/? INT
DECIMAL: INT "." INT? | "." INT
_EXP: /[eE]/ SIGNED_INT
FLOAT: INT _EXP | DECIMAL _EXP?
SIGNED_FLOAT: /[+-]/? FLOAT
NUMBER: FLOAT | INT
SIGNED_NUMBER: /[+-]/? NUMBER

_STRING_INNER: /.*?/
_STRING_ESC_INNER: _STRING_INNER /(?<!\\)(\\\\)*?/
ESCAPED_STRING: /"/ _STRING_ESC_INNER /"/

LCASE_LETTER: /[a-z]/
UCASE_LETTER: /[A-Z]/
LETTER: /[A-Za-z]/
WORD: LETTER+
CNAME: /[A-Za-z_][A-Za-z0-9_]*/

WS_INLINE: /[ \t]+/
WS: /[ \t\f\r\n]+/
CR: /\r/
LF: /\n/
NEWLINE: (CR? LF)+

SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: /\/\*(?s:.)*?\*\//
SQL_COMMENT: /--[^\n]*/
"""

_UNICODE: Final = r"""
WS_INLINE: /[ \t\xa0]+/
WS: /[ \t\xa0\f\r\n]+/
"""

# by the names that they are imported from
LIBRARY: Final = {"common": _COMMON, "unicode": _UNICODE}
