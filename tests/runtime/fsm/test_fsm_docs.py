"""The examples of docs/fsm.md run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import stackmask.fsm

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "fsm.md").read_text(encoding="utf-8")


def test_examples() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "docs/fsm.md", "exec"), names)  # noqa: S102


def test_every_public_name_has_a_docstring() -> None:
    for name in stackmask.fsm.__all__:
        if name != "DEFAULT_MEMORY":
            assert getattr(stackmask.fsm, name).__doc__
