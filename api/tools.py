"""Tool calls: the grammar of a whole turn, and the parser for its text.

>>> import stackmask as sm
>>> weather = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
>>> grammar = sm.tools.grammar("qwen_3", [weather], reasoning="off")
>>> text = 'Sure.<tool_call>\\n{"name": "weather", "arguments": {"city": "Rome"}}\\n</tool_call>'
>>> turn = sm.tools.parse("qwen_3", text)
>>> turn.content, turn.calls[0].arguments
('Sure.', {'city': 'Rome'})
"""

from __future__ import annotations

from stackmask.grammar.turns.errors import ToolError, TurnError
from stackmask.grammar.turns.frontend import grammar, structural_tag
from stackmask.grammar.turns.parser import (
    ArgumentsDelta,
    Call,
    CallFinished,
    CallStarted,
    Delta,
    Event,
    EventReader,
    ParsedTurn,
    ReasoningDelta,
    TextDelta,
    TurnParser,
    Value,
    parse,
)
from stackmask.grammar.turns.styles import ToolStyle, register, style_names, style_of
from stackmask.grammar.turns.tool import Tool

__all__ = [
    "ArgumentsDelta",
    "Call",
    "CallFinished",
    "CallStarted",
    "Delta",
    "Event",
    "EventReader",
    "ParsedTurn",
    "ReasoningDelta",
    "TextDelta",
    "Tool",
    "ToolError",
    "ToolStyle",
    "TurnError",
    "TurnParser",
    "Value",
    "grammar",
    "parse",
    "register",
    "structural_tag",
    "style_names",
    "style_of",
]
