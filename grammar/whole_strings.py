"""Questions about whole strings of a grammar, which an engine above this package answers.

``Grammar.accepts`` and ``Grammar.sample`` need an automaton, which this package does not import. The
top-level package (``stackmask``) provides one when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Protocol

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.limits import Limits


class StringEngine(Protocol):
    """The interface of the engine; ``Grammar`` documents its methods."""

    def accepts(self, grammar: Any, text: str | bytes) -> bool:
        """Return whether a whole text is in the language."""

    def begins(self, grammar: Any, text: bytes) -> bool:
        """Return whether a string is a prefix of the language."""

    def sample(self, grammar: Any, n: int, seed: int, max_bytes: int) -> list[str]:
        """Return random strings of the language."""


MOST_EXPLAINED: Final = 1 << 16  # bytes of a text that other options are tried on
WIDER: Final = Limits(max_work=50_000_000, max_seconds=2.0)
_SPELLED: Final = dict.fromkeys(("formats", "whitespace", "spelling", "numbers", "extra_keys"))
_EXACT: Final = {**_SPELLED, "profile": "exact"}
_ORDER: Final = {"property_order": "any"}
_READINGS: Final[tuple[tuple[dict[str, Any], str], ...]] = (
    (
        _EXACT,
        '`profile="exact"` (--profile exact) takes it: spellings that a model does not need are left out here',
    ),
    (_ORDER, '`property_order="any"` takes it: here declared keys come in the order of the schema'),
    ({**_EXACT, **_ORDER}, '`profile="exact"` (--profile exact) with `property_order="any"` takes it'),
)

_makers: list[Callable[[], StringEngine]] = []
_made: list[StringEngine] = []


def provide(make: Callable[[], StringEngine]) -> None:
    """Register the factory of the engine, which is called on demand."""
    _makers[:] = [make]
    _made.clear()  # mutant: old-engine


def string_engine() -> StringEngine:
    """Return the engine. Raises: StackmaskError if there is none."""
    if not _makers:
        raise StackmaskError("nothing answers questions about strings yet: import stackmask")
    if not _made:
        _made[:] = [_makers[0]()]
    return _made[0]


def accepts(grammar: Any, text: str | bytes) -> bool:
    """Return whether a whole string is in the language of a grammar. Raises: StackmaskError for other types."""
    if not isinstance(text, str | bytes | bytearray | memoryview):
        raise StackmaskError(f"a text is str or bytes, not {type(text).__name__}")
    return string_engine().accepts(grammar, text if isinstance(text, str) else bytes(text))


def wider(grammar: Any, text: bytes, whole: bool) -> str:
    """Return the schema options that would accept a text refused by its grammar; empty if none are known.

    ``whole``: the text must be in the language, rather than a prefix of it.
    Cost: at first, reading the schema twice again; later, at most ``WIDER``, and linear in the text.
    """
    if grammar._asked is None or len(text) > MOST_EXPLAINED:
        return ""
    takes = string_engine().accepts if whole else string_engine().begins
    known = [grammar._asked]
    for number, (change, why) in enumerate(_READINGS):
        options = {**grammar._asked, **change}
        if options in known:
            continue
        known.append(options)
        with suppress(StackmaskError):  # too large for an explanation
            if takes(_read_wider(grammar, number), text):
                return f"the schema allows it, and {why}"
    return ""


@lru_cache(16)
def _read_wider(grammar: Any, number: int) -> Any:
    source = grammar.report.source  # a schema, or a copy of it; types have none
    source = (
        grammar.output.type if source is None else source.schema() if hasattr(source, "schema") else source
    )
    options = {**grammar._asked, **_READINGS[number][0]}
    return type(grammar).from_json_schema(source, limits=WIDER, **options)


def sample(grammar: Any, n: int, seed: int, max_bytes: int) -> list[str]:
    """Return random strings of a grammar. Raises: StackmaskError for invalid numbers."""
    for name, number, least in (("n", n, 0), ("seed", seed, None), ("max_bytes", max_bytes, 0)):
        if not isinstance(number, int) or (least is not None and number < least):
            raise StackmaskError(f"`{name}` is {number!r:.40}: it must be a whole number, 0 or more")
    return string_engine().sample(grammar, n, seed, max_bytes)
