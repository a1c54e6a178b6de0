"""The display of values in notebooks, as a small table of names and values in the notebook's colours."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final

from stackmask.grammar.source.visible import visible

MOST: Final = 1_000  # characters of a value

# no colours: a notebook's own are right in its light and in its dark mode
_CELL: Final = "text-align: left; vertical-align: top; padding: 0.15em 0.7em 0.15em 0"
_CODE: Final = "white-space: pre-wrap; overflow-wrap: anywhere; background: none; color: inherit"


def short(text: str, most: int = MOST) -> str:
    """Return a truncated text with the number of omitted characters."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def code(text: str) -> str:
    """Return text as HTML in a code font, with spaces at its ends preserved."""
    return f'<code style="{_CODE}">{html.escape(visible(short(text)))}</code>'


def words(text: str) -> str:
    """Return text as HTML."""
    return html.escape(visible(short(text)))


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table with a title. ``rows``: names, and values in HTML; empty values are omitted."""
    lines = "".join(
        f'<tr><th scope="row" style="{_CELL}; font-weight: 600">{html.escape(name)}</th><td style="{_CELL}">{value}</td></tr>'
        for name, value in rows
        if value
    )
    return f'<div><strong>{html.escape(title)}</strong><table style="margin: 0.2em 0">{lines}</table></div>'
