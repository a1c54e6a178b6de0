"""Run a case of the matrix through the engines and compare every bit."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from oracle.earley import Recognizer
from oracle.masks import advance_token, brute_force_mask
from oracle.regular import TooLarge

import stackmask as sm
from matrix.corpus import Case
from matrix.engines import (
    ALL_ON,
    EVICTED,
    LAYERED,
    SMALL_CACHE,
    Masks,
    compile_with,
    ids_of,
    mask_of,
    masks_along,
    tried_along,
)
from stackmask.grammar.ir import Keyed, walk

STEPS = 5  # of a random path


@dataclass
class Judged:
    """What a case came to: places, engines that took part, and their counts."""

    places: int = 0
    engines: list[str] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


def random_path(compiled: sm.CompiledGrammar, case: Case) -> list[int]:
    rng = random.Random(f"matrix {case.name}")
    tokens, path = case.words.tokens, []
    matcher = compiled.matcher()
    for _ in range(STEPS):
        allowed = sorted(ids_of(mask_of(matcher, len(tokens))) - set(case.words.stop_ids))
        if not allowed:
            break
        token = rng.choice([t for t in allowed if len(tokens[t] or b"") < 4] or allowed)
        assert matcher.accept_token(token)
        path.append(token)
    return path


def text_path(compiled: sm.CompiledGrammar, text: bytes) -> list[int]:
    """Return the bytes of a text as tokens, as far as they are allowed. The first 256 tokens are the bytes."""
    matcher, path = compiled.matcher(), []
    for byte in text:
        if not matcher.accept_token(byte):
            break
        path.append(byte)
    return path


@functools.cache
def judge(case: Case) -> Judged | None:
    """Compare all engines along the paths of a case; None if the grammar is refused (it has no text)."""
    judged = Judged()
    grammar, vocabulary = case.make(), case.vocabulary()
    size = len(case.words.tokens)
    try:
        compiled = compile_with(grammar, vocabulary)
    except sm.GrammarError:
        return None
    paths = [random_path(compiled, case), *(text_path(compiled, text) for text in case.texts)]
    expected = run(case, judged, ALL_ON, compile_with(grammar, vocabulary), paths)
    judged.places = len(expected)
    for name, off in LAYERED.items():
        same(case, name, expected, run(case, judged, name, compile_with(grammar, vocabulary, off), paths))
    evicted = compile_with(grammar, vocabulary, cache_bytes=SMALL_CACHE)
    same(case, EVICTED, expected, run(case, judged, EVICTED, evicted, paths))
    try:
        finite = sm.fsm.compile(grammar, vocabulary)
    except (sm.fsm.FsmError, sm.BudgetError):
        pass  # no automaton, or one too large
    else:
        same(case, "finite", expected, masks_along(finite, paths, size))
        judged.engines.append("finite")
    with_oracle(case, judged, compiled, expected, paths)
    return judged


def run(
    case: Case, judged: Judged, name: str, compiled: sm.CompiledGrammar, paths: Sequence[Sequence[int]]
) -> Masks:
    masks = masks_along(compiled, paths, len(case.words.tokens))
    judged.engines.append(name)
    judged.counts[name] = compiled.stats()
    return masks


def same(case: Case, name: str, expected: Masks, found: Masks) -> None:
    assert len(expected) == len(found)
    for place, (a, b) in enumerate(zip(expected, found, strict=True)):
        if not (a == b).all():
            wrong = {i: case.words.tokens[i] for i in sorted(ids_of(a) ^ ids_of(b))[:9]}
            raise AssertionError(f"{case.name}: {name}: place {place}: {wrong}")


def with_oracle(
    case: Case, judged: Judged, compiled: sm.CompiledGrammar, expected: Masks, paths: Sequence[Sequence[int]]
) -> None:
    """Compare with the oracle; where it cannot judge (keys, large automata), with what the matcher accepts."""
    rules = compiled.grammar.rules
    words = case.words
    recognizer, start = None, []
    if not any(isinstance(e, Keyed) for rule in rules.rules.values() for e in walk(rule.body)):
        with contextlib.suppress(TooLarge):
            asked = Recognizer(rules, words.special_names, words.known_ids())
            start = [asked.start()]
            recognizer = asked
    if recognizer is None:
        same(case, "tokens tried", expected, tried_along(compiled, paths, len(words.tokens)))
        judged.engines.append("tokens tried")
        return
    rng = random.Random(case.name)
    number = 0
    for path in paths:
        place = start
        for token in (*path, None):
            allowed = ids_of(expected[number])
            number += 1
            only = None
            if case.sample is not None:
                some = rng.sample(range(len(words.tokens)), min(case.sample, len(words.tokens)))
                more = rng.sample(sorted(allowed), min(case.sample, len(allowed)))
                only = {*some, *more, *words.stop_ids}
            right = brute_force_mask(recognizer, place, words.tokens, words.stop_ids, only)
            wrong = (allowed if only is None else allowed & only) ^ right
            assert not wrong, (case.name, number, [words.tokens[t] for t in sorted(wrong)[:9]])
            if token is not None:
                place = advance_token(recognizer, place, token, words.tokens[token])
    judged.engines.append("oracle")
