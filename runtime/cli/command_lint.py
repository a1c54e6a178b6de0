"""``stackmask lint``: the warnings about grammars."""

from __future__ import annotations

from collections.abc import Sequence

from stackmask.grammar.source.diagnostics import render
from stackmask.runtime.cli.console import output, show
from stackmask.runtime.cli.grammars import load_grammar

CLEAN, WARNED = 0, 1


def run_lint(names: Sequence[str], start: str | None) -> int:
    """Print the warnings about grammars, one after the other; return the exit status."""
    count = 0
    for name in names:
        grammar = load_grammar(name, start)
        _ = grammar.normalized  # errors come first: they end it
        warnings = grammar.warnings
        if warnings:
            show(output(), render(warnings, grammar.rules.sources) + "\n")
        count += len(warnings)
    show(output(), f"{count} warnings" if count != 1 else "1 warning")
    return WARNED if count else CLEAN
