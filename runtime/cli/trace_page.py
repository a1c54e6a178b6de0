"""A trace as a page of HTML that needs no other file: the text in coloured tokens, and what was so at the chosen one."""

from __future__ import annotations

import html
import json
import math
from typing import Any, Final

from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.trace_style import SCRIPT, STYLE
from stackmask.runtime.cli.tracing import Step

# how many tokens were allowed, and what the colour is called
CLASSES: Final = (
    (1, "c1", "forced: one token"),
    (9, "c2", "2 to 9"),
    (99, "c3", "10 to 99"),
    (999, "c4", "100 to 999"),
    (math.inf, "c5", "1,000 and more"),
)
MOST_OPERANDS: Final = 20
CHART_HEIGHT: Final = 40


def page_text(steps: list[Step], title: str) -> str:
    """Return the page of a trace. Cost: about 20 µs and 400 bytes a step."""
    name = html.escape(visible(title))
    spans = "".join(_span(number, step) for number, step in enumerate(steps))
    legend = "".join(f'<li><i class="{kind}"></i>{words}</li>' for _, kind, words in CLASSES)
    # no `<` in the script: it could end it
    data = json.dumps([record(step) for step in steps], ensure_ascii=False, separators=(",", ":"))
    data = script_data(data)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>trace: {name}</title><style>{STYLE}</style></head><body>
<header><h1>{name}</h1><p>{_summary(steps)}</p>
<ul class="legend" aria-label="tokens that were allowed">{legend}</ul>
{_chart(steps)}</header>
<main><pre id="text" tabindex="0" aria-label="the text, token by token; arrow keys choose one">{spans}</pre>
<section id="step" aria-live="polite"><noscript>The details of a token need JavaScript.</noscript></section></main>
<script type="application/json" id="data">{data}</script>
<script>{SCRIPT}</script></body></html>
"""


def script_data(data: str) -> str:
    """Return JSON that can stand in a page: nothing in it ends the script, and no character is obeyed."""
    escaped = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in escaped)


def _span(number: int, step: Step) -> str:
    kind = "end" if step.token is None else token_class(step)
    kind += " no" if step.refusal else ""
    shown = html.escape(visible(step.text)).replace("\n", "<b>↵</b>\n").replace("\t", "<b>⇥</b>\t")
    return f'<span class="{kind}" data-i="{number}">{shown}</span>'


def token_class(step: Step) -> str:
    """Return the name of a token's colour."""
    return next(kind for most, kind, _ in CLASSES if step.allowed <= most)


def record(step: Step) -> dict[str, Any]:
    """Return what the panel shows of a step."""
    found: dict[str, Any] = {"x": visible(step.text), "n": step.allowed, "s": [*map(visible, step.some)]}
    if step.token is not None:
        found["t"] = step.token
    if step.forced:
        found["f"] = visible(step.forced)
    if step.rules:
        found["r"] = step.rules
    if step.likely:
        found["l"] = [[visible(each.text), _short(each.chance), int(each.allowed)] for each in step.likely]
    if step.mass is not None:
        found["m"] = _short(step.mass)
    if step.chance is not None:
        found["p"] = _short(step.chance)
    if step.cost is not None:
        found["c"] = _cost(step.cost)
    if step.refusal:
        found["e"] = visible(step.refusal)
    return found


def _short(share: float) -> float:
    return float(f"{share:.3g}")


def _cost(cost: dict[str, Any]) -> list[str]:
    from stackmask.runtime.cli.command_trace import operand_text

    lines = [operand_text(operand) for operand in cost["operands"][:MOST_OPERANDS]]
    if len(cost["operands"]) > MOST_OPERANDS:
        lines.append(f"and {len(cost['operands']) - MOST_OPERANDS} more")
    if cost["tries_everything"]:
        lines.append("every token tried")
    elif cost["places_to_try"] + cost["tokens_to_try"]:
        lines.append(f"{cost['places_to_try'] + cost['tokens_to_try']} places and tokens tried")
    walks = f"{cost['walks']:,} walks, {cost['visited_nodes']:,} nodes" if cost["walks"] else "all known"
    return [*lines, walks]


def _summary(steps: list[Step]) -> str:
    last = steps[-1]
    tokens = [step for step in steps if step.token is not None]
    forced = sum(step.allowed == 1 for step in tokens)
    verdict = (
        '<strong class="bad">refused</strong>' if last.refusal else '<strong class="good">accepted</strong>'
    )
    words = f"{verdict}: {len(tokens):,} tokens, {forced:,} of them forced"
    steered = [step for step in tokens if step.likely and not step.likely[0].allowed]
    if any(step.likely for step in tokens):
        words += f"; at {len(steered):,} the model's first choice was not allowed"
    if last.refusal:
        words += f"<br>{html.escape(visible(last.refusal))}"
    return words


def _chart(steps: list[Step]) -> str:
    """Return how many tokens were allowed along the text, on a scale of powers of ten."""
    top = max(math.log10(max(step.allowed, 1)) for step in steps) or 1.0
    points = []
    for number, step in enumerate(steps):
        y = CHART_HEIGHT * (1 - math.log10(max(step.allowed, 1)) / top)
        points.append(f"{number} {y:.1f}H{number + 1}")
    path = "M" + "V".join(f"{p}" if i == 0 else f"{p.partition(' ')[2]}" for i, p in enumerate(points))
    return (
        f'<svg id="chart" viewBox="0 -1 {len(steps)} {CHART_HEIGHT + 2}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{path}"/><rect id="here" y="-1" width="1" height="{CHART_HEIGHT + 2}"/></svg>'
        '<p class="axis">tokens allowed, along the text (powers of ten)</p>'
    )
