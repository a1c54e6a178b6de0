"""Load a grammar and all it imports, resolve names across files, and make one rule set of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from stackmask.grammar.ebnf.dialects import foreign_dialect
from stackmask.grammar.ebnf.follow import follow_restriction
from stackmask.grammar.ebnf.lower import START_RULE, Lowering
from stackmask.grammar.ebnf.parser import parse_module
from stackmask.grammar.ebnf.syntax import (
    Definition,
    Import,
    Leaf,
    Module,
    Name,
    Part,
    Prefix,
    walk_nodes,
)
from stackmask.grammar.ir import Rule, RuleRef, RuleSet, Sequence, SourceText, Span
from stackmask.grammar.source.diagnostics import (
    Collector,
    Diagnostic,
    GrammarError,
    GrammarFileError,
    line_and_column,
)
from stackmask.grammar.source.files import bundled_names, bundled_path, read_text
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import check_text, enter, spend

DEFAULT_START: Final = "root"
GIVEN: Final = "<grammars>"  # what the source of grammars given by name is called
MAX_SUGGESTIONS: Final = 20  # a file; looking for similar names compares with every name there is


class Loaded(NamedTuple):
    """Rules, and the parts that are no EBNF, by the names of rules that are referred to in their place."""

    rules: RuleSet
    parts: dict[str, Part]


def load_rules(text: str, *, name: str, base: Path | None, start: str | None) -> RuleSet:
    """Make the rule set of a grammar text without other parts. Raises: as ``load_with_parts``."""
    return load_with_parts(text, name=name, base=base, start=start).rules


def load_with_parts(
    text: str, *, name: str, base: Path | None, start: str | None, given: Iterable[str] = ()
) -> Loaded:
    """Make the rule set of a grammar text, which may refer to parts.

    ``given``: names of grammars that the text may use as rules.

    ``name`` is shown in diagnostics; ``base`` is the folder that imported paths are relative to; ``start``
    None means ``root`` if there is such a rule, else the first one.
    Raises: GrammarError with the problems of all files at once.
    """
    enter("reading the grammar")
    loader = _Loader()
    loader.add(text, name, base, None)
    loader.follow_imports()
    loader.resolve_names()
    loader.add_given(given)
    loader.report_undefined()
    start_name = loader.choose_start(start)
    loader.stop_on_problems()
    rules = loader.link(start_name)
    loader.stop_on_problems()
    return Loaded(rules, {key: part for file in loader.files for key, part in file.module.parts.items()})


class _File:
    """One parsed file: what its names mean (the file and name they are defined by) and its name prefix."""

    def __init__(self, module: Module, base: Path | None, problems: Collector) -> None:
        self.module, self.base, self.problems = module, base, problems
        self.imported: dict[int, _File] = {}  # by index into module.imports
        self.meaning: dict[str, tuple[_File, str]] = {}
        self.prefix = ""


class _Loader:
    def __init__(self) -> None:
        self.sources: list[SourceText] = []
        self.files: list[_File] = []
        self.by_path: dict[Path, _File] = {}

    def add(self, text: str, name: str, base: Path | None, path: Path | None) -> _File:
        """Parse a text; its imports are followed later."""
        check_text(f"`{name}`", text)
        problems = Collector(len(self.sources))
        self.sources.append(SourceText(name, text))
        file = _File(parse_module(text, problems.source, problems), base, problems)
        self.files.append(file)
        if path is not None:
            self.by_path[path] = file
        return file

    def stop_on_problems(self) -> None:
        found: list[Diagnostic] = []
        for file in self.files:
            number = file.problems.source
            foreign = foreign_dialect(self.sources[number].text) if file.problems.found else None
            if foreign is None:
                found += file.problems.found
            else:  # all else that is wrong with it comes of this
                span = Span(foreign.start, foreign.end, number)
                message = f"this is {foreign.what}, not a grammar of this dialect"
                found.append(Diagnostic("G019", message, span, help=foreign.cure))
        if found:
            raise GrammarError(found, self.sources)

    # -- imports ----------------------------------------------------------------------------------

    def follow_imports(self) -> None:
        for file in self.files:  # grows while files are added; imports may form cycles
            for index, wanted in enumerate(file.module.imports):
                imported = self._import(file, wanted)
                if imported is not None:
                    file.imported[index] = imported

    def _import(self, file: _File, wanted: Import) -> _File | None:
        span = wanted.span
        if wanted.quoted:
            if file.base is None:
                file.problems.add(
                    "G013",
                    f'cannot import "{wanted.target}": this grammar is not in a file',
                    span.start,
                    span.end,
                    label="relative to which folder?",
                    help="load it with Grammar.from_file, or pass base= to Grammar.from_ebnf",
                )
                return None
            path = file.base / wanted.target
            shown = str(path)
        else:
            found = bundled_path(wanted.target)
            if found is None:
                known = bundled_names()
                close = similar(wanted.target, known)
                file.problems.add(
                    "G013",
                    f"no bundled grammar `{wanted.target}`",
                    span.start,
                    span.end,
                    label="not bundled",
                    help=f"did you mean `{close}`?"
                    if close
                    else f"bundled are: {', '.join(known) or 'none'}; a path stands in quotes",
                )
                return None
            path, shown = found, f"stackmask/grammars/{found.name}"
        key = path.resolve()
        if key in self.by_path:
            return self.by_path[key]
        try:
            text = read_text(path)
        except GrammarFileError as error:
            file.problems.add("G013", str(error), span.start, span.end, label="imported here")
            return None
        return self.add(text, shown, path.parent, key)

    # -- names ------------------------------------------------------------------------------------

    def resolve_names(self) -> None:
        """Decide what every name means, and report names that mean two things."""
        for file in self.files:
            file.meaning = {name: (file, name) for name in file.module.known}
        for file in self.files:
            for index, wanted in enumerate(file.module.imports):
                for outer, local in wanted.items:
                    self._resolve_import(file, file.imported.get(index), wanted, outer, local)

    def add_given(self, names: Iterable[str]) -> None:
        """Let the first file use grammars that the caller has named."""
        wanted = list(names)
        if not wanted:
            return
        root = self.files[0]
        self.sources.append(SourceText(GIVEN, ""))
        file = _File(Module(len(self.sources) - 1), None, Collector(len(self.sources) - 1))
        self.files.append(file)
        for name in wanted:
            spend(20)
            if name in root.meaning:
                span = root.module.known.get(name)
                root.problems.found.append(
                    Diagnostic(
                        "G004",
                        f"`{name}` is a rule, and a grammar given by name",
                        span,
                        help="give the grammar another name",
                    )
                )
                continue
            span = Span(0, 0, file.module.source)
            inner = f"%grammar.{name}"
            file.module.parts[inner] = Part("grammar", name, span)
            file.module.definitions[name] = Definition(name, Leaf(RuleRef(inner), span), span)
            file.meaning[name] = root.meaning[name] = (file, name)

    def report_undefined(self) -> None:
        """Report names that mean nothing, and restrictions and directives that cannot be used."""
        for file in self.files:
            _report_undefined(file, self.sources[file.problems.source].text)
            _report_directives(file)
            _explain_names(file, self.sources[file.problems.source].text)
            for use in _prefixes(file.module, "!>>"):
                follow_restriction(use.item, file.module, file.problems)

    def _resolve_import(
        self, file: _File, source: _File | None, wanted: Import, outer: Name, local: Name
    ) -> None:
        problems = file.problems
        if local.name in file.meaning:
            problems.add(
                "G004",
                f"`{local.name}` is imported and defined",
                local.span.start,
                local.span.end,
                label="a second meaning",
                help=f"import it under another name: `{outer.name} as {local.name}-2`",
            )
            return
        if source is None:
            file.meaning[local.name] = (file, local.name)  # the failed import is reported already
            return
        if outer.name not in source.module.known:
            close = similar(outer.name, source.module.known)
            problems.add(
                "G014",
                f"`{wanted.target}` has no rule `{outer.name}`",
                outer.span.start,
                outer.span.end,
                label="nothing to import",
                help=f"did you mean `{close}`?" if close else "",
            )
        file.meaning[local.name] = (source, outer.name)

    def choose_start(self, start: str | None) -> str:
        """Return the local name of the start rule, or report that there is none."""
        root = self.files[0]
        known = root.module.known
        if start is None:
            start = DEFAULT_START if DEFAULT_START in root.meaning else next(iter(known), DEFAULT_START)
        if not root.meaning:
            if not root.problems.found:  # else what should have been rules is reported already
                help = 'a rule looks like `root ::= "text"`'
                root.problems.add("G016", "the grammar has no rules", 0, 0, help=help)
        elif start not in root.meaning:
            close = similar(start, root.meaning)
            names = ", ".join(f"`{name}`" for name in list(known)[:8])
            root.problems.found.append(
                Diagnostic(
                    "G016",
                    f"the start rule `{start}` is not defined",
                    help=f"did you mean `{close}`?" if close else f"pass start=…, one of {names}",
                )
            )
        return start

    # -- linking ----------------------------------------------------------------------------------

    def link(self, start: str) -> RuleSet:
        """Lower all rules of the first file, and those of the others that it needs."""
        self._choose_prefixes()
        lowered: dict[int, Lowering] = {}
        for index, file in enumerate(self.files):
            names = {local: f.prefix + name for local, (f, name) in file.meaning.items()}
            lowered[index] = Lowering(file.module, file.prefix, names)
        root = self.files[0]
        rules: dict[str, Rule] = {}
        pending = [(root, name) for name in reversed(root.module.definitions)]
        pending.insert(0, root.meaning[start])
        while pending:
            file, name = pending.pop()
            lowering = lowered[file.problems.source]
            full = file.prefix + name
            if full in rules:
                continue
            definition = file.module.definitions[name]
            rules[full] = lowering.rule(definition)
            nodes = list(walk_nodes(definition.body))
            spend(10 + 6 * len(nodes))
            used = [node.name for node in nodes if isinstance(node, Name)]
            pending.extend(
                file.meaning[n] for n in reversed(used) if file is not root or file.meaning[n][0] is not root
            )
            if lowering.skip is not None and lowering.skip_rule not in rules:
                rules[lowering.skip_rule] = lowering.skip_definition()
                pending.extend(
                    file.meaning[p.name]
                    for s in file.module.skips
                    for p in walk_nodes(s)
                    if isinstance(p, Name)
                )
        start_file, start_name = root.meaning[start]
        full_start = start_file.prefix + start_name
        lowering = lowered[start_file.problems.source]
        if lowering.skip is not None and lowering.is_syntactic(start_name):
            rules[START_RULE] = Rule(START_RULE, Sequence((lowering.skip, RuleRef(full_start))))
            full_start = START_RULE
        return RuleSet(rules, full_start, self._initial_stack(), tuple(self.sources))

    def _choose_prefixes(self) -> None:
        """Give each imported file a prefix for its names that no other name begins with."""
        taken: set[str] = set()
        for file in self.files[1:]:
            stem = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(self.sources[file.problems.source].name).stem) or "_"
            number = 1
            prefix = f"{stem}."
            while prefix in taken or any(name.startswith(prefix) for name in self.files[0].module.known):
                number += 1
                prefix = f"{stem}{number}."
            taken.add(prefix)
            file.prefix = prefix

    def _initial_stack(self) -> tuple[bytes, ...]:
        given = [file for file in self.files if file.module.stack is not None]
        for file in given[1:]:
            if file.module.stack != given[0].module.stack:
                file.problems.found.append(
                    Diagnostic(
                        "G018", "this file and another give different `%stack` texts", file.module.stack_span
                    )
                )
        return (given[0].module.stack or ()) if given else ()


def _report_undefined(file: _File, text: str) -> None:
    module, problems = file.module, file.problems
    reported: set[str] = set()
    uses: Iterable[Name] = [
        node
        for body in [*(d.body for d in module.definitions.values()), *module.skips, *module.looks]
        for node in walk_nodes(body)
        if isinstance(node, Name)
    ]
    for use in [*uses, *module.lexical, *module.syntactic]:
        if use.name in file.meaning or use.name in reported:
            continue
        reported.add(use.name)
        problems.add(
            "G003",
            f"undefined rule `{use.name}`",
            use.span.start,
            use.span.end,
            label="no rule of this name",
            help=_undefined_help(use.name, file, text) if len(reported) <= MAX_SUGGESTIONS else "",
        )


def _undefined_help(name: str, file: _File, text: str) -> str:
    for separator in "-.":
        left, _, right = name.partition(separator)
        if right and (not left or left in file.meaning) and right.strip("-.") in file.meaning:
            meaning = "to subtract" if separator == "-" else "to mean any character"
            return f"a `{separator}` inside a name is part of it; put blanks around it {meaning}"
    close = similar(name, file.meaning)
    if not close:
        return f'define it, `{name} ::= …`, or put text to be matched into quotes: `"{name}"`'
    span = file.module.known.get(close)
    return f"did you mean `{close}`" + (f" (line {line_and_column(text, span.start)[0]})?" if span else "?")


def _prefixes(module: Module, op: str) -> Iterator[Prefix]:
    for definition in module.definitions.values():
        for node in walk_nodes(definition.body):
            if isinstance(node, Prefix) and node.op == op:
                yield node


def _explain_names(file: _File, text: str) -> None:
    """Say of an unknown directive that it is the name of a rule, where there is one."""
    for index, problem in enumerate(file.problems.found):
        span = problem.span
        if problem.code != "G012" or span is None:
            continue
        name = text[span.start + 1 : span.end]
        if name in file.meaning:
            file.problems.found[index] = replace(
                problem,
                help=f"`{name}` is a rule or a grammar given by name: write it without `{text[span.start]}`",
            )


def _report_directives(file: _File) -> None:
    lexical = {name.name for name in file.module.lexical}
    for name in file.module.syntactic:
        if name.name in lexical:
            file.problems.add(
                "G018", f"`{name.name}` is both %lexical and %syntactic", name.span.start, name.span.end
            )
