"""From a Lark text to rules and parts, with templates expanded, and a report of the differences from Lark.

The `%ignore` terminals are inserted after terminals and before the start rule. So they occur exactly once
between two terminals even if optional parts are missing, and not before a recursive call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.ir import EPSILON, Expr, Rule, RuleRef, RuleSet, Span
from stackmask.grammar.ir.build import choice, derives, referred, rewrite, sequence
from stackmask.grammar.lark.indentation import NAMES, NEWLINES, Indentation, Unmatched
from stackmask.grammar.lark.lexemes import ATOMS, Lexeme, Preference, TooManyVariants, factored, with_parts
from stackmask.grammar.lark.modules import Entry, LarkFile, LarkLoader, LarkReport, Notes
from stackmask.grammar.lark.parser import changed, holds
from stackmask.grammar.lark.terminals import Flavor, TerminalPart, Terminals
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.loading import SKIP_RULE, START_RULE, Loaded, foreign_to_lark, skip_rule
from stackmask.grammar.notation.tree import Name, Node, Part, Use, names_in
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import enter, spend

DEFAULT_START: Final = "start"
FLAVORS: Final = ("python", "rust", "xgrammar")
OnUnsupported = Literal["error", "relax"]
LINES_RULE: Final = "%lines"  # begins a grammar with blocks
MAX_INSTANCES: Final = 20_000  # templates with their arguments
MAX_SHOWN: Final = 60  # characters of the name of one
InstanceKey: TypeAlias = tuple[str, tuple[tuple[str, ...], ...]]  # the name of a rule, and its arguments


@dataclass(frozen=True, slots=True)
class Bound:
    """The value of a parameter: a rule, terminal or template by its full name, or a literal of a file."""

    key: tuple[str, ...]
    node: Node | None = None
    file: LarkFile | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BodyScope:
    """The context of a body: its file, and the parameters of its template, if any."""

    file: LarkFile
    bound: Mapping[str, Bound] = field(default_factory=dict)
    number: int = 0  # of a rule that counts


class LarkRules:
    """Builds the rules that the start rule needs."""

    def __init__(self, loader: LarkLoader, terminals: Terminals, notes: Notes, relax: bool) -> None:
        self.loader, self.terminals, self.notes, self.relax = loader, terminals, notes, relax
        self.entries = loader.entries
        self.rules: dict[str, Rule] = {}
        self.instances: dict[InstanceKey, str] = {}
        self.pending: list[tuple[str, Entry, Mapping[str, Bound], int]] = []
        self.used: set[str] = set()
        self.skip: Expr | None = None
        self.is_full = False
        self.lexemes: dict[str, Lexeme] = {}
        self.compound: dict[Expr, str] = {}  # terminals that are kept as one
        self.layout = next((names for names in NAMES if self.is_layout(names)), None)
        self.keeps = self.layout is not None or any(entry.is_lazy for entry in self.entries.values())

    def run(self, start: str, skips_first: bool = True) -> str:
        """Lower all rules that the start rule needs, and return the name of the initial rule."""
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
        before, after = [self.skip] * skips_first, [self.skip] * self.entries[start].is_one
        if not (before or after):
            return start
        self.rules[START_RULE] = Rule(START_RULE, sequence([*before, first, *after]))
        return START_RULE

    def is_layout(self, names: tuple[str, str]) -> bool:
        """Return whether these terminals are only declared, so that they represent indentation."""
        found = [self.entries.get(name) for name in names]
        return all(entry is not None and not entry.bodies for entry in found) and self.newline is not None

    @property
    def newline(self) -> str | None:
        """The name of the terminal for line breaks."""
        return next((name for name in NEWLINES if (own := self.entries.get(name)) and own.bodies), None)

    def atoms(self) -> set[str]:
        """Return the rules that consist of one terminal each, including the ignored one."""
        for expr, name in self.compound.items():
            self.rules[name] = Rule(name, expr)
        atoms = {name for name, entry in self.entries.items() if entry.is_one and name in self.rules}
        return atoms | {*self.compound.values(), *({SKIP_RULE} & self.rules.keys())}

    def indent(self, start: str) -> str:
        """Interpret the whitespace at line beginnings if a grammar has blocks; return the initial rule."""
        if self.layout is None or self.newline is None or not {*self.layout} & self.rules.keys():
            return start
        place = self.entries[self.layout[0]].span
        writer = Indentation(self.rules, self.atoms(), SKIP_RULE, self.newline, self.layout)
        try:
            made = writer.run(start, LINES_RULE)
            self.rules = without_dead_ends(made, made.keys() - self.rules.keys())
        except Unmatched as problem:
            self.loader.sources.problems[place.source].at(place, "G018", *problem.args)
            return start
        for bracket in writer.open:
            reason = "newlines within these brackets are refused: the closing one is in another sequence"
            span = bracket.span if isinstance(bracket, RuleRef) else None
            self.notes.add("narrowed", span or place, writer.text(bracket).decode(), reason)
        reason = "the lines of a block begin with the same blanks and tabs and end with a line break, and no blanks end the text"
        self.notes.add("narrowed", place, "%declare " + " ".join(self.layout), reason)
        return LINES_RULE

    def prefer_lazy(self, start: str) -> None:
        """Remove from terminals the strings that belong to lazy rules which may begin at the same position."""
        if not self.lexemes:
            return
        atoms = self.atoms()
        for name in self.rules.keys() - atoms if self.keeps else ():
            self.rules[name] = Rule(name, factored(self.rules[name].body), self.rules[name].span)
        skip = (SKIP_RULE, *(self.layout or ()))
        preference = Preference(self.rules, atoms, skip, self.lexemes, self.notes.add)
        for name, own in self.lexemes.items():
            if own.is_lazy and preference.may_be_empty(own.strings):
                reason = "it may end at once, so that it is always the empty text"
                self.notes.add("narrowed", self.entries[name].span, name, reason)
            self.rules[name] = Rule(name, preference.body(name), self.rules[name].span)
        if not self.keeps:
            return
        try:
            self.rules = preference.run(start)
            if preference.is_dead:
                self.rules = without_dead_ends(self.rules, self.rules.keys() - {start})
        except TooManyVariants:
            message = "too many rules for what `lazy`, `suffix` and `stop` leave out of the others"
            self.loader.root.problems.at(None, "G018", message, "give fewer rules these attributes")

    def finish(self) -> None:
        """Lower the definitions that are referenced."""
        while self.pending:
            name, entry, bound, number = self.pending.pop()
            options = [self.expr(node, BodyScope(file, bound, number)) for node, file in entry.bodies]
            body = options[0] if len(options) == 1 else ir.Choice(tuple(options))
            self.rules[name] = Rule(name, body, entry.span)
        for name in self.terminals.declared:
            self.reference(name)
        counted = {name for (full, _), name in self.instances.items() if self.entries[full].counts}
        self.rules = without_dead_ends(self.rules, counted)

    # -- names ------------------------------------------------------------------------------------

    def reference(self, name: str, span: Span | None = None) -> Expr:
        """Return a reference to a rule or terminal, which will be lowered later."""
        if name not in self.used:
            self.used.add(name)
            entry = self.entries[name]
            if not entry.bodies:
                self.declared(entry)
            elif entry.is_terminal:
                self.terminal_rules(name)
            elif entry.is_one:
                self.lexeme(name, entry)
            else:
                self.pending.append((name, entry, {}, 0))
            if entry.priority is not None:
                reason = "a priority chooses among readings of a text, and changes no text"
                self.notes.add("annotation", entry.span, f"{name}.{entry.priority}", reason)
        return RuleRef(name, span=span)

    def lexeme(self, name: str, entry: Entry) -> None:
        """Create a rule that consists of one terminal."""
        terminals, attributes, file = self.terminals, entry.attributes, entry.bodies[0][1]
        whole = terminals.alternatives([self.piece(node, own) for node, own in entry.bodies])
        end = attributes.get("suffix") or attributes.get("stop")
        if end is not None and isinstance(end.value, tree.Text | tree.Pattern | tree.Range | Name):
            whole = terminals.joined([whole, self.piece(end.value, file)])
        strings = whole.expr if entry.is_lazy else terminals.finish(whole, entry.span, file, name)
        if entry.is_lazy and whole.asserted:
            message = f"look-around in the lazy rule `{name}`"
            file.problems.at(entry.span, "G009", message, "leave it out: the rule ends as soon as it can")
        limit = attributes.get("max_tokens")
        most = limit.value if limit is not None and isinstance(limit.value, int) else None
        self.lexemes[name] = Lexeme(strings, entry.is_lazy, most)
        self.rules[name] = Rule(name, strings, entry.span)

    def piece(self, node: Node, file: LarkFile) -> TerminalPart:
        """Return the expression for a node of a terminal. The names in the node have rules."""
        for use in names_in(node):
            full = file.full(use.name)
            if full in self.entries and self.entries[full].is_terminal:
                self.terminals.piece(full)
                self.reference(full)
        return self.terminals.build(node, file)

    def terminal_rules(self, name: str) -> None:
        """Create the rules of a terminal and of all terminals to which it refers."""
        todo = [name]
        while todo:
            current = todo.pop()
            entry = self.entries[current]
            self.used.add(current)
            if current in self.rules or not entry.bodies:
                continue
            self.rules[current] = Rule(current, self.terminals.body(current), entry.span)
            for node in referred(self.rules[current].body):
                spend(2)
                if node not in self.rules and node in self.entries:
                    todo.append(node)

    def declared(self, entry: Entry) -> None:
        """Report a terminal that is only declared, or make it empty."""
        self.rules[entry.name] = Rule(entry.name, EPSILON, entry.span)
        if self.layout is not None and entry.name in self.layout:
            return
        if self.relax:
            reason = "Lark's lexer generates it by custom code; here it is empty"
            self.notes.add("relaxed", entry.span, f"%declare {entry.name}", reason)
            return
        message = f"`{entry.name}` is declared, not defined: code beside Lark's lexer makes it, which cannot be enforced"
        help = f'define it, `%override {entry.name}: …`, or pass on_unsupported="relax" to make it empty'
        problems = self.loader.sources.problems[entry.span.source]
        problems.at(entry.span, "G018", message, help, "the start rule leads to it")

    # -- expressions ------------------------------------------------------------------------------

    # recursion is as deep as the syntax tree, which expressions.MAX_DEPTH limits
    def expr(self, node: Node, scope: BodyScope) -> Expr:
        parts = self.parts(node, scope)
        return parts[0] if len(parts) == 1 else ir.Sequence(tuple(parts), node.span)

    def parts(self, node: Node, scope: BodyScope) -> list[Expr]:
        """Return the sequence for a node, including ignored terminals."""
        spend(8)
        if isinstance(node, Name):
            bound = scope.bound.get(node.name)
            if bound is not None:
                return self.of_bound(bound, node.span)
            return self.named(scope.file.full(node.name), node, scope)
        if isinstance(node, tree.Group) and node.op == " ":
            return [part for item in node.items for part in self.parts(item, scope)] or [EPSILON]
        if isinstance(node, tree.Group) and node.op == "|":
            options = [self.expr(item, scope) for item in node.items]
            return [choice(options) if ir.NOTHING in options else ir.Choice(tuple(options), node.span)]
        if isinstance(node, tree.Repetition):
            return [ir.Repeat(self.expr(node.item, scope), node.min, node.max, node.span)]
        if isinstance(node, Use):
            return [self.instance(node, node.name, node.arguments, scope)]
        if isinstance(node, tree.CountedUse):
            return [self.counted(node, scope)]
        if isinstance(node, tree.Guarded):
            return self.parts(node.item, scope) if holds(node.condition, scope.number) else [ir.NOTHING]
        if isinstance(node, tree.Terminal):
            return self.followed(node.expr)
        return self.followed(self.terminal(node, scope))

    def followed(self, terminal: Expr) -> list[Expr]:
        if self.keeps and not isinstance(terminal, ATOMS):
            terminal = RuleRef(self.compound.setdefault(terminal, f"%terminal.{len(self.compound)}"))
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
        return self.followed(found) if entry.is_one and entry.bodies else [found]

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
        return self.followed(found) if self.entries[full].is_one else [found]

    def terminal(self, node: Node, scope: BodyScope) -> Expr:
        """Return the expression of a terminal in a rule."""
        key = None
        if isinstance(node, tree.Text | tree.Pattern):
            key = (type(node).__name__, node.value, node.flags)
            if (known := self.terminals.finished.get(key)) is not None:
                return known
        file = scope.file
        if isinstance(node, tree.Group | tree.Prefix | tree.Repetition):
            inner = next((name for name in names_in(node) if name.name in scope.bound), None)
            if inner is not None:
                message = f"the parameter `{inner.name}` is not allowed under `&` or `~`"
                file.problems.at(inner.span, "G018", message, "write it as a terminal")
                return EPSILON
        made = self.terminals.finish(self.piece(node, file), node.span, file)
        if key is not None:
            self.terminals.finished[key] = made
        return made

    # -- templates --------------------------------------------------------------------------------

    def instance(self, node: Use, name: str, arguments: tuple[Node, ...], scope: BodyScope) -> Expr:
        """Return a reference to the rule of a template with these arguments, which will be lowered later."""
        bound = scope.bound.get(name)
        full = bound.key[1] if bound is not None and bound.node is None else scope.file.full(name)
        entry = self.entries.get(full)
        if entry is None or len(entry.parameters) != len(arguments):
            if bound is not None:
                problem = f"`{name}` is not a template of {len(arguments)} arguments here"
                scope.file.problems.at(node.span, "G018", problem)
            return EPSILON
        values = tuple(self.bind(argument, scope) for argument in arguments)
        shown = ", ".join(value.key[-1][:MAX_SHOWN] for value in values)
        inner = BodyScope(scope.file, dict(zip(entry.parameters, values, strict=True)))
        return self.rule_with(
            node, scope, (full, tuple(value.key for value in values)), f"{{{shown}}}", inner
        )

    def counted(self, node: tree.CountedUse, scope: BodyScope) -> Expr:
        """Return a reference to a rule with a number, which will be lowered later."""
        if node.name in scope.bound:
            message = f"`{node.name}` is a parameter, which has no number"
            scope.file.problems.at(node.span, "G018", message, "name the rule that counts")
        full = scope.file.full(node.name)
        entry = self.entries.get(full)
        if entry is None or not entry.counts:  # which is reported
            return EPSILON
        number = changed(node.value, scope.number)
        inner = BodyScope(scope.file, {}, number)
        return self.rule_with(node, scope, (full, (("number", str(number)),)), f"::{number}", inner)

    def rule_with(
        self, node: Use | tree.CountedUse, scope: BodyScope, key: InstanceKey, shown: str, inner: BodyScope
    ) -> Expr:
        """Return a reference to a rule with arguments or a number, which will be lowered later.

        ``shown``: what the name of the rule says of them; ``inner``: the same for its bodies.
        """
        name = self.instances.get(key)
        if name is None:
            if len(self.instances) >= MAX_INSTANCES:
                self.too_many(node, scope)
                return EPSILON
            full = key[0]
            name = full + shown
            if len(name) > MAX_SHOWN or name in self.rules:
                name = f"{full[:MAX_SHOWN]}{{{len(self.instances)}}}"
            self.instances[key] = name
            self.used.add(full)
            self.pending.append((name, self.entries[full], inner.bound, inner.number))
        return RuleRef(name, span=node.span)

    def bind(self, argument: Node, scope: BodyScope) -> Bound:
        """Return the value of an argument."""
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

    def too_many(self, node: Use | tree.CountedUse, scope: BodyScope) -> None:
        if self.is_full:
            return
        self.is_full = True
        message = f"more than {MAX_INSTANCES:,} rules of templates, or of rules that count"
        help = "arguments that grow with each use never end, and bits give many numbers"
        scope.file.problems.at(node.span, "G018", message, help)


def without_dead_ends(rules: dict[str, Rule], names: Collection[str]) -> dict[str, Rule]:
    """Return the rules without those named rules that have no strings, and without references to them."""
    if not names:
        return rules
    found = solve(with_parts(rules, next(iter(names)), EPSILON), False, derives)
    dead = {name for name in names if not found[name]}

    def leaf(expr: Expr) -> Expr:
        return ir.NOTHING if isinstance(expr, RuleRef) and expr.name in dead else expr

    kept = [rule for rule in rules.values() if rule.name not in dead]
    return {rule.name: Rule(rule.name, rewrite(rule.body, leaf), rule.span) for rule in kept}


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
    rules: Callable[[LarkLoader, Terminals, Notes, bool], LarkRules] = LarkRules,
) -> LoadedLark:
    """Build the rules of a Lark text.

    ``base``: the folder to which ``%import .file`` is relative. ``start``: None means the rule ``start`` if
    it exists, else the first one. ``flavor``: the syntax of regular expressions. ``on_unsupported``: "relax"
    makes terminals that are only declared empty. ``given``: names of grammars that `@name` may use.
    ``rules``: builds the rules.
    Raises: GrammarError with the problems of all files at once.
    """
    if on_unsupported not in ("error", "relax"):
        raise ArgumentError(f"`on_unsupported` is {on_unsupported!r:.60}, not error or relax")
    if flavor not in FLAVORS:
        raise ArgumentError(f"no regex flavour `{flavor!s:.60}`; there are: {', '.join(FLAVORS)}")
    enter("reading the grammar")
    loader = LarkLoader(as_json=flavor != "python")
    loader.load(text, name, base)
    notes = Notes()
    reader = _LarkReader(flavor, on_unsupported == "relax", given, notes, rules)
    made, begin, first = reader.read(loader, start)
    reader.add_nested(loader, made, begin)
    parts = {name: part for file in reader.files for name, part in file.module.parts.items()}
    if flavor == "xgrammar":  # to which 1.0 is not an integer
        parts = {name: part._replace(numbers="plain") for name, part in parts.items()}
    texts = loader.sources.texts
    parts.update((f"%grammar.{one}", Part("grammar", one, loader.entries[first].span)) for one in given)
    return LoadedLark(
        Loaded(RuleSet(made.rules, begin, (), tuple(texts)), parts), notes.report(texts), made, first
    )


@dataclass(frozen=True, slots=True)
class _LarkReader:
    """The options for reading a text and the grammars nested in it, as for ``load_lark``."""

    flavor: Flavor
    relax: bool
    given: Collection[str]
    notes: Notes
    rules: Callable[[LarkLoader, Terminals, Notes, bool], LarkRules]
    files: list[LarkFile] = field(default_factory=list)

    def read(self, loader: LarkLoader, start: str | None) -> tuple[LarkRules, str, str]:
        """Return the loaded rules, the initial rule, and the start rule."""
        loader.check_names(self.given)
        is_broken = bool(loader.root.problems.found)  # else it is Lark, whatever it is asked to begin with
        first = _choose_start(loader, start)
        loader.sources.stop_on_problems(foreign_to_lark if is_broken or not loader.entries else None)
        self.files.extend(loader.files)
        for file in loader.files:
            for span, what, reason in file.module.notes:
                self.notes.add("annotation", span, what, reason)
        terminals = Terminals(loader.entries, self.notes, self.flavor)
        made = self.rules(loader, terminals, self.notes, self.relax)
        begin = made.run(
            first, loader.root.module.options.get("allow_initial_skip", self.flavor != "xgrammar")
        )
        made.prefer_lazy(begin)
        begin = made.indent(begin)
        for full, entry in loader.entries.items():  # what is wrong in terminals that nothing leads to
            if (
                full not in made.used
                and entry.is_terminal
                and entry.bodies
                and entry.bodies[0][1] is loader.root
            ):
                terminals.piece(full)
        loader.sources.stop_on_problems(None)
        return made, begin, first

    def add_nested(self, outer: LarkLoader, made: LarkRules, begin: str) -> None:
        """Add the rules of nested grammars. Each grammar is added once, with separate names."""
        todo = [(outer, [*made.rules.values()])]
        has_blocks = begin == LINES_RULE
        while todo:
            loader, rules = todo.pop()
            used = {name for rule in rules for name in referred(rule.body) if name[:6] == "%lark."}
            for file in loader.files:
                for name in sorted(file.module.nested.keys() & used - made.rules.keys()):
                    inner = LarkLoader(loader.sources)
                    inner.load_module(
                        LarkFile(
                            file.module.nested[name], file.text, file.folder, file.problems, path=file.path
                        )
                    )
                    own, begin, _ = self.read(inner, DEFAULT_START)
                    if begin == LINES_RULE and has_blocks and own.layout:
                        message = "blocks in two grammars of one text, which do not know each other"
                        place = inner.entries[own.layout[0]].span
                        file.problems.at(place, "G018", message, "write them as one grammar, without `%lark`")
                        loader.sources.stop_on_problems(None)
                    has_blocks = has_blocks or begin == LINES_RULE
                    for lazy in (own.entries[one] for one in own.lexemes if own.entries[one].is_lazy):
                        reason = "it takes no text from terminals around its `%lark`"
                        self.notes.add("relaxed", lazy.span, lazy.name, reason)
                    names = {rule: f"{name}.{rule}" for rule in own.rules}

                    def leaf(expr: Expr, names: dict[str, str] = names) -> Expr:
                        if isinstance(expr, RuleRef) and expr.name in names:
                            return RuleRef(names[expr.name], span=expr.span)
                        return expr

                    found = [Rule(names[r.name], rewrite(r.body, leaf), r.span) for r in own.rules.values()]
                    made.rules.update({rule.name: rule for rule in found})
                    made.rules[name] = Rule(name, RuleRef(names[begin]))
                    todo.append((inner, found))


def _choose_start(loader: LarkLoader, start: str | None) -> str:
    """Return the start rule, or report that there is none."""
    entries = loader.entries
    if start is None:
        first = next((found.name for found in loader.root.module.definitions), DEFAULT_START)
        start = DEFAULT_START if DEFAULT_START in entries else first
    found = entries.get(start)
    problems = loader.root.problems
    if found is not None and found.bodies and not found.parameters and not found.counts:
        return start
    if not entries and not problems.found:
        problems.add("G016", "there are no rules", 0, 1, help='a rule looks like `start: "text"`')
    elif entries and (found is not None or start not in loader.root.module.known):
        own = [
            entry.name
            for entry in entries.values()
            if not (entry.is_terminal or entry.parameters or entry.counts)
        ]
        close = similar(start, own)
        cure = f'pass start="{close or own[0]}"' if close or own else "write one"
        others = f"there are {', '.join(own[:10]) or 'none'}: {cure}"
        if found is not None and found.counts:
            others = f"it counts: refer to it with a number, `begin: {start:.60}::0`"
        help = f"did you mean `{close}`? {cure}" if close else others
        problems.at(None, "G016", f"no rule `{start:.60}` to begin with", help)
    return start
