"""Parse a turn into reasoning, content and calls, all at once or while the text arrives."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import SystemRandom
from string import ascii_letters, digits
from typing import Any, Final, Generic, Literal, TypeAlias, final

from stackmask.grammar.outputs import R
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.similar import advice
from stackmask.grammar.turns.arguments import (
    ArgumentSchema,
    marker_pattern,
    may_begin,
    may_go_on,
    read_arguments,
    skip_blanks,
)
from stackmask.grammar.turns.errors import ToolError, TurnError
from stackmask.grammar.turns.styles import NAME, NUMBER, TEXT, ToolStyle, style_of
from stackmask.grammar.turns.tool import Tool, read_tools

_BLANKS: Final = " \n\t\r"
_SIGNS: Final = re.compile(r'["\\\\{}\[\]]')
_REASONING_KEYS: Final = ("reasoning_content", "thinking")  # as chat templates call it
_ID_CHARS: Final = ascii_letters + digits
_CALLED: Final = r"[A-Za-z0-9_.\-/]+"
_choices: Final = SystemRandom().choices  # which no seed repeats: ids differ in one conversation
KEPT: Final = 4096  # characters that were read and may still be held
ANYTHING: Final = ArgumentSchema(True)  # of a tool that is not known


def _new_id() -> str:
    return "".join(_choices(_ID_CHARS, k=9))


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A call of a tool. R: the type of the function's result."""

    name: str
    """The name of the tool."""

    arguments: dict[str, Any]
    """The arguments by name, as JSON values."""

    number: str = ""
    """The number of the call, if the style counts calls; otherwise empty."""

    written: str = field(default="", compare=False, repr=False)
    """The arguments as the model wrote them."""

    tool: Tool | None = field(default=None, compare=False, repr=False)
    """The called tool; None if the parser does not know it."""

    id: str = field(default_factory=_new_id, compare=False, repr=False)
    """The id by which results refer to the call in the next request, in the form that chat templates require."""

    offset: int = field(default=0, compare=False, repr=False)
    """The position in the turn where the call begins, in characters."""

    style: ToolStyle | None = field(default=None, compare=False, repr=False)
    """The style of the turn."""

    def run(self) -> R:
        """Call the tool's function with arguments of its declared types; return its result.

        Raises: ToolError if the tool has no function, or the arguments do not match; otherwise the exceptions
            of the function.
        """
        if self.tool is None:
            raise ToolError("", f"`{self.name}` is not one of the tools of the parser")
        result: R = self.tool.run(self.arguments)
        return result


@dataclass(frozen=True, slots=True)
class Delta:
    """A new piece of a turn: more text of the reasoning or the content, or a complete call."""

    kind: Literal["reasoning", "content", "call"]
    """The part of the turn to which the piece belongs."""

    text: str = ""
    """New text of the reasoning or the content; empty for a call."""

    call: Call | None = None
    """The complete call; None for text."""


@dataclass(slots=True)
class ParsedTurn:
    """A parsed turn."""

    reasoning: str = ""
    """The text of the reasoning, without its markers; empty if there is none."""

    content: str = ""
    """The text of the answer; empty if there is none."""

    calls: list[Call] = field(default_factory=list)
    """The calls in order; empty if there are none."""

    def message(self, *, as_json: bool | None = None) -> dict[str, Any]:
        """Return the assistant's message for the next request; results refer to calls by ``Call.id``.

        ``as_json``: True: OpenAI's format, with arguments as JSON text, and None for missing content. False:
        arguments as values, and content that is always text. None: the format of the style's chat templates.
        """
        if as_json is None:
            as_json = any(call.style is not None and call.style.json_messages for call in self.calls)
        found: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning:
            found |= dict.fromkeys(_REASONING_KEYS[: 1 if as_json else None], self.reasoning)
        if self.calls:
            found["tool_calls"] = [_call_message(call, as_json) for call in self.calls]
            found["content"] = self.content or (None if as_json else "")
        return found


def _call_message(call: Call, as_json: bool) -> dict[str, Any]:
    try:
        arguments = (
            json.dumps(call.arguments, ensure_ascii=False, allow_nan=False) if as_json else call.arguments
        )
    except (TypeError, ValueError) as error:  # sets of Python, and infinite numbers
        raise ToolError("", f"the arguments of the call of `{call.name:.60}` are not JSON: {error}") from None
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class JsonEnd:
    """Finds the end of a JSON object or array while its text arrives. Cost: linear in all the text."""

    def __init__(self) -> None:
        self._at = -1  # what comes next
        self._depth = 0
        self._in_string = False

    def closed(self, text: str, begin: int) -> int:
        """Return the position after the last bracket of the value that begins here; -1 if it is incomplete."""
        if self._at < 0:
            self._at = begin
        while match := _SIGNS.search(text, self._at):
            sign = match[0]
            self._at = match.end() + (sign == "\\")  # what is escaped says nothing
            if sign == '"':
                self._in_string = not self._in_string
            elif not self._in_string and sign in "{[":
                self._depth += 1
            elif not self._in_string and sign in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self._at = match.start()  # asked again, it says the same
                    self._depth = 1
                    return match.end()
        self._at = max(self._at, len(text))
        return -1

    def move(self, count: int) -> None:
        """Continue in a text from which characters were dropped. ``count``: their number, negative."""
        if self._at >= 0:
            self._at += count


class TurnParser:
    """Parses one turn of a style: call ``feed`` with the text as it arrives, and ``close`` at the end.

    ``tools``: distinguish strings from other values, if the style does not mark them. ``opened``: the prompt
    has begun the reasoning. Cost: linear in the text, except for arguments between markers that contain the
    end marker of their call: these are parsed again at each such marker.
    """

    style: ToolStyle
    """The style of the turn."""

    tools: dict[str, Tool]
    """The known tools, by name."""

    schemas: dict[str, ArgumentSchema]
    """The argument schemas of the tools, by name."""

    def __init__(self, style: str | ToolStyle, tools: Iterable[Any] = (), *, opened: bool = False) -> None:
        self.style = style_of(style)
        self.tools = {tool.name: tool for tool in read_tools(tools)}
        self.schemas = {name: tool.argument_schema for name, tool in self.tools.items()}
        self._said: dict[str, list[str]] = {"reasoning": [], "content": []}
        self._calls: list[Call] = []
        self._text = ""  # that is not read yet, after some that is
        self._at = 0
        self._dropped = 0  # characters before it
        self._state = "reasoning" if opened else "begin"
        self._tried = 0  # how long the text was when a call was not at its end
        self._brackets = JsonEnd()
        # a call: its name, where its arguments begin, its end, its id
        self._open: tuple[str, int, str, str] | None = None
        self._new_id = _new_id()  # of the next call, if it has no other

    def feed(self, text: str) -> list[Delta]:
        """Return the new pieces after this text. Raises: TurnError if it is not a turn of the style."""
        if self._at > KEPT:
            self._dropped += self._at
            self._tried = max(0, self._tried - self._at)
            self._brackets.move(-self._at)
            self._text = self._text[self._at :]
            self._at = 0
        self._text += text
        return self._read(False)

    def close(self) -> list[Delta]:
        """Return the held-back text, at the end of the text. Raises: TurnError if the turn is incomplete."""
        found = self._read(True)
        place = self._dropped + self._at
        rest = self._text[self._at :]
        if self._state == "section" and not rest.strip(_BLANKS):
            raise TurnError(place, f"`{self.style.section[1]}` is needed", True)
        if self._state in ("reasoning", "section", "call"):
            raise TurnError(place, f"the text ends inside of a {self._state}", True)
        return found

    @property
    def turn(self) -> ParsedTurn:
        """The turn so far. Cost: linear in its text."""
        said = {kind: "".join(pieces) for kind, pieces in self._said.items()}
        return ParsedTurn(said["reasoning"], said["content"], list(self._calls))

    def _read(self, final: bool) -> list[Delta]:
        found: list[Delta] = []
        try:
            while self._advance(found, final):
                pass
        except TurnError as error:
            raise TurnError(self._dropped + error.offset, error.problem, error.is_cut) from None
        return found

    # -- states --------------------------------------------------------------------------------------

    def _advance(self, found: list[Delta], final: bool) -> bool:
        """Continue parsing. Return whether the state changed, so that more text may be parsed."""
        step: Callable[[list[Delta], bool], bool] = getattr(self, f"_{self._state}")
        return step(found, final)

    def _go(self, state: str, length: int = 0) -> bool:
        self._at += length
        self._state = state
        return True

    def _ahead(self, marker: str) -> str:
        """Return the part of the text that a marker could cover."""
        return self._text[self._at : self._at + len(marker)]

    @property
    def _free(self) -> str:
        """The parser's state outside all markers."""
        return "between" if self.style.content[0] else "plain"

    def _begin(self, found: list[Delta], final: bool) -> bool:
        marker = self.style.thinking[0]
        if self._text.startswith(marker, self._at):
            return self._go("reasoning", len(marker))
        if not final and marker.startswith(self._ahead(marker)):
            return False
        return self._go(self._free)

    def _reasoning(self, found: list[Delta], final: bool) -> bool:
        return self._text_until((self.style.thinking[1],), self._free, "reasoning", found, final)

    def _plain(self, found: list[Delta], final: bool) -> bool:
        begin = self.style.begin
        if self.style.is_alone:
            return self._alone(found, final)
        return self._text_until(
            (begin,), "section" if self.style.section[0] else "call", "content", found, final
        )

    def _alone(self, found: list[Delta], final: bool) -> bool:
        """Parse a turn of only calls if it begins like one, else of text. Whitespace may precede calls."""
        text, begin = self._text, self.style.begin
        if not self._calls and not self._said["content"]:
            start = skip_blanks(text, self._at)
            if text.startswith(begin, start):
                if not self.style.section[0]:
                    return self._go("call", start - self._at)
                return self._go("section", start + len(begin) - self._at)
            if begin.startswith(text[start : start + len(begin)]) and not final:
                return False
        self._say("content", text[self._at :], found)
        self._at = len(text)
        return False

    def _content(self, found: list[Delta], final: bool) -> bool:
        return self._text_until(self.style.content[1], "between", "content", found, final)

    def _text_until(
        self,
        ends: tuple[str, ...],
        state: str,
        kind: Literal["reasoning", "content"],
        found: list[Delta],
        final: bool,
    ) -> bool:
        """Emit text up to one of the ends; a possible beginning of such an end is held back."""
        text = self._text
        places = [(place, end) for end in ends if (place := text.find(end, self._at)) >= 0]
        if places:
            place, end = min(places)
            self._say(kind, text[self._at : place], found)
            self._at = place
            return self._go(state, 0 if state == "call" else len(end))
        held = 0 if final and kind == "content" else max(_held_back(text, end, self._at) for end in ends)
        self._say(kind, text[self._at : len(text) - held], found)
        self._at = len(text) - held
        return False

    def _say(self, kind: Literal["reasoning", "content"], text: str, found: list[Delta]) -> None:
        if text:
            found.append(Delta(kind, text))
            self._said[kind].append(text)

    def _between(self, found: list[Delta], final: bool) -> bool:
        """Determine the next block; only markers occur between blocks."""
        style = self.style
        text = self._text
        if self._at == len(text):
            return False
        states = {
            style.content[0]: "content",
            style.thinking[0]: "reasoning",
            style.glue: "between",
            style.end: "between",
        }
        if style.section[0]:
            states[style.section[0]] = "section"
        for marker, state in states.items():
            if marker and text.startswith(marker, self._at):
                return self._go(state, len(marker))
        if not style.section[0] and any(pattern.match(text, self._at) for pattern in _openings(style)):
            return self._go("call")
        may_be_marker = any(marker.startswith(self._ahead(marker)) for marker in states if marker)
        if not final and (may_be_marker or _may_open(style, text, self._at)):
            return False
        is_cut = may_be_marker or _may_open(style, text, self._at)
        raise TurnError(self._at, f"no block begins with {text[self._at : self._at + 40]!r}", is_cut)

    def _section(self, found: list[Delta], final: bool) -> bool:
        self._at = skip_blanks(self._text, self._at)
        comma = self.style.between.strip(_BLANKS)
        if comma and self._text.startswith(comma, self._at):
            self._at = skip_blanks(self._text, self._at + len(comma))
        end = self.style.section[1]
        rest = self._ahead(end)
        if rest == end:
            return self._go(self._free, len(end))
        if not rest or (end.startswith(rest) and not final):
            return False
        return self._go("call")

    def _call(self, found: list[Delta], final: bool) -> bool:
        text, style = self._text, self.style
        for pattern, (begin, end) in zip(_openings(style), style.calls, strict=True):
            match = pattern.match(text, self._at)
            if match is None:
                continue
            if match.end() < len(text) or not begin.endswith((NAME, NUMBER)):
                self._open = match["name"], match.end() - self._at, end, self._id(match)
            if not final and not self._may_be_whole(match.end(), end):
                return False
            try:
                schema = self.schemas.get(match["name"]) or ANYTHING
                if style.arguments == TEXT:
                    arguments, after = self._read_text(match["name"], match.end(), end)
                else:
                    arguments, after = read_arguments(text, match.end(), style.arguments, schema)
                stop = _closed(text, after, end, style.arguments)
            except TurnError:
                if final:
                    raise
                return False
            number = match.groupdict().get("id") or ""
            written = text[match.end() : after]
            name = match["name"]
            place = self._dropped + self._at
            call = Call(name, arguments, number, written, self.tools.get(name), self._id(match), place, style)
            self._open = None
            self._new_id = _new_id()
            found.append(Delta("call", call=call))
            self._calls.append(call)
            self._tried = 0
            self._brackets = JsonEnd()
            self._at = stop
            return self._go("section" if style.section[0] else "after")
        may_open = _may_open(style, text, self._at)
        if final or not may_open:
            is_cut = may_open or style.section[1].startswith(text[self._at :])
            raise TurnError(self._at, f"no call begins with {text[self._at : self._at + 40]!r}", is_cut)
        return False

    def _read_text(self, name: str, at: int, end: str) -> tuple[dict[str, Any], int]:
        """Return a text argument, up to the first end at which it matches the grammar of its tool."""
        tool = self.tools.get(name)
        place = first = self._text.find(end, at)
        while place >= 0:
            argument = self._text[at:place]
            if tool is None or tool.grammar is None or tool.grammar.accepts(argument):
                return {"input" if tool is None else tool.input: argument}, place
            place = self._text.find(end, place + 1)
        raise TurnError(at, f"`{end}` is needed after an argument of `{name}`", first < 0)

    def _id(self, match: re.Match[str]) -> str:
        """Return the id of a call with this beginning."""
        form = self.style.call_id
        number = match["id"] if NUMBER in form else ""
        return form.replace(NAME, match["name"]).replace(NUMBER, number) or self._new_id

    def arguments_from(self, start: int) -> tuple[str, str, str] | None:
        """Return the name, the id, and the written arguments of the current call, from an offset on.

        None between calls, and while the name may still be incomplete. A possible end of the call is held
        back.
        """
        if self._open is None:
            return None
        name, offset, end, call_id = self._open
        text, at = self._text, self._at + offset
        if self.style.arguments == "json":
            stop = self._brackets.closed(text, at)
            return name, call_id, text[at + start : len(text) if stop < 0 else stop]
        place = text.find(end, max(at, at + start - len(end) + 1))
        stop = place if place >= 0 else len(text) - _held_back(text, end, at)
        return name, call_id, text[at + start : stop].rstrip(_BLANKS) if stop > at + start else ""

    def _may_be_whole(self, at: int, end: str) -> bool:
        """Return whether a call may be complete whose arguments begin at a position."""
        text = self._text
        if self.style.arguments == "json":
            stop = self._brackets.closed(text, at)
            if stop < 0:
                return False
            stop = skip_blanks(text, stop)
            return text.startswith(end, stop) or not end.startswith(text[stop:])
        found = text.find(end, max(at, self._tried - len(end) + 1)) >= 0
        self._tried = len(text)
        return found

    def _after(self, found: list[Delta], final: bool) -> bool:
        """Skip the text between two calls, which is not content, but a line break or nothing."""
        if self._free == "between":
            return self._go(self._free)
        between, begin = self.style.between, self.style.begin
        loose = () if between.strip() else ("", "\n")
        for joined in (between + begin, *(blanks + begin for blanks in loose)):
            if self._text.startswith(joined, self._at):
                return self._go("call", len(joined) - len(begin))
            if not final and joined.startswith(self._ahead(joined)):
                return False
        if final and loose and self._text[self._at :] == "\n":
            self._at += 1  # after the last call
        return self._go(self._free)


def parse(
    style: str | ToolStyle,
    text: str,
    *,
    tools: Iterable[Any] = (),
    opened: bool = False,
    check: bool = True,
) -> ParsedTurn:
    """Return the contents of a whole turn of a style.

    ``tools``, ``opened``: as in ``TurnParser``. ``check``: calls must be of existing tools, with arguments
    that their schemas allow; False accepts any calls. Without tools there is nothing to check.
    Raises: TurnError if the text is not such a turn; SchemaError if the parameters of a called tool are not a schema.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"a turn is text, not {type(text).__name__}: decode the tokens first")
    parser = TurnParser(style, tools, opened=opened)
    parser.feed(text)
    parser.close()
    turn = parser.turn
    for call in turn.calls if check and parser.tools else ():
        if call.tool is None:
            raise TurnError(call.offset, f"no tool `{call.name:.60}`; {advice(call.name, parser.tools)}")
        if problem := call.tool.refusal(call.arguments):
            raise TurnError(call.offset, f"the call of `{call.name}`: {problem}")
    return turn


def _openings(style: ToolStyle) -> list[re.Pattern[str]]:
    """Return a pattern for the beginning of a call in each of its spellings."""
    return [marker_pattern(begin, _CALLED) for begin, _ in style.calls]


def _may_open(style: ToolStyle, text: str, at: int) -> bool:
    """Return whether more text may complete this to the beginning of a call."""
    return any(may_begin(begin, text, at, _CALLED) for begin, _ in style.calls)


def _held_back(text: str, marker: str, at: int) -> int:
    """Return the number of characters at the end of the text that may be the beginning of a marker."""
    for size in range(min(len(marker) - 1, len(text) - at), 0, -1):
        if text.endswith(marker[:size]):  # mutant: held-back
            return size
    return 0


def _closed(text: str, at: int, end: str, style: str) -> int:
    """Return the position after the end of a call, which may follow whitespace. ``style``: of the arguments."""
    places = range(at, skip_blanks(text, at) + 1)
    for place in places:
        if text.startswith(end, place):
            return place + len(end)
    is_cut = may_go_on(text, at, style) or any(end.startswith(text[place:]) for place in places)
    raise TurnError(at, f"`{end}` is needed", is_cut)


# --------------------------------------------------------------------------------------------------------
# A turn as events, while its text arrives: what chat interfaces show, and what a tool loop waits for
# --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """New text of the reasoning."""

    text: str
    """The text since the last such event; never empty."""


@final
@dataclass(frozen=True, slots=True)
class TextDelta:
    """New text of the answer."""

    text: str
    """The text since the last such event; never empty."""


@final
@dataclass(frozen=True, slots=True)
class CallStarted:
    """The name of a call is known. ``index``: the number of the call in its turn, from 0."""

    index: int
    """The number of the call in its turn, from 0."""

    name: str
    """The name of the tool."""

    id: str = field(default="", compare=False)
    """The id of the call, as in ``Call.id``."""


@final
@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """New text of the arguments of a call, as the model writes it."""

    index: int
    """The number of the call in its turn, from 0."""

    text: str
    """The new text of the arguments, as the model writes it; never empty."""


@final
@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call is complete, with its arguments as values."""

    index: int
    """The number of the call in its turn, from 0."""

    call: Call
    """The call, with its arguments as values."""


@final
@dataclass(frozen=True, slots=True)
class Value:
    """The answer is complete. The event has its value if the answer has a type."""

    value: Any
    """An object of the type, or plain Python values; None if the answer has no type."""


Event: TypeAlias = ReasoningDelta | TextDelta | CallStarted | ArgumentsDelta | CallFinished | Value


class EventReader:
    """Parses one turn of a style as events; the arguments are those of ``TurnParser``.

    The concatenated deltas of a kind are the complete text: of the reasoning, of the answer, or of the
    arguments of each call (``Call.written``).
    Cost: as ``TurnParser``.
    """

    def __init__(self, style: str | ToolStyle, tools: Iterable[Any] = (), *, opened: bool = False) -> None:
        self._parser = TurnParser(style, tools, opened=opened)
        self._index = 0
        self._started = False
        self._given = 0  # characters of the arguments of the open call

    @property
    def turn(self) -> ParsedTurn:
        """The turn so far."""
        return self._parser.turn

    def feed(self, text: str) -> list[Event]:
        """Return the new pieces after this text. Raises: TurnError if it is not a turn of the style."""
        return self._events(self._parser.feed(text))

    def close(self) -> list[Event]:
        """Return the held-back text, at the end of the text. Raises: TurnError if the turn is incomplete."""
        return self._events(self._parser.close())

    def _events(self, deltas: list[Delta]) -> list[Event]:
        found: list[Event] = []
        for delta in deltas:
            if delta.call is not None:
                self._progress(delta.call.name, delta.call.id, delta.call.written[self._given :], found)
                found.append(CallFinished(self._index, delta.call))
                self._index += 1
                self._started, self._given = False, 0
            else:
                found.append(
                    ReasoningDelta(delta.text) if delta.kind == "reasoning" else TextDelta(delta.text)
                )
        unfinished = self._parser.arguments_from(self._given)
        if unfinished is not None:
            self._progress(*unfinished, found)
        return found

    def _progress(self, name: str, call_id: str, text: str, found: list[Event]) -> None:
        if not self._started:
            self._started = True
            found.append(CallStarted(self._index, name, call_id))
        if text:
            self._given += len(text)
            found.append(ArgumentsDelta(self._index, text))
