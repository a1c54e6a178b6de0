"""``stackmask diagram``: railroad diagrams of a grammar, as a picture or a page."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.cli.console import output, show
from stackmask.runtime.cli.grammars import Reading, load_grammar

FORMATS: Final = (".svg", ".html")


class OutputFileError(StackmaskError):
    """A file cannot be written, or its suffix does not determine the format."""


def check_suffix(file: Path, suffixes: tuple[str, ...]) -> None:
    """Check the suffix of a file name. Raises: OutputFileError."""
    if file.suffix.lower() not in suffixes:
        raise OutputFileError(f"{file}: the name of the file ends in {' or '.join(suffixes)}")


def write_file(file: Path, text: str) -> None:
    """Write a file. Raises: OutputFileError if this fails."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputFileError(f"{file} cannot be written: {error.strerror or error}") from None


def run_diagram(name: str, reading: Reading, file: Path) -> int:
    """Write the diagrams of a grammar to a file; return the exit status."""
    from stackmask.grammar.diagram.pictures import drawn_rules, html_text, svg_text

    check_suffix(file, FORMATS)
    grammar = load_grammar(name, reading=reading)
    _ = grammar.normalized  # what means nothing is not drawn
    rules = grammar.rules
    is_page = file.suffix.lower() == ".html"
    write_file(file, html_text(rules, name) if is_page else svg_text(rules))
    count = len(drawn_rules(rules))
    show(output(), f"{file}: {count} rules" if count != 1 else f"{file}: 1 rule")
    return 0
