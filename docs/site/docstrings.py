"""Docstrings of this project as Markdown: examples become blocks of code, and each field ("Raises: …") a paragraph."""

from __future__ import annotations

import re
from typing import Any

import griffe

FIELD = re.compile(
    r"^(Shapes|Units|Returns|Raises|Cost|Invariant|Source|Example|Errors)(\b[^:\n]{0,40}): ", re.MULTILINE
)
FIELD_INSIDE = re.compile(r"(?<=[.;]) (Raises|Cost)(, Cost)?: ")
EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S?.+\n?)*)+", re.MULTILINE)
ROLE = re.compile(r":(?:class|func|meth):`([^`]+)`")


def markdown(text: str) -> str:
    """Return a docstring as Markdown."""
    text = EXAMPLE.sub(lambda found: f"\n```pycon\n{found[0].rstrip()}\n```\n", text + "\n")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(parts), 2):
        # lines that go on are indented: Markdown would take them for code
        part = re.sub(r"^ {4,}(?=\S)", "", parts[i], flags=re.MULTILINE)
        part = FIELD_INSIDE.sub(r"\n\n**\1\2:** ", part)
        parts[i] = ROLE.sub(r"`\1`", FIELD.sub(r"\n\n**\1\2:** ", part))
    return "".join(parts).strip()


class ProjectDocstrings(griffe.Extension):
    """Rewrite all docstrings once, when a module has been read."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = markdown(obj.docstring.value)
