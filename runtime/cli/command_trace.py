"""``stackmask trace``: a text token by token, with the allowed tokens and the cost of each mask."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from stackmask.grammar.source.files import read_text
from stackmask.grammar.source.visible import visible
from stackmask.runtime.cli.checking import ACCEPTED, REJECTED
from stackmask.runtime.cli.command_diagram import check_suffix, write_file
from stackmask.runtime.cli.console import cell, output, show
from stackmask.runtime.cli.grammars import Reading, load_grammar
from stackmask.runtime.cli.loading import load_model, load_tokenizer
from stackmask.runtime.cli.tracing import Step, TraceError, follow
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MOST_OPERANDS: Final = 6  # shown of one mask
MOST_RULES: Final = 3  # of a path, the innermost ones
MOST_FORCED: Final = 24  # characters in the table


@dataclass(frozen=True, slots=True)
class Tracing:
    """The requested output, in addition to the steps.

    ``likely``: the most probable tokens after ``prompt``. ``page``: a file for all output, a page or a
    picture, instead of a table.
    """

    cost: bool = False
    likely: bool = False
    prompt: str = ""
    page: Path | None = None


def operand_text(operand: dict[str, Any]) -> str:
    """Return a short description of one operand."""
    text = f"{operand['kind']} of {operand['tokens']}"
    if operand["narrowed"] or operand["excluded"]:
        text += " filtered"
    if not operand["sure"]:
        text += " unsure"
    if operand["visited_nodes"]:
        text += f" ({operand['visited_nodes']} nodes)"
    return text


def cost_columns(found: dict[str, Any]) -> tuple[str, str]:
    """Return the columns for the operands of a mask, and for their cost."""
    operands = [operand_text(operand) for operand in found["operands"][:MOST_OPERANDS]]
    if len(found["operands"]) > MOST_OPERANDS:
        operands.append(f"and {len(found['operands']) - MOST_OPERANDS} more")
    trials = found["places_to_try"] + found["tokens_to_try"]
    if found["tries_everything"]:
        operands.append("every token tried")
    elif trials:
        operands.append(f"{trials} places and tokens tried")
    made = [f"{count:,} {name}" for name, count in found["cost"].items() if count and name != "work"]
    cost = f"{found['cost']['work']:,} units: {', '.join(made)}" if made else "known"
    return ", ".join(operands), cost


def read_traced(texts: list[str] | None, file: Path | None) -> list[str]:
    """Return the texts to trace. Raises: GrammarFileError if the file cannot be read."""
    if file is None:
        return texts or []
    return [sys.stdin.read() if str(file) == "-" else read_text(file)]


def run_trace(name: str, reading: Reading, texts: list[str], model: str | None, how: Tracing) -> int:
    """Print a row for each token of each text, or write a page or a picture; return the exit status."""
    if how.page is not None:
        check_suffix(how.page, (".html", ".svg"))
        if how.page.suffix.lower() == ".html" and len(texts) > 1:
            raise TraceError("a page shows one text: give one --text, or write an .svg picture")
    grammar = load_grammar(name, reading=reading)
    if how.likely:
        from stackmask.runtime.cli.tracing import Likelihood

        loaded, tokenizer = load_model(model)
        vocabulary = Vocabulary.from_huggingface(tokenizer, size=loaded.config.vocab_size)
        prompt = tokenizer.encode(how.prompt) if how.prompt else _begin(tokenizer)
    else:
        tokenizer = load_tokenizer(model)
        vocabulary = Vocabulary.from_huggingface(tokenizer)
    compiled = Compiler(vocabulary).compile(grammar)
    traces = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False)
        likelihood = Likelihood(loaded, prompt, ids) if how.likely else None
        traces.append(list(follow(compiled, ids, cost=how.cost, likelihood=likelihood)))
    if how.page is not None:
        write_file(how.page, _page(how.page, traces, name, vocabulary.size))
    for steps in traces:
        refusal = steps[-1].refusal
        if how.page is None:
            output().print(trace_table(steps, how))
            if refusal:
                show(output(), refusal)
        else:
            count = sum(step.token is not None for step in steps)
            show(output(), f"{how.page}: {count} tokens, {refusal or 'accepted'}")
    return REJECTED if any(steps[-1].refusal for steps in traces) else ACCEPTED


def _page(file: Path, traces: list[list[Step]], name: str, vocabulary_size: int) -> str:
    if file.suffix.lower() == ".svg":
        return picture_text(traces, vocabulary_size)
    from stackmask.runtime.cli.trace_page import page_text

    return page_text(traces[0], name)


def _begin(tokenizer: Any) -> list[int]:
    return [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]


def trace_table(steps: list[Step], how: Tracing) -> Table:
    """Return the steps as a table; empty columns are omitted."""
    columns: list[tuple[str, list[str]]] = [
        ("step", [str(number) for number in range(len(steps))]),
        ("token", [step.text if step.token is None else repr(step.text) for step in steps]),
        ("allowed", [str(step.allowed) for step in steps]),
        ("forced", [_quoted(step.forced) for step in steps]),
        ("inside", [rules_text(step.rules) for step in steps]),
    ]
    if how.likely:
        columns.append(("likeliest", [likely_text(step) for step in steps]))
        columns.append(("mass", [percent(step.mass) for step in steps]))
    if how.cost:
        found = [cost_columns(step.cost) for step in steps if step.cost is not None]
        columns += [("made of", [made for made, _ in found]), ("cost", [cost for _, cost in found])]
    columns = [column for column in columns if any(column[1]) or column[0] in ("step", "token", "allowed")]
    table = Table(box=None, pad_edge=False)
    for title, _ in columns:
        table.add_column(title, overflow="fold")
    for row in zip(*(texts for _, texts in columns), strict=True):
        table.add_row(*map(cell, row))
    return table


def rules_text(rules: tuple[str, ...]) -> str:
    """Return the innermost names of a path of rules."""
    shown = " › ".join(rules[-MOST_RULES:])
    return f"… › {shown}" if len(rules) > MOST_RULES else shown


def likely_text(step: Step) -> str:
    """Return the most probable tokens with their probabilities; forbidden tokens are in brackets."""
    return ", ".join(
        f"{each.text!r} {percent(each.chance)}" if each.allowed else f"({each.text!r} {percent(each.chance)})"
        for each in step.likely[:3]
    )


def percent(share: float | None) -> str:
    """Return a share as a percentage; empty without a share."""
    if share is None:
        return ""
    return f"{share:.0%}" if share >= 0.0995 or share == 0 else f"{share:.1%}" if share >= 0.0005 else "<0.1%"


def _quoted(text: str) -> str:
    if not text:
        return ""
    return repr(text if len(text) <= MOST_FORCED else text[: MOST_FORCED - 1] + "…")


# -- Traces as a picture: texts in boxes for their tokens, and above each how many tokens were allowed ---

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
