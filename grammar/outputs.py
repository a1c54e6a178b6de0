"""What a caller may name as the output of a model, and how a text becomes a value of it."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

from stackmask.grammar.json_schema.document.loading import is_type
from stackmask.grammar.source.diagnostics import StackmaskError

Kind: TypeAlias = Literal["ebnf", "ebnf file", "schema", "schema file", "structural tag", "regex", "choices"]

POSSIBLE: Final = (
    "a Grammar; a type (a pydantic model, a dataclass, a TypedDict, Literal, Enum, list[int], …); a JSON Schema as a "
    "dict; a re.Pattern; a list of strings to choose from; EBNF text; a pathlib.Path of a grammar or schema file"
)
SUFFIXES: Final[dict[str, Kind]] = {".ebnf": "ebnf file", ".gbnf": "ebnf file", ".json": "schema file"}
LETTERS: Final = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}


class OutputError(StackmaskError, TypeError):
    """No grammar can be made of what was given."""


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Output:
    """How a text of a grammar becomes a value.

    ``kind``: "json" for JSON, which ``type`` (if there is one) then validates; "text" for a text that is its own value.
    Grammars with equal rules may differ in it. A type that cannot be pickled, such as a class within a function, stays
    behind: the copy gives JSON values.
    """

    kind: Literal["json", "text"]
    type: Any = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Output) or self.kind != other.kind:
            return NotImplemented if not isinstance(other, Output) else False
        return self.type is other.type or (hash(self) == hash(other) and bool(self.type == other.type))

    def __hash__(self) -> int:
        try:
            return hash((self.kind, self.type))
        except TypeError:  # an annotation that holds a list
            return id(self.type)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.type)
        except Exception:  # noqa: BLE001  # whatever the type's own methods raise
            return Output, (self.kind,)
        return Output, (self.kind, self.type)

    def value(self, text: str) -> Any:
        """Return the value of a whole text. Raises: ValueError if it has none."""
        if self.kind == "text":
            return text
        if self.type is None:
            return json.loads(text)
        from pydantic import TypeAdapter

        return TypeAdapter(self.type).validate_json(text)

    def partial(self, text: str) -> Any:
        """Return what the beginning of a text has of the value, plain Python values; None while there is nothing.

        A type is not asked: its validators may refuse what is not complete. Needs pydantic for JSON.
        """
        if self.kind == "text":
            return text
        from pydantic_core import from_json

        try:
            return from_json(text, allow_partial="trailing-strings")
        except ValueError:  # nothing but blanks, or half a word
            return None


def output_of_schema(schema: Any) -> Output:
    """Return the output of a JSON Schema, or of the type that it was made of."""
    return Output("json", schema if is_output_type(schema) else None)


def kind_of(source: Any) -> Kind:
    """Tell which kind of grammar is to be made of this.

    Raises: OutputError for anything that none can be made of, with what is possible.
    """
    if isinstance(source, str):
        return "ebnf"
    if isinstance(source, os.PathLike):
        return _kind_of_file(Path(source))
    if isinstance(source, re.Pattern):
        return "regex"
    if isinstance(source, bool | Mapping):
        is_tag = isinstance(source, Mapping) and source.get("type") == "structural_tag"
        return "structural tag" if is_tag else "schema"
    if is_output_type(source):
        return "schema"
    if isinstance(source, list | tuple | set | frozenset):
        for item in source:
            if not isinstance(item, str | bytes):
                raise OutputError(
                    f"a list is one of strings to choose from, and {item!r:.80} is {type(item).__name__}: for values of "
                    "other types give typing.Literal[…], for a list of them list[…]"
                )
        return "choices"
    is_instance = hasattr(source, "__dataclass_fields__") or hasattr(source, "model_dump")
    cure = f"; of an object give its type, {type(source).__name__}" if is_instance else ""
    raise OutputError(
        f"no grammar can be made of {source!r:.80} ({type(source).__name__}){cure}; give {POSSIBLE}"
    )


def is_output_type(source: Any) -> bool:
    """Tell whether this is a Python type, ``Literal`` and unions included, rather than an object of one."""
    return is_type(source) and (isinstance(source, type) or not dataclasses.is_dataclass(source))


def letters_of(pattern: re.Pattern[Any]) -> str:
    """Return the flags of a compiled pattern as letters. Raises: OutputError for flags that change no grammar."""
    if pattern.flags & re.LOCALE:
        raise OutputError(
            "the pattern depends on the locale (re.LOCALE): compile it without, or with re.ASCII"
        )
    return "".join(letter for flag, letter in LETTERS.items() if pattern.flags & flag)


def _kind_of_file(path: Path) -> Kind:
    kind = SUFFIXES.get(path.suffix.lower())  # mutant: any-case
    if kind is None:
        known = ", ".join(SUFFIXES)
        raise OutputError(
            f"what {path} holds cannot be told from its name: the suffixes are {known}; else read the file, and use a "
            "from_… method of Grammar"
        )
    return kind
