"""What notebooks show of a grammar: its first rules as diagrams, if they can be drawn."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.diagram.drawing import DiagramError
from stackmask.grammar.diagram.pictures import fragment
from stackmask.grammar.ir import RuleSet

MOST: Final = 12  # rules


def notebook_html(rules: RuleSet) -> str | None:
    """Return HTML for a notebook, or None without the library that draws: the notebook then shows the plain line."""
    try:
        return fragment(rules, most=MOST)
    except DiagramError:
        return None
