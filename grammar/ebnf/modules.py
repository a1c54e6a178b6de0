"""Load a grammar and its imports, resolve names across files, and build one rule set.

In a syntactic rule every terminal is followed by the skip expression, so that skipped text may occur between
any two terminals and after the last one; a start rule also begins with the skip. The position after terminals
(not between elements) puts exactly one skip between two terminals even if optional parts are missing, and
nothing before a recursive call. Terminals are literals, classes, regexes, special tokens, lexical and
imported rules, operands of `&`, `-` and `!`, the operands of `@push`, and the expressions before `!>>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ebnf.parser import parse_module
from stackmask.grammar.ir import EPSILON, Expr, Rule, RuleRef, RuleSet, Sequence, Span
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.loading import SKIP_RULE, START_RULE, Loaded, foreign_dialect, skip_rule
from stackmask.grammar.notation.modules import File, Found, Loader, Notation, SourceFiles
from stackmask.grammar.notation.tree import Group, Import, Module, Name, Node, Prefix, names_in
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.files import bundled_names, bundled_path, read_text
from stackmask.grammar.source.similar import advice
from stackmask.grammar.source.work import enter, spend

DEFAULT_START: Final = "root"
GIVEN: Final = "<grammars>"  # what the source of grammars given by name is called
NOTATION: Final = Notation(
    "this dialect",
    "Grammar.from_ebnf",
    "",
    '"{}"',
    "has no rule",
    'define it, `{0} ::= …`, or put text to be matched into quotes: `"{0}"`',
)
_FOLLOW_HELP: Final = "for example `!>> [A-Za-z0-9_]`, or `!>> [^ ]` with all non-ASCII characters"


def load_rules(
    text: str, *, name: str, base: Path | None, start: str | None, given: Iterable[str] = ()
) -> Loaded:
    """Build the rule set of a grammar text, which may refer to parts.

    ``given``: names of grammars that the text may use as rules.
    ``name`` is shown in diagnostics. ``base`` is the folder to which imported paths are relative. ``start``
    None means the rule ``root`` if it exists, else the first one.
    Raises: GrammarError with the problems of all files at once.
    """
    enter("reading the grammar")
    loader = _Loader()
    loader.add(text, name, base, None)
    loader.follow_imports()
    loader.add_given(given)
    loader.report_undefined()
    start_name = loader.choose_start(start)
    loader.sources.stop_on_problems(foreign_dialect)
    rules = loader.link(start_name)
    loader.sources.stop_on_problems(foreign_dialect)
    return Loaded(rules, loader.parts)


@dataclass(slots=True, eq=False)
class _File(File):
    """``meaning``: the defining file and name of each of its names."""

    meaning: dict[str, tuple[_File, str]] = field(default_factory=dict)


class _Loader(Loader[_File]):
    def __init__(self) -> None:
        super().__init__(SourceFiles(parse_module, NOTATION))
        self.by_path: dict[Path, _File] = {}

    def add(self, text: str, name: str, folder: Path | None, path: Path | None) -> _File:
        """Parse a text. Its imports are followed later."""
        module, problems = self.sources.parsed(text, name, path)
        file = _File(module, text, folder, problems, path)
        file.meaning = {name: (file, name) for name in module.known}
        self.files.append(file)
        if path is not None:
            self.by_path[path] = file
        return file

    # -- names ------------------------------------------------------------------------------------

    def bundled(self, file: _File, wanted: Import) -> Found | None:
        path = bundled_path(wanted.target)
        if path is not None:
            return Found(f"stackmask/grammars/{path.name}", read_text(path), path.resolve())
        known = bundled_names()
        others = f"bundled are: {', '.join(known) or 'none'}; a path is written in quotes"
        help = advice(wanted.target, known, others)
        file.problems.at(wanted.span, "G013", f"no bundled grammar `{wanted.target}`", help, "not bundled")
        return None

    def add_imported(self, file: _File, group: list[Import], found: Found | None) -> None:
        """Import names of a file, which is loaded once; imports may form cycles."""
        source = None
        if found is not None and found.path is not None:
            path = found.path
            source = self.by_path.get(path) or self.add(found.text, found.name, path.parent, path)
        for wanted in group:
            for outer, local in wanted.items:
                if local.name in file.meaning:
                    help = f"import it under another name: `{outer.name} as {local.name}-2`"
                    message = f"`{local.name}` is imported and defined"
                    file.problems.at(local.span, "G004", message, help, "a second meaning")
                elif source is None:
                    file.meaning[local.name] = (file, local.name)  # the failed import is reported already
                else:
                    self.has(file, wanted.target, outer, source.module.known)
                    file.meaning[local.name] = (source, outer.name)

    def add_given(self, names: Iterable[str]) -> None:
        """Let the first file use grammars given by the caller."""
        wanted = list(names)
        if not wanted:
            return
        root = self.root
        problems = self.sources.add(GIVEN, "")
        file = _File(Module(problems.source), "", None, problems)
        self.files.append(file)
        for name in wanted:
            spend(20)
            if name in root.meaning:
                message = f"`{name}` is a rule, and a grammar given by name"
                root.problems.at(
                    root.module.known.get(name), "G004", message, "give the grammar another name"
                )
                continue
            span = Span(0, 0, problems.source)
            inner = f"%grammar.{name}"
            file.module.parts[inner] = tree.Part("grammar", name, span)
            file.module.define(tree.RuleDefinition(name, tree.Terminal(RuleRef(inner), span), span))
            file.meaning[name] = root.meaning[name] = (file, name)

    def report_undefined(self) -> None:
        """Report undefined names, and restrictions and directives that cannot be used."""
        for file in self.files:
            module, problems = file.module, file.problems
            self._report_undefined(file)
            lexical = {name.name for name in module.lexical}
            for name in module.syntactic:
                if name.name in lexical:
                    problems.at(name.span, "G018", f"`{name.name}` is both %lexical and %syntactic")
            _explain_names(file)
            for node in module.nodes():
                if isinstance(node, Prefix) and node.op == "!>>":
                    follow_restriction(node.item, module, problems)

    def _report_undefined(self, file: _File) -> None:
        module = file.module
        uses = [node for node in module.nodes() if isinstance(node, Name)]
        uses += [name for look in module.looks for name in names_in(look)]
        reported: set[str] = set()
        for use in (*uses, *module.lexical, *module.syntactic):
            name = use.name
            if name in file.meaning or name in reported:
                continue
            reported.add(name)
            message, help = f"undefined rule `{name}`", self._undefined_help(use, file)
            file.problems.at(use.span, "G003", message, help, "no rule of this name")

    def _undefined_help(self, use: Name, file: _File) -> str:
        for separator in "-.":
            left, _, right = use.name.partition(separator)
            if right and (not left or left in file.meaning) and right.strip("-.") in file.meaning:
                meaning = "to subtract" if separator == "-" else "to mean any character"
                return f"a `{separator}` inside a name is part of it; put blanks around it {meaning}"
        return self.meant(use, file.meaning, file.module.known.get)

    def choose_start(self, start: str | None) -> str:
        """Return the local name of the start rule, or report that there is none."""
        root = self.root
        if start is None:
            first = next(iter(root.module.known), DEFAULT_START)
            start = DEFAULT_START if DEFAULT_START in root.meaning else first
        if not root.meaning:
            if not root.problems.found:  # else what should have been rules is reported already
                help = 'a rule looks like `root ::= "text"`'
                root.problems.add("G016", "the grammar has no rules", 0, 0, help=help)
        elif start not in root.meaning:
            names = ", ".join(f"`{name}`" for name in list(root.module.known)[:8])
            help = advice(start, root.meaning, f"pass start=…, one of {names}")
            root.problems.at(None, "G016", f"the start rule `{start}` is not defined", help)
        return start

    # -- linking ----------------------------------------------------------------------------------

    def link(self, start: str) -> RuleSet:
        """Build all rules of the first file, and the required rules of the others."""
        self._choose_prefixes()
        made: dict[int, FileRules] = {}
        for file in self.files:
            names = {local: f.prefix + name for local, (f, name) in file.meaning.items()}
            made[file.problems.source] = FileRules(file.module, file.prefix, names)
        root = self.root
        rules: dict[str, Rule] = {}
        pending = [(root, name) for name in reversed(root.module.rules)]
        pending.insert(0, root.meaning[start])
        while pending:
            file, name = pending.pop()
            own = made[file.problems.source]
            full = file.prefix + name
            if full in rules:
                continue
            definition = file.module.rules[name]
            rules[full] = own.rule(definition)
            nodes = list(tree.walk_nodes(definition.body))
            spend(10 + 6 * len(nodes))
            used = [file.meaning[node.name] for node in reversed(nodes) if isinstance(node, Name)]
            pending += [meant for meant in used if file is not root or meant[0] is not root]
            if own.skip is not None and own.skip_rule not in rules:
                rules[own.skip_rule] = own.skip_definition()
                pending.extend(file.meaning[p.name] for skip in file.module.skips for p in names_in(skip))
        start_file, start_name = root.meaning[start]
        full_start = start_file.prefix + start_name
        own = made[start_file.problems.source]
        if own.skip is not None and own.is_syntactic(start_name):
            rules[START_RULE] = Rule(START_RULE, Sequence((own.skip, RuleRef(full_start))))
            full_start = START_RULE
        return RuleSet(rules, full_start, self._initial_stack(), tuple(self.sources.texts))

    def _choose_prefixes(self) -> None:
        """Choose for each imported file a prefix of its names that is not a prefix of any other name."""
        taken: set[str] = set()
        for file in self.files[1:]:
            name = self.sources.texts[file.problems.source].name
            stem = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(name).stem) or "_"
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
                message = "this file and another give different `%stack` values"
                file.problems.at(file.module.stack_span, "G018", message)
        return (given[0].module.stack or ()) if given else ()


def _explain_names(file: _File) -> None:
    """Explain an unknown directive that has the name of a rule, if there is such a rule."""
    for index, problem in enumerate(file.problems.found):
        span = problem.span
        if problem.code != "G012" or span is None:
            continue
        name = file.text[span.start + 1 : span.end]
        if name in file.meaning:
            help = (
                f"`{name}` is a rule or a grammar given by name: write it without `{file.text[span.start]}`"
            )
            file.problems.found[index] = replace(problem, help=help)


# -- the rules of one file -----------------------------------------------------------------------------------


def lexical_rules(module: Module) -> set[str]:
    """Return the names of the rules of a file in which the skip rule is not inserted.

    These are rules with UPPER-CASE names, rules named by ``%lexical`` or ``%skip``, and all rules to which
    such a rule, an operand of `&`, `-` or `!`, or ``@push`` refers, except for those named by ``%syntactic``.
    """
    syntactic = {name.name for name in module.syntactic}
    pending = [name for name in module.known if name.isupper()]
    pending += [name.name for name in module.lexical]
    for skip in module.skips:
        pending += _names(skip)
    for node in module.nodes():
        if isinstance(node, Prefix) and node.op in ("!", "push", "new"):
            pending += _names(node.item)
        elif isinstance(node, Group) and node.op == "&":
            pending += _names(node)
    lexical: set[str] = set()
    while pending:
        name = pending.pop()
        if name in lexical or name in syntactic:
            continue
        lexical.add(name)
        if name in module.rules:
            pending += _names(module.rules[name].body)
    return lexical


def _names(node: Node) -> list[str]:
    return [name.name for name in names_in(node)]


class FileRules:
    """Builds the rules of one file; ``names`` maps its names to names of the whole rule set."""

    def __init__(self, module: Module, prefix: str, names: Mapping[str, str]) -> None:
        self.module, self.names = module, names
        self.skip_rule = prefix + SKIP_RULE
        self.skip: Expr | None = ir.RuleRef(self.skip_rule) if module.skips else None
        local = lexical_rules(module) if module.skips else set()
        self.terminals = local | {name for name in names if name not in module.rules}

    def rule(self, definition: tree.RuleDefinition) -> Rule:
        """Return the expression of one rule, with its name."""
        skip = None if definition.name in self.terminals else self.skip
        return Rule(self.names[definition.name], self._expr(definition.body, skip), definition.span)

    def skip_definition(self) -> Rule:
        """Return the rule of the skipped text: any number of the expressions in ``%skip`` directives."""
        own = {self.names[name]: definition.body for name, definition in self.module.rules.items()}

        def body_of(name: str) -> Expr | None:
            return self._expr(own[name], None) if name in own else None

        return skip_rule(self.skip_rule, [self._expr(node, None) for node in self.module.skips], body_of)

    def is_syntactic(self, name: str) -> bool:
        """Return whether the skip rule is inserted in the rule with this local name."""
        return self.skip is not None and name in self.module.rules and name not in self.terminals

    # recursion is as deep as the syntax tree, which tree.MAX_DEPTH limits
    def _expr(self, node: Node, skip: Expr | None) -> Expr:
        parts = self._parts(node, skip)
        return parts[0] if len(parts) == 1 else ir.Sequence(tuple(parts), _place(node))

    def _parts(self, node: Node, skip: Expr | None) -> list[Expr]:
        """Return the sequence for a node, including the skip."""
        terminal: Expr
        match node:
            case tree.Terminal(expr):
                if expr == EPSILON:
                    return [expr]
                if isinstance(expr, ir.Sequence):
                    return [*expr.items] if skip is None else [*expr.items, skip]
                terminal = expr
            case Name(name, span):
                terminal = ir.RuleRef(self.names.get(name, name), span=span)
                if name not in self.terminals:
                    return [terminal]
            case Group(" ", items):
                return self._sequence(items, skip)
            case Group("|", items):
                return [ir.Choice(tuple(self._expr(item, skip) for item in items), _place(node))]
            case Group("&", items):
                terminal = ir.Intersection(tuple(self._expr(item, None) for item in items), node.span)
            case Group(_, items):
                return self._parts(items[0], skip)
            case tree.Repetition(item, low, high, span):
                return [ir.Repeat(self._expr(item, skip), low, high, span)]
            case Prefix("!>>", item):
                return [follow_restriction(item, self.module, Collector())]
            case Prefix("scope", item, span):
                return [ir.Scope(self._expr(item, skip), span)]
            case Prefix("push" | "new" as action, item, span):
                terminal = ir.Capture(self._expr(item, None), action, span)
            case Prefix(_, item, span):
                terminal = ir.Complement(self._expr(item, None), span)
        return [terminal] if skip is None else [terminal, skip]

    def _sequence(self, items: Items[Node], skip: Expr | None) -> list[Expr]:
        parts: list[Expr] = []
        index = 0
        while index < len(items):
            item = items[index]
            index += 1
            behind = index
            while behind < len(items) and isinstance(f := items[behind], Prefix) and f.op == "!>>":
                behind += 1
            # a restriction on a token looks at the very next character, so the skip goes after it
            token = skip is not None and behind > index and self._is_token(item)  # mutant: skip-last
            parts += self._parts(item, None if token else skip)
            for follow in items[index:behind]:
                parts += self._parts(follow, None)
            if token and skip is not None:
                parts.append(skip)
            index = behind
        return parts

    def _is_token(self, node: Node) -> bool:
        return all(name.name in self.terminals for name in names_in(node))


def _place(node: Node) -> ir.Span | None:
    return node.span if node.span.start >= 0 else None


def follow_restriction(operand: Node, module: Module, problems: Collector) -> ir.NotFollowedBy:
    """Return the restriction for an operand.

    The operand is a class, a single ASCII character, a choice of these, or a local rule with such a body.
    """
    imported = {local.name for wanted in module.imports for _, local in wanted.items}
    mask = 0
    seen: set[str] = set()
    pending = [operand]
    while pending:
        node = pending.pop()
        if isinstance(node, Group) and node.op in ("|", "()"):
            pending.extend(reversed(node.items))
            continue
        if isinstance(node, Name):
            if node.name not in seen and node.name in module.rules:
                seen.add(node.name)
                pending.append(module.rules[node.name].body)
                continue
            if node.name in seen or node.name not in imported:
                continue  # counted already, or broken or undefined and so reported already
        found = first_bytes(node.expr) if isinstance(node, tree.Terminal) else None
        if found is None:
            split = isinstance(node, tree.Terminal) and isinstance(node.expr, ir.CharClass)
            message, label = "`!>>` takes a class or single characters", "not one ASCII character"
            if split:
                message = "`!>>` can tell ASCII characters apart, but not other characters"
                label = "contains some non-ASCII characters but not all"
            problems.at(operand.span, "G011", message, _FOLLOW_HELP, label)
            break
        mask |= found
    return ir.NotFollowedBy(mask, operand.span)


def first_bytes(expr: Expr) -> int | None:
    """Return the mask of possible first bytes of a one-character expression; None for other expressions."""
    match expr:
        case ir.CharClass(ranges):
            return charclass.follow_mask(ranges)
        case ir.Literal(data) if len(data) == 1 and data[0] < 0x80:
            return 1 << data[0]
        case ir.Choice(items):  # of a regex, one level deep
            mask = 0
            for item in items:
                found = None if isinstance(item, ir.Choice) else first_bytes(item)
                if found is None:
                    return None
                mask |= found
            return mask
    return None
