"""``stackmask trace``: a text token by token, what was allowed at each, and what the mask cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from stackmask.runtime.cli.checking import ACCEPTED, REJECTED
from stackmask.runtime.cli.console import cell, output, show
from stackmask.runtime.cli.grammars import load_grammar
from stackmask.runtime.cli.loading import load_tokenizer
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.matching.explanation import explain
from stackmask.runtime.matching.matcher import Matcher
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MOST_OPERANDS = 6  # shown of one mask


def allowed_tokens(matcher: Matcher, size: int) -> int:
    """Return how many tokens may come next."""
    mask = allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    return int(np.unpackbits(mask.view(np.uint8), bitorder="little")[:size].sum())


def operand_text(operand: dict[str, Any]) -> str:
    """Return one operand in a few words."""
    text = f"{operand['kind']} of {operand['tokens']}"
    if operand["narrowed"] or operand["excluded"]:
        text += " filtered"
    if not operand["sure"]:
        text += " unsure"
    if operand["visited_nodes"]:
        text += f" ({operand['visited_nodes']} nodes)"
    return text


def cost_columns(found: dict[str, Any]) -> tuple[str, str]:
    """Return the columns of what a mask was made of, and of what that cost."""
    operands = [operand_text(operand) for operand in found["operands"][:MOST_OPERANDS]]
    if len(found["operands"]) > MOST_OPERANDS:
        operands.append(f"and {len(found['operands']) - MOST_OPERANDS} more")
    trials = found["places_to_try"] + found["tokens_to_try"]
    if found["tries_everything"]:
        operands.append("every token tried")
    elif trials:
        operands.append(f"{trials} places and tokens tried")
    cost = f"{found['walks']} walks, {found['visited_nodes']} nodes" if found["walks"] else "known"
    return ", ".join(operands), cost


def run_trace(name: str, start: str | None, text: str, model: str | None, *, cost: bool) -> int:
    """Print a row for each token of a text; return the exit status."""
    grammar = load_grammar(name, start)
    tokenizer = load_tokenizer(model)
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    matcher = Compiler(vocabulary).compile(grammar).matcher()
    ids = tokenizer.encode(text, add_special_tokens=False)
    table = Table(box=None, pad_edge=False)
    for title in ("step", "token", "allowed", *(("made of", "cost") if cost else ())):
        table.add_column(title, overflow="fold")
    status = ACCEPTED
    for step, token in enumerate([*ids, None]):
        if token is None and not matcher.is_accepting():
            status = REJECTED
        extra = cost_columns(explain(matcher)) if cost else ()
        shown = "(end)" if token is None else repr(tokenizer.decode([token]))
        allowed = str(allowed_tokens(matcher, vocabulary.size))
        table.add_row(*map(cell, (str(step), shown, allowed, *extra)))
        if token is not None and not matcher.accept_token(token):
            status = REJECTED
            break
    output().print(table)
    if status == REJECTED:
        show(output(), matcher.refusal or "the text ends too early")
    return status
