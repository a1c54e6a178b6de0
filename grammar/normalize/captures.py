"""Pass 7: captured items consume something, and text only."""

from __future__ import annotations

from stackmask.grammar.ir import Capture, RuleSet, TokenTerminal, walk
from stackmask.grammar.normalize.graph import reachable, reference_graph, references
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.normalize.nullable import ends_of, rule_ends
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError


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
    with_token = {
        name
        for name, rule in ruleset.rules.items()
        if any(isinstance(expr, TokenTerminal) for expr in walk(rule.body))
    }
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
        inside = reachable({ref.name for ref in references(capture.item)}, graph)
        if not with_token.isdisjoint(inside) or any(isinstance(e, TokenTerminal) for e in walk(capture.item)):
            problems.append(
                Diagnostic("G111", "a special token has no text and cannot be captured", capture.span)
            )
    if problems:
        raise GrammarError(problems, ruleset.sources)
