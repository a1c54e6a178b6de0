"""Read the arguments of a call back from text, and judge them: JSON, strings and JSON between markers, or Python."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import isinf
from typing import Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.json_schema.document.drafts import KEYWORDS
from stackmask.grammar.json_schema.document.references import local_target
from stackmask.grammar.json_schema.sets.string_sets import Texts, TextsTooLarge
from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES, STRING, ArgumentStyle
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.source.diagnostics import GrammarError, StackmaskError
from stackmask.grammar.source.similar import advice
from stackmask.grammar.turns.errors import TurnError
from stackmask.grammar.turns.styles import PYTHON

_BLANKS: Final = re.compile(r"[ \n\t\r]*")
_NAME: Final = r"[^<>/][^<>]*?|"
# JSON in which no string is open
_STRINGS: Final = re.compile(r'[^"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"]*)*', re.DOTALL)
_DECODER: Final = json.JSONDecoder()
# how JSON may go on where it ends, by what Python's decoder then says
_WORD_CUT: Final = re.compile(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-)?")
_NUMBER_CUT: Final = re.compile(r"(?:^|[^0-9.eE+-])-?[0-9]+(?:\.|(?:\.[0-9]+)?[eE][+-]?)\Z")
_ESCAPE_CUT: Final = re.compile("u[0-9a-fA-F]{0,4}")
MAX_DIGITS: Final = 500  # before the end, that are looked at
_FIELDS: Final = re.compile(r"(\{[a-z]+\})")
_FIELD: Final = {"{id}": "[0-9]+", "{type}": "[a-z]+", "{blanks}": r"[ \n\t\r]*"}


def skip_blanks(text: str, at: int) -> int:
    """Return the place after the blanks at a place."""
    match = _BLANKS.match(text, at)
    return match.end() if match else at


@lru_cache(256)
def marker_pattern(marker: str, name: str = _NAME) -> re.Pattern[str]:
    """Return what matches a marker; groups: ``name``, ``id``, ``type``. ``name``: the pattern of names in it."""
    fields = {field: f"(?P<{field[1:-1]}>{pattern})" for field, pattern in {**_FIELD, "{name}": name}.items()}
    return re.compile("".join(fields.get(piece) or re.escape(piece) for piece in _FIELDS.split(marker)))


def read_json(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends. Raises: TurnError."""
    start = skip_blanks(text, at)
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


def may_begin(marker: str, text: str, at: int, name: str = '[^<>"]+') -> bool:
    """Return whether what follows a place in a text is a beginning of a marker, to the end of the text or of the marker.

    ``name``: the pattern of names in the marker.
    """
    for piece in _FIELDS.split(marker):
        pattern = name if piece == "{name}" else _FIELD.get(piece)
        if pattern is None:
            if not text.startswith(piece, at):
                return piece.startswith(text[at : at + len(piece)]) and at + len(piece) > len(text)
            at += len(piece)
        else:
            match = re.compile(pattern).match(text, at)
            if match is None:
                return at == len(text)
            at = match.end()
    return True


def may_go_on(text: str, at: int, style: str) -> bool:
    """Return whether an argument may begin at a place where no whole one does."""
    start = skip_blanks(text, at)
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
        start = skip_blanks(text, at)
        if text[start : start + 1] not in ("", "{"):
            raise TurnError(at, "arguments are an object")
        return read_json(text, start)
    if style == PYTHON:
        return read_python(text, at)
    return _members(text, at, ARGUMENT_STYLES[style], schema)


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
        begin = skip_blanks(text, at)
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
    match = marker_pattern(_begins(style)[0]).match(text, at)
    if match is None:
        return None
    name = html.unescape(match["name"]) if style.entities else match["name"]
    label = match.groupdict().get("type", "")
    close = style.close.replace("{name}", match["name"])
    return name, label, match.end(), known.member(inside.schema, name), close


def _item(text: str, at: int, style: ArgumentStyle, inside: _Open, known: ArgumentSchema) -> _Part | None:
    """Return what begins as an item of an array; None if it is none."""
    match = marker_pattern(style.item).match(text, at) if style.item else None
    if match is None:
        return None
    label = match.groupdict().get("type", "")
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
    start = skip_blanks(text, at)
    if text.startswith(close, start):
        ways: list[Any] = [text[at:start]] if STRING in kinds else []
        ways += [[]] if "array" in kinds else []
        ways += [{}] if "object" in kinds else []
        found = known.fitting(schema, ways) if ways else None
        return None if isinstance(found, str) else found
    if "array" in kinds and style.item and marker_pattern(style.item).match(text, start) is not None:
        return []
    is_member = "object" in kinds and marker_pattern(_begins(style)[0]).match(text, start) is not None
    return {} if is_member else None


def _value(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema
) -> tuple[Any, int]:
    """Return a value without arguments in it, and where its closing marker ends."""
    if label and label != style.labels[STRING]:
        value, stop = read_json(text, at)  # a string in it may hold the marker
        return value, _after(text, stop, close)
    end = text.find(close, at)
    kinds = known.types(schema)
    if not label and kinds != {STRING}:
        try:
            value, stop = read_json(text, at)
            stop = skip_blanks(text, stop)
        except TurnError:
            stop = -1
        # where a string may stand, it ends with the first marker, unless that is within a string of JSON
        if stop > (end if STRING in kinds else -1) and text.startswith(close, stop):
            return value, stop + len(close)
        if STRING not in kinds and end >= 0 and _STRINGS.fullmatch(text, at, end) is None:
            raise TurnError(
                at, f"no `{close}` outside of a string", True
            )  # the rest of the value may still come
    if end < 0:
        raise TurnError(at, f"no `{close}`", True)
    return _plain(text[at:end], label, style, schema, known), end + len(close)


def _after(text: str, at: int, close: str, others: tuple[str, ...] = ()) -> int:
    """Return where a closing marker ends, before which blanks may stand. Raises: TurnError without it.

    ``others``: markers that may come in its place.
    """
    place = skip_blanks(text, at)
    if not text.startswith(close, place):
        is_cut = any(marker and may_begin(marker, text, place) for marker in (close, *others))
        raise TurnError(place, f"`{close}` is needed", is_cut)
    return place + len(close)


def _plain(written: str, label: str, style: ArgumentStyle, schema: Any, known: ArgumentSchema) -> Any:
    """Return what a text without a type means: of the values that it may mean, the first that the schema allows."""
    if label:
        return written
    kinds = known.types(schema)
    words = known.words(schema)
    stripped = written.strip(" \n\t\r")
    unbroken = _without_line_breaks(written) if style.on_lines else written
    # a word may have blanks at its ends, which some styles write around others too
    ways: list[Any] = [unbroken, written, stripped] if words is None else [written, unbroken, stripped]
    if STRING not in kinds:
        ways = []
    if "boolean" in kinds and stripped in ("True", "False"):
        ways.append("T" in stripped)
    if kinds != {STRING}:
        with suppress(ValueError, RecursionError):
            ways.append(json.loads(written))
    return known.fitting(schema, ways) if ways else written


def _without_line_breaks(written: str) -> str:
    """Return a string without the line breaks that set it apart from its markers, one on each side."""
    return written.removeprefix("\n").removesuffix("\n")


# -- What the schema of a tool says of the values of its arguments, where their markers do not say it ----

EVERY: Final = frozenset({"string", "number", "boolean", "null", "object", "array"})
ANY_ARGUMENTS: Final[dict[str, Any]] = {"type": "object"}
MAX_DEPTH: Final = 20  # of combined schemas and references; what lies deeper may be of any type
# what says nothing of a value beside its type
_SILENT: Final = frozenset({"type", "title", "description", "default", "examples", "$comment", "deprecated"})
_EITHER: Final = ("anyOf", "oneOf")
# what a schema says of each part of an object by itself, and where other schemas are
_OF_PARTS: Final = frozenset(
    (
        *("properties", "patternProperties", "additionalProperties", "$defs", "definitions", "$ref"),
        *("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"),
    )
)
_PLACE: Final = "tool:arguments"


class ArgumentSchema:
    """The schema of the arguments of one tool, which the parser asks; parts that are no schema say nothing.

    Cost: each part of the schema is looked at once, and compiled once where its types do not decide what a text means.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._types: dict[int, frozenset[str]] = {}  # by the address of a part of the root
        self._inner: dict[
            tuple[int, str | int], Any
        ] = {}  # schemas of members and items, by that of what holds them
        self._judges: dict[int, Grammar | None] = {}

    def types(self, schema: Any, depth: int = 0) -> frozenset[str]:
        """Return the types that a part may allow, from its keywords; all where they do not say."""
        schema = self.resolved(schema)
        if schema is False:
            return frozenset()
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
        for keyword in _EITHER:
            if parts := _part(schema, keyword, list):
                found &= frozenset().union(*(self.types(part, depth + 1) for part in parts))
        for part in _part(schema, "allOf", list):
            found &= self.types(part, depth + 1)
        self._types[id(schema)] = found or EVERY
        return found or EVERY

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

        def own(part: dict[str, Any]) -> list[Any]:
            declared = _part(part, "properties", dict)
            found = [declared[name]] if name in declared else []
            patterns = _part(part, "patternProperties", dict)
            found += [inner for pattern, inner in patterns.items() if _matches(pattern, name)]
            return found or [part.get("additionalProperties", True)]

        def values(word: Any) -> list[Any]:
            return [word[name]] if isinstance(word, dict) and name in word else []

        return self._within(schema, name, "object", own, values)

    def item(self, schema: Any, index: int) -> Any:
        """Return the schema of an item of an array."""

        def own(part: dict[str, Any]) -> list[Any]:
            leading = _part(part, "prefixItems", list)
            return [leading[index] if index < len(leading) else part.get("items", True)]

        def values(word: Any) -> list[Any]:
            return word[index : index + 1] if isinstance(word, list) else []

        return self._within(schema, index, "array", own, values)

    def _within(
        self,
        schema: Any,
        key: str | int,
        kind: str,
        own: Callable[[dict[str, Any]], list[Any]],
        values: Callable[[Any], list[Any]],
        depth: int = 0,
    ) -> Any:
        """Return the schema of a part of a value of a kind: what all keywords say of it."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return schema is not False
        known = self._inner.get((id(schema), key))
        if known is not None:
            return known
        self._inner[id(schema), key] = True  # for one that leads back to itself

        def inner(part: Any) -> Any:
            return self._within(part, key, kind, own, values, depth + 1)

        found = [*own(schema), *map(inner, _part(schema, "allOf", list))]
        for keyword in _EITHER:
            if parts := [part for part in _part(schema, keyword, list) if kind in self.types(part)]:
                found.append({"anyOf": [inner(part) for part in parts]})
        words = self.words(schema)
        if words is not None:
            found.append({"enum": [value for word in words for value in values(word)]})
        found = [part for part in found if part is not True]
        made = True if not found else found[0] if len(found) == 1 else {"allOf": found}
        self._inner[id(schema), key] = made  # which keeps it, so that its address stays its own
        return made

    def resolved(self, schema: Any) -> Any:
        """Return a part with its own reference followed, if that is one within the root."""
        for _ in range(MAX_DEPTH):
            reference = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(reference, str):
                return schema
            found = local_target(self.root, reference)
            schema = True if found is None else found
        return True

    def fitting(self, schema: Any, ways: list[Any]) -> Any:
        """Return the first of some values that a part allows; the first one where it allows none."""
        if len(ways) > 1:
            schema = self.resolved(schema)
            kinds = self.types(schema)
            is_plain = not isinstance(schema, dict) or schema.keys() <= _SILENT
            for value in ways:
                if _type_of(value) in kinds and (is_plain or self.allows(schema, value)):
                    return value
        return ways[0]

    def allows(self, schema: Any, value: Any) -> bool:
        """Return whether a part of the root allows a value; True where no grammar can be made of it.

        Raises: TypeError, ValueError for what is no JSON.
        """
        if id(schema) not in self._judges:
            source, resources = schema, {}
            if schema is not self.root:
                resource = {**self.root, "$defs": {**_part(self.root, "$defs", dict), _PLACE: schema}}
                source, resources = {"$ref": f"{_PLACE}#/$defs/{_PLACE}"}, {_PLACE: resource}
            try:
                judge = Grammar.from_json_schema(source, resources=resources, property_order="any")
            except StackmaskError:
                judge = None
            self._judges[id(schema)] = judge
        found = self._judges[id(schema)]
        return found is None or found.accepts(_written(value))

    def refusal(self, arguments: Mapping[str, Any]) -> str:
        """Return why the schema refuses arguments, in one line; empty if it takes them."""
        schema = self.root
        try:
            if self.allows(schema, arguments):
                return ""
        except (ValueError, TypeError) as error:  # as of infinite numbers, and sets of Python
            return f"the arguments are no JSON: {error}"
        declared = _part(schema, "properties", dict)
        for name in _part(schema, "required", list):
            if name not in arguments:
                return f"the argument `{name!s:.60}` is needed"
        members = {key: value for key, value in schema.items() if key not in KEYWORDS or key in _OF_PARTS}
        try:
            alone = Grammar.from_json_schema({**members, "type": "object"}, property_order="any")
        except StackmaskError:  # a reference leads into what was left out
            return f"the schema does not allow these arguments: {_short(arguments)}"
        for name, value in arguments.items():
            if alone.accepts(_written({name: value})):
                continue
            if name in declared:
                return f"`{name:.60}` is {_short(value)}, and its schema is {declared[name]!r:.120}"
            if "patternProperties" in schema:
                return f"the schema does not allow `{name:.60}` with {_short(value)}"
            return f"no argument `{name:.60}`; {advice(name, declared)}"
        return f"the schema does not allow these arguments together: {_short(arguments)}"


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", type(None): "null", dict: "object"}
    return names.get(type(value), "array")


def _matches(pattern: Any, name: str) -> bool:
    """Return whether a pattern of ECMA-262 is found in a name: by derivatives, in linear time, not by backtracking."""
    texts = _texts(pattern) if isinstance(pattern, str) else None
    return texts is not None and texts.contains(name)


@lru_cache(256)
def _texts(pattern: str) -> Texts | None:
    try:
        return Texts(parts=(regex_expr(pattern, flavor="ecma", search=True),))
    except (GrammarError, StackmaskError, TextsTooLarge):
        return None  # no pattern, or one that no grammar was made of


def _written(value: Any) -> str:
    """Return a value as JSON. No recursion: parts that are not written yet are a list."""
    pieces: list[str] = []
    todo: list[tuple[bool, Any]] = [(False, value)]  # whether it is text already
    while todo:
        is_text, part = todo.pop()
        if is_text:
            pieces.append(part)
        elif isinstance(part, dict):
            pieces.append("{")
            todo.append((True, "}"))
            for index, (key, inner) in reversed(list(enumerate(part.items()))):
                if not isinstance(key, str):
                    raise TypeError(f"{key!r:.60} is no key of an object")
                todo += (False, inner), (True, f"{', ' if index else ''}{json.dumps(key)}: ")
        elif isinstance(part, list | tuple):
            pieces.append("[")
            todo.append((True, "]"))
            for index, inner in reversed(list(enumerate(part))):
                todo += (False, inner), (True, ", " if index else "")
        else:
            pieces.append(_spelled(part))
    return "".join(pieces)


def _spelled(value: Any) -> str:
    """Return a value that is no object or array as JSON. Numbers beyond those of Python's floats are large ones."""
    if isinstance(value, float) and isinf(value):
        return f"{'-' * (value < 0)}1{'0' * 309}"  # an integer, as such a number may be
    return json.dumps(value, allow_nan=False)


def _short(value: Any) -> str:
    text = _written(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _part(schema: Any, key: str, kind: type) -> Any:
    found = schema.get(key) if isinstance(schema, dict) else None
    return found if isinstance(found, kind) else kind()


# -- Read the arguments of a call in Python: ``city="Rome", days=2``, with Python's literals as values ---

MAX_BRACKETS: Final = 90  # of brackets in each other; Python's own parser reads at most 100
_KEYWORD: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_NAME_CUT: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*[ \t]*)?")
# one of which makes a literal whole that may go on, before its open brackets close
_TAILS: Final = ("", "0", ".0", ":0")
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
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
        start = skip_blanks(text, at)
        name = _KEYWORD.match(text, start)
        if name is None:
            return found, at
        found[name[1]], at = _literal(text, name.end())
        comma = skip_blanks(text, at)
        if not text.startswith(",", comma):
            return found, at
        at = comma + 1


def may_name_python(text: str, at: int) -> bool:
    """Return whether the text ends within the name of an argument that begins at a place."""
    return _NAME_CUT.fullmatch(text, at) is not None


def _literal(text: str, at: int) -> tuple[Any, int]:
    """Return the literal that begins at a place, and where it ends."""
    pieces: list[str] = []
    open_brackets: list[str] = []
    begin = at
    while match := _PIECE.match(text, at):
        kind = match.lastgroup
        piece = match[0]
        if not open_brackets and (kind == "comma" or kind == "close"):
            break
        if kind == "open":
            open_brackets.append(piece)
        elif kind == "close" and _CLOSING[open_brackets.pop()] != piece:
            raise TurnError(at, f"`{piece}` closes another bracket")
        if len(open_brackets) > MAX_BRACKETS:
            raise TurnError(at, f"a value nests more than {MAX_BRACKETS} deep")
        if kind == "word":
            piece = _WORDS.get(piece, piece)
            if piece not in _KNOWN:
                read = "".join(pieces)
                is_cut = match.end() == len(text) and any(
                    word.startswith(match[0]) and _may_go_on(read + _WORDS.get(word, word), "", open_brackets)
                    for word in (*_WORDS, *_KNOWN)
                )
                raise TurnError(at, f"`{piece:.40}` is no literal of Python", is_cut)
        elif kind == "string" and _BAD_ESCAPE.search(piece):
            raise TurnError(at, "an escape that Python does not have")
        pieces.append(piece)
        at = match.end()
    read = "".join(pieces)
    value = _evaluated(read) if not open_brackets else _NO_LITERAL
    is_open_string = text.startswith(('"', "'"), at)
    is_cut = (value is _NO_LITERAL or is_open_string) and _may_go_on(read, text[at:], open_brackets)
    if value is not _NO_LITERAL and not is_cut:
        return value, at
    problem = "a bracket is needed" if open_brackets else "no literal of Python"
    raise TurnError(at if open_brackets else begin, problem, is_cut)


def _may_go_on(read: str, rest: str, open_brackets: list[str]) -> bool:
    """Return whether more text can make a literal of some pieces; ``rest``: what is no whole piece, to the end of the text."""
    if rest:
        if rest[0] not in "\"'" or "\n" in rest:
            return False
        escapes = len(rest) - len(rest.rstrip("\\"))
        rest += "\\" * (escapes % 2) + rest[0]
    closing = "".join(_CLOSING[bracket] for bracket in reversed(open_brackets))
    return any(_evaluated(read + rest + tail + closing) is not _NO_LITERAL for tail in _TAILS)


_NO_LITERAL: Final = object()


def _evaluated(text: str) -> Any:
    """Return what a literal of Python means, or that it is none."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return _NO_LITERAL
