"""``stackmask sample``: texts of a grammar, drawn by chance."""

from __future__ import annotations

import sys

from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.console import show_error
from stackmask.runtime.cli.grammars import Reading, load_grammar
from stackmask.runtime.strings.engine import SampleError

DRAWN, UNFINISHED = 0, 1


def run_sample(name: str, reading: Reading, count: int, seed: int) -> int:
    """Print some texts, one after the other; return the exit status."""
    grammar = load_grammar(name, reading=reading)
    shown = visible if sys.stdout.isatty() else str  # in a pipe, a text is what the grammar says
    try:
        texts = grammar.sample(count, seed)
    except SampleError as error:
        show_error(f"error: {error}")
        return UNFINISHED
    for text in texts:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        sys.stdout.write(shown(text) + "\n")
    return DRAWN
