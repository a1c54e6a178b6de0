"""The strings of a grammar of choices, as bytes."""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterable
from typing import Any

from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.work import check_size, enter, spend


def encoded_choices(strings: Iterable[str | bytes]) -> set[bytes]:
    """Return the bytes of all choices. Raises: ArgumentError, GrammarError, BudgetError."""
    enter("reading the choices")
    words: set[bytes] = set()
    size = 0
    try:
        for number, string in enumerate(strings, 1):
            if isinstance(string, str):
                word = string.encode()
            elif isinstance(string, bytes | bytearray | memoryview):
                word = bytes(string)
            else:  # bytes(3) would be three null bytes
                raise ArgumentError(
                    f"a choice is str or bytes, not {type(string).__name__}: {string!r:.60} (number {number} of the list); Grammar.of(typing.Literal[…]) "
                    "makes the grammar of other values"
                )
            words.add(word)
            size += 1 + len(word)
            check_size("the list of choices", size)
            spend(1)
    except UnicodeEncodeError as error:
        problem = f"a choice holds half a character (a surrogate): {error.object!r}"
        raise GrammarError([Diagnostic("G006", problem)]) from None
    return words


def check_list(strings: Any) -> None:
    """Check that this can be a list of choices. Raises: ArgumentError."""
    is_type = isinstance(strings, enum.EnumMeta) or typing.get_origin(strings) is not None
    if is_type:
        name = getattr(strings, "__name__", "") if isinstance(strings, type) else repr(strings)
        raise ArgumentError(
            f"choices are a list of strings, and {name:.60} is a type: Grammar.of({name:.60}) makes the grammar of its values"
        )
    if isinstance(strings, str | bytes | bytearray | memoryview):
        raise ArgumentError(
            f"choices are a list of strings, not {type(strings).__name__}: write [{strings!r:.60}]"
        )
    if not isinstance(strings, Iterable):
        raise ArgumentError(f"choices are a list of strings, not {type(strings).__name__}")
