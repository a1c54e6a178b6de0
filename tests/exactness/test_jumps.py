"""Jump-forward over random grammars and tokenizers: what is forced, what is proposed, and that nothing else changes.

The oracle says which bytes are forced; the tokenizer's own encoding of whole texts says which tokens.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest
from oracle.earley import Recognizer
from oracle.masks import Place, advance_token
from oracle.random_grammars import Features, random_features, random_rule_set
from oracle.regular import TooLarge
from support.campaign import mostly_campaign
from tokenizers import Tokenizer

import stackmask as sm
from exactness.lookahead_tokenizers import KINDS as LOOKAHEAD
from exactness.lookahead_tokenizers import lookahead_tokenizer, random_grammar
from exactness.random_tokenizers import KINDS, random_tokenizer
from exactness.walks import engine_mask
from stackmask.grammar.ir import Literal, Rule, RuleRef, RuleSet, Sequence, TokenTerminal, walk

TOKENIZERS = 3  # of each kind
GRAMMARS = range(3000, 3040)
LOOKAHEAD_GRAMMARS = 100  # of each kind of tokenizer
PIECES = [
    '{"ab": ',
    '", "',
    ' "cd": ',
    "12",
    "  ",
    " ",
    "\n    ",
    "don't",
    "aab",
    "é€",
    "'s ",
    "abcd",
    "\n",
    "[",
]


@cache
def compiler(kind: str, seed: int) -> sm.Compiler:
    return sm.Compiler(sm.Vocabulary.from_huggingface(random_tokenizer(kind, seed), stop_ids=()))


def rules_of(seed: int) -> RuleSet:
    """Return random rules with runs of forced text in front of and between them."""
    rng = random.Random(f"jumps {seed}")
    features = random_features(rng)
    rules = random_rule_set(f"jumps {seed}", Features(**{**vars_of(features), "booleans": False}))
    fixed = [Literal("".join(rng.choices(PIECES, k=rng.randint(1, 3))).encode()) for _ in range(3)]
    body = Sequence((fixed[0], RuleRef(rules.start), fixed[1], RuleRef(rules.start), fixed[2]))
    return RuleSet({**rules.rules, "whole": Rule("whole", body)}, "whole", rules.initial)


def vars_of(features: Features) -> dict[str, object]:
    return {name: getattr(features, name) for name in features.__dataclass_fields__}


def cases() -> Iterator[tuple[str, int, int]]:
    for i, seed in enumerate(GRAMMARS):
        yield KINDS[i % len(KINDS)], i // len(KINDS) % TOKENIZERS, seed


def compile_case(kind: str, number: int, seed: int) -> sm.CompiledGrammar:
    try:
        return compiler(kind, number).compile(sm.Grammar(rules_of(seed)))
    except sm.GrammarError:
        pytest.skip("the random grammar is refused")


def random_text(matcher: sm.Matcher, rng: random.Random) -> bytes | None:
    """Return a whole text of the grammar without special tokens, or None if none was found."""
    for _ in range(20):
        probe = matcher.fork()
        text = bytearray()
        for _ in range(120):
            allowed, _, ends = probe.expected()
            if ends and (not allowed or rng.random() < 0.2):
                return bytes(text)
            if not allowed:
                break
            text.append(rng.choice(sorted(allowed)))
            assert probe.accept_string(bytes(text[-1:]))
    return None


@pytest.mark.parametrize(("kind", "number", "seed"), list(cases()))
def test_proposals_are_the_encoding_of_whatever_follows(kind: str, number: int, seed: int) -> None:
    compiled = compile_case(kind, number, seed)
    tokenizer = random_tokenizer(kind, number)
    texts = compiled.vocabulary.tokens
    rng = random.Random(seed)
    blank = b" " if compiled.vocabulary.strip_first_space else b""
    for _ in range(6):
        text = random_text(start_of(compiled), rng)
        if text is None:
            return
        ids = tokenizer.encode(text.decode(), add_special_tokens=False).ids
        if b"".join(texts[i] or b"" for i in ids) != blank + text:
            continue
        matcher = compiled.matcher()
        for i, token in enumerate(ids):
            rollback, proposed = matcher.find_jump_forward_tokens(ids[:i])
            assert (rollback, proposed) == (0, ids[i : i + len(proposed)]), (text, i)
            assert matcher.accept_token(token)


@cache
def lookahead(kind: str, number: int) -> tuple[Tokenizer, sm.Compiler]:
    tokenizer = lookahead_tokenizer(kind, number)
    stop = tokenizer.token_to_id("<stop>")
    return tokenizer, sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer, stop_ids=[stop]))


@pytest.mark.parametrize("kind", mostly_campaign(LOOKAHEAD, 3))
def test_tokenizers_that_look_ahead_and_both_engines(kind: str) -> None:
    proposals = 0
    for seed in range(LOOKAHEAD_GRAMMARS):
        tokenizer, made = lookahead(kind, seed % TOKENIZERS)
        rng = random.Random(f"{kind} {seed}")
        compiled = made.compile(sm.Grammar.from_ebnf(random_grammar(rng)))
        finite = sm.fsm.compile(compiled.grammar, compiled.vocabulary)
        texts = compiled.vocabulary.tokens
        text = random_text(start_of(compiled), rng)
        if text is None or not is_utf8(text):
            continue
        ids = tokenizer.encode(text.decode(), add_special_tokens=False).ids
        blank = b" " if compiled.vocabulary.strip_first_space else b""
        if b"".join(texts[i] or b"" for i in ids) != blank + text:
            continue
        one, other = compiled.matcher(), finite.matcher()
        for i, token in enumerate(ids):
            plan = one.plan_jump(ids[:i])
            assert other.plan_jump(ids[:i]) == plan, (seed, text, i)
            assert (plan.rollback, list(plan.tokens)) == (0, ids[i : i + len(plan.tokens)]), (seed, text, i)
            assert other.find_jump_forward_bytes() == one.find_jump_forward_bytes()
            assert other.must_stop() == one.must_stop()
            proposals += bool(plan.tokens)
            assert one.accept_token(token) and other.accept_token(token)
    assert proposals > LOOKAHEAD_GRAMMARS


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def start_of(compiled: sm.CompiledGrammar) -> sm.Matcher:
    """Return a matcher where the text begins, behind the blank that does not count."""
    matcher = compiled.matcher()
    if compiled.vocabulary.strip_first_space:
        assert matcher.accept_string(" ")
    return matcher


class Judge:
    """The oracle's view of a text of tokens."""

    def __init__(self, rules: RuleSet, compiled: sm.CompiledGrammar) -> None:
        names = dict(compiled.vocabulary.special_names)
        known = {int(i) for i in compiled.vocabulary.text_ids} | set(names.values())
        self.known = known
        self.recognizer = Recognizer(rules, names, known)
        terminals = [
            e for rule in rules.rules.values() for e in walk(rule.body) if isinstance(e, TokenTerminal)
        ]
        self.reads_text_as_tokens = any(e.negated or e.id_ranges for e in terminals)

    def forced_bytes(self, place: Place) -> bytes:
        """Return the forced bytes at a place, by trying every symbol."""
        forced = bytearray()
        advance = self.recognizer.advance
        while not any(column.accepting for column in place) and len(forced) < 200:
            after = {b: [s for c in place if (s := advance(c, b)).viable] for b in range(256)}
            alive = [b for b, states in after.items() if states]
            if len(alive) != 1 or any(advance(c, ("token", i)).viable for c in place for i in self.known):
                break
            forced.append(alive[0])
            place = after[alive[0]]
        return bytes(forced)


@pytest.mark.parametrize(("kind", "number", "seed"), mostly_campaign(list(cases()), 15))
def test_jumps_change_nothing_but_the_tokens(kind: str, number: int, seed: int) -> None:
    compiled = compile_case(kind, number, seed)
    vocabulary = compiled.vocabulary
    size = vocabulary.size
    try:
        judge = Judge(rules_of(seed), compiled)
    except TooLarge:
        pytest.skip("too large for the oracle")
    rng = random.Random(seed)
    for _ in range(2):
        matcher, ids = compiled.matcher(), list[int]()
        for _ in range(8):
            allowed = engine_mask(matcher, size)
            rollback, proposed = matcher.find_jump_forward_tokens(ids)
            assert engine_mask(matcher, size) == allowed  # to ask changes nothing
            if proposed:
                before = ids.copy()
                matcher.rollback(rollback)
                ids = [*ids[: len(ids) - rollback], *proposed]
                assert all(matcher.accept_token(token) for token in proposed)
                after = engine_mask(matcher, size)
                check_text(judge, compiled, before, ids, after)
                # and back again
                matcher.rollback(len(proposed))
                assert all(matcher.accept_token(token) for token in before[len(before) - rollback :])
                assert engine_mask(matcher, size) == allowed
                assert matcher.find_jump_forward_tokens(before) == (rollback, proposed)
                matcher.rollback(rollback)
                assert all(matcher.accept_token(token) for token in proposed)
                allowed = after
            if not allowed:
                break
            ids.append(rng.choice(sorted(allowed)))
            assert matcher.accept_token(ids[-1])


def check_text(
    judge: Judge, compiled: sm.CompiledGrammar, before: list[int], ids: list[int], mask: set[int]
) -> None:
    """Check that the text went on with forced bytes only, and that the place is the one those bytes lead to."""
    vocabulary = compiled.vocabulary
    texts = vocabulary.tokens
    old, new = vocabulary.decode(before), vocabulary.decode(ids)
    assert new.startswith(old)
    place: Place = [judge.recognizer.start()]
    for i, token in enumerate(before):
        text = texts[token]
        if i == 0 and text is not None and vocabulary.strip_first_space:
            text = text.removeprefix(b" ")
        if text != b"":
            place = advance_token(judge.recognizer, place, token, text)
    forced = judge.forced_bytes(place)
    ends_with_text = texts[ids[-1]] is not None
    if any(texts[token] is None for token in (*before, *ids)):
        assert not ends_with_text or forced
        return
    # the blank before the first word is no part of the text
    assert len(new) > len(old) or (not before and vocabulary.strip_first_space and texts[ids[0]] == b" ")
    assert forced.startswith(new[len(old) :])
    if not judge.reads_text_as_tokens:
        other = start_of(compiled)
        assert other.accept_string(new)
        assert engine_mask(other, vocabulary.size) == mask


@pytest.mark.parametrize("seed", mostly_campaign(GRAMMARS[::3], 5))
def test_forced_bytes_are_those_of_the_oracle(seed: int) -> None:
    compiled = compile_case("bytes", 0, seed)
    try:
        judge = Judge(rules_of(seed), compiled)
    except TooLarge:
        pytest.skip("too large for the oracle")
    rng = random.Random(seed)
    text = random_text(compiled.matcher(), rng) or b""
    matcher = compiled.matcher()
    place = [judge.recognizer.start()]
    for i in range(min(len(text), 40) + 1):
        whole, rest = matcher.find_jump_forward_bytes()
        assert whole + rest == judge.forced_bytes(place), text[:i]
        (text[:i] + whole).decode(errors="strict" if whole else "ignore")
        if i < len(text):
            place = [judge.recognizer.advance(place[0], text[i])]
            assert matcher.accept_string(text[i : i + 1])
