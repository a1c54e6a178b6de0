"""Which rules derive the empty string, under which follow restrictions, and what they can call first.

The *ends* of an expression are the ways to derive ε: each a mask of bytes that may not come next (0: ε
without a restriction). Only minimal masks are kept, so ``{0}`` is plain nullability and the empty set is
"not nullable". Tests of object keys have no width and no ends: what follows them always consumes something
(``keys`` checks it, and that their own sequence does), so the whole does not depend on them; but what follows can be
called before anything is consumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from stackmask.grammar.ir import (
    EPSILON,
    Capture,
    Choice,
    Complement,
    Dynamic,
    Expr,
    Intersection,
    Keyed,
    KeyTest,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    Slot,
    children,
)
from stackmask.grammar.ir.build import choice
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.source.work import spend

Ends: TypeAlias = frozenset[int]

NEVER: Ends = frozenset()
ALWAYS: Ends = frozenset({0})


def minimal(masks: set[int]) -> Ends:
    """Return the masks that no other one implies."""
    if 0 in masks:
        return ALWAYS
    if len(masks) > 4:
        spend(len(masks) ** 2 // 4)
    return frozenset(m for m in masks if not any(o != m and o & m == o for o in masks))  # mutant: minimal


def both(left: Ends, right: Ends) -> Ends:
    """Return the ways to satisfy one end of each side at the same place."""
    if left == ALWAYS or not right:
        return right
    spend(len(left) * len(right) // 4)
    return minimal({a | b for a in left for b in right})


def ends_of(expr: Expr, ends: Mapping[str, Ends]) -> Ends:
    """Return the ends of an expression, given those of the rules."""
    match expr:
        case Literal(data):
            return NEVER if data else ALWAYS
        case NotFollowedBy(mask):
            return frozenset({mask})
        case RuleRef(name, nonempty):
            return NEVER if nonempty else ends[name]
        case Sequence(items):
            spend(len(items) // 2)
            result = ALWAYS
            for item in items:
                result = both(result, ends_of(item, ends))
                if not result:
                    break
            return result
        case Choice(items):
            spend(len(items) // 2)
            return minimal({mask for item in items for mask in ends_of(item, ends)})
        case Repeat(item, low):
            # m empty rounds are no more than one: M | M = M, and unlike masks only add up
            return ALWAYS if low == 0 else ends_of(item, ends)
        case Intersection(items):
            return ALWAYS if all(ends_of(item, ends) for item in items) else NEVER
        case Complement(item):
            return NEVER if ends_of(item, ends) else ALWAYS
        case Scope(item) | Keyed(item):
            return ends_of(item, ends)
        case Capture() | Dynamic():
            return NEVER
        case _:
            return NEVER


def rule_ends(ruleset: RuleSet) -> dict[str, Ends]:
    """Return the ends of every rule (operands of `!` must be free of references)."""
    return solve(ruleset, NEVER, ends_of)


def ends_expression(ends: Ends) -> Expr:
    """Return the expression of width zero that these ends describe."""
    return choice(NotFollowedBy(mask) if mask else EPSILON for mask in sorted(ends))


def nullable_rules(ruleset: RuleSet) -> set[str]:
    """Return the rules that derive the empty string, be it only where a follow restriction allows it."""
    return {name for name, ends in rule_ends(ruleset).items() if ends}


def first_calls(expr: Expr, ends: Mapping[str, Ends]) -> dict[str, RuleRef]:
    """Return the references that an expression can call before it has consumed anything."""
    found: dict[str, RuleRef] = {}
    stack = [expr]
    while stack:
        spend(1)
        match stack.pop():
            case RuleRef(name) as ref:
                found.setdefault(name, ref)
            case Sequence(items):
                leading = []
                for item in items:
                    leading.append(item)
                    if not ends_of(item, ends) and not isinstance(item, Slot | KeyTest):
                        break
                stack.extend(reversed(leading))
            case Repeat(_, _, 0):
                pass
            case Intersection() | Complement():
                pass
            case other:
                stack.extend(reversed(children(other)))
    return found


def left_calls(ruleset: RuleSet) -> dict[str, set[str]]:
    """Return for each rule those that it can call before it has consumed anything."""
    ends = rule_ends(ruleset)
    return {name: set(first_calls(rule.body, ends)) for name, rule in ruleset.rules.items()}
