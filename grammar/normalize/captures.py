"""Pass 7: captured items consume something, and text only."""

from __future__ import annotations

from stackmask.grammar.ir import Capture, RuleSet, TokenTerminal, walk
from stackmask.grammar.normalize.graph import reachable, reference_graph
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.normalize.nullable import ends_of, rule_ends
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend


def check_captures(ruleset: RuleSet) -> None:
    """Check every captured item.

    Raises: GrammarError (G110 nullable, G111 a special token inside: it has no text to capture).
    """
    if not any(Capture in facts(rule.body).kinds for rule in ruleset.rules.values()):
        return
    captures = [
        expr for rule in ruleset.rules.values() for expr in walk(rule.body) if isinstance(expr, Capture)
    ]
    ends = rule_ends(ruleset)
    graph = reference_graph(ruleset)
    users: dict[str, list[str]] = {name: [] for name in graph}
    for name, targets in graph.items():
        for target in targets:
            users[target].append(name)
    holds_token = (n for n, rule in ruleset.rules.items() if TokenTerminal in facts(rule.body).kinds)
    with_token = reachable(holds_token, users)  # they, and all that lead to them
    problems = []
    for capture in captures:
        if ends_of(capture.item, ends):
            problems.append(
                Diagnostic(
                    "G110",
                    "a captured item must not match the empty string",
                    capture.span,
                    help="make it `+` instead of `*`, or capture only where there is text",
                )
            )
        spend(2 * facts(capture.item).size)
        inside = facts(capture.item)
        if TokenTerminal in inside.kinds or not with_token.isdisjoint(inside.names):
            problems.append(
                Diagnostic("G111", "a special token has no text and cannot be captured", capture.span)
            )
    if problems:
        raise GrammarError(problems, ruleset.sources)
