"""Sample texts of a grammar through token masks, long ones, from all corners of the grammar.

Uniform sampling over a vocabulary nearly always picks another word of free text. This sampler first picks a
kind of token (letters, digits, blanks, one sign, a phrase spelt out), then a token of that
kind among those that the mask allows. Past its target length it prefers what closes: quotes, brackets,
``end``, the end of the text.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from campaign.steering import Steering, proposals

if TYPE_CHECKING:
    from stackmask.runtime.matching.compiler import CompiledGrammar
    from stackmask.runtime.matching.matcher import Matcher
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

_OPENERS = frozenset("([{<")
# weights of the kinds of tokens: before the target, past it, and past it in free text
_WEIGHTS = {
    "letters": (4.0, 2.0, 2.0),
    "digits": (2.0, 4.0, 1.0),
    "blanks": (2.0, 0.5, 0.5),
    "line break": (1.0, 0.5, 0.5),
    "beyond ASCII": (0.5, 0.1, 0.1),
    "controls": (0.1, 0.02, 0.02),
}
SIGN_WEIGHT = (1.0, 0.2, 0.2)
OPENER_WEIGHT = (1.0, 0.02, 0.02)
CLOSER_WEIGHT = (2.0, 60.0, 0.2)
QUOTE_WEIGHT = (2.0, 0.2, 60.0)
PHRASE_CHANCE = (0.35, 0.6)  # of proposing a phrase instead of a token, before and past the target
PHRASE_TRIES = 6
STOP_CHANCE = 0.6  # of stopping where the text may end, past the target
MAX_OVERRUN = 20  # times the target; an output that is still open then has failed


@dataclass
class Sampler:
    """Samples one compiled grammar. Invariant: every token taken was allowed by the mask and is accepted."""

    compiled: CompiledGrammar
    vocabulary: Vocabulary
    steering: Steering
    steps: int = 0

    def __post_init__(self) -> None:
        size = self.vocabulary.size
        ids: dict[str, list[int]] = {}
        self.ids_by_text: dict[bytes, int] = {}
        for token, text in enumerate(self.vocabulary.tokens):
            if text:
                ids.setdefault(_kind(text), []).append(token)
                self.ids_by_text.setdefault(text, token)
        self.longest = max(map(len, self.ids_by_text))
        names = sorted(ids)
        self.mask = np.zeros((1, -(-size // 32)), dtype=np.int32)
        self.kinds = np.stack([self._packed(ids[name]) for name in names])
        self.weights = tuple(np.array([self._weight(name, phase) for name in names]) for phase in (0, 1, 2))
        self.phrases = tuple(
            proposals(lines)
            for lines in (self.steering.phrases, self.steering.endings, self.steering.text_endings)
        )
        self.stop = min(self.vocabulary.stop_ids)

    def _packed(self, tokens: list[int]) -> np.ndarray:
        flags = np.zeros(32 * self.mask.shape[1], dtype=np.uint8)
        flags[tokens] = 1
        return np.packbits(flags, bitorder="little").view(np.int32)

    def _weight(self, kind: str, phase: int) -> float:
        sign = "\n" if kind == "line break" else kind
        if phase == 2 and sign in self.steering.quotes:
            return QUOTE_WEIGHT[phase]
        if kind in self.steering.closers:
            return CLOSER_WEIGHT[phase]
        if kind in _WEIGHTS:
            return _WEIGHTS[kind][phase]
        if kind in self.steering.quotes:
            return QUOTE_WEIGHT[phase]
        return (OPENER_WEIGHT if kind in _OPENERS else SIGN_WEIGHT)[phase]

    def sample(self, rng: random.Random, target: int) -> bytes | None:
        """Return one text of about ``target`` bytes, or None if it would not end in time."""
        matcher = self.compiled.matcher()
        text = b""
        while len(text) < target * MAX_OVERRUN:
            self._fill(matcher)
            closing = len(text) >= target
            groups = self.kinds & self.mask  # the allowed tokens of each kind
            possible = groups.any(axis=1)
            if self._is_allowed(self.stop) and (
                not possible.any() or (closing and rng.random() < STOP_CHANCE)
            ):
                assert matcher.accept_token(self.stop) and matcher.is_terminated()
                return text
            assert possible.any(), "a dead end: no token is allowed"
            free_text = possible.sum() > self.steering.free_text_kinds
            piece = b""
            if rng.random() < PHRASE_CHANCE[closing]:
                out_of_text = free_text and (closing or rng.random() < 0.5)
                piece = self._try_phrase(matcher, rng, 2 if out_of_text else int(closing))
            if not piece:
                phase = (2 if free_text else 1) if closing else 0
                # a kind by weight among those with an allowed token, then one of its allowed tokens
                kind = rng.choices(range(len(groups)), list(self.weights[phase] * possible))[0]
                ids = np.flatnonzero(np.unpackbits(groups[kind].view(np.uint8), bitorder="little"))
                piece = self._take(matcher, int(ids[rng.randrange(len(ids))]))
            text += piece
        return None

    def _fill(self, matcher: Matcher) -> None:
        matcher.fill_next_token_bitmask(self.mask)
        self.steps += 1

    def _is_allowed(self, token: int) -> bool:
        return bool(self.mask[0, token >> 5] >> (token & 31) & 1)

    def _take(self, matcher: Matcher, token: int) -> bytes:
        assert matcher.accept_token(token), f"token {token} is in the mask and was refused"
        return self.vocabulary.tokens[token] or b""

    def _try_phrase(self, matcher: Matcher, rng: random.Random, which: int) -> bytes:
        """Spell out a phrase that fits here, token by token, each checked against its mask."""
        phrases = self.phrases[which]
        for _ in range(PHRASE_TRIES if phrases else 0):
            word = rng.choice(phrases)
            if matcher.fork().accept_string(word):
                taken = b""
                while len(taken) < len(word):
                    rest = word[len(taken) :]
                    length = next(
                        n for n in range(min(len(rest), self.longest), 0, -1) if rest[:n] in self.ids_by_text
                    )
                    token = self.ids_by_text[rest[:length]]
                    self._fill(matcher)
                    assert self._is_allowed(token), f"{rest[:length]!r} fits and is not in the mask"
                    taken += self._take(matcher, token)
                return taken
        return b""


def _kind(text: bytes) -> str:
    """Return the kind of a token: that of its first character that is no blank."""
    stripped = text.lstrip(b" ")
    if not stripped:
        return "blanks"
    byte = stripped[0]
    if byte >= 0x80:
        return "beyond ASCII"
    char = chr(byte)
    if char.isalpha() or char == "_":
        return "letters"
    if char.isdigit():
        return "digits"
    if char in "\n\r":
        return "line break"
    if char == "\t":
        return "blanks"
    return char if char.isprintable() else "controls"
