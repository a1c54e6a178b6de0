"""The examples of docs/generation.md and docs/tools.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[3] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def run(page: Path, **names: Any) -> dict[str, Any]:
    """Run the Python blocks of a page, top to bottom, and return what they have defined."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, str(page), "exec", dont_inherit=True), names)  # noqa: S102
    return names


def test_examples_of_the_generation_page(model: Any, tokenizer: Any) -> None:
    names = run(DOCS / "generation.md", model=model, tokenizer=tokenizer)
    assert names["output"].shape[1] > names["ids"].shape[1]


def test_examples_of_the_tools_page(model: Any, chatting: Any) -> None:
    names = run(DOCS / "tools.md", model=model, tokenizer=chatting)
    assert names["parser"].turn.calls[0].arguments == {"city": "Rome"}
