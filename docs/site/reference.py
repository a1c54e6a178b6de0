"""The pages of reference, which are made for the site and not kept: all public names by subject, and all errors.

Run as a program, it prints the pages as JSON: paths and texts. ``stackmask`` must be importable.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parents[2]


class Subject(NamedTuple):
    """One page: its title, what it is about, and the names on it, by module; None for all names of a module."""

    title: str
    about: str
    names: dict[str, tuple[str, ...] | None]


SUBJECTS = {
    "grammars": Subject(
        "Grammars",
        "Make grammars, combine them, and bound what one request may use.",
        {"stackmask": ("Grammar", "union", "concat", "tag", "text", "prompt_for", "Limits", "Diagnostic")},
    ),
    "engine": Subject(
        "Vocabularies, matchers, masks",
        "From a tokenizer and a grammar to the tokens that may come next; without torch.",
        {
            "stackmask": (
                "Vocabulary",
                "Compiler",
                "CompiledGrammar",
                "Matcher",
                "allocate_token_bitmask",
                "fill_next_token_bitmask",
                "apply_token_bitmask_inplace",
                "step",
                "StepMask",
                "StepResult",
                "fsm",
                "tools",
            )
        },
    ),
    "generation": Subject(
        "Generation",
        "Generate with models of transformers (extra `hf`).",
        {
            "stackmask": (
                "generate",
                "stream",
                "agenerate",
                "GenerationResult",
                "TextStream",
                "TurnStream",
                "GrammarLogitsProcessor",
                "JumpDecoding",
            )
        },
    ),
    "errors": Subject(
        "Classes of errors",
        "All derive from `StackmaskError`. [Errors and diagnostics](../errors.md) has examples.",
        {"stackmask": ()},  # all other names
    ),
    "tools": Subject(
        "Tools", "Grammars of whole turns, and parsers that read them.", {"stackmask.tools": None}
    ),
    "fsm": Subject(
        "The regex-FSM mode", "Grammars as finite automata with an index of tokens.", {"stackmask.fsm": None}
    ),
    "xgrammar": Subject(
        "XGrammar's names",
        "XGrammar's interface over this engine.",
        dict.fromkeys(
            (
                "stackmask.compat.xgrammar",
                "stackmask.compat.xgrammar.contrib.hf",
                "stackmask.compat.xgrammar.structural_tag",
                "stackmask.compat.xgrammar.exception",
                "stackmask.compat.xgrammar.openai_tool_call_schema",
                "stackmask.compat.xgrammar.testing",
            )
        ),
    ),
    "embedded": Subject(
        "The embedded model",
        "The model and databases that ship with the package.",
        {"stackmask.runtime.embedded": None},
    ),
}

# what has no docstring of its own
SENTENCES = {
    "DEFAULT_MEMORY": "The bytes that `compile` may use unless `memory` says otherwise.",
    "Event": "Any of the events of a turn.",
    "Format": "Any of the formats, told apart by `type`.",
    "ToolParam": "A function or a built-in tool.",
    "ToolChoiceOptionParam": '"none", "auto", "required", or a choice of tools.',
    "bitmask_dtype": "The type of a bitmask's words: `torch.int32`.",
}


def first_sentence(value: object, name: str) -> str:
    """Return the first sentence of a docstring, or the one written for a value without docstring."""
    if name in SENTENCES:
        return SENTENCES[name]
    text = inspect.getdoc(value) or ""
    if text.startswith(f"{name}("):  # compiled functions begin with their signature
        text = text.partition("\n\n")[2]
    sentence = re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()))[0]
    return sentence.replace("``", "`").replace("|", "\\|")


def names_of(module: str, wanted: tuple[str, ...] | None) -> list[str]:
    """Return the names of a module that belong to a page."""
    public = list(importlib.import_module(module).__all__)
    if wanted is None:
        return public
    if wanted:
        return list(wanted)
    placed = {name for subject in SUBJECTS.values() for name in subject.names.get(module) or ()}
    return [name for name in public if name not in placed]


def page_of(subject: Subject) -> str:
    """Return a page; the hook of the site adds signatures and docstrings to its tables."""
    lines = [f"# {subject.title}", "", subject.about]
    for module, wanted in subject.names.items():
        found = importlib.import_module(module)
        lines += ["", f"| `{module}` | |", "|---|---|"]
        lines += [
            f"| `{name}` | {first_sentence(getattr(found, name), name)} |"
            for name in names_of(module, wanted)
        ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Return all pages of reference, by their paths in ``docs``."""
    sys.path.insert(0, str(REPO / "tests"))
    from repository.error_page import page as error_page

    found = {f"api/{name}.md": page_of(subject) for name, subject in SUBJECTS.items()}
    return {**found, "errors.md": error_page()}


if __name__ == "__main__":
    json.dump(pages(), sys.stdout)
