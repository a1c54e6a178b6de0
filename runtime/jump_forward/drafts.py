"""Drafts: the tokens that probably come next, for a model to verify several of them in one pass.

A draft is a text that the grammar allows, in the tokens that the tokenizer would write. It begins with the forced
text. Where the grammar leaves a choice, a guess is copied from the request itself: from an earlier call with the same
key, from the values and words of the prompt. The grammar steers: a guess is cut at the first byte that it forbids, and
forced text follows again, up to the next guess. Drafts need not be right: a wrong one costs time, but no output.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from stackmask.runtime.jump_forward.forced_text import TOKEN, ForcedText


FORCED, PROMPT, EARLIER = 0, 1, 2  # where a token of a draft comes from

SEARCHED: Final = 1 << 16  # last bytes of a prompt, and of the text written, that are searched
NEARBY: Final = 1 << 11  # last bytes of a prompt whose values and words are known
MIN_QUESTION: Final = 16  # bytes of text after JSON that are a question
MAX_VALUES: Final = 256  # that are looked at among those
MAX_COPIED: Final = 64  # bytes of one guess
MAX_TEXT: Final = 160  # bytes of a draft
MAX_CHOICES: Final = 16  # first bytes at a place where the words of the prompt choose
MAX_REMEMBERED: Final = 4096  # answers to the same question of one request

_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
_NAME = rb"[A-Z\xc3][^\s\"',;:!?()]*"
_VALUE = re.compile(
    rb"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){1,80})'(?!\w)"  # in quotes
    rb'|"([^"\n]{1,80})"'
    rb"|(" + _NAME + rb"(?: (?:of |the |de )?" + _NAME + rb")+)"  # names of several words
    rb"|(?<=[\w,] )(" + _NAME + rb")"  # of one, but for the first one of a sentence
    rb"|([^\s\"',;!?()]*[\d@/_][^\s\"',;!?()]*)"  # dates, addresses, paths
    rb"|([a-z][\w-]{3,})"
)  # fmt: skip
_TAIL: Final = 96  # bytes before a place in which a key and a value that was begun are looked for
_ANCHOR = re.compile(rb"\w+\W{0,8}$")
_BEGUN = re.compile(rb"[^\">\n]*$")
_BEGUN_NUMBER = re.compile(rb"-?[\d.]*$")
_END = re.compile(rb"[\"'\n]|[,.;:!?)]?(?=\s)|[,.;:!?)](?=$)")


class Draft(NamedTuple):
    """Tokens that probably come next, and where each comes from: FORCED, PROMPT or EARLIER."""

    tokens: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


class Piece(NamedTuple):
    """A part of the text of a draft: bytes, or a special token."""

    text: bytes
    source: int
    special: int = -1


EMPTY: Final = Draft()


class Sources:
    """What the drafts of one request are copied from; remembers its last draft.

    ``prompt``: the bytes of the prompt. Cost: a pass over the last ``NEARBY`` bytes, when a guess first needs it.
    """

    def __init__(self, prompt: bytes) -> None:
        self.prompt = prompt[-SEARCHED:]
        self.draft = EMPTY  # the last one, after ``calls`` accept calls
        self.calls = 0
        self._values: list[tuple[int, bytes]] | None = None
        self._numbers: list[tuple[int, bytes]] = []
        self._words: dict[bytes, list[int]] = {}
        self._found: dict[bytes, int] = {}
        self._chosen: dict[tuple[int, bytes], bytes] = {}

    def _read_prompt(self) -> list[tuple[int, bytes]]:
        """Find the values and words at the end of the prompt: the question, which stands after the last JSON of tools."""
        text = self.prompt[-NEARBY:]
        asked = text.rfind(b"}}") + 2
        text = text[asked if asked > 1 and len(text) - asked > MIN_QUESTION else 0 :]
        values = [(m.start(), m[m.lastindex or 0].rstrip(b".:")) for m in _VALUE.finditer(text)]
        self._values = [value for value in values if value[1]][-MAX_VALUES:]
        self._numbers = [(m.start(), m[0].replace(b",", b"")) for m in _NUMBER.finditer(text)][-MAX_VALUES:]
        for match in _WORD.finditer(text):
            self._words.setdefault(_stem(match[0]), []).append(match.start())
        return self._values

    def _nearest(self, values: list[tuple[int, bytes]], written: bytes) -> list[bytes]:
        """Return values, those first that stand near the words of the key before, those last that the line has."""
        key = _ANCHOR.search(written, max(0, len(written) - _TAIL))
        places = [p for word in _WORD.findall(key[0] if key else b"") for p in self._words.get(_stem(word), ())]
        line = written[max(written.rfind(b"\n"), len(written) - NEARBY) + 1 :]

        def distance(value: tuple[int, bytes]) -> tuple[bool, int]:
            place, text = value
            # a value after the word is likelier than one before it
            near = min((place - p if place >= p else 2 * (p - place) for p in places), default=place)
            return b" " + text in line or b'"' + text in line or b"[" + text in line, near

        return [value for _, value in sorted(values, key=distance)]

    def earlier(self, written: bytes) -> tuple[bytes, int]:
        """Return the text after the last place that was like the end of what is written, and its source."""
        match = _ANCHOR.search(written, max(0, len(written) - _TAIL))
        if match is None:
            return b"", PROMPT
        anchor = match[0]
        source = EARLIER if b'"' in anchor or b"=" in anchor else PROMPT
        at = written.rfind(anchor, 0, len(written) - 1)
        if at >= 0 and source == EARLIER:
            return written[at + len(anchor) : at + len(anchor) + MAX_COPIED], source
        found = self._found.get(anchor)
        if found is None:
            if len(self._found) >= MAX_REMEMBERED:
                self._found.clear()
            found = self._found[anchor] = self.prompt.rfind(anchor)
        if found < 0:
            return b"", source
        return self.prompt[found + len(anchor) : found + len(anchor) + MAX_COPIED], source

    def number(self, written: bytes, fits: Callable[[bytes], bool]) -> bytes:
        """Return the rest of the number of the prompt that was begun, or the one that may be meant after a key."""
        if self._values is None:
            self._read_prompt()
        match = _BEGUN_NUMBER.search(written, max(0, len(written) - _TAIL))
        begun = match[0] if match else b""
        if begun:
            longer = [value for _, value in self._numbers if value.startswith(begun)]
            return b"" if begun in longer else next((value[len(begun) :] for value in longer), b"")
        return next(filter(fits, self._nearest(self._numbers, written)), b"")

    def string(self, written: bytes, fits: Callable[[bytes], bool]) -> bytes:
        """Return the rest of the value of the prompt that was begun, or that is meant after a key, with its quote."""
        values = self._values if self._values is not None else self._read_prompt()
        match = _BEGUN.search(written, max(0, len(written) - _TAIL))
        begun = match[0] if match else b""
        if begun:
            return next((value[len(begun) :] + b'"' for _, value in values if value.startswith(begun)), b"")
        return next((value + b'"' for value in self._nearest(values, written) if fits(value + b'"')), b"")

    def choice(self, place: int, written: bytes, choices: tuple[bytes, ...]) -> bytes:
        """Return the choice that has most of its words in the prompt; of equal ones the last, which closes."""
        match = _BEGUN.search(written, max(0, len(written) - _TAIL))
        begun = match[0] if match else b""
        chosen = self._chosen.get((place, begun))
        if chosen is None:
            if self._values is None:
                self._read_prompt()
            if len(self._chosen) >= MAX_REMEMBERED:
                self._chosen.clear()
            is_spaced, is_open = b": " in written[-_TAIL:], written[-1:] in (b"[", b"{")

            def score(text: bytes) -> tuple[float, bool]:
                words = [_stem(word) for word in _WORD.findall(begun[-_TAIL:] + text[:MAX_COPIED])]
                known = sum(len(word) for word in words if word in self._words)
                spaced = (text[:1] == b" ") == is_spaced
                return known / (8 + sum(map(len, words))), spaced and not (is_open and text[:1] in (b"]", b"}"))

            chosen = self._chosen[place, begun] = max(reversed(choices), key=score)
        return chosen


def _stem(word: bytes) -> bytes:
    word = word.lower()
    return word[:-1] if len(word) > 3 and word.endswith(b"s") else word


class Guesser:
    """Continue texts of one family by guesses. ``forced``: what may come. Not safe for several threads at once."""

    def __init__(self, forced: ForcedText) -> None:
        self._forced = forced
        self._choices: dict[int, tuple[tuple[bytes, ...], bool, bool]] = {}

    def _choices_at(self, place: int) -> tuple[tuple[bytes, ...], bool, bool]:
        """Return (the texts up to the next choice, whether a number may come, whether nearly anything may)."""
        known = self._choices.get(place)
        if known is None:
            leads = self._forced.leads(place, 2 * MAX_CHOICES)
            digits = any(0x30 <= lead <= 0x39 for lead in leads)
            others = [lead for lead in leads if not (0x30 <= lead <= 0x39 or lead in b"+-.eE")] if digits else leads
            texts = []
            if len(leads) < 2 * MAX_CHOICES:
                for lead in others[:MAX_CHOICES]:
                    first = bytes([lead])
                    run, whole, *_ = self._forced.run(self._forced.after(place, first))
                    texts.append(first + run[:whole])
            if len(self._choices) >= MAX_REMEMBERED:
                self._choices.clear()
            known = self._choices[place] = tuple(texts), digits, len(leads) >= 2 * MAX_CHOICES
        return known

    def guess(self, place: int, written: bytes, sources: Sources) -> tuple[bytes, int]:
        """Return a text that may come at a place after what is written, and where it comes from."""
        choices, number, anything = self._choices_at(place)

        def fits(text: bytes) -> bool:
            return bool(self._forced.after(place, text))

        copied, source = sources.earlier(written)
        if source == EARLIER and copied and fits(copied[:1]):
            end = _END.search(copied, 1) if anything else None
            return copied[: end.end() if end else None], EARLIER
        if anything:
            if value := sources.string(written, fits):
                return value, PROMPT
            end = _END.search(copied)
            return copied[: end.start()] if end and end.start() else b"", PROMPT
        if number and (value := sources.number(written, fits)):
            return value, PROMPT
        return (sources.choice(place, written, choices), PROMPT) if choices else (b"", PROMPT)

    def pieces(self, place: int, written: bytes, sources: Sources) -> list[Piece]:
        """Return the parts of a text that may come."""
        pieces: list[Piece] = []
        size = 0
        while size < MAX_TEXT:
            run, whole, what_follows, token, end = self._forced.run(place)
            if run:
                pieces.append(Piece(run[:whole], FORCED))
            if what_follows == TOKEN:
                pieces.append(Piece(b"", FORCED, token))
                place, size = end, size + len(run) + 1
                continue
            if what_follows or whole < len(run):
                break
            written += run
            guess, source = self.guess(end, written, sources)
            taken, place = self._forced.taken(end, guess[: MAX_TEXT - size])
            if not taken:
                break
            pieces.append(Piece(guess[:taken], source))
            written += guess[:taken]
            size += len(run) + taken
        return pieces
