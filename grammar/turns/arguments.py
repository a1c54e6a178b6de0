"""Parse and check the arguments of a call: JSON, strings and JSON between markers, or Python."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import isinf
from threading import RLock
from typing import Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.json_schema.algebra.algebra import ANY_STATE, Algebra
from stackmask.grammar.json_schema.document.errors import UnsatisfiableSchemaError
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.nodes.forms import ArrayForm, ObjectForm, StateValue
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.sets.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.sets.string_sets import TextsTooLarge
from stackmask.grammar.json_schema.sets.values import FALSE, NULL, TRUE, read_number
from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES, STRING, ArgumentStyle
from stackmask.grammar.json_schema.write.lowering import Lowering
from stackmask.grammar.json_schema.write.style import Style
from stackmask.grammar.json_schema.write.whitespace import Whitespace
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.similar import advice
from stackmask.grammar.turns.errors import TurnError
from stackmask.grammar.turns.styles import PYTHON

States = tuple[State, ...]  # that a part of the arguments may have
_BLANKS: Final = re.compile(r"[ \n\t\r]*")
_NAME: Final = r"[^<>/][^<>]*?|"
# JSON in which no string is open
_STRINGS: Final = re.compile(r'[^"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"]*)*', re.DOTALL)
_HALF: Final = re.compile("[\ud800-\udfff]")  # of a character
# how JSON may go on where it ends, by what Python's decoder then says
_WORD_CUT: Final = re.compile(r"(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-)?")
_NUMBER_CUT: Final = re.compile(r"(?:^|[^0-9.eE+-])-?[0-9]+(?:\.|(?:\.[0-9]+)?[eE][+-]?)\Z")
_ESCAPE_CUT: Final = re.compile("u[0-9a-fA-F]{0,4}")
MAX_DIGITS: Final = 500  # before the end, that are looked at
_FIELDS: Final = re.compile(r"(\{[a-z]+\})")
_FIELD: Final = {"{id}": "[0-9]+", "{type}": "[a-z]+", "{blanks}": r"[ \n\t\r]*"}


class WrittenFloat(float):
    """A number with more digits than a float can represent, which is used for checks."""

    text: str
    """The number as the model wrote it."""


def _read_float(text: str) -> float | int:
    """Return a number of a JSON text; an integer that is too large for a float is returned as an int."""
    value = float(text)
    if len(text) < 17 and (1e-300 < abs(value) < 1e300):
        return value  # floats keep 15 digits
    number = read_number(text)
    if isinf(value):
        return number if isinstance(number, int) else value
    if number == read_number(float.__repr__(value)):
        return value
    written = WrittenFloat(value)
    written.text = text
    return written


_DECODER: Final = json.JSONDecoder(parse_float=_read_float)


def skip_blanks(text: str, at: int) -> int:
    """Return the position after whitespace."""
    match = _BLANKS.match(text, at)
    return match.end() if match else at


@lru_cache(256)
def marker_pattern(marker: str, name: str = _NAME) -> re.Pattern[str]:
    """Return a pattern for a marker, with groups ``name``, ``id``, ``type``. ``name``: the pattern of names."""
    fields = {field: f"(?P<{field[1:-1]}>{pattern})" for field, pattern in {**_FIELD, "{name}": name}.items()}
    return re.compile("".join(fields.get(piece) or re.escape(piece) for piece in _FIELDS.split(marker)))


def read_json(text: str, at: int) -> tuple[Any, int]:
    """Return the value at a position, and its end. Raises: TurnError."""
    start = skip_blanks(text, at)
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise TurnError(start, f"no JSON: {error}", _is_cut(text, error)) from None
    except (ValueError, RecursionError) as error:
        raise TurnError(start, f"no JSON: {error}") from None


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether an error is only due to the end of the text."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Expecting value"):
        return _WORD_CUT.fullmatch(text, error.pos) is not None
    if error.msg.startswith("Invalid \\u"):
        return _ESCAPE_CUT.fullmatch(text, error.pos) is not None
    return error.pos == len(text) or _NUMBER_CUT.search(text, error.pos - MAX_DIGITS) is not None


def may_begin(marker: str, text: str, at: int, name: str = '[^<>"]+') -> bool:
    """Return whether the text after a position and a marker agree, up to the end of either.

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
    """Return whether an incomplete argument may begin at a position."""
    start = skip_blanks(text, at)
    if style == PYTHON:
        return may_name_python(text, start)
    return style in ARGUMENT_STYLES and any(
        marker != "" and may_begin(marker, text, start) for marker in _begins(ARGUMENT_STYLES[style])
    )


def _begins(style: ArgumentStyle) -> tuple[str, str]:
    return style.open + "{name}" + style.middle, style.item


def read_arguments(text: str, at: int, style: str, schema: ArgumentSchema) -> tuple[dict[str, Any], int]:
    """Return the arguments at a position, and their end.

    ``schema``: distinguishes strings from other values if the markers do not.
    Raises: TurnError if the arguments are incomplete.
    """
    if style == "json":
        start = skip_blanks(text, at)
        if text[start : start + 1] not in ("", "{"):
            raise TurnError(at, "arguments are an object")
        return read_json(text, start)
    if style == PYTHON:
        return read_python(text, at)
    return _members(text, at, ARGUMENT_STYLES[style], schema)


_Read = tuple[Any, dict[State, Any]]  # a value, and how each state has it that allows it


@dataclass(slots=True)
class _Open:
    """An object or array that is being read. ``close``: its end; ``key``: its name in the enclosing one."""

    kind: type
    states: States
    close: str = ""
    key: str | int = ""
    parts: dict[str | int, _Read] = field(default_factory=dict)


def _members(text: str, at: int, style: ArgumentStyle, known: ArgumentSchema) -> tuple[dict[str, Any], int]:
    """Return arguments up to the first other text, with nested ones. No recursion: open ones are in a list."""
    stack = [_Open(dict, known.start)]
    while True:
        inside = stack[-1]
        begin = skip_blanks(text, at)
        found = (_item if inside.kind is list else _member)(text, begin, style, inside, known)
        if found is None:
            read = known.whole(inside.states, inside.kind, inside.parts)
            if len(stack) == 1:
                return read[0], at
            at = _after(text, at, inside.close, _begins(style))
            stack.pop()
            stack[-1].parts[inside.key] = read
            continue
        key, label, at, states, close = found
        kind = _container(text, at, label, style, states, known)
        if kind is not None:
            stack.append(_Open(kind, states, close, key))
            continue
        ways, at = _value(text, at, close, label, style, states, known)
        inside.parts[key] = known.reading(states, ways)


_Part = tuple[
    str | int, str, int, States, str
]  # name or index, what its type is called, where its value begins, its states, its end


def _member(text: str, at: int, style: ArgumentStyle, inside: _Open, known: ArgumentSchema) -> _Part | None:
    """Return the member of an object that begins here; None if there is none."""
    match = marker_pattern(_begins(style)[0]).match(text, at)
    if match is None:
        return None
    name = html.unescape(match["name"]) if style.entities else match["name"]
    label = match.groupdict().get("type", "")
    close = style.close.replace("{name}", match["name"])
    return name, label, match.end(), known.inner(inside.states, name), close


def _item(text: str, at: int, style: ArgumentStyle, inside: _Open, known: ArgumentSchema) -> _Part | None:
    """Return the item of an array that begins here; None if there is none."""
    match = marker_pattern(style.item).match(text, at) if style.item else None
    if match is None:
        return None
    label = match.groupdict().get("type", "")
    index = len(inside.parts)
    return index, label, match.end(), known.inner(inside.states, index), style.item_close


def _container(
    text: str, at: int, label: str, style: ArgumentStyle, states: States, known: ArgumentSchema
) -> type | None:
    """Return the type of an object or array that contains arguments or items; None for other and empty values."""
    if label or not style.nested:
        return {"list": list, "dict": dict}.get(label) if style.nested else None
    kinds = known.types(states)
    start = skip_blanks(text, at)
    if "array" in kinds and style.item and marker_pattern(style.item).match(text, start) is not None:
        return list
    is_member = "object" in kinds and marker_pattern(_begins(style)[0]).match(text, start) is not None
    return dict if is_member else None


def _value(
    text: str, at: int, close: str, label: str, style: ArgumentStyle, states: States, known: ArgumentSchema
) -> tuple[list[Any], int]:
    """Return the possible meanings of a value without nested arguments, and the end of its closing marker."""
    if label and label != style.labels[STRING]:
        value, stop = read_json(text, at)  # a string in it may hold the marker
        return [value], _after(text, stop, close)
    end = text.find(close, at)
    kinds = known.types(states)
    if style.nested and not label and kinds & {"array", "object"} and skip_blanks(text, at) == end:
        empty: tuple[tuple[str, Any], ...] = (STRING, text[at:end]), ("array", []), ("object", {})
        return [value for kind, value in empty if kind in kinds], end + len(close)
    if not label and kinds != {STRING}:
        try:
            value, stop = read_json(text, at)
            stop = skip_blanks(text, stop)
        except TurnError:
            stop = -1
        # where a string may stand, it ends with the first marker, unless that is within a string of JSON
        if stop > (end if STRING in kinds else -1) and text.startswith(close, stop):
            return [value], stop + len(close)
        if STRING not in kinds and end >= 0 and _STRINGS.fullmatch(text, at, end) is None:
            raise TurnError(
                at, f"no `{close}` outside of a string", True
            )  # the rest of the value may still come
    if end < 0:
        raise TurnError(at, f"no `{close}`", True)
    written = text[at:end]
    return [written] if label else _ways(written, style, kinds, known.has_words(states)), end + len(close)


def _after(text: str, at: int, close: str, others: tuple[str, ...] = ()) -> int:
    """Return the end of a closing marker, which may follow whitespace. Raises: TurnError if it is missing.

    ``others``: alternative markers.
    """
    place = skip_blanks(text, at)
    if not text.startswith(close, place):
        is_cut = any(marker and may_begin(marker, text, place) for marker in (close, *others))
        raise TurnError(place, f"`{close}` is needed", is_cut)
    return place + len(close)


def _ways(written: str, style: ArgumentStyle, kinds: frozenset[str], is_word: bool) -> list[Any]:
    """Return the possible values of a text without a type; ``is_word``: the schema may list the text."""
    stripped = written.strip(" \n\t\r")
    unbroken = _without_line_breaks(written) if style.on_lines else written
    # a word may have blanks at its ends, which some styles write around others too
    first = (written, unbroken) if is_word else (unbroken, written)
    ways: list[Any] = list(dict.fromkeys((*first, stripped))) if STRING in kinds else []
    if "boolean" in kinds and stripped in ("True", "False"):
        ways.append("T" in stripped)
    if kinds != {STRING}:
        with suppress(ValueError, RecursionError):
            ways.append(_DECODER.decode(written))
    return ways or [written]


def _without_line_breaks(written: str) -> str:
    """Return a string without the two line breaks that separate it from its markers."""
    return written.removeprefix("\n").removesuffix("\n")


# -- What the schema of a tool says of the values of its arguments, where their markers do not say it ----

EVERY: Final = frozenset({"string", "number", "boolean", "null", "object", "array"})
ANY_ARGUMENTS: Final[dict[str, Any]] = {"type": "object"}
_STYLE: Final = Style.of(Whitespace.of("any"), "any", False, True)
_LOCK: Final = RLock()  # of what is worked out of schemas, which threads may share
_TOO_MUCH: Final = (StackmaskError, UnsupportedNumber, TextsTooLarge, RecursionError, UnicodeEncodeError)
_Form = tuple["ArrayForm | ObjectForm", Callable[[Any], "State | None"]]  # and the states of its parts


class _Meaning:
    """The values of a state: types, whether strings are listed, and the forms of objects and arrays."""

    def __init__(self, value: StateValue) -> None:
        kinds = {
            "string": value.has_strings(),
            "number": value.digits is not None or value.has_numbers(),
            "boolean": value.mask & (TRUE | FALSE),
            "null": value.mask & NULL,
            "object": value.objects,
            "array": value.arrays,
        }
        self.texts = value.text
        self.kinds = frozenset(kind for kind, there in kinds.items() if there)
        self.forms: dict[type, list[_Form]] = {
            dict: [(form, partial(_of_name, form, _named(form))) for form in value.objects],
            list: [(form, partial(_of_index, form)) for form in value.arrays],
        }


def _named(form: ObjectForm) -> dict[str, State]:
    return {member.name: member.state for member in form.members}


def _of_name(form: ObjectForm, named: dict[str, State], name: str) -> State | None:
    if name in form.names:
        return named.get(name)
    return next((entry.state for entry in form.classes if entry.texts.contains(name)), None)


def _of_index(form: ArrayForm, index: int) -> State | None:
    return form.prefix[index] if index < len(form.prefix) else form.rest


class ArgumentSchema:
    """The schema of one tool's arguments for the parser. Parts that cannot be read impose no constraint.

    A part of the arguments is identified by its states, one for each form of its parent. Threads may share a
    schema.
    Cost: each state is computed once, and compiled once if its types do not determine the meaning of a text.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.is_whole = True  # as far as it was read
        try:
            self.algebra = _algebra_of(root)
        except _TOO_MUCH:
            self.algebra = _algebra_of(True)
            self.is_whole = False
        self.start: States = (self.algebra.state((self.algebra.start,)),)
        self._meanings: dict[State, _Meaning] = {}
        self._judges: dict[State, Grammar | bool] = {}

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        """Return the constructor arguments: computed data are not copied or pickled."""
        return ArgumentSchema, (self.root,)

    def meaning(self, state: State) -> _Meaning:
        """Return the values of a state."""
        found = self._meanings.get(state)
        if found is None:
            with _LOCK:
                try:
                    found = _Meaning(self.algebra.value(state))
                except _TOO_MUCH:
                    found = _Meaning(self.algebra.value(ANY_STATE))
                    self._judges[self.start[0]] = True  # a part of the schema is read in part
                    self.is_whole = False
            self._meanings[state] = found
        return found

    def types(self, states: States) -> frozenset[str]:
        """Return the possible types of a part; all types if it has no state."""
        return frozenset().union(*(self.meaning(state).kinds for state in states)) or EVERY

    def has_words(self, states: States) -> bool:
        """Return whether the schema lists strings."""
        return any(self.meaning(state).texts.words for state in states)

    def inner(self, states: States, key: str | int) -> States:
        """Return the states of a member or an item."""
        kind = dict if isinstance(key, str) else list
        found = [of(key) for state in states for _, of in self.meaning(state).forms[kind]]
        return tuple(dict.fromkeys(state for state in found if state is not None))

    def reading(self, states: States, ways: list[Any]) -> _Read:
        """Return the value for the first matching state (default: the first value), and those of all states."""
        if len(ways) == 1 and len(states) < 2:
            return ways[0], dict.fromkeys(states, ways[0])
        found: dict[State, Any] = {}
        for state in states:
            for way in ways:
                if self.allows(state, way):
                    found[state] = way
                    break
        return next(iter(found.values()), ways[0]), found

    def whole(self, states: States, kind: type, parts: dict[str | int, _Read]) -> _Read:
        """Return an object or array of the given parts for each state, and for the first state."""
        found: dict[State, Any] = {}
        for state in states:
            for form, of in self.meaning(state).forms[kind]:
                if len(parts) < form.low or (form.high is not None and len(parts) > form.high):
                    continue
                members = form.members if isinstance(form, ObjectForm) else ()
                if any(member.required and member.name not in parts for member in members):
                    continue
                inner = [(key, of(key), read) for key, (_, read) in parts.items()]
                values = {key: read[at] for key, at, read in inner if at is not None and at in read}
                if len(values) == len(parts):
                    found[state] = _joined(kind, values)
                    break
        plain = _joined(kind, {key: value for key, (value, _) in parts.items()})
        return next(iter(found.values()), plain), found

    def allows(self, state: State, value: Any) -> bool:
        """Return whether a state allows a value; True if no grammar can be created for it."""
        if isinstance(value, str):
            return _HALF.search(value) is None and self.meaning(state).texts.contains(value)
        if state not in self._judges:
            with _LOCK:
                try:
                    self._judges[state] = Grammar._read(None, partial(self._judge, state))
                except _TOO_MUCH as error:
                    self._judges[state] = unread = not isinstance(error, UnsatisfiableSchemaError)
                    self.is_whole = self.is_whole and not unread
        judge = self._judges[state]
        try:
            return judge if isinstance(judge, bool) else judge.accepts(_written(value))
        except (TypeError, ValueError):  # as of infinite numbers, and sets of Python
            return False

    def _judge(self, state: State) -> Grammar:
        rules = Lowering(self.algebra, _STYLE).run(state)
        return Grammar(rules, normalized=rules)

    def refusal(self, arguments: Mapping[str, Any]) -> str:
        """Return a one-line reason why the schema refuses arguments; empty if it accepts them."""
        if self.allows(self.start[0], arguments):
            return ""
        try:
            short = _short(arguments)
        except (ValueError, TypeError) as error:
            return f"the arguments are no JSON: {error}"
        schema = self.root
        declared = _part(schema, "properties", dict)
        for name in _part(schema, "required", list):
            if name not in arguments:
                return f"the argument `{name!s:.60}` is needed"
        for name, value in arguments.items():
            if any(self.allows(state, value) for state in self.inner(self.start, name)):
                continue
            if name in declared:
                return f"`{name:.60}` is {_short(value)}, and its schema is {declared[name]!r:.120}"
            if "patternProperties" in schema:
                return f"the schema does not allow `{name:.60}` with {_short(value)}"
            return f"no argument `{name:.60}`; {advice(name, declared)}"
        return f"the schema does not allow these arguments together: {short}"


def _algebra_of(root: Any) -> Algebra:
    return Algebra(root, draft=None, resources=None, formats="assert", relax=True, report=Report())


def _joined(kind: type, values: dict[Any, Any]) -> Any:
    return values if kind is dict else list(values.values())


def _written(value: Any) -> str:
    """Return a value as JSON. No recursion: pending parts are in a list."""
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
                    raise TypeError(f"{key!r:.60} is not a key of an object")
                todo += (False, inner), (True, f"{', ' if index else ''}{json.dumps(key)}: ")
        elif isinstance(part, list | tuple):
            pieces.append("[")
            todo.append((True, "]"))
            for index, inner in reversed(list(enumerate(part))):
                todo += (False, inner), (True, ", " if index else "")
        else:
            exact = isinstance(part, WrittenFloat)
            pieces.append(part.text if exact else json.dumps(part, allow_nan=False))
    return "".join(pieces)


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
_LONG: Final = re.compile(r"[0-9._]{17}|[eE][-+]?[0-9]{3}")  # in which a float may not hold a number


def read_python(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Return the arguments at a position, and their end. Raises: TurnError.

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
    """Return whether the text ends within the name of an argument that begins at a position."""
    return _NAME_CUT.fullmatch(text, at) is not None


def _literal(text: str, at: int) -> tuple[Any, int]:
    """Return the literal at a position, and the position of its end."""
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
                raise TurnError(at, f"`{piece:.40}` is not a Python literal", is_cut)
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
    """Return whether more text can complete a literal. ``rest``: the incomplete piece at the end."""
    if rest:
        if rest[0] not in "\"'" or "\n" in rest:
            return False
        escapes = len(rest) - len(rest.rstrip("\\"))
        rest += "\\" * (escapes % 2) + rest[0]
    closing = "".join(_CLOSING[bracket] for bracket in reversed(open_brackets))
    return any(_evaluated(read + rest + tail + closing) is not _NO_LITERAL for tail in _TAILS)


_NO_LITERAL: Final = object()


def _evaluated(text: str) -> Any:
    """Return the value of a Python literal, or report that it is not one."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return ast.literal_eval(_Exact(text.strip()).visit(tree) if _LONG.search(text) else tree)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return _NO_LITERAL


class _Exact(ast.NodeTransformer):
    """Reads numbers as for JSON."""

    def __init__(self, text: str) -> None:
        self.text = text

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return self._read(node, node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        value = getattr(node.operand, "value", None)
        return self._read(node, value) if isinstance(node.op, ast.USub) else node

    def _read(self, node: Any, value: Any) -> Any:
        written = ast.get_source_segment(self.text, node) if type(value) is float else None
        return node if written is None else ast.Constant(_read_float(written.replace("_", "")))
