"""Tools and choices of tools in the shapes of OpenAI's chat interface, as pydantic models."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel


class FunctionDefinition(BaseModel):
    """A function that a model may call."""

    name: str
    """What the model calls it."""

    description: str | None = None
    """What it does, in words for the model."""

    parameters: dict[str, Any] | None = None
    """The JSON Schema of its arguments; None allows any."""

    strict: bool | None = None
    """Whether arguments must fit the schema; False allows any."""


class FunctionToolParam(BaseModel):
    """A tool that is a function."""

    type: Literal["function"] = "function"
    """What tells it from a builtin tool."""

    function: FunctionDefinition
    """The function."""


class BuiltinToolParam(BaseModel):
    """A tool of the server, such as a search."""

    type: str
    """What the interface calls it."""

    name: str | None = None
    """What the model calls it; None for its ``type``."""

    parameters: dict[str, Any] | None = None
    """The JSON Schema of its arguments; None allows any."""


class NamedToolChoiceFunction(BaseModel):
    """The name of a function."""

    name: str
    """What the model calls it."""


class NamedToolChoiceParam(BaseModel):
    """The choice of one function."""

    type: Literal["function"] = "function"
    """What tells it from other choices."""

    function: NamedToolChoiceFunction
    """The function."""


class BuiltinToolChoiceParam(BaseModel):
    """The choice of one builtin tool, by its type."""

    type: str
    """The type of the tool."""

    name: str | None = None
    """Taken for nothing: the type decides."""


class AllowedToolRef(BaseModel):
    """A tool of a list: a function by its name, or a builtin tool by its type."""

    type: str
    """"function", or the type of a builtin tool."""

    function: NamedToolChoiceFunction | None = None
    """The function, if it is one."""

    name: str | None = None
    """Taken for nothing: the type decides."""


class AllowedToolsParam(BaseModel):
    """Tools that may be called, of all that there are."""

    mode: Literal["auto", "required"]
    """Whether one of them must be called."""

    tools: list[AllowedToolRef]
    """The tools."""


class AllowedToolChoiceParam(BaseModel):
    """The choice of some tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    """What tells it from other choices."""

    allowed_tools: AllowedToolsParam
    """The tools."""


ToolParam: TypeAlias = FunctionToolParam | BuiltinToolParam
ToolChoiceOptionParam: TypeAlias = (
    Literal["none", "auto", "required"]
    | NamedToolChoiceParam
    | AllowedToolChoiceParam
    | BuiltinToolChoiceParam
)
