"""Drafts: probable next tokens, which a model verifies in one forward pass.

A draft is a text that the grammar allows, in the tokens that the tokenizer would produce. It begins with the forced
text. If the grammar leaves a choice, the text is copied from the request itself: from an earlier call with the same
key, or from the values and words of the prompt. Copied text is truncated at the first byte that the grammar forbids,
and forced text follows, up to the next choice. A wrong draft costs time, but does not change the output.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from stackmask.runtime.jump_forward.forced_text import TOKEN, ForcedText

FORCED, PROMPT, EARLIER = 0, 1, 2  # where a token of a draft comes from

SEARCHED: Final = 1 << 16  # last bytes of a prompt, and of the text written, that are searched
NEARBY: Final = 1 << 11  # last bytes of a prompt whose values and words are known
MIN_QUESTION: Final = 16  # bytes of text after JSON that are a question
MAX_VALUES: Final = 256  # that are looked at among those
MAX_COPIED: Final = 64  # bytes of one guess
TOKEN_BYTES: Final = 5  # bytes of a draft for each of its tokens
MAX_CHOICES: Final = 24  # first bytes at a place where the words of the prompt choose
MAX_REMEMBERED: Final = 1024  # answers to the same question of one request

# compiled where they are first used: each import of stackmask comes here
_WORD = rb"[A-Z]?[a-z]+|[A-Z]+|\d+"
_NUMBER = rb"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?"
_NAME = rb"[A-Z\xc3][^\s\"',;:!?()]{0,40}"
_VALUE = (
    rb"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){1,80})'(?!\w)"  # in quotes
    rb'|"([^"\n]{1,80})"'
    rb"|(" + _NAME + rb"(?: (?:of |the |de )?" + _NAME + rb")+)"  # names of several words
    rb"|(?<=[\w,] )(" + _NAME + rb")"  # of one, but for the first one of a sentence
    rb"|([^\s\"',;!?()]{0,80}[\d@/_][^\s\"',;!?()]{0,80})"  # dates, addresses, paths
    rb"|([a-z][\w-]{3,})"
)  # fmt: skip
_END = rb"[\"'\n]|[,.;:!?)]?(?=\s)|[,.;:!?)](?=$)"
_TAIL: Final = 48  # bytes before a place in which a key is looked for, or what was begun
_IS_WORD: Final = bytes(b"w"[0] if bytes([c]).isalnum() or c == b"_"[0] else b" "[0] for c in range(256))
_IS_NUMBER: Final = bytes(b"d"[0] if c in b"0123456789.-" else b" "[0] for c in range(256))
_AFTER_WORD: Final = 8  # bytes that may stand between a key and its value


class Draft(NamedTuple):
    """The probable next tokens, each with its source: FORCED, PROMPT or EARLIER."""

    tokens: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


class Piece(NamedTuple):
    """A part of the text of a draft: bytes, or a special token."""

    text: bytes
    source: int
    special: int = -1


EMPTY: Final = Draft()
RATES: Final = (0.98, 0.85, 0.9)  # of accepted tokens by source, before any was judged
FREE_COLUMNS: Final = 32  # tokens that a model reads in a step in about the time of one
LEARNED: Final = 1 / 8  # how much of a rate the next token decides
FORGOTTEN: Final = 1 / 64  # how much of what was learned is forgotten where nothing was proposed


def least_rate(batch: int) -> float:
    """Return the minimum probability of draft tokens, for the number of rows in a batch.

    A row saves its share of a step with each accepted token, but all rows wait for each token that is read.
    """
    return batch / (batch + FREE_COLUMNS)


class Values:
    """Values in a text, by position. ``plain``: whether a value is a common word."""

    def __init__(self, found: list[tuple[int, bytes]], plain: Callable[[bytes], bool]) -> None:
        self.found = [value for value in found if value[1]][-MAX_VALUES:]
        self._places = [place for place, _ in self.found]
        self._plain = [plain(value) for _, value in self.found]
        self._order = sorted(range(len(self.found)), key=self._plain.__getitem__)

    def rest(self, begun: bytes) -> bytes | None:
        """Return the rest of the first value with this prefix, empty if a value equals it; None if there is none."""
        longer = [value for _, value in self.found if value.startswith(begun)]
        if not longer:
            return None
        return b"" if begun in longer else longer[0][len(begun) :]

    def likely(self, words: list[int], line: bytes) -> Iterator[bytes]:
        """Yield the values that are not in the line, beginning with those next to the positions of words."""
        near = []
        for word in words:
            i = bisect_left(self._places, word)
            for k in range(max(i - 2, 0), min(i + 2, len(self.found))):
                away = self._places[k] - word
                # a value after the word is likelier than one before it, and a mere word than none
                near.append(((away if away >= 0 else -2 * away) * (3 if self._plain[k] else 1), k))
        for k in (*(k for _, k in sorted(near)), *self._order):
            value = self.found[k][1]
            if b" " + value not in line and b'"' + value not in line and b"[" + value not in line:
                yield value


class Sources:
    """The sources of the drafts of one request, and its last draft.

    ``prompt``: the bytes of the prompt. Cost: a pass over the last ``NEARBY`` bytes, on first use.
    """

    def __init__(self, prompt: bytes) -> None:
        self.prompt = prompt[-SEARCHED:]
        self.draft = EMPTY  # the last one, after ``calls`` accept calls, at a ``place`` of the grammar
        self.calls = self.place = 0
        self.rates = list(RATES)  # of accepted tokens by source
        self._found: dict[bytes, int] = {}
        self._chosen: dict[int, bytes] = {}

    def worth(self, draft: Draft, batch: int) -> Draft:
        """Return the leading tokens of a draft that are probable enough to be read (``least_rate``)."""
        rate, least = 1.0, least_rate(batch)
        for n, source in enumerate(draft.sources):
            if (
                n == 0 or source != draft.sources[n - 1]
            ):  # the tokens of one guess are right or wrong together
                rate *= self.rates[source]
            if rate < least:
                if not n:
                    drift = zip(self.rates, RATES, strict=True)
                    self.rates = [now + FORGOTTEN * (first - now) for now, first in drift]
                return Draft(draft.tokens[:n], draft.sources[:n])
        return draft

    def judge(self, draft: Draft, accepted: int) -> None:
        """Update the rates with the number of accepted tokens of a draft."""
        for n, source in enumerate(draft.sources[: accepted + 1]):
            if n in (0, accepted) or source != draft.sources[n - 1]:
                self.rates[source] += LEARNED * ((n < accepted) - self.rates[source])

    @cached_property
    def _question(self) -> bytes:
        """Return the end of the prompt, after the last JSON of tools, if any."""
        text = self.prompt[-NEARBY:]
        asked = text.rfind(b"}}") + 2
        return text[asked if asked > 1 and len(text) - asked > MIN_QUESTION else 0 :]

    @cached_property
    def _strings(self) -> Values:
        found = [(m.start(), m[m.lastindex or 0].rstrip(b".:")) for m in re.finditer(_VALUE, self._question)]
        return Values(found, bytes.islower)

    @cached_property
    def _numbers(self) -> Values:
        found = [(m.start(), m[0].replace(b",", b"")) for m in re.finditer(_NUMBER, self._question)]
        return Values(found, lambda _: False)

    @cached_property
    def _words(self) -> dict[bytes, list[int]]:
        words: dict[bytes, list[int]] = {}
        for match in re.finditer(_WORD, self._question):
            words.setdefault(_stem(match[0]), []).append(match.start())
        return words

    def earlier(self, written: bytes, anchor: bytes) -> tuple[bytes, int]:
        """Return the text after the last occurrence of the anchor, and its source."""
        if not anchor:
            return b"", PROMPT
        source = EARLIER if b'"' in anchor or b"=" in anchor else PROMPT
        at = written.rfind(anchor, 0, len(written) - 1) if source == EARLIER else -1
        if at >= 0:
            return written[at + len(anchor) : at + len(anchor) + MAX_COPIED], source
        found = self._found.get(anchor)
        if found is None:
            if len(self._found) >= MAX_REMEMBERED:
                self._found.clear()
            found = self._found[anchor] = self.prompt.rfind(anchor)
        found += len(anchor)
        return self.prompt[found : found + MAX_COPIED] if found >= len(anchor) else b"", source

    def _likely(self, values: Values, written: bytes, anchor: bytes) -> Iterator[bytes]:
        places = [place for word in re.findall(_WORD, anchor) for place in self._words.get(_stem(word), ())]
        return values.likely(
            places[:MAX_CHOICES], written[max(written.rfind(b"\n"), len(written) - NEARBY) + 1 :]
        )

    def number(self, written: bytes, anchor: bytes, fits: Callable[[bytes], bool]) -> bytes:
        """Return the rest of a begun number from the prompt, or else the most likely number after a key."""
        tail = written[-_TAIL:]
        begun = tail[len(tail.translate(_IS_NUMBER).rstrip(b"d")) :]
        if begun:
            return self._numbers.rest(begun) or b""
        return next(filter(fits, self._likely(self._numbers, written, anchor)), b"")

    def string(self, written: bytes, anchor: bytes, fits: Callable[[bytes], bool]) -> bytes:
        """Return the rest of a begun value from the prompt, or else the likeliest value after a key, with its quote."""
        tail = written[-_TAIL:]
        begun = tail[max(tail.rfind(b'"'), tail.rfind(b">"), tail.rfind(b"\n"), tail.rfind(b": ") + 1) + 1 :]
        if begun:
            rest = self._strings.rest(begun)
            return b"" if rest is None else rest + b'"'
        likely = self._likely(self._strings, written, anchor)
        return next((value + b'"' for value in likely if fits(value)), b"")

    def choice(self, place: int, written: bytes, choices: Choices) -> bytes:
        """Return the choice with the largest share of words in the prompt; if tied, the last one, which closes."""
        chosen = self._chosen.get(place)
        if chosen is None:
            if len(self._chosen) >= MAX_REMEMBERED:
                self._chosen.clear()
            tail = written[-_TAIL:]
            is_spaced, is_open = b": " in tail, tail[-1:] in (b"[", b"{")
            begun = tail[len(tail.translate(_IS_WORD).rstrip(b"w")) :]

            def score(k: int) -> tuple[float, bool]:
                text, words = choices.texts[k], choices.words[k]
                if begun and text[:1].isalnum():  # the rest of a word
                    words = tuple(map(_stem, re.findall(_WORD, begun + text)))
                known = sum(len(word) for word in words if word in self._words)
                spaced = (text[:1] == b" ") == (is_spaced and not is_open)  # as ``json.dumps`` writes
                return known / (8 + sum(map(len, words))), spaced and not (
                    is_open and text[:1] in (b"]", b"}")
                )

            chosen = choices.texts[max(reversed(range(len(choices.texts))), key=score)]
            self._chosen[place] = chosen
        return chosen


def _anchor(written: bytes) -> bytes:
    """Return the last word and the text after it, if this text is short."""
    tail = written[-_TAIL:]
    kinds = tail.translate(_IS_WORD)
    end = len(kinds.rstrip())
    if not end or len(tail) - end > _AFTER_WORD:
        return b""
    return tail[kinds.rfind(b" ", 0, end) + 1 :]


def _stem(word: bytes) -> bytes:
    word = word.lower()
    return word[:-1] if len(word) > 3 and word.endswith(b"s") else word


class Choices(NamedTuple):
    """The choices at a state: texts up to the next choice, with their words; a number; nearly any text."""

    texts: tuple[bytes, ...]
    words: tuple[tuple[bytes, ...], ...]
    number: bool
    anything: bool


class Guesser:
    """Guesses continuations of the texts of one family. Only one thread at a time may use it."""

    def __init__(self, forced: ForcedText) -> None:
        self._forced = forced
        self._choices: dict[int, Choices] = {}

    def _choices_at(self, place: int) -> Choices:
        """Determine the choices at a state."""
        leads = self._forced.leads(place, MAX_CHOICES)
        digits = any(0x30 <= lead <= 0x39 for lead in leads)
        texts = []
        if len(leads) < MAX_CHOICES:
            for lead in leads:
                if digits and lead in b"0123456789+-.eE":
                    continue
                first = bytes([lead])
                run, whole, *_ = self._forced.run(self._forced.after(place, first))
                texts.append(first + run[: min(whole, MAX_COPIED)])
        if len(self._choices) >= MAX_REMEMBERED:
            self._choices.clear()
        words = tuple(tuple(map(_stem, re.findall(_WORD, text))) for text in texts)
        found = self._choices[place] = Choices(tuple(texts), words, digits, len(leads) >= MAX_CHOICES)
        return found

    def guess(self, place: int, written: bytes, sources: Sources) -> tuple[bytes, int]:
        """Return a probable continuation of the text at a state, and its source."""
        choices = self._choices.get(place) or self._choices_at(place)

        def fits(text: bytes) -> bool:
            return bool(self._forced.after(place, text))

        anchor = _anchor(written)
        copied, source = sources.earlier(written, anchor)
        if source == EARLIER and copied and fits(copied[:1]):
            end = re.search(_END, copied[1:]) if choices.anything else None
            return copied[: end.end() + 1 if end else None], EARLIER
        if choices.anything:
            if value := sources.string(written, anchor, fits):
                return value, PROMPT
            end = re.search(_END, copied)
            return copied[: end.start() if end else None] or b'"', PROMPT
        if choices.number and (value := sources.number(written, anchor, fits)):
            return value, PROMPT
        return (sources.choice(place, written, choices), PROMPT) if choices.texts else (b"", PROMPT)

    def pieces(self, place: int, written: bytes, sources: Sources, most: int, least: float) -> list[Piece]:
        """Return the parts of a continuation of about ``most`` bytes, while its probability is at least ``least``."""
        pieces: list[Piece] = []
        size, rate = 0, 1.0
        while size < most and rate >= least:
            run, whole, what_follows, token, end = self._forced.run(place)
            if run:
                pieces.append(Piece(run[: min(whole, most - size)], FORCED))
            if what_follows == TOKEN and size + len(run) < most:
                pieces.append(Piece(b"", FORCED, token))
                place, size = end, size + len(run) + 1
                continue
            if what_follows or whole < len(run) or size + len(run) >= most:
                break
            written += run
            guess, source = self.guess(end, written, sources)
            taken, place = self._forced.taken(end, guess)
            if not taken:
                break
            pieces.append(Piece(guess[:taken], source))
            rate *= sources.rates[source]
            written += guess[:taken]
            size += len(run) + taken
        return pieces
