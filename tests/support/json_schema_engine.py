"""Run an expression on the engine: compile it for a vocabulary of single bytes and ask whether texts are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import stackmask as sm
from stackmask.grammar import ir
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import GrammarError

VOCABULARY = sm.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], stop_ids=[256], special_ids=[256])
COMPILER = sm.Compiler(VOCABULARY)


def recognizer(expr: ir.Expr, rules: Mapping[str, ir.Expr] | None = None) -> Callable[[bytes | str], bool]:
    """Return a function that tells whether a whole text is in the language of the expression."""
    bodies = {"root": expr, **(rules or {})}
    ruleset = ir.RuleSet({name: ir.Rule(name, body) for name, body in bodies.items()}, "root")
    try:
        matcher = COMPILER.compile(Grammar(ruleset)).matcher()
    except GrammarError as error:
        if [problem.code for problem in error.diagnostics][-1:] != ["G103"]:
            raise
        return lambda text: False  # the empty language

    def accepts(text: bytes | str) -> bool:
        matcher.reset()
        data = text.encode() if isinstance(text, str) else text
        return bool(matcher.accept_string(data)) and bool(matcher.is_accepting())

    return accepts
