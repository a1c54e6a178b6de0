"""Pass 9: no follow restriction is pending where the state decides what comes: dynamic rules, object keys.

The first byte of a dynamic rule is not known. And which keys can still come is told from the state alone: a
restriction that rules some of them out would make dead ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmask.grammar.ir import (
    Choice,
    Dynamic,
    Expr,
    Keyed,
    KeyTest,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Sequence,
    Slot,
    children,
)
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.normalize.keys import NO_KEYS, key_level, key_levels
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.normalize.nullable import ends_of, rule_ends
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend


def check_restrictions(ruleset: RuleSet) -> None:
    """Check that dynamic rules start, and object keys are told apart, without a pending restriction.

    Raises: GrammarError (G116).
    """
    kinds = frozenset().union(*(facts(rule.body).kinds for rule in ruleset.rules.values()))
    if NotFollowedBy not in kinds or kinds.isdisjoint({Dynamic, Slot, KeyTest}):
        return
    ends = rule_ends(ruleset)
    levels = key_levels(ruleset)

    def leaves_pending(expr: Expr, leaves: Mapping[str, bool]) -> bool:
        """Return whether the expression, entered with nothing pending, can end with something pending."""
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

    leaves = solve(ruleset, False, leaves_pending, remember=False)
    problems: dict[int, Diagnostic] = {}
    # what is entered with a restriction pending, and what without: a rule is looked at once for each
    seen = {(ruleset.start, False)}
    todo = [(ruleset.start, False)]
    while todo:
        name, entry = todo.pop()
        stack = [(ruleset.rules[name].body, entry)]
        while stack:
            expr, pending = stack.pop()
            spend(4)
            match expr:
                case Sequence() | Keyed():
                    pass
                case _ if pending and key_level(expr, levels) != NO_KEYS:
                    problems[id(expr)] = Diagnostic(
                        "G116",
                        "object keys cannot follow a restriction directly",
                        expr.span,
                        "a restriction can be pending here",
                        "put text between the two",
                    )
                    continue
            match expr:
                case RuleRef(target):
                    if (target, pending) not in seen:
                        seen.add((target, pending))
                        todo.append((target, pending))
                case Dynamic(resolver, span) if pending and not getattr(
                    resolver, "follows_restrictions", False
                ):
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
