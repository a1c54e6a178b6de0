"""Traces as a picture: texts in boxes for their tokens, and above each how many tokens were allowed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.tracing import Step

STYLE: Final = """
svg { --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --one: #cfe8d5; --few: #dcecf9; --no: #f9d7d4; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { svg { --paper: #15191e; --ink: #e6edf3; --soft: #9aa4af; --line: #3d444d; --one: #1f4a2d;
  --few: #1d3b57; --no: #5c1f1b; --bad: #ff8a80; } }
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: var(--ink); }
.count { font-size: 12px; fill: var(--soft); text-anchor: middle; } .words { font: 13px system-ui, sans-serif; fill: var(--soft); }
.bad { fill: var(--bad); font-weight: 600; } rect { stroke: var(--line); }
.one { fill: var(--one); } .few { fill: var(--few); } .no { fill: var(--no); } .paper { fill: var(--paper); stroke: none; }
"""
LETTER: Final = 9.1  # pixels, of a letter of a token
SMALL: Final = 7.0  # of one of a sentence, at most
LEFT: Final = 16.0
WIDE: Final = 900  # where a row ends
HEIGHT: Final = 26  # of a box
ROW: Final = 76  # from one row to the next
LINE: Final = 30  # for a sentence
_SIGNS: Final = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥"})


def picture_text(traces: Sequence[list[Step]], vocabulary_size: int) -> str:
    """Return an SVG with a row for each text, or several for a long one. Cost: linear, about 250 bytes a token."""
    words = f"tokens allowed before each, of {vocabulary_size:,}; green: exactly one"
    out, right, top = [_words(words, 24)], LEFT + len(words) * SMALL, 56
    for steps in traces:
        left = LEFT
        for step in steps:
            shown = "end" if step.token is None else visible(step.text.translate(_SIGNS))
            wide = max(len(shown) * LETTER + 10, 24)
            if left + wide > WIDE and left > LEFT:
                left, top = LEFT, top + ROW
            out.append(_box(step, shown, left, wide, top))
            left += wide + 3
            right = max(right, left)
        if steps[-1].refusal:
            out.append(_words(visible(steps[-1].refusal), top + 54))
            right = max(right, LEFT + len(steps[-1].refusal) * SMALL)
            top += LINE
        top += ROW
    size = f"{right + 13:g} {top - HEIGHT:g}".split()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" height="{size[1]}" '
        f'role="img">\n<title>Tokens, and how many were allowed before each</title>\n<style>{STYLE}</style>\n'
        f'<rect class="paper" width="100%" height="100%"/>\n' + "\n".join(out) + "\n</svg>\n"
    )


def _words(text: str, y: int) -> str:
    return f'<text class="words" x="{LEFT:g}" y="{y}">{html.escape(text)}</text>'


def _box(step: Step, shown: str, left: float, wide: float, top: int) -> str:
    kind = "no" if step.refusal else "one" if step.allowed == 1 else "few"
    name = ' class="bad"' if step.refusal else ""
    return (
        f'<rect class="{kind}" x="{left:g}" y="{top}" width="{wide:g}" height="{HEIGHT}" rx="4"/>\n'
        f'<text{name} x="{left + 5:g}" y="{top + 18}">{html.escape(shown)}</text>\n'
        f'<text class="count" x="{left + wide / 2:g}" y="{top - 6}">{step.allowed:,}</text>'
    )
