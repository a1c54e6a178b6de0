"""``stackmask grammars``: list the bundled grammars, or print one."""

from __future__ import annotations

import typer
from rich.table import Table

from stackmask.grammar.source.files import bundled_names, bundled_path, find_bundled, read_text
from stackmask.runtime.cli.console import cell, output


def describe(text: str) -> str:
    """Return a grammar's one-line description: its first non-empty comment line."""
    for line in text.splitlines():
        comment = line.strip()
        if comment and not comment.startswith(("#", "//")):
            return ""
        if words := comment.lstrip("#/ ").strip():
            return words
    return ""


def run_grammars(name: str | None) -> None:
    """Print the table of bundled grammars, or the source of one."""
    if name is not None:
        typer.echo(read_text(find_bundled(name)).rstrip("\n"))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for each in bundled_names():
        path = bundled_path(each)
        table.add_row(cell(each), cell("" if path is None else describe(read_text(path))))
    output().print(table)
