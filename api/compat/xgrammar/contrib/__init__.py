"""Integrations with other libraries."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "hf":
        return importlib.import_module(f"{__name__}.hf")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
