"""A Lark text to rules and parts, templates written out, with a report of what differs from Lark.

What `%ignore` names stands behind terminals, and before the start rule, so that it comes exactly once between two
terminals whatever is left out, and nothing stands in front of a recursive call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir import EPSILON, Expr, Rule, RuleRef, RuleSet, Span
from stackmask.grammar.lark.modules import Entry, File, LarkReport, Loader, Notes
from stackmask.grammar.lark.terminals import Terminals
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.foreign import foreign_to_lark
from stackmask.grammar.notation.loading import SKIP_RULE, START_RULE, Loaded, skip_rule
from stackmask.grammar.notation.tree import Name, Node, Part, Use, names_in
from stackmask.grammar.regex.compile import Flavor
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import enter, spend

DEFAULT_START: Final = "start"
FLAVORS: Final = ("python", "rust")
OnUnsupported = Literal["error", "relax"]
MAX_INSTANCES: Final = 20_000  # templates with their arguments
MAX_SHOWN: Final = 60  # characters of the name of one


@dataclass(frozen=True, slots=True)
class Bound:
    """What a parameter stands for: a rule, terminal or template by its full name, or a literal of a file."""

    key: tuple[str, ...]
    node: Node | None = None
    file: File | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BodyScope:
    """Where a body stands: its file, and what the parameters of its template are."""

    file: File
    bound: Mapping[str, Bound] = field(default_factory=dict)


class LarkRules:
    """Makes the rules that the start rule leads to."""

    def __init__(self, loader: Loader, terminals: Terminals, notes: Notes, relax: bool) -> None:
        self.loader, self.terminals, self.notes, self.relax = loader, terminals, notes, relax
        self.entries = loader.entries
        self.rules: dict[str, Rule] = {}
        self.instances: dict[tuple[str, tuple[Bound | tuple[str, ...], ...]], str] = {}
        self.pending: list[tuple[str, Entry, Mapping[str, Bound]]] = []
        self.used: set[str] = set()
        self.skip: Expr | None = None
        self.is_full = False

    def run(self, start: str) -> str:
        """Lower all that the start rule needs, and return the name of the rule to begin with."""
        ignored = self.loader.root.module.skips
        if ignored:
            self.skip = RuleRef(SKIP_RULE)
            root = BodyScope(self.loader.root)
            found = [self.terminal(node, root) for node in ignored]
            rules = self.rules
            rules[SKIP_RULE] = skip_rule(
                SKIP_RULE, found, lambda name: rules[name].body if name in rules else None, ignored[0].span
            )
        first = self.reference(start)
        self.finish()
        if self.skip is None:
            return start
        items = (self.skip, first) if not self.entries[start].is_terminal else (self.skip, first, self.skip)
        self.rules[START_RULE] = Rule(START_RULE, ir.Sequence(items))
        return START_RULE

    def finish(self) -> None:
        """Lower what was referred to."""
        while self.pending:
            name, entry, bound = self.pending.pop()
            options = [self.expr(node, BodyScope(file, bound)) for node, file in entry.bodies]
            body = options[0] if len(options) == 1 else ir.Choice(tuple(options))
            self.rules[name] = Rule(name, body, entry.span)
        for name in self.terminals.declared:
            self.reference(name)

    # -- names ------------------------------------------------------------------------------------

    def reference(self, name: str, span: Span | None = None) -> Expr:
        """Return a reference to a rule or terminal, which is lowered some time."""
        if name not in self.used:
            self.used.add(name)
            entry = self.entries[name]
            if not entry.bodies:
                self.declared(entry)
            elif entry.is_terminal:
                self.terminal_rules(name)
            else:
                self.pending.append((name, entry, {}))
            if entry.priority is not None:
                reason = "a priority chooses among readings of a text, and changes no text"
                self.notes.add("annotation", entry.span, f"{name}.{entry.priority}", reason)
        return RuleRef(name, span=span)

    def terminal_rules(self, name: str) -> None:
        """Make the rules of a terminal and of those that it refers to."""
        todo = [name]
        while todo:
            current = todo.pop()
            entry = self.entries[current]
            self.used.add(current)
            if current in self.rules or not entry.bodies:
                continue
            self.rules[current] = Rule(current, self.terminals.body(current), entry.span)
            for node in _references(self.rules[current].body):
                spend(2)
                if node not in self.rules:
                    todo.append(node)

    def declared(self, entry: Entry) -> None:
        """Report a terminal that is declared only, or take it for nothing."""
        self.rules[entry.name] = Rule(entry.name, EPSILON, entry.span)
        if self.relax:
            reason = "code that runs with Lark's lexer makes it; here nothing stands there"
            self.notes.add("relaxed", entry.span, f"%declare {entry.name}", reason)
            return
        message = f"`{entry.name}` is declared, not defined: code beside Lark's lexer makes it, which cannot be enforced"
        help = f'define it, `%override {entry.name}: …`, or pass on_unsupported="relax" to have nothing stand there'
        problems = self.loader.sources.problems[entry.span.source]
        problems.at(entry.span, "G018", message, help, "the start rule leads to it")

    # -- expressions ------------------------------------------------------------------------------

    # recursion is as deep as the syntax tree, which expressions.MAX_DEPTH limits
    def expr(self, node: Node, scope: BodyScope) -> Expr:
        parts = self.parts(node, scope)
        return parts[0] if len(parts) == 1 else ir.Sequence(tuple(parts), node.span)

    def parts(self, node: Node, scope: BodyScope) -> list[Expr]:
        """Return the sequence that a node means, with what is ignored."""
        spend(8)
        if isinstance(node, Name):
            bound = scope.bound.get(node.name)
            if bound is not None:
                return self.of_bound(bound, node.span)
            return self.named(scope.file.full(node.name), node, scope)
        if isinstance(node, tree.Group) and node.op == " ":
            return [part for item in node.items for part in self.parts(item, scope)] or [EPSILON]
        if isinstance(node, tree.Group) and node.op == "|":
            return [ir.Choice(tuple([self.expr(item, scope) for item in node.items]), node.span)]
        if isinstance(node, tree.Repetition):
            return [ir.Repeat(self.expr(node.item, scope), node.min, node.max, node.span)]
        if isinstance(node, Use):
            return [self.instance(node, node.name, node.arguments, scope)]
        if isinstance(node, tree.Terminal):
            return self.followed(node.expr)
        return self.followed(self.terminal(node, scope))

    def followed(self, terminal: Expr) -> list[Expr]:
        if self.skip is None:
            return [terminal]
        if isinstance(terminal, ir.Sequence):
            return [*terminal.items, self.skip]
        return [terminal, self.skip]  # mutant: ignored-after

    def named(self, full: str, node: Name, scope: BodyScope) -> list[Expr]:
        entry = self.entries.get(full)
        if entry is None:
            return [EPSILON]  # which is reported
        if entry.parameters:
            self.without_arguments(node, entry, scope)
            return [EPSILON]
        found = self.reference(full, node.span)
        return self.followed(found) if entry.is_terminal and entry.bodies else [found]

    def without_arguments(self, node: Name | Use, entry: Entry, scope: BodyScope) -> None:
        message = f"the template `{node.name}` is used without its arguments"
        help = f"`{node.name}{{{', '.join(entry.parameters)}}}`"
        scope.file.problems.at(node.span, "G018", message, help)

    def of_bound(self, bound: Bound, span: Span) -> list[Expr]:
        if bound.node is not None and bound.file is not None:
            return self.followed(self.terminal(bound.node, BodyScope(bound.file)))
        full = bound.key[1]
        if full not in self.entries:  # an instance of a template
            return [RuleRef(full, span=span)]
        found = self.reference(full, span)
        return self.followed(found) if self.entries[full].is_terminal else [found]

    def terminal(self, node: Node, scope: BodyScope) -> Expr:
        """Return the expression of a terminal that stands in a rule."""
        key = None
        if isinstance(node, tree.Text | tree.Pattern):
            key = (type(node).__name__, node.value, node.flags)
            if (known := self.terminals.finished.get(key)) is not None:
                return known
        file = scope.file
        names = names_in(node)
        if isinstance(node, tree.Group | tree.Prefix | tree.Repetition):
            inner = next((name for name in names if name.name in scope.bound), None)
            if inner is not None:
                message = f"the parameter `{inner.name}` cannot stand under `&` or `~`"
                file.problems.at(inner.span, "G018", message, "write it as a terminal")
                return EPSILON
        for name in names:
            full = file.full(name.name)
            if full in self.entries and self.entries[full].is_terminal:
                self.terminals.piece(full)
                self.reference(full)
        made = self.terminals.finish(self.terminals.build(node, file), node.span, file)
        if key is not None:
            self.terminals.finished[key] = made
        return made

    # -- templates --------------------------------------------------------------------------------

    def instance(self, node: Use, name: str, arguments: tuple[Node, ...], scope: BodyScope) -> Expr:
        """Return a reference to the rule of a template with these arguments, which is lowered some time."""
        bound = scope.bound.get(name)
        full = bound.key[1] if bound is not None and bound.node is None else scope.file.full(name)
        entry = self.entries.get(full)
        if entry is None or len(entry.parameters) != len(arguments):
            if bound is not None:
                problem = f"`{name}` stands for what is no template of {len(arguments)} arguments here"
                scope.file.problems.at(node.span, "G018", problem)
            return EPSILON
        values = tuple(self.bind(argument, scope) for argument in arguments)
        key = (full, tuple(value.key for value in values))
        made = self.instances.get(key)
        if made is None:
            if len(self.instances) >= MAX_INSTANCES:
                self.too_many(node, scope)
                return EPSILON
            made = self.instances[key] = self.instance_name(full, values)
            self.pending.append((made, entry, dict(zip(entry.parameters, values, strict=True))))
            if full not in self.used:
                self.used.add(full)
        return RuleRef(made, span=node.span)

    def instance_name(self, full: str, values: tuple[Bound, ...]) -> str:
        name = f"{full}{{{', '.join(value.key[-1] for value in values)}}}"
        if len(name) > MAX_SHOWN or name in self.rules:
            name = f"{full}{{{len(self.instances)}}}"
        return name

    def bind(self, argument: Node, scope: BodyScope) -> Bound:
        """Return what an argument stands for."""
        spend(8)
        match argument:
            case Name(name):
                return scope.bound.get(name) or Bound(("name", scope.file.full(name)))
            case Use(name, arguments):
                found = self.instance(argument, name, arguments, scope)
                if isinstance(found, RuleRef):
                    return Bound(("name", found.name))
                return Bound(("text", ""), tree.Text("", "", argument.span), scope.file)
            case tree.Text(value, flags):
                return Bound(("text", flags, f'"{value}"'), argument, scope.file)
            case tree.Pattern(value, flags):
                return Bound(("pattern", flags, f"/{value}/"), argument, scope.file)
            case tree.Range(low, high):
                return Bound(("range", f'"{low}".."{high}"'), argument, scope.file)
        raise TypeError(f"not an argument: {argument!r}")  # the parser takes no others

    def too_many(self, node: Use, scope: BodyScope) -> None:
        if self.is_full:
            return
        self.is_full = True
        message = f"more than {MAX_INSTANCES:,} templates with arguments"
        help = "arguments that grow with each use never come to an end"
        scope.file.problems.at(node.span, "G018", message, help)


def _references(expr: Expr) -> list[str]:
    from stackmask.grammar.ir import walk

    return [part.name for part in walk(expr) if isinstance(part, RuleRef)]


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
    loader.check_names(given)
    first = _choose_start(loader, start)
    loader.sources.stop_on_problems(foreign_to_lark if loader.root.problems.found else None)
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
    texts, parts = loader.sources.texts, loader.parts
    parts.update((f"%grammar.{one}", Part("grammar", one, loader.entries[first].span)) for one in given)
    report = notes.report(texts)
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
