"""Two rule sets mean the same: compared symbol by symbol, along all prefixes."""

from __future__ import annotations

from oracle.earley import Recognizer, Symbol
from oracle.random_grammars import CHARACTERS, SPECIAL_NAMES
from stackmask.grammar.ir import Complement, Intersection, RuleRef, RuleSet, walk
from stackmask.grammar.normalize import left_calls
from stackmask.grammar.normalize.graph import components

TOKENS = {name: 300 + i for i, name in enumerate(SPECIAL_NAMES)}
ALPHABET: list[Symbol] = [*sorted(set(CHARACTERS.encode())), *(("token", i) for i in TOKENS.values())]


def compare(one: RuleSet, other: RuleSet, budget: int) -> int:
    """Compare viability and acceptance along all prefixes, breadth first; return how many were looked at."""
    left, right = Recognizer(one, TOKENS), Recognizer(other, TOKENS)
    todo = [((), left.start(), right.start())]
    for prefix, a, b in todo:
        assert (a.viable, a.accepting) == (b.viable, b.accepting), prefix
        if a.viable and len(todo) < budget:
            todo += [((*prefix, s), left.advance(a, s), right.advance(b, s)) for s in ALPHABET]
    return len(todo)


def check_invariants(rules: RuleSet) -> None:
    calls = left_calls(rules)
    assert all(len(c) == 1 and c[0] not in calls[c[0]] for c in components(calls))
    for rule in rules.rules.values():
        for expr in walk(rule.body):
            if isinstance(expr, RuleRef):
                assert expr.name in rules.rules
            if isinstance(expr, Intersection | Complement):
                assert not any(isinstance(e, RuleRef) for e in walk(expr))
