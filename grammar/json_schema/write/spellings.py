"""Rules in one of the spellings of strings and numbers that a profile or a request may ask for."""

from __future__ import annotations

from stackmask.grammar.ir import Expr, Rule, RuleSet
from stackmask.grammar.json_schema.write import digit_runs, plain_strings
from stackmask.grammar.json_schema.write.narrowing import with_narrower

_ALONE = "root"


def respelled(rules: RuleSet, spelling: str, plain_numbers: bool) -> RuleSet:
    """Return rules in a spelling of strings, and of numbers if ``plain_numbers`` is set."""
    runs = digit_runs.bounded_run if plain_numbers else None
    if spelling == "plain":
        plain = plain_strings.plain_text
        return with_narrower(rules, choices=plain, repeats=runs, resolved=plain_numbers)
    if spelling == "dumps":
        written = plain_strings.written_text
        return with_narrower(rules, choices=written, sequences=written, repeats=runs, resolved=True)
    return with_narrower(rules, repeats=runs, resolved=True) if plain_numbers else rules


def respelled_alone(spelling: str, plain_numbers: bool, expr: Expr) -> Expr:
    """Return an expression in such a spelling."""
    return (
        respelled(RuleSet({_ALONE: Rule(_ALONE, expr)}, _ALONE), spelling, plain_numbers).rules[_ALONE].body
    )
