"""Read the fields of a format, with their types and names; errors have locations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.similar import advice
from stackmask.grammar.source.work import spend

MAX_COUNT: Final = 2_147_483_647
MAX_NESTING: Final = 100  # formats in each other
REQUIRED: Final = object()
Formats = Mapping[str, dict[str, Any]]
Format: TypeAlias = dict[str, Any]

# the fields of each type, and which of them must be there
FORMATS: Final[dict[str, dict[str, Any]]] = {
    "const_string": {"value": REQUIRED},
    "json_schema": {
        "json_schema": REQUIRED,
        "style": "json",
        "any_order": False,
        "max_whitespace_cnt": None,
        "excludes": (),
    },
    "qwen_xml_parameter": {"json_schema": REQUIRED},  # as `json_schema` in this style
    "grammar": {"grammar": REQUIRED},
    "regex": {"pattern": REQUIRED, "excludes": ()},
    "any_text": {"excludes": (), "max_tokens": None, "max_chars": None},
    "sequence": {"elements": REQUIRED},
    "or": {"elements": REQUIRED},
    "optional": {"content": REQUIRED},
    "plus": {"content": REQUIRED},
    "star": {"content": REQUIRED},
    "repeat": {"content": REQUIRED, "min": REQUIRED, "max": REQUIRED},
    "tag": {"begin": REQUIRED, "content": REQUIRED, "end": REQUIRED},
    "triggered_tags": {
        "triggers": REQUIRED,
        "tags": REQUIRED,
        "at_least_one": False,
        "stop_after_first": False,
        "excludes": (),
    },
    "tags_with_separator": {
        "tags": REQUIRED,
        "separator": REQUIRED,
        "at_least_one": False,
        "stop_after_first": False,
    },
    "dispatch": {"rules": REQUIRED, "loop": True, "excludes": ()},
    "token": {"token": REQUIRED},
    "exclude_token": {"exclude_tokens": ()},
    "any_tokens": {"exclude_tokens": (), "max_tokens": None},
    "token_triggered_tags": {
        "trigger_tokens": REQUIRED,
        "tags": REQUIRED,
        "exclude_tokens": (),
        "at_least_one": False,
        "stop_after_first": False,
    },
    "token_dispatch": {"rules": REQUIRED, "loop": True, "exclude_tokens": ()},
}
PROGRAMMED: Final[dict[str, dict[str, Any]]] = {
    "rules": {"name": REQUIRED, "rules": REQUIRED},
    "tags_joined": {"tags": REQUIRED, "separators": REQUIRED, "max": None, "trailing": ""},
    "triggered_tags": {**FORMATS["triggered_tags"], "separators": None, "max": None, "trailing": ""},
}
"""Formats that programs create: a function from the markers of a vocabulary to rules, and a limited number of
tags with one of several separators and a final string. Triggered tags with separators have the same form:
they follow one another, and end the text."""


def sequence_of(*formats: Format) -> Format:
    """Return one format for a sequence of formats."""
    return formats[0] if len(formats) == 1 else {"type": "sequence", "elements": list(formats)}


def any_of(*formats: Format) -> Format:
    """Return the union of some formats."""
    return {"type": "or", "elements": list(formats)}


def const(value: str) -> Format:
    """Return the format of a constant string."""
    return {"type": "const_string", "value": value}


def optional(content: Format) -> Format:
    """Return the format of optional content."""
    return {"type": "optional", "content": content}


def tag(begin: str, content: Format, end: str | list[str]) -> Format:
    """Return the format of content between markers."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


class FormatFields:
    """One format, with its type, its fields, and its location as a JSON pointer."""

    def __init__(
        self, value: Any, place: str, type_name: str = "", depth: int = 0, formats: Formats = FORMATS
    ) -> None:
        """Read a format. ``type_name``: its type if the format states none; ``formats``: all known formats.

        Raises: StructuralTagError.
        """
        spend(8)
        self.place = place
        self.depth = depth
        if depth > MAX_NESTING:
            raise self.wrong("", f"formats nest more than {MAX_NESTING} deep")
        value = as_plain(value)
        if not isinstance(value, Mapping):
            raise self.wrong("", f"a format is an object, not {kind_of(value)}")
        kind = value.get("type", type_name) or type_name
        if not isinstance(kind, str) or kind not in formats:
            if "type" not in value:
                raise self.wrong("", f"no `type`; it is one of {', '.join(FORMATS)}")
            raise self.wrong("type", f"no format `{kind!s:.60}`; {advice(kind, FORMATS)}")
        self.type: str = kind
        self.formats = formats
        known = formats[kind]
        for name in value:
            if name != "type" and name not in known:
                help = advice(str(name), known, f"it has {', '.join(known) or 'none'}")
                raise self.wrong(str(name), f"`{kind}` has no option `{name!s:.60}`; {help}")
        self._values = value
        self._known = known

    def wrong(self, field: str, problem: str) -> StructuralTagError:
        """Return the error for a field."""
        where = f"{self.place}/{escaped(field)}" if field else self.place
        return StructuralTagError(where, problem)

    def value(self, field: str) -> Any:
        """Return a field without a check."""
        found = self._values.get(field, self._known.get(field))
        if found is REQUIRED:
            raise self.wrong("", f"`{self.type}` needs `{field}`")
        return found

    def text(self, field: str) -> str:
        """Return a field that must be a string."""
        return self.checked_text(field, self.value(field))

    def checked_text(self, field: str, found: Any) -> str:
        """Return a field that must be a string without surrogates."""
        if not isinstance(found, str):
            raise self.wrong(field, f"a string is needed, not {kind_of(found)}")
        try:
            found.encode()
        except UnicodeEncodeError:
            raise self.wrong(field, "a lone surrogate is not a character") from None
        return found

    def texts(self, field: str, *, least: int = 0) -> list[str]:
        """Return a field that must be a list of non-empty strings."""
        found = [self.checked_text(f"{field}/{i}", item) for i, item in enumerate(self.items(field))]
        for index, item in enumerate(found):
            if not item:
                raise self.wrong(f"{field}/{index}", "the empty string is everywhere")
        if len(found) < least:
            raise self.wrong(field, f"at least {least} needed")
        return found

    def items(self, field: str) -> list[Any]:
        """Return a field that must be a list."""
        found = self.value(field)
        if not isinstance(found, list | tuple):
            raise self.wrong(field, f"a list is needed, not {kind_of(found)}")
        spend(2 * len(found))
        return list(found)

    def flag(self, field: str) -> bool:
        """Return a field that must be a boolean."""
        found = self.value(field)
        if not isinstance(found, bool):
            raise self.wrong(field, f"true or false is needed, not {kind_of(found)}")
        return found

    def count(self, field: str, *, least: int = 0) -> int | None:
        """Return a field that must be an integer, or None if it is absent."""
        found = self.value(field)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= MAX_COUNT:
            raise self.wrong(
                field, f"a whole number from {least} to {MAX_COUNT:,} is needed, not {found!r:.40}"
            )
        return found

    def inner(self, field: str, value: Any, type_name: str = "") -> FormatFields:
        """Return a nested format."""
        return FormatFields(value, f"{self.place}/{field}", type_name, self.depth + 1, self.formats)


def as_plain(value: Any) -> Any:
    """Return a pydantic model as a dict."""
    dump = getattr(value, "model_dump", None)
    return dump(by_alias=True) if callable(dump) and not isinstance(value, type) else value


def escaped(field: str) -> str:
    """Return a field name, or several with slashes, as part of a JSON pointer."""
    return field.replace("~", "~0")


def kind_of(value: Any) -> str:
    """Return the name of a value's type in JSON."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), type(value).__name__)


# -- What is wrong with a structural tag, and where ------------------------------------------------------


class StructuralTagError(StackmaskError):
    """A structural tag cannot be used. ``pointer``: the location in the tag, as a JSON pointer."""

    pointer: str
    """The place in the tag, as a JSON pointer; empty for the whole tag."""

    problem: str
    """The problem at this place."""

    def __init__(self, pointer: str, problem: str) -> None:
        self.pointer = pointer
        self.problem = problem
        super().__init__(f"structural tag, at {pointer or '/'}: {problem}")
