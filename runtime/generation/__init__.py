"""Constrained generation with transformers (extra ``hf``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackmask.runtime.generation.jumping import JumpDecoding
    from stackmask.runtime.generation.processor import GrammarLogitsProcessor
    from stackmask.runtime.generation.result import GenerationResult, JumpReport
    from stackmask.runtime.generation.run import generate
    from stackmask.runtime.generation.streams import TextStream, TurnStream, agenerate, stream

__all__ = [
    "GenerationResult",
    "GrammarLogitsProcessor",
    "JumpDecoding",
    "JumpReport",
    "TextStream",
    "TurnStream",
    "agenerate",
    "generate",
    "stream",
]

_MODULES = {
    "GenerationResult": "result",
    "GrammarLogitsProcessor": "processor",
    "JumpDecoding": "jumping",
    "JumpReport": "result",
    "TextStream": "streams",
    "TurnStream": "streams",
    "agenerate": "streams",
    "generate": "run",
    "stream": "streams",
}


def __getattr__(name: str) -> Any:
    """Import on first use: torch and transformers take seconds to import, and the core does not need them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from stackmask.runtime.extras import require

    with require("hf"):
        module = import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)
