"""Jump-forward: the tokens for forced text, exactly as the tokenizer itself would produce them.

Forced text is encoded together with the tokens before it (a window of them, from a position that no token
spans). A token is only proposed if its end does not depend on the following text. Let N be the end of the
forced text.

- A token can span N only if it begins with the last n bytes before N and continues with text that the grammar
  allows there. For each such n (``ForcedRuns.crossings``) the text up to N - n is encoded as well: the common
  prefix of all these encodings is stable. This is exact for tokenizers whose encoding of a text up to a token
  boundary does not depend on the following text: merges by rank, unigrams, longest matches.
- Pre-tokenizers also look ahead, at spaces before a word, contractions and digits. If all of the text would
  be proposed, it is encoded with one character of each group that may follow, and only the unchanged part is
  proposed.

Earlier tokens are kept up to the last boundary that they share with the new encoding.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stackmask.runtime.jump_forward.drafts import (
    EMPTY,
    FORCED,
    SEARCHED,
    TOKEN_BYTES,
    Draft,
    Guesser,
    Piece,
    Sources,
    least_rate,
)
from stackmask.runtime.jump_forward.forced_text import FINAL, TOKEN, ForcedText
from stackmask.runtime.vocabulary.tokenizers.encoders import Encoder

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackmask.pda.vocabulary.token_bytes import TokenBytes
    from stackmask.runtime.jump_forward.token_history import TokenHistory

WINDOW = 64  # bytes before the forced text that are encoded with it, at least, if there are so many
WIDER = 8  # how much wider a window gets that was not enough
MAX_PLANS = 4096  # proposals that are remembered per family
MAX_SEGMENTS = 64  # forced special tokens in one proposal
MAX_TRIED = 16  # tokens across the end of the forced text that are tried out one by one
MAX_TOKEN = 1 << 10  # bytes before the end in which a token across it may begin
MAX_LONE = 1024  # tokens in one proposal that is made without a tokenizer
SHORT = 48  # bytes of a text whose encoding is remembered for all grammars
NEAR = 8  # bytes before the end that are always encoded with what may follow
BLANK = 0x20
MARKS = b'"{}[](),:;'
FEW = 8  # first bytes of which all are tried
DIGITS = 3  # in a row that a tokenizer may take together
FOLLOWERS = 1024  # places whose possible next characters are remembered

# of a draft, encoded by itself: pre-tokenizers begin anew at a blank, and at a mark after a letter or digit
_UNIT = rb" *[^ \w]*(?:\w+(?:[^\w \"{}\[\](),:;]+\w*)*)?"  # compiled where it is first used

# the groups of characters that pre-tokenizers tell apart; the first of each that may come is tried
_CHARACTER_GROUPS = (
    *("tsrmdlv" + "abcefghijknopquwxyz", "TSRMDLV" + "ABCEFGHIJKNOPQUWXYZ", "0123456789"),
    *(" ", "\n", "\r", "\t", "'", '"{}[](),:;.!?-+*/=<>_\\#@&|%$^~`'),
    *("é", "中", "\u0301", "\u00a0", "٣", "—", "€😀"),
)
# the groups that are tried after a mark: there others split as one of these does
_GROUPS_AFTER_MARKS = tuple(_CHARACTER_GROUPS[i] for i in (0, 1, 2, 3, 4, 7, 8, 10))
_ENDINGS = ("ll", "re", "ve")  # contractions of two letters


class Plan(NamedTuple):
    """Tokens to remove and tokens to append; ``reason``: why there are none."""

    rollback: int
    tokens: tuple[int, ...]
    reason: str = ""


NOTHING = Plan(0, (), "nothing is forced")
UNDECIDED = Plan(0, (), "the following text may change the tokens")
UNENCODABLE = Plan(0, (), "the tokenizer does not encode the text byte by byte")
FIRST_TOKEN = Plan(0, (), "the first token may or may not begin with a blank")
KEEPS = Plan(0, (), "tokens would have to be taken back")


class Written(NamedTuple):
    """An encoding: ids, with their starts and ends in the text."""

    ids: list[int]
    bounds: list[
        int
    ]  # one more than ids; the first is -1 where the tokenizer has put a blank before the text


class JumpPlanner:
    """Makes proposals for one family of configurations, or one automaton. One thread at a time may use it.

    ``texts``: the bytes of the vocabulary's tokens. ``strip``: one leading space is not part of the text.
    """

    def __init__(self, forced: ForcedText, texts: TokenBytes, strip: bool) -> None:
        self.forced = forced
        self._texts = texts
        self._strip = strip
        self._encoder: Encoder | None = None
        self._problem = ""  # what the tokenizer has raised last
        self._plans: dict[tuple[int, tuple[int, ...], bool], Plan] = {}
        self._followers: dict[tuple[int, bool], list[bytes]] = {}
        self._guesser = Guesser(forced)
        self._units: dict[bytes, tuple[int, ...]] = {}
        self.encodings = 0  # texts that were encoded

    def _use(self, encoder: Encoder) -> None:
        """Change the encoder, on which cached proposals depend."""
        self._encode, self._encode_short = encoder.encode, encoder.encode_short
        self._composes = encoder.composes
        self._looks_around = encoder.looks_around
        self._problem = ""
        self._adds_blank = self._finds_blank()
        self._plans.clear()
        self._units.clear()
        self._encoder = encoder

    def plan(self, encoder: Encoder, config: int, history: TokenHistory, prompted: bool) -> Plan:
        """Return the proposal at a configuration, after the tokens of a history; ``prompted``: a prompt
        precedes them.

        Cost: a look-up if the configuration was reached after the same tokens before; otherwise tens of
            microseconds, most of them in the tokenizer, independent of the length of the text.
        """
        if encoder is not self._encoder:
            self._use(encoder)
        begin = config
        blank = b""
        if self._strip and history.is_empty():
            begin = self.forced.after(config, b" ")
            if not begin:
                return NOTHING
            blank = b" "
        text, _, what_follows, _, _ = self.forced.run(begin)
        if not text and what_follows != TOKEN:
            return NOTHING
        if blank and prompted:
            return FIRST_TOKEN
        size = WINDOW
        while True:
            ids, begins = history.window(size)
            key = (config, ids, begins)
            plan = self._plans.get(key)
            if plan is None:
                plan = self._make(begin, blank, ids, begins)
                if plan is not None or begins:
                    if len(self._plans) >= MAX_PLANS:
                        self._plans.clear()
                    plan = self._plans[key] = plan or UNDECIDED
            if plan is not None:
                return plan
            size *= WIDER

    def draft(
        self, encoder: Encoder, config: int, history: TokenHistory, sources: Sources, count: int, batch: int
    ) -> Draft:
        """Return at most ``count`` probable next tokens (see ``drafts``). ``batch``: the number of rows in the batch.

        Cost: a comparison while the tokens match the last draft; otherwise tens of microseconds.
        """
        if encoder is not self._encoder:
            self._use(encoder)
        tokens, kinds = sources.draft
        came = history.size() - sources.calls
        if 0 <= came < len(tokens) and (
            history.ends_with(tokens[:came]) if came else config == sources.place
        ):
            return sources.worth(Draft(tokens[came : came + count], kinds[came : came + count]), batch)
        pieces = self._guesser.pieces(
            config, history.tail(SEARCHED), sources, TOKEN_BYTES * count, least_rate(batch)
        )
        sources.calls, sources.place = history.size(), config
        sources.draft = self._drafted(pieces) if pieces else EMPTY
        tokens, kinds = sources.draft
        return sources.worth(Draft(tokens[:count], kinds[:count]), batch)

    def _drafted(self, pieces: list[Piece]) -> Draft:
        """Encode the pieces of a draft, unit by unit, since most units are cached."""
        tokens: list[int] = []
        kinds: list[int] = []
        text = b""
        ends: list[tuple[int, int]] = []
        for piece in pieces:
            text += piece.text
            ends.append((len(text), piece.source))
            if piece.special < 0:
                continue
            self._add_units(text, ends, tokens, kinds)
            tokens.append(piece.special)
            kinds.append(FORCED)
            text, ends = b"", []
        self._add_units(text, ends, tokens, kinds)
        return Draft(tuple(tokens), tuple(kinds))

    def _add_units(
        self, text: bytes, ends: list[tuple[int, int]], tokens: list[int], kinds: list[int]
    ) -> None:
        """Append the tokens of a text, and for each the source of the part with its last byte."""
        texts = self._texts
        at = k = 0
        for unit in (text,) if self._adds_blank else re.findall(_UNIT, text):
            made = self._units.get(unit)
            if made is None:
                if len(self._units) >= MAX_PLANS:
                    self._units.clear()
                made = self._units[unit] = self._unit(unit)
            if not made and unit:
                return
            for token in made:
                at += len(texts[token] or b"")
                while k < len(ends) - 1 and ends[k][0] < at:
                    k += 1
                tokens.append(token)
                kinds.append(ends[k][1])

    def _unit(self, text: bytes) -> tuple[int, ...]:
        """Encode a text that follows other text. The result is empty if this is impossible."""
        # a tokenizer that puts a blank before every text is asked after a mark
        lead = b":" if self._adds_blank and text[:1] != b" " else b""
        made = None if _is_cut_short(text) else self._written(lead + text)
        if made is None or len(lead) not in made.bounds:
            return ()
        return tuple(made.ids[made.bounds.index(len(lead)) :])

    def _make(self, config: int, blank: bytes, ids: Sequence[int], begins: bool) -> Plan | None:
        """Compute a proposal from a window; None if the window shares no boundary with its new encoding."""
        parts = [self._texts[token] or b"" for token in ids]
        bounds = list(accumulate(map(len, parts), initial=0))
        before = b"".join(parts)
        cut = self._last_word(before, bounds, len(before) - NEAR)
        if cut:
            # no token stands across it: the same tokens are before it, whatever is written after
            before, begins = before[cut:], True
            bounds = [bound - cut for bound in bounds[bounds.index(cut) :]]
        plan = self._segment(config, blank, before, bounds, begins)
        if plan is None or isinstance(plan, Plan):
            return plan
        rollback, tokens, after = plan
        for _ in range(MAX_SEGMENTS):
            if after is None:
                break
            # a special token was forced: the text after it is encoded by itself
            following = self._segment(after, b"", b"", [0], True)
            if following is None or isinstance(following, Plan):
                break
            _, more, after = following
            tokens += more
        return Plan(rollback, tuple(tokens))

    def _segment(
        self, config: int, blank: bytes, before: bytes, bounds: list[int], begins: bool
    ) -> tuple[int, list[int], int | None] | Plan | None:
        """Return (rollback, tokens, configuration after a forced special token) up to the end of a run."""
        run, whole, what_follows, token, end = self.forced.run(config)
        special: list[int] = []
        if what_follows == TOKEN:
            special = [token]
            if not run:
                return 0, special, end
        closed = what_follows in (TOKEN, FINAL)
        if closed and whole < len(run):
            return UNENCODABLE
        text = before + blank + run[:whole]
        here = len(before)
        if len(text) == here:
            return UNDECIDED if run else NOTHING
        self._problem = ""
        made = self._written(text)
        if made is None:
            return Plan(0, (), f"the tokenizer fails: {self._problem}") if self._problem else UNENCODABLE
        stable = len(text)
        if not closed:
            stable = self._stable(text, made, here, self.forced.after(config, run[:whole]))
        if stable <= here:
            return UNDECIDED
        common = _common(made, bounds, begins)
        if common is None:
            return None
        first, at = common
        last = made.bounds.index(stable)
        return at, made.ids[first:last] + special, end if what_follows == TOKEN else None

    def _stable(self, text: bytes, made: Written, here: int, config: int) -> int:
        """Return the last boundary of an encoding that no allowed continuation moves; 0 up to ``here``."""
        size = len(text)
        crossings = self.forced.crossings(text[-MAX_TOKEN:], config, MAX_TRIED)
        longest = crossings[-1][0] if crossings else 0
        cut = self._last_word(text, made.bounds, size - longest - NEAR)
        first = made.bounds.index(cut) if cut else 0
        # only the last words are encoded with what may follow: on the left of them nothing moves
        text = text[cut:]
        end = Written(made.ids[first:], [bound - cut for bound in made.bounds[first:]]) if cut else made
        size -= cut
        stable = size
        here -= cut
        for length, tokens in crossings:
            place = size - length
            if place >= stable or (tokens and not self._is_written(text, place, tokens)):
                continue
            stable = place if place in end.bounds else min(stable, self._agreed(end, text[:place], place))
            if stable <= here:
                return 0
        mark = self._composes and self._may_compose(text, config)
        if mark:
            place = size - 1
            while place and text[place] & 0xC0 == 0x80:
                place -= 1
            stable = min(stable, self._agreed(end, text[:place], place))
            if stable <= here:
                return 0
        groups = _GROUPS_AFTER_MARKS if text[-1] in MARKS else _CHARACTER_GROUPS
        for follower in self._followers_at(config, groups):
            if len(follower) == 2 and follower.isalpha() and text[-1:] != b"'":
                continue
            if mark and _is_mark(follower):
                continue
            stable = min(stable, self._agreed(end, text + follower, stable))  # mutant: followers
            if stable <= here:
                return 0
        return cut + max(bound for bound in end.bounds if bound <= max(stable, 0))

    def _last_word(self, text: bytes, bounds: list[int], limit: int) -> int:
        """Return the last boundary that no token can span, before a word with its space, or before a mark
        that follows a letter or digit; 0 if there is none.

        Pre-tokenizers split there regardless of the following text, and merges do not cross this place. For a
        tokenizer that adds a space before every text, the window must begin with a space.
        """
        for bound in reversed(bounds):
            if (
                0 < bound < limit
                and (
                    (text[bound] == BLANK and text[bound - 1] > BLANK)
                    or (not self._adds_blank and text[bound] in MARKS and text[bound - 1 : bound].isalnum())
                )
                and self.forced.is_free(text, bound)
            ):
                return bound
        return 0

    def _is_written(self, text: bytes, place: int, tokens: Sequence[int]) -> bool:
        """Return whether the tokenizer would produce one of the tokens at a position of the text."""
        if self._looks_around:
            return True
        for token in tokens:
            whole = text[:place] + (self._texts[token] or b"")
            made = None if _is_cut_short(whole) else self._written(whole)
            if made is None or (len(made.bounds) > 1 and made.bounds[-2] == place):
                return True
        return False

    def _agreed(self, made: Written, text: bytes, limit: int) -> int:
        """Return the last boundary up to ``limit`` before which two encodings agree."""
        while text and _is_cut_short(text):
            text = text[:-1]
        other = self._written(text)
        if other is None:
            return 0
        agreed = 0
        for mine, its, bound, its_bound in zip(
            made.ids, other.ids, made.bounds[1:], other.bounds[1:], strict=False
        ):
            if mine != its or bound != its_bound or bound > limit:
                break
            agreed = bound
        return agreed

    def _written(self, text: bytes) -> Written | None:
        """Encode a text; None if it is not UTF-8, or the tokens do not spell it."""
        if self._adds_blank and text[:1] == b" ":
            # with a blank of its own in front of the rest, unless that begins with one
            return self._spelled(text[1:], text) or self._spelled(text, text)
        return self._spelled(text, text)

    def _spelled(self, given: bytes, text: bytes) -> Written | None:
        """Encode the tokenizer's input for a text; None if the tokens do not spell the text."""
        texts = self._texts
        ids = self._ids_of(given)
        size = len(texts)
        parts = [texts[token] if 0 <= token < size else None for token in ids]
        if None in parts:
            return None
        spelled = b"".join(parts)  # type: ignore[arg-type]
        place = 0
        if spelled != text:
            if not self._adds_blank or spelled != b" " + text:
                return None
            place = -1
        bounds = [place]
        for part in parts:
            place += len(part)  # type: ignore[arg-type]
            bounds.append(place)
        return Written(ids, bounds)

    def _ids_of(self, text: bytes) -> list[int]:
        """Encode a text; -1 if the tokenizer cannot."""
        self.encodings += 1
        try:
            encode = self._encode_short if len(text) <= SHORT else self._encode
            return list(encode(text.decode()))
        except Exception as error:  # noqa: BLE001  # whatever tokenizers raise where they have no token
            if not isinstance(error, UnicodeDecodeError):
                self._problem = f"{type(error).__name__}: {error}"
            return [-1]

    def _finds_blank(self) -> bool:
        """Return whether the tokenizer adds a space before every text."""
        ids = self._ids_of(b"a")
        size = len(self._texts)
        return b"".join([self._texts[i] or b"" for i in ids if 0 <= i < size]) == b" a"

    def _followers_at(self, config: int, groups: tuple[str, ...]) -> list[bytes]:
        """Return possible continuations, for tokenizers that look ahead: a character of each group, or of
        each first byte if there are few; also two and three digits, since some tokenizers count digits from
        the right.
        """
        found = self._followers.get((config, groups is _CHARACTER_GROUPS))
        if found is None:
            after = self.forced.after
            leads = self.forced.leads(config, FEW + 1)
            if len(leads) <= FEW:
                found = [self._character(config, bytes([lead])) for lead in leads]
            else:
                found = [first for group in groups if (first := self._first_of(config, group))]
            digits = next((made for made in found if made.isdigit()), b"")
            while digits and len(digits) < DIGITS:
                more = self._first_of(after(config, digits), _CHARACTER_GROUPS[2])
                if not more:
                    break
                digits += more
                found.append(digits)
            found += [ending.encode() for ending in _ENDINGS if after(config, ending.encode())]
            if len(self._followers) >= FOLLOWERS:
                self._followers.clear()
            self._followers[config, groups is _CHARACTER_GROUPS] = found
        return found

    def _first_of(self, config: int, characters: str) -> bytes:
        """Return the first allowed one among some characters; empty if none is allowed."""
        for character in characters:
            if self.forced.after(config, character.encode()):
                return character.encode()
        return b""

    def _character(self, config: int, text: bytes) -> bytes:
        """Return an allowed character that begins with a byte, or the part of it that was found."""
        while _is_cut_short(text):
            here = self.forced.after(config, text)
            more = next((b for b in range(0x80, 0xC0) if self.forced.after(here, bytes([b]))), None)
            if more is None:
                break
            text += bytes([more])
        return text

    def _may_compose(self, text: bytes, config: int) -> bool:
        """Return whether an allowed mark could combine with the last character."""
        start = len(text) - 1
        while start > 0 and text[start] & 0xC0 == 0x80:
            start -= 1
        last = text[start:].decode(errors="replace")
        if (
            last not in _composable()
            and not "\u1100" <= last <= "\u11ff"
            and not "\uac00" <= last <= "\ud7a3"
        ):
            return False
        # marks begin with one of these bytes
        return any(self.forced.after(config, bytes([lead])) for lead in range(0xCC, 0xF1))


@cache
def _composable() -> frozenset[str]:
    """Return the characters that canonical composition joins with a following one (Unicode, UAX 15)."""
    found = set()
    for point in (*range(0xC0, 0x3100), *range(0x11000, 0x11A00)):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[0], 16)))
            found.add(chr(point))
    return frozenset(found)


def _common(made: Written, bounds: list[int], begins: bool) -> tuple[int, int] | None:
    """Return (index in the new encoding, tokens to remove) at the last common boundary, or None.

    The start of a window counts only if the text begins there (``begins``).
    """
    ends = {bound: i for i, bound in enumerate(made.bounds)}
    for back, bound in enumerate(reversed(bounds)):
        i = ends.get(bound)
        if i is not None and (bound or begins):
            return i, back
    return None


def _is_mark(text: bytes) -> bool:
    """Return whether a character may combine with the one before it."""
    return unicodedata.category(text.decode(errors="replace")[0])[0] == "M"


def _is_cut_short(text: bytes) -> bool:
    """Return whether a text ends inside a character."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte & 0xC0 == 0x80:
            continue
        need = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return need > back
    return False


def allowed_ids(matcher: Any, size: int) -> npt.NDArray[np.intp]:
    """Return the tokens of a vocabulary of ``size`` that a matcher allows, in order. Cost: that of a mask."""
    row = np.zeros(-(-size // 32), dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))


def lone_tokens(matcher: Any, size: int) -> list[int]:
    """Return the next tokens as long as only one is allowed, and advance the matcher.

    This needs no tokenizer, since no other token is possible.
    """
    forced: list[int] = []
    while len(forced) < MAX_LONE and not matcher.is_terminated() and not matcher.is_accepting():
        allowed = allowed_ids(matcher, size)
        if len(allowed) != 1:
            break
        forced.append(int(allowed[0]))
        matcher.accept_token(forced[-1])
    return forced
