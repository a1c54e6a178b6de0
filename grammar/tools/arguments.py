"""Read the arguments of a call back from text: JSON, or strings and JSON between markers."""

from __future__ import annotations

import html
import json
import re
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES, STRING, ArgumentStyle
from stackmask.grammar.tools.argument_schema import ArgumentSchema
from stackmask.grammar.tools.errors import TurnError
from stackmask.grammar.tools.python_literals import read_python
from stackmask.grammar.tools.styles import PYTHON

_BLANKS: Final = re.compile(r"[ \n\t\r]*")
_NAME: Final = r"([^<>/][^<>]*?|)"
_DECODER: Final = json.JSONDecoder()


def read_json(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends. Raises: TurnError."""
    start = _skip_blanks(text, at)
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise TurnError(start, f"no JSON: {error}") from None


def read_arguments(text: str, at: int, style: str, schema: ArgumentSchema) -> tuple[dict[str, Any], int]:
    """Return the arguments that begin at a place, and where they end.

    ``schema``: tells strings from other values where the markers do not.
    Raises: TurnError if they do not end.
    """
    if style == "json":
        value, end = read_json(text, at)
        if not isinstance(value, dict):
            raise TurnError(at, "arguments are an object")
        return value, end
    if style == PYTHON:
        return read_python(text, at)
    try:
        return _members(text, at, ARGUMENT_STYLES[style], schema.root, schema)
    except RecursionError:
        raise TurnError(at, "arguments nest too deeply") from None


@lru_cache(64)
def _opening(style: ArgumentStyle) -> re.Pattern[str]:
    """Return what matches the beginning of an argument; groups: its name, what its type is called."""
    middle = re.escape(style.middle).replace(r"\{blanks\}", r"[ \n\t\r]*")
    return re.compile(re.escape(style.open) + _NAME + middle.replace(r"\{type\}", "([a-z]+)"))


@lru_cache(64)
def _item_opening(style: ArgumentStyle) -> re.Pattern[str] | None:
    return re.compile(re.escape(style.item).replace(r"\{type\}", "([a-z]+)")) if style.item else None


def _members(
    text: str, at: int, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> tuple[dict[str, Any], int]:
    """Return arguments up to what is none."""
    found: dict[str, Any] = {}
    item = _item_opening(style)
    while True:
        begin = _skip_blanks(text, at)
        match = _opening(style).match(text, begin)
        if match is None or (item is not None and not style.labels and match[1] == "item"):
            return found, at
        name = html.unescape(match[1]) if style.entities else match[1]
        label = match[2] if match.re.groups > 1 else ""
        inner = known.member(schema, name)
        close = style.close.replace("{name}", match[1])
        found[name], at = _value(text, match.end(), close, label, style, inner, known)


def _items(
    text: str, at: int, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> tuple[list[Any], int]:
    found: list[Any] = []
    opening = _item_opening(style)
    assert opening is not None
    while match := opening.match(text, _skip_blanks(text, at)):
        label = match[1] if opening.groups else ""
        inner = known.item(schema, len(found))
        value, at = _value(text, match.end(), style.item_close, label, style, inner, known)
        found.append(value)
    return found, at


# recursion is as deep as the text nests arguments; Python's own limit becomes an error of the turn
def _value(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> tuple[Any, int]:
    """Return a value, and where its closing marker ends."""
    if style.nested:
        value, end = _nested(text, at, close, label, style, schema, known)
        if end >= 0:
            return value, end
    end = text.find(close, at)
    if label and label != style.labels[STRING]:
        value, stop = read_json(text, at)  # a string in it may hold the marker
        stop = _skip_blanks(text, stop)
        if not text.startswith(close, stop):
            raise TurnError(stop, f"`{close}` is needed")
        return value, stop + len(close)
    if not label and STRING not in known.types(schema):
        try:
            value, stop = read_json(text, at)
        except TurnError:
            stop = -1
        if stop >= 0 and text.startswith(close, _skip_blanks(text, stop)):
            return value, _skip_blanks(text, stop) + len(close)
    if end < 0:
        raise TurnError(at, f"no `{close}`")
    return _plain(text[at:end], label, style, schema, known), end + len(close)


def _nested(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> tuple[Any, int]:
    """Return a value with arguments or items in it, and where it ends; -1 if it is none."""
    kinds = known.types(schema)
    if label:
        is_list, is_dict = label == "list", label == "dict"
    else:
        opening = _item_opening(style)
        start = _skip_blanks(text, at)
        is_list = "array" in kinds and opening is not None and opening.match(text, start) is not None
        is_dict = not is_list and "object" in kinds and _opening(style).match(text, start) is not None
        if text.startswith(close, start) and STRING not in kinds:
            is_list, is_dict = "array" in kinds, "array" not in kinds and "object" in kinds
    if not is_list and not is_dict:
        return None, -1
    value, end = (_items if is_list else _members)(text, at, style, schema, known)
    end = _skip_blanks(text, end)
    if not text.startswith(close, end):
        raise TurnError(end, f"`{close}` is needed")
    return value, end + len(close)


def _plain(written: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema) -> Any:
    """Return what a text without a type means: a string where the schema allows one."""
    if label:
        return written
    kinds = known.types(schema)
    words = known.words(schema)
    if words is not None:
        stripped = written.strip(" \n\t\r")
        for word in words:
            if word in (written, stripped):
                return word
        if STRING in kinds and any(isinstance(word, str) for word in words) and kinds == {STRING}:
            return stripped
    if STRING in kinds and words is None:
        return _without_line_breaks(written) if style.on_lines else written
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written


def _without_line_breaks(written: str) -> str:
    """Return a string without the line breaks that set it apart from its markers, one on each side."""
    return written.removeprefix("\n").removesuffix("\n")


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
