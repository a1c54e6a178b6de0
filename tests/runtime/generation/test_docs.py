"""The examples of docs/generation.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[3] / "docs" / "generation.md"


def test_examples_of_the_generation_page(model: Any, tokenizer: Any) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    assert len(blocks) >= 4
    names: dict[str, Any] = {"model": model, "tokenizer": tokenizer}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), names)  # noqa: S102
    assert names["output"].shape[1] > names["ids"].shape[1]
