"""The results of generation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeAlias

from stackmask.grammar.outputs import R, T
from stackmask.grammar.source.notebook import code, table, words
from stackmask.grammar.source.options import ELSEWHERE, missing_name
from stackmask.grammar.turns.tool import Tool

if TYPE_CHECKING:
    from stackmask.grammar.turns.parser import Call

MOST_CALLS: Final = 20  # that a notebook shows

Prompt: TypeAlias = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of a chat, which the tokenizer's chat template renders."""

Prompts: TypeAlias = Prompt | Sequence[Prompt]

Tools: TypeAlias = Iterable[Callable[..., R] | Tool | Mapping[str, Any]] | None
"""Tools whose functions return an R."""

Reason: TypeAlias = Literal["stop", "length", "interrupted"]
"""The cause of a text's end: a stop token, the number of tokens, or a stopping criterion or the caller."""


@dataclass(frozen=True, slots=True)
class JumpReport:
    """The model calls that jump-forward saved for one text."""

    mode: str
    """The argument ``jump`` of ``generate``: "canonical", "draft" or "off"."""

    model_calls: int
    """The number of model calls for this text, including the one that reads the prompt."""

    avoided_calls: int
    """The number of tokens, with the stop token, minus ``model_calls``."""

    forced_tokens: int
    """The number of tokens appended without calling the model."""

    taken_back: int
    """The number of the model's tokens that were replaced by longer ones."""

    note: str = ""
    """The last reason against a jump, or the reason why jump-forward was not used; may be empty."""

    drafted_tokens: int = 0
    """The number of draft tokens that the model read."""

    accepted_tokens: int = 0
    """The number of draft tokens that the model then chose."""


@dataclass(frozen=True, slots=True)
class GenerationResult(Generic[T, R]):
    """One generated text. ``GenerationResult[T, R]``: its value is a T, and running its calls returns an R.

    For a turn with tools or reasoning, ``reasoning``, ``content`` and ``calls`` are the parts of the text,
    and ``parsed`` is the value of the content.
    """

    prompt: Prompt = field(repr=False)
    """The prompt."""

    text: str
    """The generated text, without prompt, stop token and special tokens; for a turn, with its markers."""

    token_ids: tuple[int, ...] = field(repr=False)
    """The ids of the generated tokens, without prompt, stop token and padding."""

    finished: bool
    """Whether the text is a complete string of the grammar; without a grammar, whether a stop token ended it."""

    reason: Reason
    """What ended the text: "stop" a stop token, "length" ``max_new_tokens``, "interrupted" a stopping criterion or the caller."""

    jumps: JumpReport | None = field(default=None, repr=False)
    """The report of jump-forward; None with ``jump="off"``."""

    parsed: T | None = field(default=None, compare=False)
    """The value of the text; None if there is no value, for the reason in ``parse_error``."""

    parse_error: str = field(default="", compare=False, repr=False)
    """The reason for a missing value; empty if there is a value, or the grammar has no values."""

    content: str = field(default="", compare=False, repr=False)
    """For a turn, the answer without reasoning, calls and markers; otherwise ``text``."""

    reasoning: str = field(default="", compare=False, repr=False)
    """For a turn, the text of its reasoning; otherwise empty."""

    calls: tuple[Call[R], ...] = field(default=(), compare=False, repr=False)
    """For a turn, its calls in order; otherwise empty."""

    closing_at: int | None = field(default=None, compare=False, repr=False)
    """The number of tokens after which the rest of ``wrap_up`` only sufficed to end; None if not reached or requested."""

    note: str = field(default="", compare=False, repr=False)
    """The reason that the text is not finished, in one line; empty if it is finished."""

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)  # one parameter will do

    def message(self, *, as_json: bool | None = None) -> dict[str, Any]:
        """Return the assistant's message for the next request, as in ``tools.ParsedTurn.message``."""
        from stackmask.grammar.turns.parser import ParsedTurn

        return ParsedTurn(self.reasoning, self.content, list(self.calls)).message(as_json=as_json)

    def _repr_html_(self) -> str:
        is_turn = bool(self.reasoning or self.calls)
        saved = self.jumps.avoided_calls if self.jumps is not None else 0
        rows = [
            ("text", code(self.text) if not is_turn else ""),
            ("reasoning", code(self.reasoning) if self.reasoning else ""),
            *(("call", code(f"{call.name}({call.arguments})")) for call in self.calls[:MOST_CALLS]),
            ("content", code(self.content) if is_turn and self.content else ""),
            ("parsed", code(repr(self.parsed)) if self.parsed is not None else words(self.parse_error)),
            ("finished", words("yes" if self.finished else self.note)),
            (
                "tokens",
                words(
                    f"{len(self.token_ids):,}" + (f", {saved:,} calls of the model avoided" if saved else "")
                ),
            ),
        ]
        return table("GenerationResult", rows)


_CURE: Final = "`[result] = generate(…)`: there is a result for each prompt, in a list"
ELSEWHERE["Results"] = dict.fromkeys(GenerationResult.__slots__, _CURE)


class Results(list[Any]):
    """The results of a call, one for each prompt, with a helpful error if it is used like a single result."""

    if not TYPE_CHECKING:
        __getattr__ = missing_name
