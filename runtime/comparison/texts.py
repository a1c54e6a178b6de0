"""The text that is followed: given, or drawn from the language by a seeded random walk; and its tokens where there is no tokenizer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostics import Diagnostic, render_one
from stackmask.runtime.comparison.subject import ComparisonError
from stackmask.runtime.matching.compiler import CompiledGrammar
from stackmask.runtime.matching.refusal import describe_expectation

if TYPE_CHECKING:
    from stackmask.runtime.matching.matcher import Matcher
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

SHORT: Final = 40  # bytes: a drawn text should have at least so many, if the language has them
MAX_DRAWN: Final = 600  # bytes of a drawn text
WALKS: Final = 12  # of which the best is taken
LOOKED_AT: Final = 48  # next bytes whose successors are compared
BLANKS: Final = b" \t\r\n\f\v"
UNBROKEN: Final = 0.9  # how often blanks are left out where something else may come
RUN_ON: Final = 3  # how much likelier a byte is that changes nothing, such as one more letter of a string


@dataclass(frozen=True, slots=True)
class Text:
    """What is followed. ``complete``: the language may end here. ``seed``: of the walk that drew it, or None."""

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


def draw_text(compiled: CompiledGrammar, seed: int) -> Text:
    """Draw a text of the language; of several walks the first that is complete and not short, else the best.

    Cost: a few milliseconds.
    """
    drawn: list[Text] = []
    for number in range(WALKS):
        text = _walk(compiled.matcher(), random.Random(seed * WALKS + number), seed)
        if text.complete and len(text.data) >= SHORT:
            return text
        drawn.append(text)
    return max(drawn, key=lambda text: (text.complete, len(text.data) if text.complete else 0))


def _walk(matcher: Matcher, rng: random.Random, seed: int) -> Text:
    """Choose byte after byte: first what the byte leads to, so that rare turns are taken as often as common ones."""
    data = bytearray()
    complete = 0 if matcher.is_accepting() else -1  # the longest part that is a whole text
    while len(data) < MAX_DRAWN:
        options = sorted(matcher.expected_bytes())
        if not options:
            break
        if matcher.is_accepting() and rng.random() < 0.2 and len(data) >= SHORT:
            break
        plain = [b for b in options if b < 0x80]  # other scripts only where there is nothing else
        if len(plain) < len(options) and plain:
            options = plain
        dense = [b for b in options if b not in BLANKS]
        if not dense and matcher.is_accepting():
            break
        if dense and rng.random() < UNBROKEN:
            options = dense
        if len(options) > LOOKED_AT:
            visible = [b for b in options if b > 0x20] or options
            options = sorted(rng.sample(visible, min(LOOKED_AT, len(visible))))
        here = frozenset(matcher.expected_bytes())
        turns: dict[tuple[frozenset[int], bool], list[int]] = {}
        for b in options:
            if matcher.accept_string(bytes([b])):
                turns.setdefault((frozenset(matcher.expected_bytes()), matcher.is_accepting()), []).append(b)
                matcher.rollback()
        ways = list(turns)
        weights = [RUN_ON if way[0] == here else 1 for way in ways]
        chosen = rng.choice(turns[rng.choices(ways, weights)[0]])
        matcher.accept_string(bytes([chosen]))
        data.append(chosen)
        if matcher.is_accepting():
            complete = len(data)
    if complete >= 0 and (complete >= SHORT or complete == len(data)):
        return Text(bytes(data[:complete]), True, seed)
    return Text(bytes(data).decode("utf-8", "ignore").encode(), False, seed)


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
