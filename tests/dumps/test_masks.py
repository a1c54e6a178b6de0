"""Configurations and the operands of their masks, as text: what a mask is made of, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.golden import read_cases, write_cases

import stackmask as sm

FILE = Path(__file__).parent / "masks.txt"
WORDS = ["true", "tr", '":', '", "', '"}', "  ", "12", "},", "name", "fa", "lse", "\n  "]
VOCABULARY = sm.Vocabulary(
    [*[bytes([b]) for b in range(256)], *[w.encode() for w in WORDS], None], stop_ids=[268]
)


def operand_line(operand: dict[str, Any]) -> str:
    flags = [name for name in ("narrowed", "excluded") if operand[name]] + ["unsure"] * (not operand["sure"])
    return f"  {operand['kind']} of {operand['tokens']}, {operand['visited_nodes']} nodes" + "".join(
        f", {flag}" for flag in flags
    )


def dump(grammar: sm.Grammar, text: str) -> str:
    """Return the configuration after each character of a text, and the operands of its mask."""
    matcher = sm.Compiler(VOCABULARY).compile(grammar).matcher()
    lines = []
    for at in range(len(text) + 1):
        found = matcher.explain()
        lines.append(f"after {text[:at]!r}: {found['walks']} walks, {found['visited_nodes']} nodes")
        lines += [f"  | {member}" for member in found["configuration"]]
        lines += sorted(map(operand_line, found["operands"]))
        if found["places_to_try"] or found["tokens_to_try"] or found["tries_everything"]:
            lines.append(f"  tried: {found['places_to_try']} places, {found['tokens_to_try']} tokens")
        if at < len(text):
            assert matcher.accept_string(text[at])
    return "\n".join(lines) + "\n"


def test_masks(update_goldens: bool) -> None:
    cases = read_cases(FILE)
    assert cases
    for case in cases:
        came_out = dump(
            sm.Grammar.from_ebnf(case.grammar, None, name=case.title), case.sections["text"].rstrip("\n")
        )
        if update_goldens:
            case.sections["masks"] = came_out
        else:
            assert came_out == case.sections["masks"], case.title
    if update_goldens:
        write_cases(FILE, cases)
