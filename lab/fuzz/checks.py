"""What must hold of every matcher, whatever the grammar: the part of the oracle that targets share."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import stackmask as sm
from fuzz.company import company
from stackmask.runtime.matching.mask_buffer import EmptyMaskError

POISON = 0x5A5A5A5A
NAMED_ERRORS = (sm.StackmaskError, MemoryError)
# low, so that an execution takes milliseconds
LIMITS = sm.Limits(
    max_terms=100_000,
    max_configurations=100_000,
    max_members=2_000,
    max_semantic_states=20_000,
    max_explored=10_000,
    max_work=1_000_000,
    max_seconds=20,
)
CACHE_BYTES = 32 << 20
ALONE = 0.03  # share of the inputs that run on a compiler of their own

PIECES = (
    *(
        b"ab",
        b"abc",
        b"aa",
        b"bb",
        b"ba",
        b"  ",
        b"\n\n",
        b'":',
        b'", "',
        b'{"',
        b'"}',
        b"[]",
        b"{}",
        b"null",
        b"true",
    ),
    *(
        b"false",
        b"-1",
        b"10",
        b"1.5",
        b"e1",
        b"\\u00",
        b"\\n",
        b'\\"',
        b"SELECT ",
        b" FROM ",
        b" WHERE ",
        b" = ",
        b"name",
    ),
    *(
        b"\xc3\xa9",
        b"\xc3",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x98\x80",
        b"a b",
        b"a\nb",
        b"A1_",
        b"_a",
        b'a"',
        b"ab" * 20,
    ),
)
SPECIAL_NAMES = {"<|x|>": 256 + len(PIECES), "<|y|>": 257 + len(PIECES)}
STOP = 258 + len(PIECES)


def make_vocabulary() -> sm.Vocabulary:
    """Return the vocabulary of most targets: all bytes, some longer tokens, two special ones, and a stop token."""
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [*PIECES, None, None, None]
    return sm.Vocabulary(tokens, stop_ids=[STOP], special_names=SPECIAL_NAMES, size=len(tokens) + 5)


class Fault(AssertionError):
    """The engine did what it must never do."""


def expect(holds: bool, what: str, *details: object) -> None:
    """Raise a Fault unless something holds."""
    if not holds:
        raise Fault(f"{what}: {', '.join(f'{detail!r:.300}' for detail in details)}")


def random_of(data: bytes) -> random.Random:
    """Return a source of random numbers that is the same for the same input."""
    return random.Random(hashlib.blake2b(data, digest_size=8).digest())


_buffers: dict[int, tuple[np.ndarray, bytes]] = {}


def mask_of(matcher: Any, size: int) -> bytes:
    """Return the mask at a place, filled twice over different poisons.

    Raises: Fault if the two differ, or what the call returns is not what the mask says.
    """
    if size not in _buffers:
        poisons = np.full((4, -(-size // 32)), POISON, np.int32)
        poisons[2] = ~poisons[2]
        _buffers[size] = (poisons.copy(), poisons.tobytes())
    masks, poisons_written = _buffers[size]
    memoryview(masks).cast("B")[:] = poisons_written
    first, second = filled(matcher, masks, 1), filled(matcher, masks, 2)
    written = masks.tobytes()
    width = len(written) // 4
    mask = written[width : 2 * width]
    outside = (
        written[:width] == poisons_written[:width] and written[3 * width :] == poisons_written[3 * width :]
    )
    expect(outside, "a fill wrote outside of its row")
    again = written[2 * width : 3 * width]
    if mask != again:
        raise Fault(f"two fills differ: {tokens_of(mask)}, {tokens_of(again)}")
    bits = int.from_bytes(mask, "little")
    expect(bits >> size == 0, "a bit after the vocabulary", size)
    expect(
        first == second == (bits.bit_count() < size), "what a fill returned", first, second, bits.bit_count()
    )
    return mask


def filled(matcher: Any, masks: np.ndarray, row: int = 0) -> bool:
    """Fill a row and return what the call returns; a row that allows nothing is refused without stop tokens."""
    try:
        return bool(matcher.fill_next_token_bitmask(masks, row))
    except EmptyMaskError:
        expect(not masks[row].any(), "a mask that allows something is refused as empty")
        expect(
            not matcher.compiled.vocabulary.stop_ids, "an empty mask is refused, and a stop token could come"
        )
        return True


def tokens_of(mask: bytes | np.ndarray) -> list[int]:
    """Return the tokens of a mask."""
    data = mask if isinstance(mask, bytes) else mask.tobytes()
    found: list[int] = np.flatnonzero(
        np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    ).tolist()
    return found


class Walk:
    """Follows random tokens of a grammar, and checks at each place what must hold there."""

    def __init__(self, matcher: Any, vocabulary: sm.Vocabulary, source: random.Random) -> None:
        self.matcher = matcher
        self.size = vocabulary.size
        self.tokens = vocabulary.tokens
        self.stops = set(vocabulary.stop_ids)
        self.source = source
        self.text = b""
        self.ids: list[int] = []
        self.masks: list[bytes] = []  # at each place so far

    def run(self, steps: int) -> None:
        """Walk; an error by name ends the walk, after a check that the matcher is as before."""
        matcher = self.matcher
        for _ in range(steps):
            calls = matcher.accept_calls
            try:
                mask = mask_of(matcher, self.size)
                self.masks.append(mask)
                if not self.look_around(mask) or not self.step(mask):
                    return
            except NAMED_ERRORS as error:
                self.after_error(error, calls)
                return

    def look_around(self, mask: bytes) -> bool:
        """Check one place. Return whether the text can go on."""
        matcher, source = self.matcher, self.source
        allowed = tokens_of(mask)
        ended = matcher.is_terminated()
        accepting = matcher.is_accepting()
        if ended:
            expect(not allowed, "tokens after the end", allowed)
            return False
        expect(bool(allowed), "a dead end", self.text)
        expect(
            bool(self.stops & set(allowed)) == accepting, "a stop token without the end", allowed, accepting
        )
        known = set(allowed)
        for token in (*source.sample(range(self.size), 3), source.choice(allowed)):
            fork = matcher.fork()
            taken = fork.accept_token(token)
            expect(taken == (token in known), "mask and accept disagree", token, taken, self.text)
            if not taken:
                expect(fork.accept_calls == matcher.accept_calls, "a refusal counts as a call", token)
        if source.random() < 0.2:
            self.draft(mask, allowed)
        if source.random() < 0.2:
            self.jump()
        return True

    def draft(self, mask: bytes, allowed: Sequence[int]) -> None:
        """Check the masks along a small tree of draft tokens."""
        source = self.source
        tokens = [source.choice((source.choice(allowed), source.randrange(self.size))) for _ in range(3)]
        parents = [-1, source.choice((-1, 0)), source.choice((-1, 0, 1))]
        masks = np.full((4, len(mask) // 4), POISON, np.int32)
        taken = self.matcher.fill_draft_bitmask(tokens, parents, masks)
        expect(masks[0].tobytes() == mask, "row 0 of a draft is the mask", self.text)
        for number, token in enumerate(tokens):
            path = [token]
            up = parents[number]
            while up >= 0:
                path.insert(0, tokens[up])
                up = parents[up]
            fork = self.matcher.fork()
            accepted = all(fork.accept_token(i) for i in path)
            expect(accepted == taken[number], "a draft token", path, accepted, taken[number])
            if accepted:
                wanted = bytes(len(mask)) if fork.is_terminated() else mask_of(fork, self.size)
                expect(masks[number + 1].tobytes() == wanted, "the mask of a draft", path, self.text)

    def jump(self) -> None:
        """Check that forced bytes can come and that nothing else can."""
        whole, cut = self.matcher.find_jump_forward_bytes()
        if not whole + cut:
            return
        fork = self.matcher.fork()
        expect(fork.accept_string(whole + cut), "forced bytes are refused", whole, cut)
        other = bytes([(whole + cut)[0] ^ 1])
        expect(not self.matcher.fork().accept_string(other), "forced bytes can be others", whole, other)

    def step(self, mask: bytes) -> bool:
        """Go on by a token, sometimes back and forth. Return whether the walk goes on."""
        matcher, source = self.matcher, self.source
        allowed = tokens_of(mask)
        token = source.choice(allowed)
        if token in self.stops and len(allowed) > 1 and source.random() < 0.7:
            token = source.choice(allowed)
        expect(matcher.accept_token(token), "an allowed token is refused", token, self.text)
        if source.random() < 0.3:
            matcher.rollback(1)
            expect(mask_of(matcher, self.size) == mask, "another mask after a rollback", token, self.text)
            expect(matcher.accept_token(token), "an allowed token is refused after a rollback", token)
        self.ids.append(token)
        self.text += self.tokens[token] or b"" if token < len(self.tokens) else b""
        return True

    def after_error(self, error: BaseException, calls: int) -> None:
        """Check that an error left the matcher where it was."""
        matcher = self.matcher
        if isinstance(error, sm.SpoiledError | MemoryError):
            return
        expect(
            matcher.accept_calls in (calls, calls + 1),
            "an error changed the history",
            calls,
            matcher.accept_calls,
        )
        try:
            place = matcher.accept_calls
            if place < len(self.masks):
                expect(
                    mask_of(matcher, self.size) == self.masks[place],
                    "another mask after an error",
                    str(error),
                )
            if place:
                matcher.rollback(place)
            expect(
                mask_of(matcher, self.size) == self.masks[0], "another first mask after an error", str(error)
            )
        except NAMED_ERRORS:
            return
        except IndexError:  # no mask was made at all
            return


def walk_grammar(
    grammar: sm.Grammar,
    vocabulary: sm.Vocabulary,
    source: random.Random,
    steps: int = 12,
    limits: sm.Limits = LIMITS,
    alone_share: float = ALONE,
) -> Walk:
    """Compile a grammar and walk, mostly a few steps only, on a compiler that other inputs share.

    Some walk on a compiler of their own, and then the shared one must give the same masks.
    """
    if source.random() < 0.75:
        steps = 3
    alone = source.random() < alone_share
    walk = Walk(compiler_of(vocabulary, limits, alone).compile(grammar).matcher(), vocabulary, source)
    walk.run(steps)
    if alone:
        compare_shared(grammar, walk, limits, vocabulary)
    return walk


def compare_shared(grammar: sm.Grammar, walk: Walk, limits: sm.Limits, vocabulary: sm.Vocabulary) -> None:
    """Go the way of a walk on the shared compiler, where masks and refusals must be the same."""
    matcher = compiler_of(vocabulary, limits).compile(grammar).matcher()
    for mask, token in zip(walk.masks, [*walk.ids, None], strict=False):
        expect(mask_of(matcher, walk.size) == mask, "another mask on a shared compiler", walk.ids, token)
        if token is None:
            return
        expect(matcher.accept_token(token), "a token is refused on a shared compiler", walk.ids, token)


def compiler_of(vocabulary: sm.Vocabulary, limits: sm.Limits = LIMITS, alone: bool = False) -> sm.Compiler:
    """Return the shared compiler of a vocabulary, or a new one."""
    if alone:
        return sm.Compiler(vocabulary, limits=limits, cache_bytes=CACHE_BYTES)
    return company.compiler(vocabulary, limits, CACHE_BYTES)
