"""Pass 8: no follow restriction is pending where a dynamic rule starts, whose first byte is not known."""

from __future__ import annotations

from collections.abc import Mapping

from stackmask.grammar.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.ir import (
    Choice,
    Dynamic,
    Expr,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Sequence,
    children,
    walk,
)
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.normalize.nullable import ends_of, rule_ends


def check_restrictions(ruleset: RuleSet) -> None:
    """Check that every dynamic rule starts without a pending restriction.

    Raises: GrammarError (G116).
    """
    kinds = {type(expr) for rule in ruleset.rules.values() for expr in walk(rule.body)}
    if Dynamic not in kinds or NotFollowedBy not in kinds:
        return
    ends = rule_ends(ruleset)

    def leaves_pending(expr: Expr, leaves: Mapping[str, bool]) -> bool:
        """Tell whether the expression, entered with nothing pending, can end with something pending."""
        match expr:
            case NotFollowedBy(mask):
                return mask != 0
            case RuleRef(name):
                return leaves[name]
            case Sequence(items):
                for item in reversed(items):
                    if leaves_pending(item, leaves):
                        return True
                    if not ends_of(item, ends):
                        return False
                return False
            case Choice():
                return any(leaves_pending(item, leaves) for item in children(expr))
            case _:
                return any(leaves_pending(item, leaves) for item in children(expr))

    leaves = solve(ruleset, False, leaves_pending)
    problems: dict[int, Diagnostic] = {}
    # what is entered with a restriction pending, and what without: a rule is looked at once for each
    seen = {(ruleset.start, False)}
    todo = [(ruleset.start, False)]
    while todo:
        name, entry = todo.pop()
        stack = [(ruleset.rules[name].body, entry)]
        while stack:
            expr, pending = stack.pop()
            match expr:
                case RuleRef(target):
                    if (target, pending) not in seen:
                        seen.add((target, pending))
                        todo.append((target, pending))
                case Dynamic(_, span) if pending:
                    problems[id(expr)] = Diagnostic(
                        "G116",
                        "a dynamic rule cannot follow a restriction directly",
                        span,
                        "a restriction can be pending here",
                        "put text between the two",
                    )
                case Sequence(items):
                    for item in items:
                        stack.append((item, pending))
                        pending = leaves_pending(item, leaves) or (pending and bool(ends_of(item, ends)))
                case Repeat(item):
                    stack.append((item, pending or leaves_pending(item, leaves)))
                case _:
                    stack.extend((item, pending) for item in children(expr))
    if problems:
        raise GrammarError(list(problems.values()), ruleset.sources)
