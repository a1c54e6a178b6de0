"""Whole grammars as one SVG picture, or as an HTML page. Both are self-contained, and follow a dark mode."""

from __future__ import annotations

import html
import io
from typing import Any, Final

from stackmask.grammar.diagram.drawing import DiagramError, Drawer, cut, shown
from stackmask.grammar.ir import RuleRef, RuleSet, walk

MAX_RULES: Final = 150  # drawn; the others are named
MARGIN: Final = 16
TITLE: Final = 30  # pixels above each diagram

STYLE: Final = """
svg.railroad-diagram, svg.railroad-page { --paper: #fff; --ink: #1f2328; --line: #59636e; --text-box: #e7f4ea;
  --rule-box: #e8eefc; --class-box: #fdf3dc; --soft: #59636e; --link: #0b57d0; background-color: var(--paper); }
@media (prefers-color-scheme: dark) { svg.railroad-diagram, svg.railroad-page { --paper: #15191e; --ink: #e6edf3;
  --line: #8b949e; --text-box: #1d3325; --rule-box: #1c2a45; --class-box: #3a3018; --soft: #9aa4af; --link: #8ab4f8; } }
svg.railroad-diagram path { stroke-width: 2; stroke: var(--line); fill: none; }
svg.railroad-diagram text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; text-anchor: middle;
  fill: var(--ink); white-space: pre; }
svg.railroad-diagram g.terminal text { font-weight: 600; }
svg.railroad-diagram a text { fill: var(--link); }
svg.railroad-diagram text.comment { font: italic 12px ui-monospace, Menlo, Consolas, monospace; fill: var(--soft); }
svg.railroad-diagram rect { stroke-width: 1.5; stroke: var(--line); fill: var(--text-box); }
svg.railroad-diagram g.class rect, svg.railroad-diagram g.token rect { fill: var(--class-box); }
svg.railroad-diagram g.non-terminal rect { fill: var(--rule-box); }
svg.railroad-diagram rect.group-box { stroke: var(--soft); stroke-dasharray: 6 4; fill: none; }
svg.railroad-page > text, svg.railroad-page > g > text { font: 600 15px system-ui, sans-serif; fill: var(--ink); }
"""
PAGE_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1000px; padding: 1rem; background: #fff; color: #1f2328; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font: 600 1rem ui-monospace, Menlo, Consolas, monospace; margin: 1.6rem 0 .2rem;
  overflow-wrap: anywhere; }
nav { line-height: 1.9; } nav a { margin-right: .8em; font-family: ui-monospace, Menlo, Consolas, monospace; }
a { color: #0b57d0; } section > div { overflow-x: auto; } section:target h2 { text-decoration: underline; }
@media (prefers-color-scheme: dark) { body { background: #15191e; color: #e6edf3; } a { color: #8ab4f8; } }
"""


def drawn_rules(rules: RuleSet) -> list[str]:
    """Return the names of the rules to draw: those that are used, in the order of their use, the start rule first."""
    start = rules.start
    seen = {start}
    while True:  # a rule that only stands for another one is left out
        body = rules.rules[start].body
        inner = [expr for expr in walk(body) if isinstance(expr, RuleRef) and not expr.name.startswith("%")]
        plain = isinstance(body, RuleRef) or (start.startswith("%") and len(inner) == 1)
        if not plain or not inner or inner[0].name in seen:
            break
        start = inner[0].name
        seen.add(start)
    order = [start]
    known = {start}
    for name in order:  # grows
        for expr in walk(rules.rules[name].body):
            if isinstance(expr, RuleRef) and expr.name not in known and not expr.name.startswith("%"):
                known.add(expr.name)
                order.append(expr.name)
    return order


class _Pictures:
    """The diagrams of a grammar, with their titles."""

    def __init__(self, rules: RuleSet, most: int) -> None:
        names = drawn_rules(rules)
        self.left_out = names[most:]
        self.names = names[:most]
        self.ids = {name: f"rule-{number}" for number, name in enumerate(self.names, 1)}
        drawer = Drawer({name: f"#{place}" for name, place in self.ids.items()})
        self.diagrams = {name: drawer.diagram(rules.rules[name].body) for name in self.names}

    def remark(self) -> str:
        return f"{len(self.left_out):,} more rules are not drawn" if self.left_out else ""


def svg_text(rules: RuleSet) -> str:
    """Return one SVG picture of the rules, one below the other; names link to their rules.

    Raises: DiagramError if railroad-diagrams is not installed. Cost: about 1 ms per rule.
    """
    found = _Pictures(rules, MAX_RULES)
    out = io.StringIO()
    width = max(_size(diagram)[0] for diagram in found.diagrams.values()) + 2 * MARGIN
    height = float(MARGIN)
    body = io.StringIO()
    for name in found.names:
        diagram = found.diagrams[name]
        _, tall = _size(diagram)
        title = html.escape(cut(shown(name)))
        body.write(f'<g id="{found.ids[name]}"><text x="{MARGIN}" y="{height + 18:g}">{title}</text>\n')
        diagram.attrs.update({"x": MARGIN, "y": height + TITLE})
        body.write(_written(diagram))
        body.write("</g>\n")
        height += tall + TITLE + MARGIN
    if found.left_out:
        body.write(f'<text x="{MARGIN}" y="{height + 18:g}">{found.remark()}</text>\n')
        height += TITLE
    out.write(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="railroad-page" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">\n<style>{STYLE}</style>\n'
    )
    out.write(body.getvalue())
    out.write("</svg>\n")
    return out.getvalue()


def sections(rules: RuleSet, *, most: int = MAX_RULES) -> str:
    """Return the rules as parts of an HTML page: links, and a section for each rule. Raises, Cost: as ``svg_text``."""
    found = _Pictures(rules, most)
    out = io.StringIO()
    if len(found.names) > 1:
        links = (f'<a href="#{found.ids[name]}">{html.escape(shown(name))}</a>' for name in found.names)
        out.write(f"<nav>{' '.join(links)}</nav>\n")
    for name in found.names:
        out.write(f'<section id="{found.ids[name]}"><h2>{html.escape(shown(name))}</h2><div>\n')
        out.write(_written(found.diagrams[name]))
        out.write("</div></section>\n")
    if found.left_out:
        out.write(f"<p>{found.remark()}.</p>\n")
    return out.getvalue()


def html_text(rules: RuleSet, title: str) -> str:
    """Return a self-contained page of the rules. Raises, Cost: as ``svg_text``."""
    shown_title = html.escape(shown(title).replace("␣", " "))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{shown_title}</title><style>{PAGE_STYLE}{STYLE}</style></head><body>\n<h1>{shown_title}</h1>\n"
        f"{sections(rules)}</body></html>\n"
    )


def fragment(rules: RuleSet, *, most: int) -> str:
    """Return the rules for a notebook, as part of a page with its style. Raises, Cost: as ``svg_text``."""
    return f"<div><style>{STYLE}</style>\n{sections(rules, most=most)}</div>"


def _written(diagram: Any) -> str:
    """Return a diagram as SVG; ``]]>`` is escaped, since XML forbids it in text."""
    out = io.StringIO()
    diagram.writeSvg(out.write)
    return out.getvalue().replace("]]>", "]]&gt;")  # mutant: bare-end


def _size(diagram: Any) -> tuple[float, float]:
    return float(diagram.attrs["width"]), float(diagram.attrs["height"])


# -- What notebooks show of a grammar: its first rules as diagrams, if they can be drawn -----------------

MOST: Final = 12  # rules


def notebook_html(rules: RuleSet) -> str | None:
    """Return HTML for a notebook, or None without the drawing library: the notebook then shows plain text."""
    try:
        return fragment(rules, most=MOST)
    except DiagramError:
        return None
