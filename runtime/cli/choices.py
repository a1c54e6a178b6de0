"""Options that take one of some words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer


def one_of(*words: str) -> Any:
    """Return an option's settings under which it takes one of some words, and says which there are."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in words:
            listed = ", ".join(map(repr, words))
            raise typer.BadParameter(f"{value!r} is not one of {listed}")
        return value

    checked: Callable[[str | None], str | None] = check
    return {"callback": checked, "metavar": f"[{'|'.join(words)}]"}
