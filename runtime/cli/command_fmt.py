"""``stackmask fmt``: format grammar files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stackmask.grammar.ebnf.parser import SYNTAX as EBNF
from stackmask.grammar.lark.parser import SYNTAX as LARK
from stackmask.grammar.notation.layout import lay_out
from stackmask.grammar.notation.loading import is_lark
from stackmask.grammar.source.diagnostics import render
from stackmask.grammar.source.files import read_text
from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.command_diagram import OutputFileError, write_file
from stackmask.runtime.cli.console import messages, output, show
from stackmask.runtime.cli.grammars import load_grammar

SAME, DIFFERS = 0, 1
GRAMMARS: Final = (".ebnf", ".gbnf", ".bnf", ".lark", ".txt", "")


def run_fmt(files: Sequence[Path], *, check: bool, width: int) -> int:
    """Format files in place, or list the files that would change; return the exit status.

    All files are read first, so that no file is changed if one has errors.
    """
    changed: list[tuple[Path, str]] = []
    for file in files:
        is_input = str(file) == "-"
        if not is_input and file.suffix.lower() not in GRAMMARS:
            raise OutputFileError(
                f"{file} is not a grammar: fmt takes files in EBNF and Lark, such as .ebnf and .lark"
            )
        text, name = (sys.stdin.read(), "<stdin>") if is_input else (read_text(file), str(file))
        syntax = LARK if file.suffix.lower() == ".lark" or is_lark(text) else EBNF
        made = lay_out(text, syntax, width=width, name=name)
        if is_input and not check:
            shown = visible if sys.stdout.isatty() else str
            sys.stdout.write(shown(made))
        if made != text:
            changed.append((file, made))
    for file, made in changed:
        if check:
            show(messages(), f"{file} would change")
        elif str(file) != "-":
            write_file(file, made)
            show(messages(), f"{file} changed")
    return DIFFERS if check and changed else SAME


# -- ``stackmask lint``: the warnings about grammars -----------------------------------------------------

CLEAN, WARNED = 0, 1


def run_lint(names: Sequence[str], start: str | None) -> int:
    """Print the warnings of each grammar; return the exit status."""
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
