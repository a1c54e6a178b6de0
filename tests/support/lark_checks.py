"""Compare the engine with Lark on one random grammar."""

from __future__ import annotations

from typing import NamedTuple

import lark
from oracle.random_lark import LarkJudge, RandomLark, all_texts

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError


class Outcome(NamedTuple):
    """What came of one grammar: why nothing was compared, or how many texts were, and those that differ."""

    text: str
    refused: str = ""
    verdicts: int = 0
    accepted: int = 0
    wrong: tuple[str, ...] = ()


def compare(seed: int, most: int, changed: bool = False) -> Outcome:
    """Put all texts of at most so many characters to both. ``changed``: with imports, and `%extend` and `%override`."""
    made = RandomLark(seed)
    text = made.changed() if changed else made.text()
    try:
        judge = LarkJudge(text)
    except (lark.exceptions.LarkError, AssertionError):
        return Outcome(text, "by Lark")
    try:
        grammar = Grammar.from_lark(text)
        grammar.accepts("")
    except StackmaskError as error:
        return Outcome(text, str(error).partition("\n")[0])  # rules that derive nothing, and look-around
    if grammar.report is not None and (grammar.report.narrowed or grammar.report.relaxed):
        return Outcome(text, f"differs and says so: {grammar.report.notes[0].kind}")
    verdicts = accepted = 0
    wrong = []
    for sample in all_texts("ab " if "%ignore" in text else "abA", most):
        verdict = judge.accepts(sample)
        if verdict is None:
            continue
        verdicts += 1
        accepted += verdict
        if grammar.accepts(sample) != verdict:
            wrong.append(sample)
    return Outcome(text, "", verdicts, accepted, tuple(wrong))
