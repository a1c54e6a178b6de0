"""The entrance: the grammar of a turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.tools.styles import ToolStyle
from stackmask.grammar.tools.turn import Turn


def grammar(
    style: str | ToolStyle,
    tools: Iterable[Any] = (),
    *,
    tool_choice: Any = "auto",
    reasoning: str = "auto",
    response_format: Any = None,
    parallel: bool = True,
    parallel_tool_calls: bool | None = None,
    strict: bool | None = None,
    opened: bool = False,
    profile: str = "exact",
    limits: Any = None,
) -> Grammar:
    """Make the grammar of a whole turn: reasoning, then text and calls, or an answer in a schema (``docs/tools.md``).

    ``style``: how the model writes calls, by name. ``tools``: what ``Tool.of`` reads. ``tool_choice``: "auto", "none",
    "required" or "any", the name of a tool, or a dict of OpenAI or Anthropic that names one or lists ``allowed_tools``. ``reasoning``: "on",
    "off", "auto" (may be left out; in `llama` there is none then). ``response_format``: a JSON Schema, a dict of OpenAI or a Grammar; the answer is then in it, and
    calls are still possible. ``parallel``: several calls in a turn; OpenAI calls it ``parallel_tool_calls``. ``strict``: for all tools; False allows any object
    as arguments, which ``report`` of the grammar says. ``opened``: the prompt has begun the reasoning.
    ``profile``: of JSON in arguments and answers, as for ``Grammar.from_json_schema``; "exact" has any blanks here, "model"
    at most ``MAX_CALLS`` calls, which end the turn.
    ``limits``: a ``Limits``.
    Raises: ToolError with the place in the request; SchemaError for the schema of a tool or of the answer, with its place.
    """

    def read() -> Grammar:
        with without_collection():  # all that is made is kept, and none of it leads back to itself
            several = parallel if parallel_tool_calls is None else parallel_tool_calls
            turn = Turn(
                style, tools, tool_choice, reasoning, response_format, several, strict, opened, profile
            )
            later = turn.check()
        made = Grammar._with_markers(lambda names: Grammar._merged(turn.rules(names)), later=later)
        made.report = turn.report
        return made

    return Grammar._read(limits, read)
