"""Read the arguments of a call back from text: JSON, or strings and JSON between markers."""

from __future__ import annotations

import html
import json
import re
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES, STRING, ArgumentStyle
from stackmask.grammar.tools.errors import TurnError

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


def read_arguments(text: str, at: int, style: str, schema: Any) -> tuple[dict[str, Any], int]:
    """Return the arguments that begin at a place, and where they end.

    ``schema``: tells strings from other values where the markers do not.
    Raises: TurnError if they do not end.
    """
    if style == "json":
        value, end = read_json(text, at)
        if not isinstance(value, dict):
            raise TurnError(at, "arguments are an object")
        return value, end
    try:
        return _members(text, at, ARGUMENT_STYLES[style], schema, schema)
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


def _members(text: str, at: int, style: ArgumentStyle, schema: Any, root: Any) -> tuple[dict[str, Any], int]:
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
        inner = _property(schema, name, root)
        close = style.close.replace("{name}", match[1])
        found[name], at = _value(text, match.end(), close, label, style, inner, root)


def _items(text: str, at: int, style: ArgumentStyle, schema: Any, root: Any) -> tuple[list[Any], int]:
    found: list[Any] = []
    opening = _item_opening(style)
    assert opening is not None
    while match := opening.match(text, _skip_blanks(text, at)):
        label = match[1] if opening.groups else ""
        inner = _item(schema, len(found), root)
        value, at = _value(text, match.end(), style.item_close, label, style, inner, root)
        found.append(value)
    return found, at


# recursion is as deep as the text nests arguments; Python's own limit becomes an error of the turn
def _value(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, root: Any
) -> tuple[Any, int]:
    """Return a value, and where its closing marker ends."""
    if style.nested:
        value, end = _nested(text, at, close, label, style, schema, root)
        if end >= 0:
            return value, end
    end = text.find(close, at)
    if label and label != style.labels[STRING]:
        value, stop = read_json(text, at)  # a string in it may hold the marker
        stop = _skip_blanks(text, stop)
        if not text.startswith(close, stop):
            raise TurnError(stop, f"`{close}` is needed")
        return value, stop + len(close)
    if not label and STRING not in types_of(schema, root):
        try:
            value, stop = read_json(text, at)
        except TurnError:
            stop = -1
        if stop >= 0 and text.startswith(close, _skip_blanks(text, stop)):
            return value, _skip_blanks(text, stop) + len(close)
    if end < 0:
        raise TurnError(at, f"no `{close}`")
    return _plain(text[at:end], label, schema, root), end + len(close)


def _nested(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, root: Any
) -> tuple[Any, int]:
    """Return a value with arguments or items in it, and where it ends; -1 if it is none."""
    kinds = types_of(schema, root)
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
    value, end = (_items if is_list else _members)(text, at, style, schema, root)
    end = _skip_blanks(text, end)
    if not text.startswith(close, end):
        raise TurnError(end, f"`{close}` is needed")
    return value, end + len(close)


def _plain(written: str, label: str, schema: Any, root: Any) -> Any:
    """Return what a text without a type means: a string where the schema allows one."""
    if label:
        return written
    kinds = types_of(schema, root)
    words = _words(schema, root)
    if words is not None:
        stripped = written.strip(" \n\t\r")
        for word in words:
            if word in (written, stripped):
                return word
        if STRING in kinds and any(isinstance(word, str) for word in words) and kinds == {STRING}:
            return stripped
    if STRING in kinds and words is None:
        return written
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written


# -- what a schema says of a value ----------------------------------------------------------------------------


def _resolved(schema: Any, root: Any) -> Any:
    """Return a schema with its own reference followed, if it is one of the same document."""
    for _ in range(100):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        found: Any = root
        if not schema["$ref"].startswith("#"):
            return True
        for part in schema["$ref"][1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key, True) if isinstance(found, dict) else True
        schema = found
    return True


def types_of(schema: Any, root: Any, depth: int = 0) -> set[str]:
    """Return the types that a schema may allow, from its keywords; all where they do not say."""
    every = {STRING, "number", "boolean", "null", "object", "array"}
    schema = _resolved(schema, root)
    if not isinstance(schema, dict) or depth > 20:
        return every
    found = set(every)
    named = schema.get("type")
    if named is not None:
        names = [named] if isinstance(named, str) else named
        found &= {"number" if name == "integer" else name for name in names}
    words = _words(schema, root)
    if words is not None:
        found &= {_type_of(word) for word in words}
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            found &= set().union(*(types_of(each, root, depth + 1) for each in schema[keyword]))
    for each in schema.get("allOf", []):
        found &= types_of(each, root, depth + 1)
    return found


def _words(schema: Any, root: Any) -> list[Any] | None:
    schema = _resolved(schema, root)
    if isinstance(schema, dict):
        if "const" in schema:
            return [schema["const"]]
        if isinstance(schema.get("enum"), list):
            return list(schema["enum"])
    return None


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: STRING, int: "number", float: "number", type(None): "null", dict: "object"}
    return names.get(type(value), "array")


def _property(schema: Any, name: str, root: Any) -> Any:
    schema = _resolved(schema, root)
    if not isinstance(schema, dict):
        return True
    declared = schema.get("properties", {})
    if name in declared:
        return declared[name]
    for pattern, found in schema.get("patternProperties", {}).items():
        if re.search(pattern, name):
            return found
    return schema.get("additionalProperties", True)


def _item(schema: Any, index: int, root: Any) -> Any:
    schema = _resolved(schema, root)
    if not isinstance(schema, dict):
        return True
    leading = schema.get("prefixItems", [])
    return leading[index] if index < len(leading) else schema.get("items", True)


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
