"""``stackmask sample``: texts of a grammar, drawn by chance."""

from __future__ import annotations

import sys

from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.checking import compile_for_text
from stackmask.runtime.cli.console import show_error
from stackmask.runtime.cli.grammars import Reading, load_grammar
from stackmask.runtime.comparison.texts import draw_text

DRAWN, UNFINISHED = 0, 1


def run_sample(name: str, reading: Reading, count: int, seed: int) -> int:
    """Print some texts, one after the other; return the exit status."""
    compiled = compile_for_text(load_grammar(name, reading=reading))
    shown = visible if sys.stdout.isatty() else str  # in a pipe, a text is what the grammar says
    for number in range(count):
        text = draw_text(compiled, seed + number)
        if not text.complete:
            show_error("error: no whole text was found that is short enough")
            return UNFINISHED
        sys.stdout.write(shown(text.shown) + "\n")
    return DRAWN
