"""Draw docs/images/trace.svg, the picture of the README: two texts in tokens, and how many tokens were allowed before each.

PYTHONPATH=build/view python docs/site/trace_picture.py
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import stackmask as sm
from stackmask.runtime.cli.loading import load_tokenizer
from stackmask.runtime.cli.tracing import Step, follow

PICTURE: Final = Path(__file__).resolve().parents[1] / "images" / "trace.svg"
STYLE: Final = """
svg { --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --one: #cfe8d5; --few: #dcecf9; --no: #f9d7d4; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { svg { --paper: #15191e; --ink: #e6edf3; --soft: #9aa4af; --line: #3d444d; --one: #1f4a2d;
  --few: #1d3b57; --no: #5c1f1b; --bad: #ff8a80; } }
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: var(--ink); }
.count { font-size: 12px; fill: var(--soft); text-anchor: middle; } .words { font: 13px system-ui, sans-serif; fill: var(--soft); }
.bad { fill: var(--bad); font-weight: 600; } rect { stroke: var(--line); }
.one { fill: var(--one); } .few { fill: var(--few); } .no { fill: var(--no); } .paper { fill: var(--paper); stroke: none; }
"""
LETTER: Final = 9.1  # pixels
HEIGHT: Final = 26


@dataclass
class Order:
    item: Literal["tea", "cake"]
    count: Literal[1, 2, 3]


def row(steps: list[Step], top: float) -> tuple[str, float]:
    """Return the boxes of a text, and how far they reach."""
    out = []
    left = 16.0
    for step in steps:
        shown = "end" if step.token is None else step.text.replace(" ", "␣")
        wide = max(len(shown) * LETTER + 10, 24)
        kind = "no" if step.refusal else "one" if step.allowed == 1 else "few"
        out.append(
            f'<rect class="{kind}" x="{left:g}" y="{top:g}" width="{wide:g}" height="{HEIGHT}" rx="4"/>'
        )
        name = ' class="bad"' if step.refusal else ""
        out.append(f'<text{name} x="{left + 5:g}" y="{top + 18:g}">{html.escape(shown)}</text>')
        out.append(f'<text class="count" x="{left + wide / 2:g}" y="{top - 6:g}">{step.allowed:,}</text>')
        left += wide + 3
    return "\n".join(out), left


def picture() -> str:
    """Return the picture as SVG."""
    tokenizer = load_tokenizer(None)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    compiled = sm.Compiler(vocabulary).compile(Order)
    good, bad = (
        list(follow(compiled, tokenizer.encode(text, add_special_tokens=False)))
        for text in ('{"item": "tea", "count": 2}', '{"item": "milk"}')
    )
    first, wide = row(good, 56)
    second, _ = row(bad, 132)
    words = f"tokens allowed before each, of {vocabulary.size:,}; green: exactly one"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide + 13:g} 206" width="{wide + 13:g}" height="206" role="img">\n'
        f"<title>Two texts in tokens, and how many tokens were allowed before each</title>\n<style>{STYLE}</style>\n"
        f'<rect class="paper" width="100%" height="100%"/>\n<text class="words" x="16" y="24">{words}</text>\n'
        f'{first}\n{second}\n<text class="words" x="16" y="186">{html.escape(bad[-1].refusal)}</text>\n</svg>\n'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
