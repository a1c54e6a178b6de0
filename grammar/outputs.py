"""The kinds of output that a caller may specify, and the conversion of a text to a value."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import pickle
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final, get_args, get_origin

from stackmask.grammar.json_schema.document.loading import is_type, load_schema
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError, StackmaskError
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.work import check_size, enter, spend

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)  # of the value of a text
    R = TypeVar("R", default=Any)  # of what the function of a tool returns
else:
    from typing import TypeVar

    T, R = TypeVar("T"), TypeVar("R")


Reader: TypeAlias = Literal[
    "from_ebnf", "from_file", "from_json_schema", "from_structural_tag", "from_regex", "from_choices"
]

POSSIBLE: Final = (
    "a Grammar; a type (a pydantic model, a dataclass, a TypedDict, Literal, Enum, list[int], …); a JSON Schema as a "
    "dict or as text; a re.Pattern; a list of strings to choose from; EBNF text; a pathlib.Path of a grammar or schema file"
)
SUFFIXES: Final[dict[str, Reader]] = {
    ".ebnf": "from_file",
    ".gbnf": "from_file",
    ".lark": "from_file",
    ".json": "from_json_schema",
}
SHOWN_PROBLEMS: Final = 5  # of a text that a type refuses
LETTERS: Final = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}


class OutputError(StackmaskError, TypeError):
    """No grammar can be created from the argument."""


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Output:
    """The conversion of texts of a grammar to values.

    ``kind``: "json" for JSON, which ``type`` (if there is one) then validates; "text" for texts that are
    their own values; "member" for members of ``type``, a Literal or Enum. Grammars with equal rules may have
    different kinds. A type that cannot be pickled, such as a class inside a function, is dropped: the copy
    returns JSON values.
    """

    kind: Literal["json", "text", "member"]
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
            return Output, ("text" if self.kind == "member" else self.kind,)
        return Output, (self.kind, self.type)

    def value(self, text: str) -> Any:
        """Return the value of a whole text. Raises: ValueError if the text has no value."""
        if self.kind == "text":
            return text
        if self.kind == "member":
            return members_of(self.type)[text]
        if self.type is None:
            return json.loads(text)
        from pydantic import TypeAdapter

        from stackmask.grammar.json_schema.document.typed_dicts import readable_type

        adapter = self.type if isinstance(self.type, TypeAdapter) else TypeAdapter(readable_type(self.type))
        return adapter.validate_json(text)

    def partial(self, text: str) -> Any:
        """Return the value of an incomplete text as plain Python values; None if there is no value yet.

        The type is not used, since its validators may reject incomplete values. Without pydantic, only
        complete JSON has a value.
        """
        if self.kind == "text":
            return text
        if self.kind == "member":  # known once it can be no other
            members = members_of(self.type)
            texts = [known for known in members if known.startswith(text)]
            return members[texts[0]] if len(texts) == 1 else None
        read: Callable[..., Any] = _whole_json
        with suppress(ImportError):
            from pydantic_core import from_json

            read = from_json
        try:
            return read(text, allow_partial="trailing-strings")
        except (ValueError, RecursionError):  # nothing but blanks, or half a word
            return None


_JSON: Final = Output("json")


def describe_refusal(error: Exception) -> str:
    """Return a one-line reason why a text has no value: pydantic's message, or the error itself."""
    if not hasattr(error, "errors"):
        return f"{type(error).__name__}: {error}"
    listed = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{'.'.join(map(str, problem['loc'])) or 'the value'}: {problem['msg']}"
        for problem in listed[:SHOWN_PROBLEMS]
    ]
    if len(listed) > SHOWN_PROBLEMS:
        shown.append(f"and {len(listed) - SHOWN_PROBLEMS} more")
    return f"{type(error).__name__}: {'; '.join(shown)}"


def has_members(source: Any) -> bool:
    """Return whether the source is a ``Literal[…]`` or an enumeration."""
    return get_origin(source) is Literal or (isinstance(source, type) and issubclass(source, Enum))


def members_of(source: Any) -> Mapping[str, Any]:
    """Return the members of a ``Literal[…]`` or enumeration by their text: strings unchanged, others as in JSON.

    Raises: OutputError if there are no members, one has no text, or two have the same text.
    """
    name = source.__name__ if isinstance(source, type) else f"{source!r:.60}"
    found: dict[str, Any] = {}
    for member in get_args(source) if get_origin(source) is Literal else source:
        value = member.value if isinstance(member, Enum) else member
        if value is not None and not isinstance(value, str | bool | int | float):
            raise OutputError(
                f"{name}: {member!r:.60} is {type(value).__name__}, and has no text: members are strings, numbers, truth "
                "values or None"
            )
        text = str(value) if isinstance(value, str) else json.dumps(value)
        if text in found:
            raise OutputError(
                f"{name}: {found[text]!r} and {member!r} are both written {text!r}: use from_json_schema, which puts "
                "strings in quotes"
            )
        found[text] = member
    if not found:
        raise OutputError(f"{name} has no members")
    return found


def choices_of(source: Any) -> tuple[Iterable[Any], Output]:
    """Return the choices, and the conversion of texts to values.

    Raises: StackmaskError unless the source is a list of strings, a Literal or an Enum.
    """
    if has_members(source):
        return members_of(source), Output("member", source)
    if isinstance(source, Mapping):
        raise StackmaskError(
            "choices are a list of strings, not a dict: pass a list of its keys or values, or a JSON Schema to "
            "from_json_schema"
        )

    check_list(source)
    return source, Output("text")


def output_of_schema(schema: Any) -> Output:
    """Return the output of a JSON Schema, or of its source type."""
    if type(schema) is dict:  # nearly always
        return _JSON
    return Output("json", schema if is_output_type(schema) else None)


def reader_of(source: Any) -> Reader:
    """Return the method of ``Grammar`` that reads this source. Text that begins with a brace is a JSON
    Schema, since rules never do.

    Raises: OutputError for anything else, with a list of the possibilities.
    """
    if isinstance(source, str):
        return "from_json_schema" if source.lstrip().startswith("{") else "from_ebnf"
    if isinstance(source, os.PathLike):
        return _reader_of_file(Path(source))
    if isinstance(source, re.Pattern):
        return "from_regex"
    if isinstance(source, bool | Mapping):
        if isinstance(source, Mapping):
            if source.get("type") == "structural_tag":
                return "from_structural_tag"
            _check_keywords(source)
        return "from_json_schema"
    if is_output_type(source):
        return "from_json_schema"
    if isinstance(source, list | tuple | set | frozenset):
        for item in source:
            if not isinstance(item, str | bytes):
                cure = "give it without the list; a list of grammars is for a list of prompts"
                if is_output_type(item):
                    name = getattr(item, "__name__", "…")
                    cure = f"give {name} itself, or list[{name}] for a list of them"
                elif isinstance(item, int | float):
                    cure = "for values of other types give typing.Literal[…], for a list of them list[…]"
                raise OutputError(
                    f"a list is one of strings to choose from, and {item!r:.80} is {type(item).__name__}: {cure}"
                )
        return "from_choices"
    is_instance = hasattr(source, "__dataclass_fields__") or hasattr(source, "model_dump")
    cure = f"; of an object give its type, {type(source).__name__}" if is_instance else ""
    raise OutputError(
        f"no grammar can be created from {source!r:.80} ({type(source).__name__}){cure}; give {POSSIBLE}"
    )


def prompt_for(source: Any) -> str:
    """Return lines for a prompt that describe the required output to the model, which masks cannot do.

    ``source``: a type or a JSON Schema, as for ``Grammar.of``, with its titles and descriptions; or a list of strings.
    Raises: OutputError for other grammars, which have no standard description; SchemaError for invalid JSON.
    """
    reader = reader_of(source)
    if reader == "from_choices":
        strings = [item if isinstance(item, str) else bytes(item).decode(errors="replace") for item in source]
        return f"Answer with one of these strings, without the quotes, and nothing else: {json.dumps(strings, ensure_ascii=False)[1:-1]}\n"
    if reader != "from_json_schema":
        raise OutputError(
            f"{source!r:.60} is not a type, JSON Schema or list of strings: describe what other grammars allow in your own words"
        )
    schema = load_schema(source)
    # numbers that floats cannot hold stay as they are written
    text = (
        source.strip() if isinstance(source, str) else json.dumps(schema, ensure_ascii=False, default=float)
    )
    return f"Answer with JSON that this JSON Schema allows, and nothing else:\n{text}\n"


def is_choice(item: Any) -> bool:
    """Return whether a string is neither a grammar nor a schema, so that choices were probably meant."""
    return isinstance(item, str) and reader_of(item) == "from_ebnf" and "::=" not in item


def _check_keywords(schema: Mapping[Any, Any]) -> None:
    """Refuse a dict without any keyword, which as a JSON Schema would unintentionally allow everything.

    Raises: OutputError, with the remedy.
    """
    from stackmask.grammar.json_schema.document.drafts import is_unknown, meant_keyword

    if not schema or not all(isinstance(key, str) and is_unknown(key) for key in schema):
        return
    key = next(iter(schema))
    meant = [(name, cure) for name in islice(schema, SHOWN_PROBLEMS) if (cure := meant_keyword(name))]
    if all(is_output_type(value) for value in schema.values()):
        cure = "names and their types are a type: TypedDict('Name', {…})"
    elif isinstance(schema.get("schema"), Mapping):
        cure = "the schema is its `schema`"
    elif meant:
        key, cure = meant[0]
    else:
        cure = 'properties go into {"type": "object", "properties": {…}}; any JSON is {}'
    raise OutputError(
        f"a dict is a JSON Schema, and this one has none of its keywords: `{key:.40}` is without effect; {cure}"
    )


def is_output_type(source: Any) -> bool:
    """Return whether a source is a Python type, including ``Literal`` and unions, not an instance."""
    return is_type(source) and (isinstance(source, type) or not dataclasses.is_dataclass(source))


def letters_of(pattern: re.Pattern[Any]) -> str:
    """Return the flags of a compiled pattern as letters. Raises: OutputError for flags that do not affect a grammar."""
    if pattern.flags & re.LOCALE:
        raise OutputError(
            "the pattern depends on the locale (re.LOCALE): compile it without, or with re.ASCII"
        )
    return "".join(letter for flag, letter in LETTERS.items() if pattern.flags & flag)


def _whole_json(text: str, **_: Any) -> Any:
    return json.loads(text)


def _reader_of_file(path: Path) -> Reader:
    reader = SUFFIXES.get(path.suffix.lower())  # mutant: any-case
    if reader is None:
        known = ", ".join(SUFFIXES)
        raise OutputError(
            f"what {path} holds cannot be determined from its name: the suffixes are {known}; else read the file, and use a "
            "from_… method of Grammar"
        )
    return reader


# -- The strings of a grammar of choices, as bytes -------------------------------------------------------


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
        problem = f"a choice contains half a character (a surrogate): {error.object!r}"
        raise GrammarError([Diagnostic("G006", problem)]) from None
    return words


def check_list(strings: Any) -> None:
    """Check that the argument can be a list of choices. Raises: ArgumentError."""
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
