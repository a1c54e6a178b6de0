"""An audit as a self-contained HTML page: figures, the table of engines and categories, witnesses, worst cases."""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from stackmask.grammar.source.visible import visible
from stackmask.runtime.comparison.audit import Audit
from stackmask.runtime.comparison.cases import CaseResult, EngineRecord, Finding
from stackmask.runtime.comparison.judges import FORMAT, NAME_TWICE, OPTIONAL

EXAMPLES: Final = 5  # witnesses of one engine and category
WORST: Final = 25
MOST_TEXT: Final = 600  # characters of a side of a witness
MOST_SOURCE: Final = 4_000  # characters of a language
ORDER: Final = {"fault": 0, "under": 1, "over": 2, "undecided": 3}

STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --panel: #f6f8fa;
  --bad: #b3261e; --bad-box: #f9d7d4; --good: #1a7f37; --habit: #7a5a00; --habit-box: #fbeccb; }
@media (prefers-color-scheme: dark) { :root { --paper: #15191e; --ink: #e6edf3; --soft: #9aa4af; --line: #3d444d;
  --panel: #1c2127; --bad: #ff8a80; --bad-box: #5c1f1b; --good: #56d364; --habit: #f0c36d; --habit-box: #54431a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 1.2rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 1.8rem 0 .5rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { padding: .25rem .7rem; text-align: right;
  border-bottom: 1px solid var(--line); vertical-align: top; } th:first-child, td:first-child { text-align: left; }
thead th { color: var(--soft); font-weight: 600; } td.error a { color: var(--bad); font-weight: 600; } td.habit a { color: var(--habit); }
td small { color: var(--soft); display: block; font-size: .8em; } tr.part td { background: var(--panel); font-weight: 600; }
code, pre { font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .3rem 0; padding: .5rem .7rem; background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
mark { background: var(--bad-box); color: inherit; border-radius: 3px; padding: 1px 2px; box-shadow: 0 0 0 1px var(--bad); }
pre.habit mark { background: var(--habit-box); box-shadow: 0 0 0 1px var(--habit); }
details { border-top: 1px solid var(--line); padding: .35rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
summary b { font-weight: 600; } details details { margin-left: 1rem; }
.w { margin: .5rem 0 .9rem 1rem; } .w p { font-size: .88rem; overflow-wrap: anywhere; }
.after { color: var(--soft); }
"""

SCRIPT: Final = """
"use strict";
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
"""


def report_page(audit: Audit, title: str) -> str:
    """Return the page. Cost: about 10 ms a hundred cases."""
    summaries = summarise(audit)
    name = html.escape(visible(title))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>audit: {name}</title><style>{STYLE}</style></head><body>
<header><h1>Audit of masks: {name}</h1>{_about(audit)}</header>
<main>
{_engines(summaries)}
{_categories(summaries)}
{_witnesses(audit, summaries)}
{_worst(audit)}
{_refusals(summaries)}
</main>
<script>{SCRIPT}</script></body></html>
"""


def _about(audit: Audit) -> str:
    figures = audit_json(audit)
    texts = figures["texts"]
    judges = ", ".join(f"{name} {version}" for name, version in figures["judges"].items())
    lines = [
        (
            f"{figures['done']:,} of {figures['planned']:,} cases, {sum(texts.values()):,} texts "
            f"({texts.get('valid', 0):,} valid, {texts.get('invalid', 0):,} invalid, "
            f"{texts.get('undecided', 0):,} undecided), {figures['seconds']:,.0f} s."
        ),
        (
            f"Tokenizer {html.escape(visible(str(figures['tokenizer'])))}, {figures['vocabulary']:,} tokens; seed "
            f"{figures['settings']['seed']}. Judges: {html.escape(judges)}."
        ),
    ]
    if figures["unjudged"] or figures["out_of_time"]:
        lines.append(
            f"{figures['unjudged']:,} cases that no judge reads are left out of all figures; {figures['out_of_time']:,} were "
            "ended by their time."
        )
    lines.append(
        "<strong>Over</strong>: a token is forbidden that begins the rest of a text which the judges call valid. "
        "<strong>Under</strong>: a token is allowed, and a text that the engine itself then accepts is called invalid. "
        "Each is shown with that text. How a value must be written, in which order or spelling, is counted apart."
    )
    return "".join(f"<p>{line}</p>" for line in lines)


def _engines(summaries: list[EngineSummary]) -> str:
    rows = []
    for each in summaries:
        decided = f"{100 * each.decided / each.judged:.2f}%" if each.judged else "–"
        wrong = each.wrong
        kind = "bad" if wrong else "good"
        cells = [
            f"<td>{html.escape(each.name)} <small>{html.escape(each.version)}</small></td>",
            f"<td>{each.cases['compiled']:,}</td><td>{each.cases['refused']:,}</td><td>{each.cases['fault']:,}</td>",
            f"<td>{each.places:,}</td><td>{each.differing:,}</td><td>{each.judged:,}</td><td>{decided}</td>",
            f'<td style="color:var(--{kind})"><b>{wrong:,}</b></td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = (
        "engine",
        "compiled",
        "refused",
        "failed",
        "masks",
        "bits unlike the reference",
        "differences judged",
        "decided",
        "cases with proven errors",
    )
    head = "".join(f"<th>{word}</th>" for word in heads)
    return (
        f'<h2>Engines</h2><div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        '<p class="soft">Refused: the engine says that it cannot enforce the language, which is no error. Failed: it raised, '
        "crashed or hung when it compiled. The reference is only what masks are compared with; the texts decide.</p>"
    )


def _sorts(summaries: list[EngineSummary]) -> list[str]:
    found = {key for each in summaries for key in each.found}

    def rank(key: str) -> tuple[int, bool, int, str]:
        total = sum(each.affected[key] for each in summaries)
        return ORDER[key.partition(":")[0]], not is_proven_error(key), -total, key

    return sorted(found, key=rank)


def _categories(summaries: list[EngineSummary]) -> str:
    head = "".join(f"<th>{html.escape(each.name)}</th>" for each in summaries)
    rows: list[str] = []
    before = ""
    for key in _sorts(summaries):
        kind = key.partition(":")[0]
        if kind != before:
            rows.append(f'<tr class="part"><td colspan="{len(summaries) + 1}">{_kind_name(kind)}</td></tr>')
            before = kind
        cells = [
            f"<td>{html.escape(visible(key.partition(': ')[2]))}<small>{MEANINGS.get(key, '')}</small></td>"
        ]
        look = "error" if is_proven_error(key) else "habit"
        for each in summaries:
            count = each.affected[key]
            link = f'<a href="#{_anchor(each.name, key)}">{count:,}</a><small>{each.found[key]:,}</small>'
            cells.append(f'<td class="{look}">{link}</td>' if count else '<td class="soft">0</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    if not rows:
        return "<h2>Categories</h2><p>No differences.</p>"
    return (
        f'<h2>Categories</h2><div class="wide"><table><thead><tr><th>cases affected (findings below)</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _kind_name(kind: str) -> str:
    return {
        "fault": "Faults: raised, hung, crashed, a mask of a wrong width",
        "under": "Under-constraint, by the keyword that the accepted text breaks",
        "over": "Over-constraint, by what would have to change in the text",
        "undecided": "Undecided",
    }[kind]


def _anchor(name: str, key: str) -> str:
    return html.escape("w-" + "".join(c if c.isalnum() else "-" for c in f"{name} {key}"))


def _witnesses(audit: Audit, summaries: list[EngineSummary]) -> str:
    found = examples(audit, EXAMPLES)
    out = ["<h2>Witnesses</h2>"]
    for each in summaries:
        for key in _sorts([each]):
            listed = found.get((each.name, key), [])
            inner = "".join(_witness(case, finding) for case, finding in listed)
            out.append(
                f'<details id="{_anchor(each.name, key)}"><summary><b>{html.escape(each.name)}</b> {html.escape(visible(key))} '
                f'<span class="soft">{each.affected[key]:,} cases, {each.found[key]:,} findings</span></summary>{inner}</details>'
            )
    return "".join(out)


def _witness(case: str, finding: Finding) -> str:
    before, after = _cut(finding.before, end=True), _cut(finding.after, end=False)
    text = (
        f"{html.escape(visible(before))}<mark>{html.escape(visible(finding.token))}</mark>"
        f'<span class="after">{html.escape(visible(after))}</span>'
    )
    look = "" if is_proven_error(f"{finding.kind}: {finding.category}") else ' class="habit"'
    says = "; ".join(f"{judge}: {words}" for judge, words in finding.says.items())
    line = ". ".join(part for part in (finding.proof, finding.source) if part)
    return (
        f'<div class="w"><p class="soft">{html.escape(visible(case))}</p><pre{look}>{text}</pre>'
        f"<p>{html.escape(visible(line))}</p><p>{html.escape(visible(says))}</p></div>"
    )


def _cut(text: str, *, end: bool) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return "…" + text[-MOST_TEXT:] if end else text[:MOST_TEXT] + "…"


def _worst(audit: Audit) -> str:
    listed = worst_cases(audit, WORST)
    if not listed:
        return "<h2>Worst cases</h2><p>No proven errors.</p>"
    inner = "".join(_case(result, total) for result, total in listed)
    return f"<h2>Worst cases</h2>{inner}"


def _case(result: CaseResult, total: int) -> str:
    source = result.source if len(result.source) <= MOST_SOURCE else result.source[:MOST_SOURCE] + "…"
    rows: Iterable[Any] = (
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(record.state)}</td>"
        f"<td>{html.escape(visible(', '.join(f'{key} ({count})' for key, count in record.counts.most_common())))}</td></tr>"
        for name, record in result.engines.items()
    )
    proven = [each for each in result.findings if is_proven_error(f"{each.kind}: {each.category}")]
    witnesses = "".join(_witness(f"{each.engine}: {each.kind}: {each.category}", each) for each in proven)
    return (
        f"<details><summary><b>{html.escape(visible(result.name))}</b> <span class='soft'>{total:,} findings</span></summary>"
        f"<pre>{html.escape(visible(source))}</pre><table><tbody>{''.join(rows)}</tbody></table>{witnesses}</details>"
    )


def _refusals(summaries: list[EngineSummary]) -> str:
    out = []
    for each in summaries:
        if each.reasons:
            rows = "".join(
                f"<tr><td>{html.escape(visible(reason))}</td><td>{count:,}</td></tr>"
                for reason, count in each.reasons.most_common(20)
            )
            out.append(
                f"<details><summary><b>{html.escape(each.name)}</b> refuses {each.cases['refused']:,} cases</summary>"
                f"<table><tbody>{rows}</tbody></table></details>"
            )
    return "<h2>Refusals</h2>" + "".join(out) if out else ""


# -- The figures of an audit: what was found for each engine and category, and which cases are the worst -

HABITS: Final = ("blanks", "order", "spelling", "tokens")  # of an engine that forbids a valid text
MEANINGS: Final = {
    "over: value": "a valid value cannot be written",
    "over: order": "only with properties in declared order",
    "over: spelling": "only with other escapes, digits or number spellings",
    "over: blanks": "only with other blanks",
    "over: tokens": "only cut into other tokens",
    "under: dead end": "its own mask leads to where nothing is allowed",
    "under: no beginning": "no text of the language begins so",
    "under: special token": "a token that is not text",
    "fault: error state": "the engine says that it fails",
    "fault: wrong mask": "wrong width or type, or it refuses what its mask allows",
    "under: no JSON": "a whole text that is not JSON",
    f"under: {FORMAT}": "formats are not enforced, which the specification permits",
    f"under: {NAME_TWICE}": "a key may come again, which JSON permits",
}
SEVERE: Final = 3  # how much more a proven error counts in the order of the worst than a habit of writing


@dataclass(slots=True)
class EngineSummary:
    """One engine over all cases. ``cases``: by state; ``found``, ``affected``: findings and cases by kind and category;
    ``wrong``: cases with a proven error that is no habit of writing; ``reasons``: why it refused, by first words."""

    name: str
    version: str
    cases: Counter[str] = field(default_factory=Counter)
    places: int = 0
    differing: int = 0
    judged: int = 0
    decided: int = 0
    found: Counter[str] = field(default_factory=Counter)
    affected: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "version": self.version,
            "cases": dict(self.cases),
            "masks": self.places,
            "differing_bits": self.differing,
            "judged": self.judged,
            "decided": self.decided,
            "cases_with_proven_errors": self.wrong,
            "findings": dict(self.found.most_common()),
            "cases_affected": dict(self.affected.most_common()),
            "refusals": dict(self.reasons.most_common(20)),
        }


def is_proven_error(key: str) -> bool:
    """Return whether a kind and category is an error rather than a spelling habit: the value, the language or
    the engine is affected.
    """
    kind, _, category = key.partition(": ")
    return kind == "fault" or (
        category not in HABITS if kind == "over" else kind == "under" and category not in OPTIONAL
    )


def summarise(audit: Audit) -> list[EngineSummary]:
    """Return the figures of each engine, in the order of the audit."""
    found = {name: EngineSummary(name, version) for name, version in audit.about["engines"].items()}
    for result in audit.results:
        if result.unjudged:
            continue
        for name, record in result.engines.items():
            _add(found[name], record)
    return list(found.values())


def _add(summary: EngineSummary, record: EngineRecord) -> None:
    summary.cases[record.state] += 1
    if record.state == "refused":
        summary.reasons[record.message[:60]] += 1
    summary.places += record.places
    summary.differing += record.differing
    summary.judged += record.judged
    summary.decided += record.decided
    summary.found.update(record.counts)
    summary.affected.update(record.counts.keys())
    summary.wrong += any(map(is_proven_error, record.counts))


def worst_cases(audit: Audit, count: int) -> list[tuple[CaseResult, int]]:
    """Return the cases with the most kinds of proven errors, with the number of findings."""
    ranked = []
    for result in audit.results:
        counts: Counter[str] = Counter()
        sorts: Counter[str] = Counter()
        for name, record in result.engines.items():
            counts.update(record.counts)
            sorts.update({f"{name} {key}": 1 for key in record.counts if is_proven_error(key)})
        if sorts:
            ranked.append((len(sorts) * SEVERE, counts.total(), result))
    ranked.sort(key=lambda entry: (-entry[0], -entry[1], entry[2].name))
    return [(result, total) for _, total, result in ranked[:count]]


def examples(audit: Audit, most: int) -> dict[tuple[str, str], list[tuple[str, Finding]]]:
    """Return some findings with their cases for each engine and kind; short texts first."""
    found: defaultdict[tuple[str, str], list[tuple[str, Finding]]] = defaultdict(list)
    for result in audit.results:
        for finding in result.findings:
            found[finding.engine, f"{finding.kind}: {finding.category}"].append((result.name, finding))

    def length(entry: tuple[str, Finding]) -> int:
        return len(entry[1].before) + len(entry[1].after)

    picked = {}
    for key, listed in found.items():
        listed.sort(key=lambda entry: (length(entry), entry[0]))
        by_case: dict[str, tuple[str, Finding]] = {}
        for entry in listed:  # one of a case
            by_case.setdefault(entry[0], entry)
        picked[key] = list(by_case.values())[:most]
    return picked


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return all figures in machine-readable form; the findings themselves are in the file of cases."""
    results = audit.results
    texts: Counter[str] = Counter()
    for result in results:
        texts.update(result.texts)
    return {
        **audit.about,
        "done": len(results),
        "unjudged": sum(bool(result.unjudged) for result in results),
        "out_of_time": sum(result.cut for result in results),
        "seconds": round(sum(result.seconds for result in results), 1),
        "texts": dict(texts),
        "engines": {summary.name: summary.as_json() for summary in summarise(audit)},
    }
