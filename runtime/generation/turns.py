"""Turns with tools and reasoning: requests, and parsed outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.outputs import Output, describe_refusal
from stackmask.grammar.turns.errors import TurnError
from stackmask.grammar.turns.frontend import grammar as turn_grammar
from stackmask.grammar.turns.parser import EventReader, ParsedTurn, TurnParser
from stackmask.grammar.turns.styles import ToolStyle, style_of
from stackmask.grammar.turns.tool import read_tools
from stackmask.runtime.generation.errors import GenerationError

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

Began: TypeAlias = Literal["", "opened", "closed"]
"""The state of the reasoning at the end of the prompt: not begun, begun, or ended."""

THINKING_SWITCHES: Final = ("enable_thinking", "thinking")  # what chat templates call them
_BLANKS: Final = " \n"


@final
class TurnPlan:
    """The request for turns, with their style.

    Raises: ToolError for an unknown style, or if no style can be detected; as ``tools.grammar`` when a
    grammar is created.
    """

    def __init__(
        self,
        tokenizer: Any,
        style: Any,
        tools: Iterable[Any] | None,
        tool_choice: Any,
        reasoning: str,
        parallel: bool,
    ) -> None:
        self.style: ToolStyle = style_of(tokenizer if style is None else style)
        self.tools = read_tools(tools or ())
        self.tool_choice = tool_choice
        self.reasoning = reasoning
        self.parallel = parallel

    def chat_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the chat template: the tools, and whether to think; the caller's own options win."""
        found: dict[str, Any] = {}
        if self.tools and self.tool_choice != "none":
            found["tools"] = [tool.as_dict() for tool in self.tools]
        if self.reasoning in ("on", "off"):
            found.update(dict.fromkeys(THINKING_SWITCHES, self.reasoning == "on"))
        return {**found, **given}

    def began(self, prompt: str) -> Began:
        """Determine from the end of a prompt whether it has begun or ended the reasoning.

        Raises: GenerationError if this contradicts the request.
        """
        begin, end = self.style.thinking
        written = prompt.rstrip(_BLANKS)
        found: Began = ""
        if begin and written.endswith(begin):
            found = "opened"
        elif end and written.endswith(end):
            found = "closed"
        against = {"off": "opened", "on": "closed"}.get(self.reasoning)
        if found and found == against:
            raise GenerationError(
                f"reasoning is {self.reasoning!r}, but the prompt ends with {written[-20:]!r}: the chat template has "
                f'{found} the reasoning; use reasoning="auto", or chat_options that change the template'
            )
        return found

    def grammar(self, answer: Grammar | None, began: Began, profile: Literal["exact", "model"]) -> Grammar:
        """Return the grammar of a turn, given the grammar of its answer, if any. Raises: as ``tools.grammar``."""
        reasoning = {"opened": "on", "closed": "off"}.get(began, self.reasoning)
        return turn_grammar(
            self.style,
            self.tools,
            tool_choice=self.tool_choice,
            reasoning=reasoning,
            response_format=answer,
            parallel=self.parallel,
            opened=began == "opened",
            profile=profile,
        )

    def events(self, began: Began) -> EventReader:
        """Return a reader for a turn that is still arriving."""
        return EventReader(self.style, self.tools, opened=began == "opened")

    def read(self, text: str, began: Began) -> ParsedTurn:
        """Return the parsed turn; for an unfinished turn, the complete parts."""
        parser = TurnParser(self.style, self.tools, opened=began == "opened")
        with suppress(TurnError):
            parser.feed(text)
            parser.close()
        return parser.turn

    def marker_texts(self, vocabulary: Vocabulary) -> dict[int, bytes]:
        """Return the special tokens that occur in markers of the style, with their names as text."""
        style = self.style
        pairs = [*style.calls, style.section, style.thinking, (style.content[0], *style.content[1])]
        markers = [
            style.between,
            style.trigger,
            style.glue,
            style.end,
            *(each for pair in pairs for each in pair),
        ]
        names = vocabulary.special_names.items()
        return {token: name.encode() for name, token in names if any(name in marker for marker in markers)}


def answer_value(turn: ParsedTurn, answer: Grammar | None) -> tuple[Any, str]:
    """Return the value of the answer of a complete turn, or None and the reason."""
    if turn.calls:
        return None, "the model calls tools, and does not answer yet: see `calls`"
    output: Output | None = None if answer is None else answer.output
    if answer is None or output is None:
        return None, "the answer is free text, or in a grammar that says nothing of values: see `content`"
    text = turn.content
    if output.kind != "json" and not answer.accepts(text):
        text = text.lstrip(_BLANKS)  # that stood after the reasoning
    return value_of(output, text)


def value_of(output: Output, text: str) -> tuple[Any, str]:
    """Return the value of a text, or None and the reason."""
    try:
        return output.value(text), ""
    except Exception as error:  # noqa: BLE001  # a validator of the type may raise anything, and the text is there
        return None, describe_refusal(error)
