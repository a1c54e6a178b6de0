"""Style and script of the page of a trace. Light and dark, wide and narrow; without libraries."""

from __future__ import annotations

from typing import Final

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
  if (s.r) entry(list, "inside of").textContent = s.r.join(" › ");
  if (s.l) {
    const bars = add(entry(list, "the model's choices, without the grammar"), "div", undefined, "bars");
    s.l.forEach(([t, p, ok]) => {
      add(bars, "code", shown(t), ok ? "" : "not");
      add(bars, "i").style.width = 100 * p + "%";
      add(bars, "span", percent(p));
    });
  }
  if (s.m !== undefined) entry(list, "share of what is allowed").textContent = percent(s.m);
  if (s.p !== undefined) entry(list, "share of this token").textContent = percent(s.p);
  if (s.c) { const made = add(entry(list, "the mask was made of"), "ul", undefined, "plain"); s.c.forEach((c) => add(made, "li", c)); }
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
