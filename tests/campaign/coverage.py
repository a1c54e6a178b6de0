"""Which rules of a grammar the texts used.

A rule is used by a text when the text is no longer in the language once the rule matches nothing but a character
that occurs in no text. Rules that only say what is left out (``keyword`` in ``word - keyword``) are not
counted: no text of the language can show them.
"""

from __future__ import annotations

from collections.abc import Sequence

from support.byte_matcher import ByteMatcher

from stackmask.grammar import ir
from stackmask.grammar.grammar import Grammar

NEVER = ir.Literal("\U0010fffe".encode())  # a character that no text should hold


def countable_rules(rules: ir.RuleSet) -> list[str]:
    """Return the rules that can be used: reachable from the start rule other than through ``!``."""
    seen: set[str] = set()
    pending = [rules.start]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        stack: list[ir.Expr] = [rules.rules[name].body]
        while stack:
            expr = stack.pop()
            if isinstance(expr, ir.RuleRef):
                pending.append(expr.name)
            elif not isinstance(expr, ir.Complement):
                stack.extend(ir.children(expr))
    return [name for name in rules.rules if name in seen]


def unused_rules(grammar: Grammar, texts: Sequence[bytes]) -> list[str]:
    """Return the rules that none of the texts used. Cost: a compile and a few texts for each rule."""
    assert not any(NEVER.data in text for text in texts)
    rules = grammar.rules
    unused = []
    for name in countable_rules(rules):
        without = {**rules.rules, name: ir.Rule(name, NEVER)}
        # if nothing is left without it, it is used
        if all(map(ByteMatcher(Grammar(ir.RuleSet(without, rules.start, rules.initial))).matches, texts)):
            unused.append(name)
    return unused
