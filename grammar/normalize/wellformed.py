"""Pass 1: everything that the later passes take for granted, whoever made the rules."""

from __future__ import annotations

from stackmask.grammar.ir import Expr, Repeat, RuleRef, RuleSet, children
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import spend

MAX_NESTING = 400  # the front ends stop at 100 levels of text, each at most a few levels of expression
MAX_NAMES_SHOWN = 400  # in "did you mean": the comparison is quadratic


def check_wellformed(ruleset: RuleSet) -> None:
    """Check that names are defined, repetitions make sense and nesting is bounded.

    Raises: GrammarError (G101, G104, G105, G106).
    """
    names = ruleset.rules.keys()
    if ruleset.start in names and all(
        names >= set(found.names) and found.counts and found.depth < MAX_NESTING
        for found in [facts(rule.body) for rule in ruleset.rules.values()]
    ):
        return
    problems = []
    if ruleset.start not in ruleset.rules:
        problems.append(
            Diagnostic(
                "G104", f"the start rule `{ruleset.start}` is not defined", help=_hint(ruleset.start, ruleset)
            )
        )
    for name, rule in ruleset.rules.items():
        stack: list[tuple[Expr, int]] = [(rule.body, 1)]
        too_deep = False
        deepest: dict[int, int] = {}  # what occurs several times is looked at once, where it is deepest
        while stack:
            expr, depth = stack.pop()
            spend(3)
            if deepest.get(id(expr), 0) >= depth:
                continue
            first = id(expr) not in deepest
            deepest[id(expr)] = depth
            if depth > MAX_NESTING:
                too_deep = True
                continue
            match expr:
                case RuleRef(target, _, span) if first and target not in ruleset.rules:
                    problems.append(
                        Diagnostic(
                            "G101",
                            f"undefined rule `{target}`",
                            span,
                            "no rule of this name",
                            _hint(target, ruleset),
                        )
                    )
                case Repeat(_, low, high, span) if first and (low < 0 or (high is not None and high < low)):
                    bounds = f"{{{low},{'' if high is None else high}}}"
                    problems.append(
                        Diagnostic("G106", f"impossible repetition {bounds}", span, "needs 0 <= m <= n")
                    )
            stack.extend((item, depth + 1) for item in reversed(children(expr)))
        if too_deep:
            problems.append(
                Diagnostic(
                    "G105",
                    f"rule `{name}` nests more than {MAX_NESTING} expressions",
                    rule.span,
                    help="give inner parts rules of their own",
                )
            )
    if problems:
        raise GrammarError(problems, ruleset.sources)


def _hint(name: str, ruleset: RuleSet) -> str:
    if len(ruleset.rules) > MAX_NAMES_SHOWN:
        return ""
    close = similar(name, ruleset.rules)
    return f"did you mean `{close}`?" if close else ""
