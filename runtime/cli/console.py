"""The output of the commands, and the handling of their errors."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from stackmask.grammar.source.diagnostics import GrammarError, StackmaskError
from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.exit_status import INTERRUPTED, USAGE_ERROR

PIPE_COLUMNS = 160

P = ParamSpec("P")
R = TypeVar("R")


def output() -> Console:
    """Return the console for results. A pipe has no width, but rich needs one."""
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_COLUMNS
    return console


def messages() -> Console:
    """Return the console for notes, progress and errors."""
    return Console(stderr=True, highlight=False, emoji=False)


def show(console: Console, text: str, style: str | None = None) -> None:
    """Write a text verbatim: markup is not interpreted, and control characters are escaped."""
    console.print(visible(text), markup=False, soft_wrap=True, style=style)


def cell(text: str, style: str = "") -> Text:
    """Return a text for a table cell, verbatim as in ``show``."""
    return Text(visible(text), style=style)


def show_error(text: str) -> None:
    """Write an error or a note verbatim, since it may contain grammar text that looks like markup."""
    show(messages(), text, None if "\n" in text else "yellow" if text.startswith("note:") else "red")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Convert user errors to one message and exit status 2, without a traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except GrammarError as error:
            show_error(str(error))  # the diagnostics, each with its place
            raise typer.Exit(USAGE_ERROR) from None
        except StackmaskError as error:
            show_error(f"error: {error}")
            raise typer.Exit(USAGE_ERROR) from None
        except KeyboardInterrupt:
            show_error("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run
