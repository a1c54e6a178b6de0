"""Pass 8: the text on top of the stack is asked for only where something has been captured."""

from __future__ import annotations

from collections.abc import Mapping

from stackmask.grammar.ir import (
    Capture,
    Choice,
    Dynamic,
    Expr,
    Keyed,
    Repeat,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    children,
    walk,
)
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend


def check_stack(ruleset: RuleSet) -> None:
    """Check that ``top`` cannot meet an empty stack, by the least depth with which each rule is entered.

    Nothing ever pops: a scope restores what it found. So depth 0 or more is all that must be followed.

    Raises: GrammarError (G115).
    """
    if not any(Dynamic in facts(rule.body).kinds for rule in ruleset.rules.values()):
        return
    tops = any(
        isinstance(e, Dynamic) and e.resolver == "top" for r in ruleset.rules.values() for e in walk(r.body)
    )
    if not tops or ruleset.initial != ():
        return
    may_keep = solve(ruleset, False, _may_keep_depth)
    problems = []
    entered = {ruleset.start}
    todo = [ruleset.start]
    while todo:
        stack = [ruleset.rules[todo.pop()].body]  # expressions that can be entered with an empty stack
        while stack:
            expr = stack.pop()
            spend(4)
            match expr:
                case RuleRef(name):
                    if name not in entered:
                        entered.add(name)
                        todo.append(name)
                case Dynamic("top", span):
                    problems.append(
                        Diagnostic(
                            "G115",
                            "`@top` can be reached where nothing has been pushed",
                            span,
                            "the stack can be empty here",
                            "push before it on every way, or give the grammar an initial text",
                        )
                    )
                case Sequence(items):
                    empty_here = []
                    for item in items:
                        empty_here.append(item)
                        if not _may_keep_depth(item, may_keep):
                            break
                    stack.extend(reversed(empty_here))
                case _:
                    stack.extend(reversed(children(expr)))
    if problems:
        raise GrammarError(problems, ruleset.sources)


def _may_keep_depth(expr: Expr, may_keep: Mapping[str, bool]) -> bool:
    """Return whether the expression can be passed without pushing anything that stays."""
    match expr:
        case Capture(item, action):
            return action != "push" and _may_keep_depth(item, may_keep)
        case RuleRef(name):
            return may_keep[name]
        case Sequence(items):
            return all(_may_keep_depth(item, may_keep) for item in items)
        case Choice(items):
            return any(_may_keep_depth(item, may_keep) for item in items)
        case Repeat(item, low):
            return low == 0 or _may_keep_depth(item, may_keep)
        case Scope() | Keyed():
            return True
        case _:
            return True
