"""The page of the playground: a grammar and a text on one side, what is said of them on the other."""

from __future__ import annotations

import json
from typing import Any, Final

from stackmask.grammar.diagram.pictures import STYLE as DIAGRAM_STYLE
from stackmask.runtime.cli.trace_page import CLASSES, script_data
from stackmask.runtime.cli.trace_style import PANEL, STYLE

MORE_STYLE: Final = """
body { max-width: none; } .bar { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: 0 0 .6rem; }
.bar h1 { margin-right: auto; } .cols { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; align-items: start; }
:root { --warn: #9a6700; --chosen: #b6d5fa; --line-here: #8b949e1f; --t-text: #0a5c36; --t-set: #8a4600; --t-name: #0842a0; --t-sign: #8250df; }
@media (prefers-color-scheme: dark) { :root { --warn: #d4a72c; --chosen: #264f78; --t-text: #7ee2a8; --t-set: #f0b072; --t-name: #9cc2ff; --t-sign: #cda9ff; } }
h2.label { display: block; font-size: .85rem; font-weight: 400; color: var(--soft); margin: .5rem 0 .2rem; }
.editor { resize: vertical; overflow: hidden; padding: 3px; margin: -3px; } #grammar { height: 22rem; } #input { height: 8rem; }
select:focus-visible, button:focus-visible, li button:focus-visible { outline: 2px solid var(--here); outline-offset: 1px; }
select, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .2rem .6rem; }
#verdict { min-height: 1.6em; font-weight: 600; } #problems { list-style: none; margin: .4rem 0; padding: 0; font-size: .9rem; }
#problems button { display: block; width: 100%; text-align: left; margin: .2rem 0; overflow-wrap: anywhere; border-left: 4px solid var(--bad); cursor: pointer; }
#problems .warning button { border-left-color: var(--warn); } #problems small { display: block; color: var(--soft); }
#step { position: static; max-height: none; margin-top: .7rem; } #text { min-height: 3rem; max-height: 40vh; overflow: auto; border: 1px solid var(--line);
  border-radius: 6px; padding: .5rem .6rem; } .rest { color: var(--soft); text-decoration: line-through; }
#diagram { overflow-x: auto; margin-top: 1rem; } #diagram h2 { font: 600 .95rem ui-monospace, Menlo, Consolas, monospace; margin: 1rem 0 .1rem; }
#diagram nav { display: none; } [aria-busy="true"] { opacity: .6; }
@media (max-width: 820px) { body { padding: .7rem; } .cols { grid-template-columns: minmax(0, 1fr); } #grammar { height: 14rem; }
  .bar h1 { flex-basis: 100%; } #step { border-radius: 6px; box-shadow: none; } }
"""

SCRIPT: Final = """
const start = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const [kind, text, panel, list, verdict, diagram] = ["kind", "text", "step", "problems", "verdict", "diagram"].map($);
const page = Math.random().toString(36).slice(2);
let steps = [], places = [], at = -1, timer = 0, asked = 0, current = false;
const { makeEditor } = playgroundEditor;
const grammar = makeEditor($("grammar"), { label: "grammar", numbers: true, wraps: false, onEdit: () => soon() });
const input = makeEditor($("input"), { label: "text", numbers: false, wraps: true, onEdit: () => { current = false; soon(); }, onMove: () => { if (steps.length && input.hasFocus) atCaret(); } });
const pack = (s) => btoa(String.fromCharCode(...new TextEncoder().encode(s))).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=+$/, "");
const unpack = (s) => new TextDecoder().decode(Uint8Array.from(atob(s.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)));
const question = () => ({ page, kind: kind.value, grammar: grammar.text, text: input.text });
async function ask(path) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question()) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
function choose(i, scroll) {
  if (!steps.length) { panel.replaceChildren(); return; }
  i = Math.max(0, Math.min(steps.length - 1, i));
  if (at >= 0 && text.children[at]) text.children[at].classList.remove("on");
  at = i;
  text.children[i].classList.add("on");
  markText();
  if (scroll) text.children[i].scrollIntoView({ block: "nearest" });
  describe(panel, steps, i);
}
// where each step ends in the text, in the units of the browser: a token may end inside of a character
function findPlaces(written) {
  let i = 0, bytes = 0;
  return steps.map((s) => {
    while (bytes < s.b && i < written.length) {
      const code = written.codePointAt(i);
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      i += code < 0x10000 ? 1 : 2;
    }
    return i;
  });
}
// in the text that is written: the chosen token, what was refused, and what was not looked at any more
function markText() {
  if (!current) return; // edited meanwhile: the next answer is of that
  const last = steps.length - 1, from = at > 0 ? places[at - 1] : 0;
  input.mark([[from, places[at], "at-here"], ...(last >= 0 && steps[last].e ? [[places[last], input.length, "after-end"]] : [])]);
}
function showRefusal() {
  if (!current) return;
  const last = steps.length - 1;
  if (last < 0 || !steps[last].e) { input.diagnose([]); return; }
  const start = last > 0 ? places[last - 1] : 0;
  input.diagnose([{ start, end: Math.max(places[last], start), severity: "error", message: steps[last].e }]);
}
function atCaret() {
  const i = places.findIndex((end) => end > input.cursor);
  choose(i < 0 ? steps.length - 1 : i);
}
function showProblems(found) {
  list.replaceChildren();
  grammar.diagnose(found.filter((p) => p.start !== undefined).map((p) => (
    { ...p, message: (p.code ? p.code + " " : "") + p.message + (p.help ? "\\n" + p.help : "") })));
  for (const p of found) {
    const item = add(list, "li", undefined, p.severity), button = add(item, "button");
    button.type = "button";
    button.append((p.code ? p.code + " " : "") + (p.line ? "line " + p.line + ", column " + p.column + ": " : "") + p.message);
    if (p.help) add(button, "small", p.help);
    if (p.start !== undefined) button.addEventListener("click", () => grammar.select(p.start, p.end));
  }
}
function showText(answer, judged) {
  text.replaceChildren();
  at = -1;
  steps = answer.steps || [];
  places = findPlaces(judged);
  current = input.text === judged;
  steps.forEach((s, i) => {
    const span = add(text, "span", s.x.replace(/\\n/g, "↵\\n").replace(/\\t/g, "⇥\\t"), s.k);
    span.dataset.i = i;
  });
  if (answer.rest) add(text, "i", answer.rest, "rest");
  showRefusal();
  markText();
}
async function refresh() {
  const number = ++asked;
  const judged = input.text;
  // addresses hold what is not too long for them
  const state = grammar.length + judged.length < 30000 ? JSON.stringify([kind.value, grammar.text, judged]) : "";
  history.replaceState(null, "", state && state.length < 30000 ? "#" + pack(state) : "#");
  text.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/judge");
    if (number !== asked) return;
    showProblems(answer.problems);
    showText(answer, judged);
    const last = steps[steps.length - 1];
    verdict.className = answer.accepted ? "good" : "bad";
    verdict.textContent = !answer.steps ? "the grammar has errors" : answer.accepted ? "accepted" : last && last.e ? last.e : "too long to follow to its end";
    if (input.hasFocus) atCaret(); else choose(answer.accepted ? 0 : steps.length - 1);
    if ($("draw").checked && answer.steps) { const drawn = await ask("/draw"); if (number === asked) diagram.innerHTML = drawn.html; } else diagram.replaceChildren();
  } catch (error) {
    if (number === asked) { verdict.className = "bad"; verdict.textContent = "no answer: " + error.message; }
  } finally {
    if (number === asked) text.removeAttribute("aria-busy");
  }
}
function soon() { clearTimeout(timer); timer = setTimeout(refresh, grammar.length > 100000 ? 800 : 250); }
kind.addEventListener("input", () => { grammar.colour(kind.value); soon(); });
$("draw").addEventListener("input", soon);
text.addEventListener("click", (e) => { const span = e.target.closest("span"); if (span) choose(+span.dataset.i); });
text.addEventListener("keydown", (e) => {
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps.length - 1 }[e.key];
  if (to !== undefined) { e.preventDefault(); choose(to, true); }
});
diagram.addEventListener("click", (e) => {
  const link = e.target.closest("a");
  if (!link) return;
  e.preventDefault(); // the address holds the state
  const place = document.getElementById((link.getAttribute("href") || link.getAttribute("xlink:href")).slice(1));
  if (place) place.scrollIntoView({ block: "nearest" });
});
let state = [start.kind, start.grammar, start.text];
try { if (location.hash.length > 1) { const held = JSON.parse(unpack(location.hash.slice(1))); if (held.length === 3 && held.every((s) => typeof s === "string")) state = held; } } catch { /* no state in the address */ }
kind.value = ["ebnf", "schema", "regex"].includes(state[0]) ? state[0] : "ebnf";
grammar.start(state[1], kind.value);
input.start(state[2], "text");
refresh();
"""


def play_page(state: dict[str, Any], nonce: str) -> str:
    """Return the page. ``state``: ``kind``, ``grammar`` and ``text`` to begin with; ``nonce``: what lets its scripts run."""
    legend = "".join(f'<li><i class="{kind}"></i>{words}</li>' for _, kind, words in CLASSES)
    data = script_data(json.dumps(state, ensure_ascii=False))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>stackmask play</title><style>{STYLE}{MORE_STYLE}{DIAGRAM_STYLE}</style></head><body>
<div class="bar"><h1>stackmask play</h1>
<span><select id="kind" aria-label="what the grammar is"><option value="ebnf">EBNF</option><option value="schema">JSON Schema</option>
<option value="regex">regular expression</option></select></span><span><input type="checkbox" id="draw" checked> <label for="draw" style="display:inline">diagrams</label></span></div>
<div class="cols"><div><h2 class="label">grammar</h2><div id="grammar" class="editor"></div>
<ul id="problems" aria-live="polite"></ul></div>
<div><h2 class="label">text</h2><div id="input" class="editor"></div>
<p id="verdict" aria-live="polite"></p><ul class="legend" aria-label="tokens that were allowed">{legend}</ul>
<pre id="text" tabindex="0" aria-label="the text in its tokens; arrow keys choose one"></pre><section id="step"></section></div></div>
<div id="diagram"></div>
<script type="application/json" id="data" nonce="{nonce}">{data}</script>
<script src="/editor.js" nonce="{nonce}"></script>
<script nonce="{nonce}">"use strict";{PANEL}{SCRIPT}</script></body></html>
"""
