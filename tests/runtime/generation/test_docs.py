"""The examples of pages on generation, tools and finite automata run as they stand."""

from __future__ import annotations

from typing import Any

from support.pages import run_page


def test_examples_of_the_generation_page(model: Any, tokenizer: Any) -> None:
    names = run_page("docs/generation.md", model=model, tokenizer=tokenizer)
    assert names["output"].shape[1] > names["ids"].shape[1]


def test_examples_of_the_tools_page(model: Any, chatting: Any) -> None:
    names = run_page("docs/tools.md", model=model, tokenizer=chatting)
    assert names["parser"].turn.calls[0].arguments == {"city": "Rome"}


def test_examples_of_the_page_on_finite_automata() -> None:
    assert run_page("docs/fsm.md")["again"].stats()
