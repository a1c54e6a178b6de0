"""Calling the functions of tools with what a model has written."""

from __future__ import annotations

import asyncio
import datetime
import enum
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from stackmask import tools


class Unit(enum.Enum):
    METRIC = "metric"


class Place(BaseModel):
    city: str
    since: datetime.date | None = None


@dataclass
class Size:
    width: int


def report(
    place: Place,
    units: set[Unit],
    size: Size,
    at: datetime.datetime,
    raw: bytes = b"",
    plain=None,  # type: ignore[no-untyped-def]
) -> list[Any]:
    """Tell what has come."""
    return [place, units, size, at, raw, plain]


def call_of(function: Any, arguments: str) -> tools.Call:
    text = f'<tool_call>\n{{"name": "{function.__name__}", "arguments": {arguments}}}\n</tool_call>'
    return tools.parse("qwen_3", text, tools=[function]).calls[0]


def test_functions_get_values_of_their_types() -> None:
    call = call_of(
        report,
        '{"place": {"city": "Rome", "since": "2024-02-29"}, "units": ["metric"], "size": {"width": 3}, '
        '"at": "2024-02-29T12:00:00Z", "raw": "abc", "plain": [1]}',
    )
    at = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
    place = Place(city="Rome", since=datetime.date(2024, 2, 29))
    assert call.run() == [place, {Unit.METRIC}, Size(3), at, b"abc", [1]]


def test_methods_and_coroutines() -> None:
    class Shop:
        def count(self, item: str, more: int = 1) -> int:
            return len(item) + more

    async def wait(seconds: float) -> float:
        return seconds

    assert call_of(Shop().count, '{"item": "tea"}').run() == 4
    assert asyncio.run(call_of(wait, '{"seconds": 2}').run()) == 2.0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"size": 3, "width": 2}, "at /width: `count` has no such parameter; there are size, name"),
        ({"name": "a"}, "at /size: `count` needs this argument"),
        (
            {"size": "many"},
            "at /size: of `count`: ValidationError: the value: Input should be a valid integer",
        ),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], problem: str) -> None:
    def count(size: int, name: str = "") -> None:
        raise AssertionError("not called")

    with pytest.raises(tools.ToolError, match=problem):
        tools.Tool.of(count).run(arguments)


def test_there_must_be_a_function() -> None:
    with pytest.raises(tools.ToolError, match="`f` has no function to run: it was given as a schema"):
        tools.Tool("f").run({})
    with pytest.raises(tools.ToolError, match="`f` is not one of the tools of the parser"):
        tools.Call("f", {}).run()


def test_what_the_function_raises_is_raised() -> None:
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        call_of(fail, "{}").run()


def test_strict_keeps_the_function() -> None:
    def one() -> int:
        return 1

    assert tools.Tool.of(one).with_strict(False).run({}) == 1


def test_tools_as_chat_templates_want_them() -> None:
    made = tools.Tool.of(report).as_dict()["function"]
    assert made["name"] == "report" and made["description"] == "Tell what has come."
    assert made["parameters"]["required"] == ["place", "units", "size", "at"]
    assert tools.Tool("f").as_dict()["function"]["parameters"] == {"type": "object", "properties": {}}
