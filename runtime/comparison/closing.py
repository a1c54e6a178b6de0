"""Walks under an engine's own masks: along given tokens, at random, and to the end of the text."""

from __future__ import annotations

import codecs
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from stackmask.runtime.comparison.audited import Audited, Words, WrongMask
from stackmask.runtime.comparison.json_reader import JsonReader

if TYPE_CHECKING:
    from stackmask.runtime.comparison.tokenizer import Tokenizer

Ending: TypeAlias = Literal["ended", "dead", "open", "refused"]
MAX_CLOSING: Final = 120  # tokens of one try to end a text
ASKS: Final = (0, 12)  # tokens after which an engine is asked for a shortest end
SHORT: Final = 3  # bytes of a token that is taken where nothing is known to close
SURE: Final = 0.8  # how often what closes is taken in later tries
# what ends JSON soonest, by where a text is
CLOSERS: Final = {
    "value": ('""', "0", "null", "{}", "[]", "true", '"', "{", "[", "1", "-"),
    "item": ("]", '""', "0", "null", "{}", "[]", "true", '"', "{", "[", "1", "-"),
    "key": ('"', '"a'),
    "name": ("}", '"', '"a'),
    "colon": (":",),
    "after": ("}", "]", ","),
    "string": ('"',),
    "number": ("}", "]", ",", "0", "1"),
    "word": (),
}


@dataclass(slots=True)
class Followed:
    """The progress of an engine along tokens. ``refused``: the index of the token that its mask forbids, else
    None; ``masks``: the masks up to there (n, words), including the mask after the last token; ``may_end``:
    whether the text may end there; ``stuck``: whether the last mask allows nothing.
    """

    refused: int | None
    may_end: bool
    stuck: bool
    masks: npt.NDArray[np.uint32] = field(repr=False)


@dataclass(slots=True)
class Closed:
    """The end of a walk: ``ended`` if it is complete, ``dead`` if the mask allows nothing, ``open`` after too
    many tokens, or ``refused`` if a mask forbids a given token. ``ids``: all tokens, including the given
    ones.
    """

    ending: Ending
    ids: list[int]


class Walker:
    """Walks with one engine over one vocabulary."""

    def __init__(self, engine: Audited, tokenizer: Tokenizer) -> None:
        vocabulary = tokenizer.vocabulary
        self.engine, self.vocabulary = engine, vocabulary
        self.stops = np.array(vocabulary.stop_ids, dtype=np.int64)
        texts = vocabulary.token_bytes
        size = vocabulary.size
        lengths = np.zeros(size, np.int32)
        blank = np.zeros(size, np.bool_)
        self.ids: dict[bytes, int] = {}
        for token in vocabulary.text_ids.tolist():
            text = texts[token]
            if text:
                lengths[token] = len(text)
                blank[token] = not text.strip(b" \t\r\n")
                self.ids.setdefault(text, token)
        self.is_text: npt.NDArray[np.bool_] = lengths > 0
        self.is_dense = self.is_text & ~blank
        self.is_short = self.is_dense & (lengths <= SHORT)
        self.closers = {
            at: [(word, self.ids[word.encode()]) for word in words if word.encode() in self.ids]
            for at, words in CLOSERS.items()
        }

    def follow(self, ids: list[int], keep: int) -> Followed:
        """Follow tokens up to the first one that the mask forbids; keep the masks of the first places.

        Raises: WrongMask if the engine refuses a token that its own mask allows.
        """
        engine = self.engine
        engine.begin()
        masks: list[Words] = []
        for at, token in enumerate(ids):
            mask = engine.mask()
            if len(masks) < keep:
                masks.append(mask)
            if not _has(mask, token):
                return Followed(at, False, not mask.any(), np.array(masks))
            self._accept(token)
        mask = engine.mask()
        if len(masks) < keep:
            masks.append(mask)
        return Followed(None, self.may_end(mask), not mask.any(), np.array(masks))

    def may_end(self, mask: Words) -> bool:
        """Return whether a mask allows a stop token."""
        return any(_has(mask, int(stop)) for stop in self.stops)

    def close(self, ids: list[int], seed: int, wander: int, vary: bool, json: bool) -> Closed:
        """Follow tokens, choose some at random, then end as fast as a guess, or the engine's completion,
        allows.

        ``seed`` 0 always chooses closing tokens; other seeds vary. ``vary``: a shortest completion is used
        with other digits.
        Cost: a mask for each token, at most 120 after the random ones.
        """
        engine = self.engine
        engine.begin()
        reader = _Place(json)
        for at, token in enumerate(ids):
            if not _has(engine.mask(), token):
                return Closed("refused", ids[: at + 1])
            self._accept(token)
            reader.feed(self._spelled(token))
        found = list(ids)
        rng = random.Random(seed)
        for step in range(wander + MAX_CLOSING):
            known: list[int] | None = None
            # where there is none, looking for it takes long
            if step - wander in ASKS or (vary and step >= wander):
                known = engine.shortest_end()
                vary = vary and known is not None
                if known is not None and not vary:
                    return Closed("ended", found + known)
            mask = engine.mask()
            if step >= wander and self.may_end(mask):
                return Closed("ended", found)
            chosen = (
                self._other_digits(known[0], mask, rng)
                if known
                else self._choose(mask, reader, rng, seed, step < wander)
            )
            if chosen is None:
                return Closed("ended" if self.may_end(mask) else "dead", found)
            self._accept(chosen)
            reader.feed(self._spelled(chosen))
            found.append(chosen)
        return Closed("ended" if self.may_end(engine.mask()) else "open", found)

    def _choose(
        self, mask: Words, reader: _Place, rng: random.Random, seed: int, wanders: bool
    ) -> int | None:
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(self.is_text)].view(np.bool_)
        if not wanders and (not seed or rng.random() < SURE):
            for _, token in self.closers.get(reader.at, ()):
                if bits[token]:
                    return token
        sets = (self.is_dense,) if wanders and rng.random() < 0.5 else (self.is_short, self.is_dense)
        for chosen in (*sets, self.is_text):
            options = np.flatnonzero(bits & chosen)
            if len(options):
                return int(options[rng.randrange(len(options))])
        return None

    def _other_digits(self, token: int, mask: Words, rng: random.Random) -> int:
        """Return a random allowed token with the same number of digits; for other texts, the token itself."""
        text = self._spelled(token)
        if not text.isdigit():
            return token
        written = (b"%0*d" % (len(text), number) for number in range(10 ** min(len(text), 4)))
        same = [
            other for digits in written if (other := self.ids.get(digits)) is not None and _has(mask, other)
        ]
        return rng.choice(same) if same else token

    def _accept(self, token: int) -> None:
        if not self.engine.accept(token):
            raise WrongMask(f"it refuses token {token}, which its mask allows")

    def _spelled(self, token: int) -> bytes:
        texts = self.vocabulary.token_bytes
        return (texts[token] if token < len(texts) else None) or b""


class _Place:
    """The position of the walk in JSON; None for other languages."""

    def __init__(self, json: bool) -> None:
        self.reader: Any = JsonReader() if json else None
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def at(self) -> str:
        return "" if self.reader is None else str(self.reader.at)

    def feed(self, data: bytes) -> None:
        if self.reader is not None and not self.reader.feed(self.decoder.decode(data)):
            self.reader = None  # no JSON any more: nothing is known of where it is


def _has(mask: Words, token: int) -> bool:
    return bool(int(mask[token >> 5]) >> (token & 31) & 1)
