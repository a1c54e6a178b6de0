"""The tables of docs/api name every public name, with the first sentence of its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
from repository.tree import REPO

FOLDER = REPO / "docs" / "api"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
TABLE = re.compile(r"^\| `(stackmask[\w.]*)` \|.*\n\|[-|]+\n((?:\| .*\n?)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| (.*) \|$", re.MULTILINE)
MODULES = (
    "stackmask",
    "stackmask.tools",
    "stackmask.fsm",
    "stackmask.compat.xgrammar",
    "stackmask.compat.xgrammar.structural_tag",
    "stackmask.compat.xgrammar.exception",
    "stackmask.compat.xgrammar.contrib.hf",
    "stackmask.compat.xgrammar.openai_tool_call_schema",
    "stackmask.compat.xgrammar.testing",
    "stackmask.runtime.embedded",
)


def rows_of(page: Path) -> list[tuple[str, str, str]]:
    """Return the rows of a page's tables as (module, name, sentence)."""
    text = page.read_text(encoding="utf-8")
    return [(module, *row) for module, body in TABLE.findall(text) for row in ROW.findall(body)]


def first_sentence(value: object, name: str) -> str | None:
    """Return the first sentence of a docstring, or None of what has no docstring of its own."""
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        return None
    text = inspect.getdoc(value) or ""
    if text.startswith(f"{name}("):  # compiled functions begin with their signature
        text = text.partition("\n\n")[2]
    sentence = re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()))[0]
    return sentence.replace("``", "`").replace("|", "\\|") or "(no docstring)"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_one_page(module: str) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("pydantic")
    found = sorted(name for page in PAGES for of, name, _ in rows_of(page) if of == module)
    assert found == sorted(importlib.import_module(module).__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sentences_are_those_of_the_docstrings(page: Path, update_goldens: bool) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("pydantic")
    text = page.read_text(encoding="utf-8")
    assert rows_of(page)
    wanted = text
    for module, name, sentence in rows_of(page):
        value = getattr(importlib.import_module(module), name)
        said = first_sentence(value, name) or sentence
        assert said not in ("(no docstring)", "?"), f"{module}.{name} needs a docstring, or a sentence here"
        wanted = wanted.replace(f"| `{name}` | {sentence} |", f"| `{name}` | {said} |")
    if update_goldens:
        page.write_text(wanted, encoding="utf-8")
    else:
        assert text == wanted, "run this test with --update-goldens"
