"""Walk the engine and the oracle through the same random texts and compare every bit of every mask."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from oracle.earley import Recognizer
from oracle.masks import Place, advance_token, brute_force_mask
from oracle.random_grammars import Features, RandomVocabulary, random_rule_set, random_vocabulary
from oracle.regular import TooLarge

import stackmask
from stackmask.grammar.ir import RuleSet
from stackmask.runtime.matching.mask_buffer import EmptyMaskError


class Mismatch(AssertionError):
    """The engine and the oracle disagree, or the engine breaks one of its own promises."""


@dataclass
class Outcome:
    """What a random grammar came to: ``kind`` is "judged", or why it could not be."""

    kind: str
    masks: int = 0
    bits: int = 0
    tokens: list[int] = field(default_factory=list)  # of the longest walk


@dataclass
class Case:
    rules: RuleSet
    vocabulary: RandomVocabulary

    def compile(self, **limits: int) -> stackmask.CompiledGrammar:
        v = self.vocabulary
        vocab = stackmask.Vocabulary(
            v.tokens, stop_ids=v.stop_ids, special_ids=v.special_ids, special_names=v.special_names
        )
        chosen = stackmask.Limits(**limits) if limits else None
        return stackmask.Compiler(vocab, limits=chosen).compile(stackmask.Grammar(self.rules))

    def recognizer(self) -> Recognizer:
        return Recognizer(self.rules, self.vocabulary.special_names, self.vocabulary.known_ids())


def random_case(seed: int | str) -> Case:
    rules = random_rule_set(seed)
    return Case(rules, random_vocabulary(seed, rules))


def word_case(seed: int) -> Case:
    """Return a case in which restrictions often cross the return of a rule that is not written out."""
    features = Features(
        words=True,
        restrictions=seed % 3 == 0,
        wide=seed % 4 == 0,
        tokens=seed % 5 == 0,
        rules=2 + seed % 2,
        depth=3,
    )
    rules = random_rule_set(f"words {seed}", features)
    return Case(rules, random_vocabulary(seed, rules))


def engine_mask(matcher: stackmask.Matcher, size: int) -> set[int]:
    """Return the allowed ids, and check that the padding bits are clear and the answer "all" is right."""
    mask = stackmask.allocate_token_bitmask(1, size)
    mask[:] = -1  # what was there before must not matter
    try:
        needed = matcher.fill_next_token_bitmask(mask)
    except EmptyMaskError:
        if mask.any() or matcher.compiled.vocabulary.stop_ids:
            raise Mismatch(
                "a mask that is not empty, or of a vocabulary with stop tokens, is refused"
            ) from None
        return set()
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    if bits[size:].any():
        raise Mismatch("padding bits are set")
    allowed = set(np.flatnonzero(bits[:size]).tolist())
    if needed == (len(allowed) == size):
        raise Mismatch(f"fill_next_token_bitmask answered {needed} with {len(allowed)} of {size} allowed")
    return allowed


def tried_tokens(matcher: stackmask.Matcher, size: int) -> set[int]:
    """Return the ids that a fork accepts, each tried by itself: what a mask must say."""
    return {token for token in range(size) if matcher.fork().accept_token(token)}


def compare_along(compiled: stackmask.CompiledGrammar, text: bytes, every: int = 1) -> None:
    """Compare masks before the bytes of a text with what happens when each token is tried.

    The first 256 tokens are the bytes.
    """
    matcher = compiled.matcher()
    tokens = compiled.vocabulary.tokens
    for number, byte in enumerate(text):
        if number % every == 0:
            wrong = engine_mask(matcher, len(tokens)) ^ tried_tokens(matcher, len(tokens))
            assert not wrong, (text[:number], [tokens[token] for token in wrong])
        assert matcher.accept_token(byte), text[: number + 1]


def check_place(
    matcher: stackmask.Matcher,
    recognizer: Recognizer,
    place: Place,
    tokens: Sequence[bytes | None],
    stop_ids: Sequence[int],
) -> set[int]:
    """Compare the mask and the verdict at one place; return the allowed ids."""
    got = engine_mask(matcher, len(tokens))
    expected = brute_force_mask(recognizer, place, tokens, stop_ids)
    if got != expected:
        wrong = {i: tokens[i] for i in got ^ expected}
        raise Mismatch(f"too many {sorted(got - expected)}, missing {sorted(expected - got)}: {wrong}")
    accepting = any(column.accepting for column in place)
    if matcher.is_accepting() != accepting:
        raise Mismatch(f"is_accepting is {matcher.is_accepting()}, the oracle says {accepting}")
    if not got:
        raise Mismatch("dead end: nothing is allowed")
    return got


MUCH = 10**9  # units of work: exactness is judged of grammars that a server would refuse, too


def check_case(case: Case, seed: int | str, walks: int = 2, steps: int = 10) -> Outcome:
    """Walk a case; raise Mismatch with the text so far where engine and oracle part."""
    rng = random.Random(f"walk {seed}")
    tokens, stop_ids = case.vocabulary.tokens, case.vocabulary.stop_ids
    compiled, empty = None, False
    try:
        compiled = case.compile(max_work=MUCH)
    except stackmask.GrammarError as error:
        if not {d.code for d in error.diagnostics} & {"G103", "G118"}:
            return Outcome("refused")
        empty = True
    try:
        recognizer = case.recognizer()
        start = [recognizer.start()]
    except TooLarge:
        return Outcome("too large for the oracle")
    if start[0].viable == empty:
        raise Mismatch(
            f"the language is {'not ' * empty}empty, and it was {'refused' if empty else 'compiled'}"
        )
    if compiled is None:
        return Outcome("empty")
    outcome = Outcome("judged")
    for _ in range(walks):
        matcher, place, path = compiled.matcher(), start, []
        try:
            for _ in range(steps):
                allowed = check_place(matcher, recognizer, place, tokens, stop_ids)
                outcome.masks += 1
                outcome.bits += len(tokens)
                _check_refusal(matcher, rng, allowed, len(tokens))
                going_on = [i for i in allowed if i not in stop_ids]
                if not going_on:
                    break
                token = rng.choice(going_on)
                path.append(token)
                if not matcher.accept_token(token):
                    raise Mismatch(f"token {token} is in the mask and refused")
                place = advance_token(recognizer, place, token, tokens[token])
        except Mismatch as error:
            shown = [tokens[i] or i for i in path]
            raise Mismatch(f"after {shown} {path}: {error}") from error
        outcome.tokens = max(outcome.tokens, path, key=len)
    return outcome


def _check_refusal(matcher: stackmask.Matcher, rng: random.Random, allowed: set[int], size: int) -> None:
    refused = [i for i in range(size) if i not in allowed]
    for token in (*rng.sample(refused, min(3, len(refused))), -1, size, size + 40):
        if matcher.accept_token(token):
            raise Mismatch(f"token {token} is not in the mask and accepted")
    if engine_mask(matcher, size) != allowed:
        raise Mismatch("a refused token has changed the matcher")
