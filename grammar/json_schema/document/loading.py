"""Load a schema from the caller's input: JSON text, a file, Python values, pydantic models, types."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, get_origin

from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.source.work import check_size

MAX_EXPONENT: Final = 10_000  # of a number in a schema: beyond it exact arithmetic costs too much


def load_schema(source: Any, *, mark_objects: bool = False) -> Any:
    """Return the schema as Python values: a dict or a bool.

    ``source``: a dict or bool, JSON text (str or bytes), a path to a JSON file, a pydantic model, a
    dataclass, a TypedDict or another type that pydantic supports, also in a TypeAdapter. ``mark_objects``: as
    for ``type_schema``.
    Raises: SchemaError if the source is none of these, or its text is not JSON.
    """
    if isinstance(source, dict | bool):
        return source
    if isinstance(source, str | bytes | bytearray):
        return _parse(source)
    if isinstance(source, os.PathLike):
        path = Path(source)
        try:
            check_size(f"the JSON Schema {path}", path.stat().st_size)
            return _parse(path.read_bytes(), str(path))
        except OSError as error:
            raise SchemaError(str(path), "", f"cannot be read: {error.strerror or error}") from None
    if isinstance(source, Mapping):
        return dict(source)
    if is_type(source):
        from stackmask.grammar.json_schema.document.python_types import type_schema

        return type_schema(source, mark_objects=mark_objects)
    raise SchemaError("", "", f"a schema is a dict, a bool, JSON text, a path or a type, not {source!r:.80}")


def is_type(source: Any) -> bool:
    """Return whether the source is a Python type, from which a schema must be derived."""
    if isinstance(source, type) or dataclasses.is_dataclass(source) or get_origin(source) is not None:
        return True
    # what `NewType` makes, `type X = …`, and a type that pydantic has read before
    return hasattr(source, "__supertype__") or type(source).__name__ in ("TypeAliasType", "TypeAdapter")


def _parse(text: str | bytes | bytearray, name: str = "") -> Any:
    try:
        return json.loads(text, parse_float=_exact, parse_constant=_refuse)
    except RecursionError:
        raise SchemaError(name, "", "the JSON text is nested too deeply") from None
    except (ValueError, InvalidOperation) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        is_path = isinstance(text, str) and not name and text.strip().endswith((".json", ".yaml", ".yml"))
        cure = f"; the file of this name is read as pathlib.Path({text.strip()!r:.80})" if is_path else ""
        raise SchemaError(name, "", f"not JSON: {error}{cure}") from None


def _exact(text: str) -> float | Decimal:
    """Return a float if it represents the text exactly, which is nearly always so, else a Decimal."""
    value = float(text)
    exact = Decimal(text)
    if Decimal(repr(value)) == exact:  # mutant: exact-float
        return value
    if abs(exact.adjusted()) > MAX_EXPONENT:
        raise ValueError(f"the exponent of {text[:40]} is beyond {MAX_EXPONENT}")
    return exact


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")
