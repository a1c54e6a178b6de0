"""Turn the syntax tree of one file into expressions, with the skip rule between elements.

In a syntactic rule every terminal is followed by the skip expression, so that optional text may stand
between any two terminals and after the last one; a start rule gets the skip before it as well. Putting it
behind terminals (not between elements) makes it appear exactly once between two terminals whatever is left
out, and adds nothing in front of a recursive call. Terminals are literals, classes, regexes, special tokens,
lexical and imported rules, operands of `&`, `-` and `!`, what `@push` captures, and what `!>>` follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Items
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir import EPSILON, Expr, Rule
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.loading import SKIP_RULE, skip_rule
from stackmask.grammar.notation.tree import Group, Module, Name, Node, Prefix, names_in
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector

_FOLLOW_HELP: Final = "for example `!>> [A-Za-z0-9_]`, or `!>> [^ ]` with all non-ASCII characters"


def lexical_rules(module: Module) -> set[str]:
    """Return the names of the rules of a file in which the skip rule is not inserted.

    These are the UPPER-CASE ones, those that ``%lexical`` or ``%skip`` names, and all that such a rule, an
    operand of `&`, `-` or `!`, or ``@push`` refers to; less what ``%syntactic`` names.
    """
    syntactic = {name.name for name in module.syntactic}
    pending = [name for name in module.known if is_upper_case(name)]
    pending += [name.name for name in module.lexical]
    for skip in module.skips:
        pending += _names(skip)
    for definition in module.definitions:
        for node in tree.walk_nodes(definition.body):
            if isinstance(node, Prefix) and node.op in ("!", "push"):
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


def is_upper_case(name: str) -> bool:
    """Say whether a name has letters, and only capital ones."""
    return name.isupper()


def _names(node: Node) -> list[str]:
    return [name.name for name in names_in(node)]


class FileRules:
    """Makes the rules of one file; ``names`` maps the names it uses to those of the whole rule set."""

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
        """Return the rule of the skipped text: any number of what the ``%skip`` directives name."""
        own = {self.names[name]: definition.body for name, definition in self.module.rules.items()}

        def body_of(name: str) -> Expr | None:
            return self._expr(own[name], None) if name in own else None

        return skip_rule(self.skip_rule, [self._expr(node, None) for node in self.module.skips], body_of)

    def is_syntactic(self, name: str) -> bool:
        """Say whether the skip rule is inserted in the rule of this local name."""
        return self.skip is not None and name in self.module.rules and name not in self.terminals

    # recursion is as deep as the syntax tree, which tree.MAX_DEPTH limits
    def _expr(self, node: Node, skip: Expr | None) -> Expr:
        parts = self._parts(node, skip)
        return parts[0] if len(parts) == 1 else ir.Sequence(tuple(parts), _place(node))

    def _parts(self, node: Node, skip: Expr | None) -> list[Expr]:
        """Return the sequence that a node means, the skip included."""
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
            case Prefix("push", item, span):
                terminal = ir.Capture(self._expr(item, None), "push", span)
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
            while behind < len(items) and _is_follow(items[behind]):
                behind += 1
            # a restriction on a token looks at the very next character, so the skip goes behind it
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


def _is_follow(node: Node) -> bool:
    return isinstance(node, Prefix) and node.op == "!>>"


def _place(node: Node) -> ir.Span | None:
    return node.span if node.span.start >= 0 else None


def follow_restriction(operand: Node, module: Module, problems: Collector) -> ir.NotFollowedBy:
    """Return the restriction that an operand means.

    The operand is a class, a single ASCII character, several of these as alternatives, or a rule of the
    same file that is one of these.
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
                label = "holds some non-ASCII characters but not all"
            problems.at(operand.span, "G011", message, _FOLLOW_HELP, label)
            break
        mask |= found
    return ir.NotFollowedBy(mask, operand.span)


def first_bytes(expr: Expr) -> int | None:
    """Return the mask of the bytes that a one-character expression may begin with; None if it is not one."""
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
