"""Pass 5: the tests of object keys stand where the automaton can decide them, and fit the object around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stackmask.grammar.ir import (
    Capture,
    Choice,
    Expr,
    Keyed,
    KeySpec,
    KeyTest,
    Repeat,
    RuleRef,
    RuleSet,
    Sequence,
    Slot,
    Span,
    children,
    walk,
)
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.normalize.memo import facts
from stackmask.grammar.normalize.nullable import Ends, ends_of, rule_ends
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend

NO_KEYS: Final = -1
_TESTS: Final = frozenset({Slot, KeyTest})
_KINDS: Final = _TESTS | {Keyed, Capture}


def check_keys(ruleset: RuleSet) -> None:
    """Check every object with keys, and every test of a key.

    Raises: GrammarError (G119).
    """
    if all(facts(rule.body).kinds.isdisjoint(_KINDS) for rule in ruleset.rules.values()):
        return
    parts = [expr for rule in ruleset.rules.values() for expr in walk(rule.body)]
    tests = [expr for expr in parts if isinstance(expr, Slot | KeyTest)]
    keyed = [expr for expr in parts if isinstance(expr, Keyed)]
    if not tests and not keyed and not any(isinstance(e, Capture) and e.action == "key" for e in parts):
        return
    problems = [_problem(why, expr.span) for expr in keyed if (why := _spec_problem(expr.spec))]
    ends = rule_ends(ruleset)
    placed: set[int] = set()
    for rule in ruleset.rules.values():
        for test, follows in _tests_in(rule.body, ends):
            placed.add(id(test))
            if not follows:
                problems.append(_problem("what follows it in its sequence can be empty", test.span))
    problems += [
        _problem("it is not an item of a sequence", expr.span) for expr in tests if id(expr) not in placed
    ]
    levels = key_levels(ruleset)
    if levels[ruleset.start] != NO_KEYS:
        span = ruleset.rules[ruleset.start].span
        problems.append(_problem("it can be reached outside every object", span))
    for expr in keyed:
        if key_level(expr.item, levels) > expr.spec.slots:
            slot = key_level(expr.item, levels) - 1
            problems.append(_problem(f"slot {slot} of an object with {expr.spec.slots} slots", expr.span))
    if problems:
        raise GrammarError(problems, ruleset.sources)


def key_levels(ruleset: RuleSet) -> dict[str, int]:
    """Return for each rule how far its tests reach: 0 for tests that need no slots, i + 1 for slot i."""
    return solve(ruleset, NO_KEYS, key_level)


def key_level(expr: Expr, levels: Mapping[str, int]) -> int:
    """Return the level of an expression; objects inside it keep their own account."""
    level = NO_KEYS
    todo = [expr]
    seen: set[int] = set()
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, Keyed):
            continue
        seen.add(id(part))
        if isinstance(part, RuleRef):
            level = max(level, levels[part.name])
        elif isinstance(part, Slot):
            level = max(level, part.index + 1)
        elif isinstance(part, KeyTest) or (isinstance(part, Capture) and part.action == "key"):
            level = max(level, 0)
        todo += children(part)
    return level


def _tests_in(body: Expr, ends: Mapping[str, Ends]) -> list[tuple[Expr, bool]]:
    """Return the tests among the items of sequences, each with whether something that is not nullable follows it.

    What follows a choice or a repetition follows its last item too, if the sequence there consumes something itself: tests
    alone would be a way through it that nothing but them decides. What follows a rule or an object does not count.
    """
    found: list[tuple[Expr, bool]] = []
    todo: list[tuple[Expr, bool]] = [(body, False)]
    seen: set[tuple[int, bool]] = set()
    while todo:
        expr, follows = todo.pop()
        if (id(expr), follows) in seen or facts(expr).kinds.isdisjoint(_TESTS):
            continue
        seen.add((id(expr), follows))
        if isinstance(expr, Sequence):
            spend(len(expr.items))
            consumes = any(
                not isinstance(item, Slot | KeyTest) and not ends_of(item, ends) for item in expr.items
            )
            for item in reversed(expr.items):
                if isinstance(item, Slot | KeyTest):
                    found.append((item, follows and consumes))
                else:
                    todo.append((item, follows))
                    follows = follows or not ends_of(item, ends)
        else:
            follows = follows and isinstance(expr, Choice | Repeat)
            todo += [(child, follows) for child in children(expr)]
    return found


def _spec_problem(spec: KeySpec) -> str:
    if spec.slots < 0 or not all(0 <= slot < spec.slots for slot in spec.required):
        return f"required slots are not among its {spec.slots} slots"
    if spec.min_count < 0 or not spec.is_satisfiable():
        return "no set of keys meets its bounds"
    return ""


def _problem(why: str, span: Span | None) -> Diagnostic:
    return Diagnostic("G119", f"object keys cannot be kept account of: {why}", span)
