"""A turn as events, while its text arrives: what chat interfaces show, and what a tool loop waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from stackmask.grammar.turns.parser import Call, Delta, ParsedTurn, TurnParser
from stackmask.grammar.turns.styles import ToolStyle


@final
@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning."""

    text: str
    """What has come since the last one; never empty."""


@final
@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str
    """What has come since the last one; never empty."""


@final
@dataclass(frozen=True, slots=True)
class CallStarted:
    """The name of a call is known; ``index`` counts the calls of the turn from 0."""

    index: int
    """The number of the call in its turn, from 0."""

    name: str
    """The name of the tool."""

    id: str = field(default="", compare=False)
    """``Call.id`` of the call."""


@final
@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """More of the arguments of a call, as the model writes them."""

    index: int
    """The number of the call in its turn, from 0."""

    text: str
    """What has come since the last one, as the model writes it; never empty."""


@final
@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call is whole, with its arguments as values."""

    index: int
    """The number of the call in its turn, from 0."""

    call: Call
    """The call, with its arguments as values."""


@final
@dataclass(frozen=True, slots=True)
class Value:
    """The answer is whole; its value, where it has a type."""

    value: Any
    """An object of the type, or plain Python values; None if the answer has no type."""


Event: TypeAlias = ReasoningDelta | TextDelta | CallStarted | ArgumentsDelta | CallFinished | Value


class EventReader:
    """Reads one turn of a style as events; the arguments are those of ``TurnParser``.

    The deltas of a kind, put together, are all of it: reasoning, text, the arguments of each call (``Call.written``).
    Cost: as ``TurnParser``.
    """

    def __init__(self, style: str | ToolStyle, tools: Iterable[Any] = (), *, opened: bool = False) -> None:
        self._parser = TurnParser(style, tools, opened=opened)
        self._index = 0
        self._started = False
        self._given = 0  # characters of the arguments of the open call

    @property
    def turn(self) -> ParsedTurn:
        """What was read so far."""
        return self._parser.turn

    def feed(self, text: str) -> list[Event]:
        """Return what is new, now that this text has come. Raises: TurnError if it is no turn of the style."""
        return self._events(self._parser.feed(text))

    def close(self) -> list[Event]:
        """Return what was held back, at the end of the text. Raises: TurnError if the turn is not at an end."""
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
