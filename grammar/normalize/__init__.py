"""Prepare the rules of a grammar for the automaton, in passes that run in this order.

Invariants of the result, beside "the same language":
    - every reference is defined, every rule can be reached from the start and derives some string (ignoring
      follow restrictions, whose effect only the automaton finds);
    - operands of `Intersection` and `Complement` are regular and contain no references;
    - no left recursion, direct, indirect or hidden: `left_calls` of the result has no cycle;
    - the rest of a sequence after a test of an object key is not nullable;
    - captured items are not nullable and read no special tokens; `top` is never used with an empty stack;
    - no follow restriction can be pending where a dynamic rule starts or object keys are compared.
"""

from __future__ import annotations

from stackmask.grammar.ir import Choice, Literal, RuleSet
from stackmask.grammar.normalize.booleans import drop_empty_booleans, expand_booleans
from stackmask.grammar.normalize.checks import (
    check_captures,
    check_keys,
    check_restrictions,
    check_stack,
    check_wellformed,
)
from stackmask.grammar.normalize.graph import forget_facts, remove_useless
from stackmask.grammar.normalize.inline import inline_rules, write_out_empty_rules
from stackmask.grammar.normalize.left_recursion import merge_operators, remove_left_recursion
from stackmask.grammar.normalize.nullable import left_calls, nullable_rules
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.source.work import enter

__all__ = ["left_calls", "normalize", "nullable_rules"]


def normalize(ruleset: RuleSet) -> RuleSet:
    """Return a RuleSet of the same language with the invariants above.

    Raises: GrammarError with all problems found by the first pass that refuses the grammar.
    Cost: about linear in the size of the grammar, except for left recursion among many rules at once.
    """
    if _is_plain_choice(ruleset):
        return ruleset
    try:
        return _normalized(ruleset)
    except RecursionError:
        raise GrammarError([_too_deep(ruleset)], ruleset.sources) from None
    finally:
        forget_facts()


def _normalized(ruleset: RuleSet) -> RuleSet:
    with without_collection():
        enter("making the rules ready")
        check_wellformed(ruleset)
        ruleset = remove_useless(ruleset)
        enter("writing out the operands of `&`, `-` and `!`")
        ruleset = expand_booleans(ruleset)
        enter("looking for operands of `&`, `-` and `!` that match nothing")
        ruleset = drop_empty_booleans(ruleset)
        enter("making the rules ready")
        check_keys(ruleset)
        ruleset = write_out_empty_rules(ruleset)
        check_captures(ruleset)
        check_stack(ruleset)
        check_restrictions(ruleset)
        enter("removing left recursion")
        ruleset = remove_left_recursion(ruleset)
        enter("writing out small rules")
        return merge_operators(inline_rules(ruleset))


def _too_deep(ruleset: RuleSet) -> Diagnostic:
    """Return the message for rules that are too deeply nested once expanded into each other, as in operands of `&`."""
    start = ruleset.rules.get(ruleset.start)
    return Diagnostic(
        "G105",
        "operands nest too many expressions once their rules are written out",
        start.span if start is not None else None,
        help="let fewer rules with `&`, `-` or `!` lead through each other",
    )


def _is_plain_choice(ruleset: RuleSet) -> bool:
    """Return whether the only rule is a choice of literals, which no pass would change, however long it is."""
    if len(ruleset.rules) != 1 or ruleset.start not in ruleset.rules:
        return False
    body = ruleset.rules[ruleset.start].body
    return isinstance(body, Choice) and set(map(type, body.items)) == {Literal}
