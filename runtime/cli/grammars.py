"""Find the grammar that a command line names."""

from __future__ import annotations

from pathlib import Path

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.files import bundled_names


def load_grammar(name: str, start: str | None) -> Grammar:
    """Return the grammar of a file, or the bundled one of that name if there is no such file.

    Raises: GrammarFileError, GrammarError.
    """
    if name in bundled_names() and not Path(name).exists():
        return Grammar.bundled(name, start)
    return Grammar.from_file(name, start)
