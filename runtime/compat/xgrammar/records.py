"""The output of ``serialize_json``, which is JSON with the source of an object, its kind and a version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from stackmask.runtime.compat.xgrammar.errors import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
)

VERSION: Final = "stackmask-1"


def get_serialization_version() -> str:
    """Return the version of the output of ``serialize_json``. XGrammar's format is incompatible."""
    return VERSION


def write_record(kind: str, value: Any) -> str:
    """Return a value of a kind as JSON text."""
    return json.dumps({"__VERSION__": VERSION, "kind": kind, "value": value})


def read_record(text: str, kind: str) -> Any:
    """Return the argument of ``write_record``. Raises: InvalidJSONError, DeserializeFormatError,
    DeserializeVersionError.
    """
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidJSONError(f"not JSON: {error}") from None
    if not isinstance(found, dict) or "__VERSION__" not in found:
        raise DeserializeFormatError("an object with `__VERSION__` is needed, as serialize_json writes it")
    if found["__VERSION__"] != VERSION:
        raise DeserializeVersionError(
            f"version {found['__VERSION__']!r:.40} is not {VERSION!r}: serialise it again, from its source"
        )
    if found.get("kind") != kind or "value" not in found:
        raise DeserializeFormatError(f"this is {found.get('kind')!r:.40}, and {kind!r} is needed")
    return found["value"]


# -- Settings of XGrammar that nothing here depends on: no depth of recursion is decided by a text -------

_depth = 10_000


def get_max_recursion_depth() -> int:
    """Return the last number that was set."""
    return _depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Store a number. The limits of this engine are those of ``stackmask.Limits``."""
    global _depth
    _depth = int(max_recursion_depth)


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Store a number for the duration of a block."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)
