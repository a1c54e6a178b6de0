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
label { display: block; font-size: .85rem; color: var(--soft); margin: .5rem 0 .2rem; }
textarea { width: 100%; font: 14px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--ink); background: var(--panel);
  border: 1px solid var(--line); border-radius: 6px; padding: .6rem; resize: vertical; tab-size: 4; }
#grammar { height: 22rem; white-space: pre; overflow: auto; } #input { height: 8rem; }
textarea:focus-visible, select:focus-visible, button:focus-visible, li button:focus-visible { outline: 2px solid var(--here); outline-offset: 1px; }
select, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .2rem .6rem; }
#verdict { min-height: 1.6em; font-weight: 600; } #problems { list-style: none; margin: .4rem 0; padding: 0; font-size: .9rem; }
#problems button { display: block; width: 100%; text-align: left; margin: .2rem 0; overflow-wrap: anywhere; border-left: 4px solid var(--bad); cursor: pointer; }
#problems .warning button { border-left-color: #c69026; } #problems small { display: block; color: var(--soft); }
#step { position: static; max-height: none; margin-top: .7rem; } #text { min-height: 3rem; max-height: 40vh; overflow: auto; border: 1px solid var(--line);
  border-radius: 6px; padding: .5rem .6rem; } .rest { color: var(--soft); text-decoration: line-through; }
#diagram { overflow-x: auto; margin-top: 1rem; } #diagram h2 { font: 600 .95rem ui-monospace, Menlo, Consolas, monospace; margin: 1rem 0 .1rem; }
#diagram nav { display: none; } [aria-busy="true"] { opacity: .6; }
@media (max-width: 820px) { body { padding: .7rem; } .cols { grid-template-columns: minmax(0, 1fr); } #grammar { height: 14rem; } }
"""

SCRIPT: Final = """
const start = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const [kind, grammar, input, text, panel, list, verdict, diagram] =
  ["kind", "grammar", "input", "text", "step", "problems", "verdict", "diagram"].map($);
const page = Math.random().toString(36).slice(2);
let steps = [], at = -1, timer = 0, asked = 0;
const pack = (s) => btoa(String.fromCharCode(...new TextEncoder().encode(s))).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=+$/, "");
const unpack = (s) => new TextDecoder().decode(Uint8Array.from(atob(s.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)));
const question = () => ({ page, kind: kind.value, grammar: grammar.value, text: input.value });
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
  if (scroll) text.children[i].scrollIntoView({ block: "nearest" });
  describe(panel, steps, i);
}
function atCaret() {
  const before = new TextEncoder().encode(input.value.slice(0, input.selectionStart)).length;
  const i = steps.findIndex((s) => s.b > before);
  choose(i < 0 ? steps.length - 1 : i);
}
function showProblems(found) {
  list.replaceChildren();
  for (const p of found) {
    const item = add(list, "li", undefined, p.severity), button = add(item, "button");
    button.type = "button";
    button.append((p.code ? p.code + " " : "") + (p.line ? "line " + p.line + ", column " + p.column + ": " : "") + p.message);
    if (p.help) add(button, "small", p.help);
    if (p.start !== undefined) button.addEventListener("click", () => { grammar.focus(); grammar.setSelectionRange(p.start, p.end); });
  }
}
function showText(answer) {
  text.replaceChildren();
  at = -1;
  steps = answer.steps || [];
  steps.forEach((s, i) => {
    const span = add(text, "span", s.x.replace(/\\n/g, "↵\\n").replace(/\\t/g, "⇥\\t"), s.k);
    span.dataset.i = i;
  });
  if (answer.rest) add(text, "i", answer.rest, "rest");
}
async function refresh() {
  const number = ++asked;
  const state = JSON.stringify([kind.value, grammar.value, input.value]);
  // addresses hold what is not too long for them
  history.replaceState(null, "", state.length < 30000 ? "#" + pack(state) : "#");
  text.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/judge");
    if (number !== asked) return;
    showProblems(answer.problems);
    showText(answer);
    const last = steps[steps.length - 1];
    verdict.className = answer.accepted ? "good" : "bad";
    verdict.textContent = !answer.steps ? "the grammar has errors" : answer.accepted ? "accepted" : last && last.e ? last.e : "too long to follow to its end";
    if (document.activeElement === input) atCaret(); else choose(answer.accepted ? 0 : steps.length - 1);
    if ($("draw").checked && answer.steps) { const drawn = await ask("/draw"); if (number === asked) diagram.innerHTML = drawn.html; } else diagram.replaceChildren();
  } catch (error) {
    if (number === asked) { verdict.className = "bad"; verdict.textContent = "no answer: " + error.message; }
  } finally {
    if (number === asked) text.removeAttribute("aria-busy");
  }
}
const soon = () => { clearTimeout(timer); timer = setTimeout(refresh, grammar.value.length > 100000 ? 800 : 250); };
[kind, grammar, input, $("draw")].forEach((each) => each.addEventListener("input", soon));
["keyup", "click"].forEach((name) => input.addEventListener(name, () => { if (steps.length) atCaret(); }));
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
[kind.value, grammar.value, input.value] = state;
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
<div class="cols"><div><label for="grammar">grammar</label><textarea id="grammar" spellcheck="false" autocapitalize="off" autocomplete="off"></textarea>
<ul id="problems" aria-live="polite"></ul></div>
<div><label for="input">text</label><textarea id="input" spellcheck="false" autocapitalize="off" autocomplete="off"></textarea>
<p id="verdict" aria-live="polite"></p><ul class="legend" aria-label="tokens that were allowed">{legend}</ul>
<pre id="text" tabindex="0" aria-label="the text in its tokens; arrow keys choose one"></pre><section id="step"></section></div></div>
<div id="diagram"></div>
<script type="application/json" id="data" nonce="{nonce}">{data}</script>
<script nonce="{nonce}">"use strict";{PANEL}{SCRIPT}</script></body></html>
"""
