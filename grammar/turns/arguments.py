"""Read the arguments of a call back from text: JSON, or strings and JSON between markers."""

from __future__ import annotations

import ast
import html
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.json_schema.sets.string_sets import Texts, TextsTooLarge
from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES, STRING, ArgumentStyle
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.source.diagnostics import GrammarError, StackmaskError
from stackmask.grammar.turns.errors import TurnError
from stackmask.grammar.turns.styles import PYTHON

_BLANKS: Final = re.compile(r"[ \n\t\r]*")
_NAME: Final = r"([^<>/][^<>]*?|)"
# JSON in which no string is open
_STRINGS: Final = re.compile(r'[^"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"]*)*', re.DOTALL)
_DECODER: Final = json.JSONDecoder()
# how JSON may go on where it ends, by what Python's decoder then says
_WORD_CUT: Final = re.compile(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-)?")
_NUMBER_CUT: Final = re.compile(r"(?:^|[^0-9.eE+-])-?[0-9]+(?:\.|(?:\.[0-9]+)?[eE][+-]?)\Z")
_ESCAPE_CUT: Final = re.compile("u[0-9a-fA-F]{0,4}")
MAX_DIGITS: Final = 500  # before the end, that are looked at
_FIELDS: Final = re.compile(r"(\{[a-z]+\})")
_FIELD: Final = {
    "{name}": re.compile('[^<>"]+'),
    "{id}": re.compile("[0-9]+"),
    "{type}": re.compile("[a-z]+"),
    "{blanks}": _BLANKS,
}


def read_json(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends. Raises: TurnError."""
    start = _skip_blanks(text, at)
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise TurnError(start, f"no JSON: {error}", _is_cut(text, error)) from None
    except (ValueError, RecursionError) as error:
        raise TurnError(start, f"no JSON: {error}") from None


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether there is an error only since the text ends where it does."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Expecting value"):
        return _WORD_CUT.fullmatch(text, error.pos) is not None
    if error.msg.startswith("Invalid \\u"):
        return _ESCAPE_CUT.fullmatch(text, error.pos) is not None
    return error.pos == len(text) or _NUMBER_CUT.search(text, error.pos - MAX_DIGITS) is not None


def may_begin(marker: str, text: str, at: int, name: re.Pattern[str] = _FIELD["{name}"]) -> bool:
    """Return whether what follows a place in a text is a beginning of a marker, to the end of the text or of the marker.

    ``name``: what ``{name}`` stands for in the marker.
    """
    for piece in _FIELDS.split(marker):
        field = name if piece == "{name}" else _FIELD.get(piece)
        if field is None:
            if not text.startswith(piece, at):
                return piece.startswith(text[at : at + len(piece)]) and at + len(piece) > len(text)
            at += len(piece)
        else:
            match = field.match(text, at)
            if match is None:
                return at == len(text)
            at = match.end()
    return True


def may_go_on(text: str, at: int, style: str) -> bool:
    """Return whether an argument may begin at a place where no whole one does."""
    start = _skip_blanks(text, at)
    if style == PYTHON:
        return may_name_python(text, start)
    return style in ARGUMENT_STYLES and any(
        marker != "" and may_begin(marker, text, start) for marker in _begins(ARGUMENT_STYLES[style])
    )


def _begins(style: ArgumentStyle) -> tuple[str, str]:
    return style.open + "{name}" + style.middle, style.item


def read_arguments(text: str, at: int, style: str, schema: ArgumentSchema) -> tuple[dict[str, Any], int]:
    """Return the arguments that begin at a place, and where they end.

    ``schema``: tells strings from other values where the markers do not.
    Raises: TurnError if they do not end.
    """
    if style == "json":
        start = _skip_blanks(text, at)
        if text[start : start + 1] not in ("", "{"):
            raise TurnError(at, "arguments are an object")
        return read_json(text, start)
    if style == PYTHON:
        return read_python(text, at)
    return _members(text, at, ARGUMENT_STYLES[style], schema)


@lru_cache(64)
def _opening(style: ArgumentStyle) -> re.Pattern[str]:
    """Return what matches the beginning of an argument; groups: its name, what its type is called."""
    middle = re.escape(style.middle).replace(r"\{blanks\}", r"[ \n\t\r]*")
    return re.compile(re.escape(style.open) + _NAME + middle.replace(r"\{type\}", "([a-z]+)"))


@lru_cache(64)
def _item_opening(style: ArgumentStyle) -> re.Pattern[str] | None:
    return re.compile(re.escape(style.item).replace(r"\{type\}", "([a-z]+)")) if style.item else None


@dataclass(slots=True)
class _Open:
    """An object or an array whose members or items are being read; ``close`` ends it, ``key`` is its name in the one around it."""

    value: dict[str, Any] | list[Any]
    schema: Any
    close: str = ""
    key: str = ""


def _members(text: str, at: int, style: ArgumentStyle, known: ArgumentSchema) -> tuple[dict[str, Any], int]:
    """Return arguments up to what is none, with those inside of them. No recursion: the open ones are a list."""
    root: dict[str, Any] = {}
    stack = [_Open(root, known.root)]
    while True:
        inside = stack[-1]
        begin = _skip_blanks(text, at)
        if isinstance(inside.value, list):
            found = _item(text, begin, style, inside, known)
        else:
            found = _member(text, begin, style, inside, known)
        if found is None:
            if len(stack) == 1:
                return root, at
            at = _after(text, at, inside.close, _begins(style))
            stack.pop()
            _put(stack[-1].value, inside.key, inside.value)
            continue
        key, label, at, inner, close = found
        container = _container(text, at, close, label, style, inner, known)
        if container is not None:
            stack.append(_Open(container, inner, close, key))
            continue
        value, at = _value(text, at, close, label, style, inner, known)
        _put(inside.value, key, value)


_Part = tuple[
    str, str, int, Any, str
]  # name, what its type is called, where its value begins, its schema, its end


def _member(text: str, at: int, style: ArgumentStyle, inside: _Open, known: ArgumentSchema) -> _Part | None:
    """Return what begins as a member of an object; None if it is none."""
    match = _opening(style).match(text, at)
    if match is None:
        return None
    name = html.unescape(match[1]) if style.entities else match[1]
    label = match[2] if match.re.groups > 1 else ""
    close = style.close.replace("{name}", match[1])
    return name, label, match.end(), known.member(inside.schema, name), close


def _item(text: str, at: int, style: ArgumentStyle, inside: _Open, known: ArgumentSchema) -> _Part | None:
    """Return what begins as an item of an array; None if it is none."""
    opening = _item_opening(style)
    match = opening.match(text, at) if opening is not None else None
    if match is None:
        return None
    label = match[1] if match.re.groups else ""
    return "", label, match.end(), known.item(inside.schema, len(inside.value)), style.item_close


def _put(container: dict[str, Any] | list[Any], key: str, value: Any) -> None:
    if isinstance(container, list):
        container.append(value)
    else:
        container[key] = value


def _container(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> dict[str, Any] | list[Any] | None:
    """Return an empty object or array for a value that has arguments or items in it; None if it has none."""
    if not style.nested:
        return None
    if label:
        return [] if label == "list" else {} if label == "dict" else None
    kinds = known.types(schema)
    start = _skip_blanks(text, at)
    if text.startswith(close, start) and STRING not in kinds:
        return [] if "array" in kinds else {} if "object" in kinds else None
    opening = _item_opening(style)
    if "array" in kinds and opening is not None and opening.match(text, start) is not None:
        return []
    return {} if "object" in kinds and _opening(style).match(text, start) is not None else None


def _value(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> tuple[Any, int]:
    """Return a value without arguments in it, and where its closing marker ends."""
    if label and label != style.labels[STRING]:
        value, stop = read_json(text, at)  # a string in it may hold the marker
        return value, _after(text, stop, close)
    if not label and STRING not in known.types(schema):
        try:
            value, stop = read_json(text, at)
        except TurnError:
            stop = -1
        if stop >= 0 and text.startswith(close, _skip_blanks(text, stop)):
            return value, _skip_blanks(text, stop) + len(close)
        if (end := text.find(close, at)) >= 0 and _STRINGS.fullmatch(text, at, end) is None:
            raise TurnError(
                at, f"no `{close}` outside of a string", True
            )  # the rest of the value may still come
    end = text.find(close, at)
    if end < 0:
        raise TurnError(at, f"no `{close}`", True)
    return _plain(text[at:end], label, style, schema, known), end + len(close)


def _after(text: str, at: int, close: str, others: tuple[str, ...] = ()) -> int:
    """Return where a closing marker ends, before which blanks may stand. Raises: TurnError without it.

    ``others``: markers that may come in its place.
    """
    place = _skip_blanks(text, at)
    if not text.startswith(close, place):
        is_cut = any(marker and may_begin(marker, text, place) for marker in (close, *others))
        raise TurnError(place, f"`{close}` is needed", is_cut)
    return place + len(close)


def _plain(written: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema) -> Any:
    """Return what a text without a type means: a string where the schema allows one."""
    if label:
        return written
    kinds = known.types(schema)
    words = known.words(schema)
    if words is not None:
        stripped = written.strip(" \n\t\r")
        unbroken = _without_line_breaks(written) if style.on_lines else written
        for spelling in (written, unbroken, stripped):  # a word may have blanks at its ends
            if spelling in words:
                return spelling
        if kinds == {STRING}:
            return stripped
    if "boolean" in kinds and STRING not in kinds and written.strip(" \n\t\r") in ("True", "False"):
        return "T" in written
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


# -- What the schema of a tool says of the values of its arguments, where their markers do not say it ----

EVERY: Final = frozenset({"string", "number", "boolean", "null", "object", "array"})
MAX_DEPTH: Final = 20  # of combined schemas and references; what lies deeper may be of any type


class ArgumentSchema:
    """The schema of the arguments of one tool, which the parser asks; parts that are no schema say nothing.

    Cost: each part of the schema is looked at once.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._types: dict[int, frozenset[str]] = {}  # by the address of a part of the root

    def types(self, schema: Any, depth: int = 0) -> frozenset[str]:
        """Return the types that a part may allow, from its keywords; all where they do not say."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return EVERY
        known = self._types.get(id(schema))
        if known is not None:
            return known
        self._types[id(schema)] = EVERY  # for one that leads back to itself
        named = schema.get("type")
        names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        known_names = EVERY & {
            "number" if name == "integer" else name for name in names if isinstance(name, str)
        }
        found = known_names or EVERY
        words = self.words(schema)
        if words is not None:
            found &= {_type_of(word) for word in words}
        for keyword in ("anyOf", "oneOf"):
            parts = schema.get(keyword)
            if isinstance(parts, list):
                found &= frozenset().union(*(self.types(part, depth + 1) for part in parts))
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            found &= self.types(part, depth + 1)
        self._types[id(schema)] = found
        return found

    def words(self, schema: Any) -> list[Any] | None:
        """Return the only values that a part lists; None where it lists none."""
        schema = self.resolved(schema)
        if isinstance(schema, dict):
            if "const" in schema:
                return [schema["const"]]
            if isinstance(schema.get("enum"), list):
                return list(schema["enum"])
        return None

    def member(self, schema: Any, name: str) -> Any:
        """Return the schema of a member of an object."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict):
            return True
        declared = schema.get("properties")
        if isinstance(declared, dict) and name in declared:
            return declared[name]
        patterns = schema.get("patternProperties")
        for pattern, found in patterns.items() if isinstance(patterns, dict) else ():
            if isinstance(pattern, str) and _matches(pattern, name):
                return found
        return schema.get("additionalProperties", True)

    def item(self, schema: Any, index: int) -> Any:
        """Return the schema of an item of an array."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict):
            return True
        leading = schema.get("prefixItems")
        if isinstance(leading, list) and index < len(leading):
            return leading[index]
        return schema.get("items", True)

    def resolved(self, schema: Any) -> Any:
        """Return a part with its own reference followed, if that is one within the root."""
        for _ in range(MAX_DEPTH):
            reference = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(reference, str):
                return schema
            if not reference.startswith("#"):
                return True
            found = self.root
            for part in reference[1:].split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                found = found.get(key, True) if isinstance(found, dict) else True
            schema = found
        return True


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", type(None): "null", dict: "object"}
    return names.get(type(value), "array")


def _matches(pattern: str, name: str) -> bool:
    """Return whether a pattern of ECMA-262 is found in a name: by derivatives, in linear time, not by backtracking."""
    texts = _texts(pattern)
    return texts is not None and texts.contains(name)


@lru_cache(256)
def _texts(pattern: str) -> Texts | None:
    try:
        return Texts(parts=(regex_expr(pattern, flavor="ecma", search=True),))
    except (GrammarError, StackmaskError, TextsTooLarge):
        return None  # no pattern, or one that no grammar was made of


# -- Read the arguments of a call in Python: ``city="Rome", days=2``, with Python's literals as values ---

MAX_BRACKETS: Final = 90  # of brackets in each other; Python's own parser reads at most 100
_KEYWORD: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_NAME_CUT: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*[ \t]*)?")
_STRING_CUT: Final = re.compile(r"(?:\"(?:[^\"\\\n]|\\[\s\S])*\\?|'(?:[^'\\\n]|\\[\s\S])*\\?)?")
_PIECE: Final = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]|\\[\s\S])*\"|'(?:[^'\\\n]|\\[\s\S])*')|(?P<open>[\[{(])|(?P<close>[\])}])|(?P<comma>,)"
    r"|(?P<word>[A-Za-z]+)|[-+0-9.:eE_]+|[ \n\t\r]+"
)
_BAD_ESCAPE: Final = re.compile(r"(?:[^\\]|^)(?:\\\\)*\\(?![\\'\"abfnrtv0-7xuUN\n])")
_WORDS: Final = {"true": "True", "false": "False", "null": "None"}  # as some models write them
_KNOWN: Final = frozenset({"True", "False", "None", "e", "E"})


def read_python(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Return the arguments that begin at a place, and where they end. Raises: TurnError.

    Cost: linear in the text.
    """
    found: dict[str, Any] = {}
    while True:
        start = _skip_blanks(text, at)
        name = _KEYWORD.match(text, start)
        if name is None:
            return found, at
        found[name[1]], at = _literal(text, name.end())
        comma = _skip_blanks(text, at)
        if not text.startswith(",", comma):
            return found, at
        at = comma + 1


def may_name_python(text: str, at: int) -> bool:
    """Return whether the text ends within the name of an argument that begins at a place."""
    return _NAME_CUT.fullmatch(text, at) is not None


def _literal(text: str, at: int) -> tuple[Any, int]:
    """Return the literal that begins at a place, and where it ends."""
    pieces: list[str] = []
    depth = 0
    begin = at
    while match := _PIECE.match(text, at):
        kind = match.lastgroup
        piece = match[0]
        if depth == 0 and (kind == "comma" or kind == "close"):
            break
        depth += (kind == "open") - (kind == "close")
        if depth > MAX_BRACKETS:
            raise TurnError(at, f"a value nests more than {MAX_BRACKETS} deep")
        if kind == "word":
            piece = _WORDS.get(piece, piece)
            if piece not in _KNOWN:
                is_cut = match.end() == len(text) and any(
                    word.startswith(match[0]) for word in (*_WORDS, *_KNOWN)
                )
                raise TurnError(at, f"`{piece:.40}` is no literal of Python", is_cut)
        elif kind == "string" and _BAD_ESCAPE.search(piece):
            raise TurnError(at, "an escape that Python does not have")
        pieces.append(piece)
        at = match.end()
    is_cut = _STRING_CUT.fullmatch(text, at) is not None
    if depth:
        raise TurnError(at, "a bracket is needed", is_cut)
    try:
        return ast.literal_eval("".join(pieces).strip()), at
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise TurnError(begin, "no literal of Python", is_cut) from None
