"""The reference of the site has every public name once, with a first sentence from its docstring."""

from __future__ import annotations

import importlib
import sys
from collections import Counter

import pytest
from repository.tree import REPO

sys.path.insert(0, str(REPO / "docs" / "site"))

from reference import SENTENCES, SUBJECTS, first_sentence, names_of, page_of

MODULES = {module: name for name, subject in SUBJECTS.items() for module in subject.names}


def test_every_public_module_has_a_page() -> None:
    assert set(MODULES) == {
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
    }


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_one_page(module: str) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("pydantic")
    shown = Counter(
        name
        for subject in SUBJECTS.values()
        if module in subject.names
        for name in names_of(module, subject.names[module])
    )
    assert shown == Counter(importlib.import_module(module).__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_name_has_a_sentence(module: str) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("pydantic")
    found = importlib.import_module(module)
    assert [name for name in found.__all__ if not first_sentence(getattr(found, name), name)] == []
    for name in SENTENCES.keys() & set(found.__all__):
        assert not isinstance(getattr(found, name), type), f"{name} has a docstring of its own"


def test_a_page_has_a_table_for_each_module() -> None:
    pytest.importorskip("pydantic")
    assert page_of(SUBJECTS["tools"]).count("\n| `stackmask.tools` | |\n") == 1
