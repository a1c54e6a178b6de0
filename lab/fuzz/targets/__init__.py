"""What is fuzzed: a module for each kind of input."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterable
from typing import Protocol, cast

NAMES = (
    *("ebnf", "json_schema", "regex", "sql_schema", "structural_tag", "tools", "compose", "budget"),
    *("matcher", "vocabulary", "buffers"),
)


# of the engine's Python: what a target runs the same way each time is not followed, which makes it faster
FRONT_ENDS = ("stackmask.grammar",)
UNINSTRUMENTED = {"matcher": FRONT_ENDS, "vocabulary": FRONT_ENDS, "buffers": FRONT_ENDS}


class Target(Protocol):
    """What a module of a target has; ``mutate`` may be missing, then bytes are mutated."""

    MAX_LENGTH: int

    def seeds(self) -> Iterable[bytes]:
        """Return inputs to begin with."""

    def run(self, data: bytes) -> None:
        """Run one input. Raises: anything, if the engine did what it must not do."""

    def mutate(self, data: bytes, source: random.Random) -> bytes:
        """Return an input that resembles another."""


def load(name: str) -> Target:
    """Return a target by name."""
    return cast(Target, importlib.import_module(f"fuzz.targets.{name}"))


def uninstrumented(name: str) -> tuple[str, ...]:
    """Return the packages of the engine whose Python a target does not follow."""
    return UNINSTRUMENTED.get(name, ())
