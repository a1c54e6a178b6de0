"""What a grammar says that its author hardly meant, though it means something."""

from __future__ import annotations

from stackmask.grammar.ebnf.lower import START_RULE
from stackmask.grammar.ebnf.parser import parse_module
from stackmask.grammar.ebnf.syntax import Module, Name, walk_nodes
from stackmask.grammar.ir import RuleRef, RuleSet, walk
from stackmask.grammar.source.diagnostics import Collector, Diagnostic


def warnings_of(rules: RuleSet) -> list[Diagnostic]:
    """Return the warnings about rules that ``load_rules`` made, in order of place; what they import is not judged.

    Cost: that of reading the text once more.
    """
    module = parse_module(rules.sources[0].text, 0, Collector())
    used = _used(module, _start_of(rules))
    return [
        Diagnostic(
            "G201",
            f"rule `{name}` is never used",
            definition.span,
            label="no way leads here from the start rule",
            help=f"delete it, or begin with it: start={name!r}",
            severity="warning",
        )
        for name, definition in module.definitions.items()
        if name not in used
    ]


def _start_of(rules: RuleSet) -> str:
    """Return the start rule as the file names it: before it may stand what is skipped."""
    if rules.start != START_RULE:
        return rules.start
    return next(
        expr.name for expr in reversed(list(walk(rules.rules[START_RULE].body))) if isinstance(expr, RuleRef)
    )


def _used(module: Module, start: str) -> set[str]:
    """Return the names that the start rule and the skipped text lead to."""
    used, pending = {start}, list(module.skips)
    if start in module.definitions:
        pending.append(module.definitions[start].body)
    while pending:
        for node in walk_nodes(pending.pop()):
            if isinstance(node, Name) and node.name not in used:
                used.add(node.name)
                if node.name in module.definitions:
                    pending.append(module.definitions[node.name].body)
    return used
