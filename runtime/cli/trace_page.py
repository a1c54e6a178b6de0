"""A trace as a self-contained HTML page: the text in coloured tokens, and details of the selected one."""

from __future__ import annotations

import html
import json
import math
from typing import Any, Final

from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.tracing import Step

# how many tokens were allowed, and what the colour is called
CLASSES: Final = (
    (1, "c1", "forced: one token"),
    (9, "c2", "2 to 9"),
    (99, "c3", "10 to 99"),
    (999, "c4", "100 to 999"),
    (math.inf, "c5", "1,000 or more"),
)
MOST_OPERANDS: Final = 20
CHART_HEIGHT: Final = 40


def page_text(steps: list[Step], title: str) -> str:
    """Return the page of a trace. Cost: about 20 µs and 400 bytes per step."""
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
    """Return the colour class of a token."""
    return next(kind for most, kind, _ in CLASSES if step.allowed <= most)


def record(step: Step) -> dict[str, Any]:
    """Return the details of a step for the panel."""
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
    """Return a chart of the number of allowed tokens along the text, on a logarithmic scale."""
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


# -- Style and script of the page of a trace. Light and dark, wide and narrow; without libraries ---------

STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --panel: #f6f8fa;
  --c1: #cfe8d5; --c2: #dcecf9; --c3: #ece5fb; --c4: #fbeccb; --c5: transparent; --bad: #b3261e; --bad-box: #f9d7d4;
  --good: #1a7f37; --here: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --paper: #15191e; --ink: #e6edf3; --soft: #9aa4af; --line: #3d444d;
  --panel: #1c2127; --c1: #1f4a2d; --c2: #1d3b57; --c3: #3b2f63; --c4: #54431a; --bad: #ff8a80; --bad-box: #5c1f1b;
  --good: #56d364; --here: #8ab4f8; } }
* { box-sizing: border-box; } html { scroll-padding: 25vh 0; }
body { margin: 0 auto; max-width: 1200px; padding: 1rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.2rem; margin: 0; overflow-wrap: anywhere; } header p { margin: .2rem 0; overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; list-style: none; margin: .4rem 0; padding: 0; font-size: .85rem; color: var(--soft); }
.legend i { display: inline-block; width: 1em; height: 1em; margin-right: .4em; vertical-align: -.15em; border: 1px solid var(--line); border-radius: 3px; }
#chart { display: block; width: 100%; height: 46px; cursor: pointer; } #chart path { fill: none; stroke: var(--soft); stroke-width: 1.2;
  vector-effect: non-scaling-stroke; } #here { fill: var(--here); opacity: .5; } .axis { font-size: .75rem; color: var(--soft); margin: 0 0 .6rem; }
main { display: grid; grid-template-columns: minmax(0, 1fr) 22rem; gap: 1rem; align-items: start; }
pre { margin: 0; font: 14px/1.75 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
pre:focus-visible { outline: 2px solid var(--here); outline-offset: 4px; }
pre span { border-radius: 3px; box-shadow: inset 0 0 0 .5px var(--line); cursor: pointer; padding: 1px 0; }
pre b { color: var(--soft); font-weight: 400; }
.c1 { background: var(--c1); } .c2 { background: var(--c2); } .c3 { background: var(--c3); } .c4 { background: var(--c4); } .c5 { background: var(--c5); }
.end { color: var(--soft); font-style: italic; padding: 0 .3em; } .no { background: var(--bad-box); }
pre .on { box-shadow: 0 0 0 2px var(--here); position: relative; z-index: 1; }
#step { position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow: auto; background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; padding: .7rem .9rem; font-size: .9rem; }
#step h2 { font-size: .95rem; margin: 0 0 .4rem; display: flex; gap: .5rem; align-items: baseline; }
#step h2 code { font-size: 1rem; } #step h2 small { margin-left: auto; color: var(--soft); font-weight: 400; }
dl { margin: 0; } dt { color: var(--soft); font-size: .8rem; margin-top: .5rem; } dd { margin: 0; overflow-wrap: anywhere; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; background: var(--paper);
  border: 1px solid var(--line); border-radius: 3px; padding: 0 .25em; }
.bars { display: grid; grid-template-columns: auto 1fr auto; gap: .15rem .5rem; align-items: center; }
.bars i { display: block; height: .7em; background: var(--good); border-radius: 2px; min-width: 1px; } .bars .not { opacity: .6; text-decoration: line-through; }
.bars .not + i { background: var(--bad); } .bars span { color: var(--soft); font-variant-numeric: tabular-nums; }
ul.plain { margin: 0; padding-left: 1.1em; }
@media (max-width: 760px) { body { padding: .7rem .7rem 48vh; } main { grid-template-columns: minmax(0, 1fr); }
  html { scroll-padding: 10vh 0 48vh; } #step { position: fixed; z-index: 2; inset: auto 0 0 0; max-height: 44vh; border-radius: 10px 10px 0 0; box-shadow: 0 -2px 10px #0003; } }
"""

PANEL: Final = """
const add = (parent, tag, content, kind) => {
  const made = document.createElement(tag);
  if (content !== undefined) made.textContent = content;
  if (kind) made.className = kind;
  parent.append(made);
  return made;
};
const shown = (s) => (/^ +$/.test(s) ? s.replace(/ /g, "␣") : s.replace(/\\n/g, "↵").replace(/\\t/g, "⇥"));
const percent = (p) => (p === 0 ? "0%" : p < 0.0005 ? "<0.1%" : (100 * p).toFixed(p < 0.0995 ? 1 : 0) + "%");
const entry = (list, title) => { add(list, "dt", title); return add(list, "dd"); };
function describe(panel, steps, i) {
  const s = steps[i];
  panel.replaceChildren();
  const title = add(panel, "h2");
  if (s.t === undefined) add(title, "span", "the end"); else add(title, "code", shown(s.x));
  add(title, "small", "step " + i + (s.t === undefined ? "" : ", token " + s.t));
  const list = add(panel, "dl");
  if (s.e) entry(list, "refused").append(add(list, "strong", s.e, "bad"));
  const allowed = entry(list, "allowed before it");
  allowed.append(s.n.toLocaleString("en") + (s.n === 1 ? " token: " : " tokens" + (s.s.length < s.n ? ", such as " : ": ")));
  s.s.forEach((t) => { add(allowed, "code", shown(t)); allowed.append(" "); });
  if (s.f) add(entry(list, "had to come"), "code", shown(s.f));
  if (s.r) entry(list, "enclosing rules").textContent = s.r.join(" › ");
  if (s.l) {
    const bars = add(entry(list, "the model's choices, without the grammar"), "div", undefined, "bars");
    s.l.forEach(([t, p, ok]) => {
      add(bars, "code", shown(t), ok ? "" : "not");
      add(bars, "i").style.width = 100 * p + "%";
      add(bars, "span", percent(p));
    });
  }
  if (s.m !== undefined) entry(list, "probability of allowed tokens").textContent = percent(s.m);
  if (s.p !== undefined) entry(list, "share of this token").textContent = percent(s.p);
  if (s.c) { const made = add(entry(list, "parts of the mask"), "ul", undefined, "plain"); s.c.forEach((c) => add(made, "li", c)); }
}
"""
"""What fills the panel of a token."""

SCRIPT: Final = (
    '\n"use strict";\n'
    + PANEL
    + """
const steps = JSON.parse(document.getElementById("data").textContent);
const text = document.getElementById("text"), panel = document.getElementById("step");
const chart = document.getElementById("chart"), here = document.getElementById("here");
const spans = text.children;
let at = -1;
function choose(i, scroll) {
  i = Math.max(0, Math.min(steps.length - 1, i));
  if (i === at) return;
  if (at >= 0) spans[at].classList.remove("on");
  at = i;
  spans[i].classList.add("on");
  here.setAttribute("x", i);
  if (scroll) spans[i].scrollIntoView({ block: "nearest" });
  history.replaceState(null, "", "#" + i);
  describe(panel, steps, i);
}
text.addEventListener("click", (e) => { const span = e.target.closest("span"); if (span) choose(+span.dataset.i); });
chart.addEventListener("click", (e) => {
  const box = chart.getBoundingClientRect();
  choose(Math.floor(((e.clientX - box.left) / box.width) * steps.length), true);
});
document.addEventListener("keydown", (e) => {
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps.length - 1 }[e.key];
  if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  choose(to, true);
});
const wanted = /^#\\d+$/.test(location.hash) ? +location.hash.slice(1) : steps[steps.length - 1].e ? steps.length - 1 : 0;
choose(wanted, true);
"""
)
