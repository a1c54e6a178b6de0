"""Questions about whole strings of a grammar, which an engine above this package answers.

``Grammar.accepts`` and ``Grammar.sample`` need an automaton, which this package knows nothing of. The package itself
(``stackmask``) hands one over when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from stackmask.grammar.source.diagnostics import StackmaskError


class StringEngine(Protocol):
    """What answers; ``Grammar`` says what is asked."""

    def accepts(self, grammar: Any, text: str | bytes) -> bool:
        """Tell whether a whole text is in the language."""

    def sample(self, grammar: Any, n: int, seed: int, max_bytes: int) -> list[str]:
        """Return texts of the language."""


_makers: list[Callable[[], StringEngine]] = []
_made: list[StringEngine] = []


def provide(make: Callable[[], StringEngine]) -> None:
    """Let the engine that this makes, once it is needed, answer from now on."""
    _makers[:] = [make]
    _made.clear()  # mutant: old-engine


def string_engine() -> StringEngine:
    """Return the engine that answers. Raises: StackmaskError if there is none."""
    if not _makers:
        raise StackmaskError("nothing answers questions about strings yet: import stackmask")
    if not _made:
        _made[:] = [_makers[0]()]
    return _made[0]


def accepts(grammar: Any, text: str | bytes) -> bool:
    """Tell whether a whole text is in the language of a grammar. Raises: StackmaskError if it is no text."""
    if not isinstance(text, str | bytes | bytearray | memoryview):
        raise StackmaskError(f"a text is str or bytes, not {type(text).__name__}")
    return string_engine().accepts(grammar, text if isinstance(text, str) else bytes(text))


def sample(grammar: Any, n: int, seed: int, max_bytes: int) -> list[str]:
    """Return texts of the language of a grammar. Raises: StackmaskError for numbers that mean nothing."""
    for name, number, least in (("n", n, 0), ("seed", seed, None), ("max_bytes", max_bytes, 0)):
        if not isinstance(number, int) or (least is not None and number < least):
            raise StackmaskError(f"`{name}` is {number!r:.40}: it must be a whole number, 0 or more")
    return string_engine().sample(grammar, n, seed, max_bytes)
