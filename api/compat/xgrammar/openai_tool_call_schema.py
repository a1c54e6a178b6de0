"""Tools and tool choices in OpenAI's format, as pydantic models."""

from stackmask.runtime.compat.xgrammar.model_tags import (
    AllowedToolChoiceParam,
    AllowedToolRef,
    AllowedToolsParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionDefinition,
    FunctionToolParam,
    NamedToolChoiceFunction,
    NamedToolChoiceParam,
    ToolChoiceOptionParam,
    ToolParam,
)

__all__ = [
    "AllowedToolChoiceParam",
    "AllowedToolRef",
    "AllowedToolsParam",
    "BuiltinToolChoiceParam",
    "BuiltinToolParam",
    "FunctionDefinition",
    "FunctionToolParam",
    "NamedToolChoiceFunction",
    "NamedToolChoiceParam",
    "ToolChoiceOptionParam",
    "ToolParam",
]
