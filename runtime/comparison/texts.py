"""The text that is followed, given or drawn from the language, and its tokens where there is no tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostics import Diagnostic, render_one
from stackmask.runtime.comparison.subject import ComparisonError
from stackmask.runtime.matching.compiler import CompiledGrammar
from stackmask.runtime.matching.refusal import describe_expectation

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

SHORT: Final = 40  # characters: a drawn text should have at least so many, if the language has them
DRAWN: Final = 12  # texts of which one is taken


@dataclass(frozen=True, slots=True)
class Text:
    """What is followed. ``complete``: the language may end here. ``seed``: that it was drawn with, or None."""

    data: bytes
    complete: bool
    seed: int | None = None

    @property
    def shown(self) -> str:
        """The text for reading."""
        return self.data.decode("utf-8", "replace")


def given_text(compiled: CompiledGrammar, text: str) -> Text:
    """Return a text that was given, after making sure that it begins a text of the language.

    Raises: ComparisonError with the place of the first byte that does not belong.
    """
    data = text.encode("utf-8", "surrogateescape")
    matcher = compiled.matcher()
    position = 0
    while position < len(data) and matcher.accept_string(data[position : position + 1]):
        position += 1
    if position < len(data):
        before = data[:position].decode("utf-8", "ignore")
        expected = describe_expectation(*matcher.expected(), compiled._automaton.store.info)
        span = Span(len(before), min(len(before) + 1, len(text)))
        problem = Diagnostic("", "the text is not in the language", span, f"expected {expected}")
        shown = render_one(problem, [SourceText("<text>", data.decode("utf-8", "replace"))])
        raise ComparisonError(f"the text is not in the language\n{shown.partition(chr(10))[2]}")
    return Text(data, matcher.is_accepting())


def draw_text(grammar: Grammar, seed: int) -> Text:
    """Draw a text of the language: of some the first that is not short, else the longest.

    Raises: SampleError if no string is a whole text. Cost: that of ``Grammar.sample``, for each.
    """
    longest = ""
    for number in range(DRAWN):
        [text] = grammar.sample(1, seed * DRAWN + number)
        longest = max(longest, text, key=len)
        if len(longest) >= SHORT:
            break
    return Text(longest.encode("utf-8", "surrogateescape"), True, seed)


def longest_matches(vocabulary: Vocabulary, data: bytes) -> list[int]:
    """Return tokens that spell the bytes, each the longest that fits: for vocabularies without their tokenizer.

    Raises: ComparisonError if a byte cannot be spelled.
    """
    ids: dict[bytes, int] = {}
    for number, token in enumerate(vocabulary.tokens):
        if token:
            ids.setdefault(token, number)
    longest = max(map(len, ids), default=0)
    found: list[int] = []
    position = 0
    while position < len(data):
        for end in range(min(len(data), position + longest), position, -1):
            number_or_none = ids.get(data[position:end])
            if number_or_none is not None:
                found.append(number_or_none)
                position = end
                break
        else:
            raise ComparisonError(f"no token of the vocabulary spells the byte 0x{data[position]:02X}")
    return found
