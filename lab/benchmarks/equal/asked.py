"""What is asked of an engine about each item. Each function records the answers in the same order on every engine."""

from __future__ import annotations

import ast
import dataclasses
import enum
import pathlib
import random
import re
import threading
import typing
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from items import LIMITS, Item
from recorder import Recorder, decoded
from vocabularies import Tokens

import stackmask as sm

LONGEST = 3000  # tokens of a string that are followed
WALKS, WALK_TOKENS = 2, 40
EVERY = 7  # tokens between questions that cost more than a mask


@dataclasses.dataclass
class Order:
    """A type that some of the mistakes name, as the next two."""

    city: str


class Colour(enum.Enum):
    RED = "red"


class Socket:
    """A class whose objects no JSON has."""


def ascii_vocabulary(stop: int | None = None) -> sm.Vocabulary:
    """Return a vocabulary of single bytes in which one of them may be the stop token."""
    return sm.Vocabulary([bytes([b]) for b in range(256)], stop_ids=[] if stop is None else [stop])


class Asker:
    """One vocabulary and a compiler for it, which items share in turn."""

    def __init__(self, tokens: Tokens, record: Recorder) -> None:
        self.tokens = tokens
        self.record = record
        self.compiler = sm.Compiler(tokens.vocabulary, limits=LIMITS)
        self.mask = sm.allocate_token_bitmask(1, tokens.vocabulary.size)
        self.texts = tokens.vocabulary.tokens

    def ask(self, what: str, item: Item) -> None:
        """Ask one of the functions below; an error of the engine is an answer too."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ASKED[what](self, item)
            except sm.StackmaskError as error:
                self.record.refuse(error)
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                MemoryError,
                RuntimeError,
                TypeError,
                ValueError,
            ) as error:
                self.record.fail(error)

    def compiled(self, item: Item) -> sm.CompiledGrammar:
        """Compile the grammar of an item, and record that it can be."""
        found = self.compiler.compile(item.grammar())
        self.record.say("compiled")
        return found

    def fill(self, matcher: Any, ids: list[int], **options: Any) -> None:
        """Record the mask at the place of a matcher, which ``ids`` led to."""
        needed = matcher.fill_next_token_bitmask(self.mask, **options)
        self.record.mask(self.mask[0], needed, lambda: decoded(self.texts, ids), self.texts)

    def follow(self, matcher: Any, ids: list[int], each: Callable[[int], None]) -> None:
        """Accept tokens, and do ``each`` before every one and at the end."""
        for place, token in enumerate(ids[:LONGEST]):
            each(place)
            if not matcher.accept_token(token):
                self.record.say(f"token {place} refused")
                return
        each(min(len(ids), LONGEST))
        self.record.say(f"accepting: {matcher.is_accepting()}")

    def string_ids(self, number: int, item: Item) -> list[int]:
        """Begin the part of a string, and return its tokens."""
        self.record.part(f"string {number}")
        self.record.strings += 1
        return self.tokens.ids(item.strings[number])


def masks(asker: Asker, item: Item) -> None:
    """Follow the strings: each mask; now and then what is expected, a fork, a way back, drafts."""
    compiled = asker.compiled(item)
    for number in range(len(item.strings)):
        ids = asker.string_ids(number, item)
        matcher = compiled.matcher()
        asker.follow(matcher, ids, lambda place: asker.fill(matcher, ids[:place]))  # noqa: B023
        if number == 0:
            _sideways(asker, matcher, ids)


def _sideways(asker: Asker, matcher: sm.Matcher, ids: list[int]) -> None:
    """From the end of a string: what is expected, the mask of a fork after a way back, the masks along drafts."""
    asker.record.part("string 0, sideways")
    allowed, special, may_end = matcher.expected()
    asker.record.say((sorted(allowed), sorted(special), may_end))
    back = matcher.accept_calls // 2
    fork = matcher.fork()
    fork.rollback(back)
    place = fork.accept_calls
    asker.fill(fork, ids[:place])
    drafts = ids[place : place + 4]
    rows = sm.allocate_token_bitmask(len(drafts) + 1, asker.tokens.vocabulary.size)
    asker.record.say(fork.fill_draft_bitmask(drafts, list(range(-1, len(drafts) - 1)), rows))
    asker.record.rows(rows)


def _allowed(mask: Any, size: int) -> Any:
    return np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:size])


def walks(asker: Asker, item: Item) -> None:
    """Take random tokens that the masks allow."""
    compiled = asker.compiled(item)
    for number in range(WALKS):
        asker.record.part(f"walk {number}")
        asker.record.strings += 1
        rng = random.Random(f"{item.name} {number}")
        matcher = compiled.matcher()
        ids: list[int] = []
        for _ in range(WALK_TOKENS):
            asker.fill(matcher, ids)
            allowed = _allowed(asker.mask, asker.tokens.vocabulary.size)
            if not len(allowed):
                break
            ids.append(int(allowed[rng.randrange(len(allowed))]))
            if not matcher.accept_token(ids[-1]):
                asker.record.say(f"allowed, and refused: {ids[-1]}")
                return
            if matcher.is_terminated():
                break
    if asker.record.strings % EVERY == 0:
        asker.record.say(compiled.matcher().refusal)


def reports(asker: Asker, item: Item) -> None:
    """Read the grammar: the report, the warnings; then why the strings are refused, and where."""
    grammar = item.grammar()
    asker.record.say(str(grammar.report))
    asker.record.say(str(grammar.warnings))
    matcher = asker.compiler.compile(grammar).matcher()
    asker.fill(matcher, [])
    if (
        len(str(item.source)) > 2000
    ):  # where in the grammar a text is, is found within a time: the same for short ones
        return
    for number, text in enumerate(item.strings):
        asker.record.part(f"string {number}")
        asker.record.strings += 1
        for broken in (
            text[: len(text) // 2],
            *(f"{text[: len(text) // 3]}{odd}"[:300] for odd in ("\x00", "}")),
        ):
            accepted = matcher.accept_string(broken)
            asker.record.say(f"{accepted} {matcher.refusal}")
            matcher.reset()


def mistakes(asker: Asker, item: Item) -> None:
    """Run the code of a case, and say what its user reads."""
    names: dict[str, Any] = {
        **{module.__name__: module for module in (dataclasses, pathlib, re, threading, typing)},
        **{kind.__name__: kind for kind in (Order, Colour, Socket)},
        "ascii_vocabulary": ascii_vocabulary,
        "sm": sm,
        "np": np,
        "ebnf": sm.Grammar.from_ebnf,
        "regex": sm.Grammar.from_regex,
        "schema": sm.Grammar.from_json_schema,
        "tag": sm.Grammar.from_structural_tag,
        "compiler": asker.compiler,
        "vocabulary": asker.tokens.vocabulary,
        "matcher": lambda text: asker.compiler.compile(sm.Grammar.from_ebnf(text)).matcher(),
        "weather": {"name": "weather", "parameters": {"properties": {"city": {"type": "string"}}}},
    }
    asker.record.strings += 1
    tree = ast.parse(item.source)
    last = tree.body.pop()
    exec(compile(tree, "<case>", "exec"), names)  # noqa: S102  # the code of the cases
    value = eval(compile(ast.Expression(last.value), "<case>", "eval"), names)  # type: ignore[attr-defined]
    for attribute in ("refusal", "warnings", "report"):
        if isinstance(value, sm.Matcher | sm.Grammar) and hasattr(value, attribute):
            asker.record.say(str(getattr(value, attribute)))


def forced(asker: Asker, item: Item) -> None:
    """Follow the strings, and what must come next: as bytes, as text, as tokens; then take it."""
    compiled = asker.compiled(item)
    for number in range(max(1, len(item.strings))):
        ids = asker.string_ids(number, item) if item.strings else []
        matcher = compiled.matcher()

        def see(place: int, matcher: sm.Matcher = matcher, ids: list[int] = ids) -> None:
            asker.record.say(matcher.find_jump_forward_bytes())
            if place % EVERY == 0:
                asker.record.say(matcher.find_jump_forward_string())
                asker.record.say(matcher.find_jump_forward_tokens(ids[:place]))
                asker.record.say(matcher.must_stop())

        asker.follow(matcher, ids, see)
        _jumping(asker, compiled, f"jumps {number}", ids[:3])


def _jumping(asker: Asker, compiled: sm.CompiledGrammar, part: str, ids: list[int]) -> None:
    """Generate: what is forced where something is, else a token that the mask allows."""
    asker.record.part(part)
    matcher, taken = compiled.matcher(), []
    for number in range(25):
        back, tokens = matcher.find_jump_forward_tokens(taken)
        asker.record.say((back, tokens))
        if not tokens:
            asker.fill(matcher, taken)
            allowed = _allowed(asker.mask, asker.tokens.vocabulary.size)
            if not len(allowed):
                break
            wanted = (
                ids[number]
                if number < len(ids) and ids[number] in allowed
                else allowed[number * 7 % len(allowed)]
            )
            tokens = [int(wanted)]
        if back:
            matcher.rollback(back)
            del taken[len(taken) - back :]
        for token in tokens:
            if not matcher.accept_token(token):
                asker.record.say(f"refused: {token}")
                return
            taken.append(token)
        if matcher.is_terminated():
            break


def ends(asker: Asker, item: Item) -> None:
    """Along the strings, or random tokens: the shortest end, how many tokens it takes, masks under budgets."""
    compiled = asker.compiled(item)
    for number in range(max(1, len(item.strings))):
        ids = asker.string_ids(number, item) if item.strings else []
        asker.record.part(f"string {number}")
        matcher = compiled.matcher()
        rng = random.Random(f"{item.name} {number}")
        for place in range(min(len(ids), 120) if ids else 14):
            if place % (EVERY if ids else 2) == 0:
                _end_of(asker, matcher, ids[:place])
            if place == len(ids):
                asker.fill(matcher, ids)
                allowed = _allowed(asker.mask, asker.tokens.vocabulary.size)
                if not len(allowed):
                    break
                ids.append(int(allowed[rng.randrange(len(allowed))]))
            if not matcher.accept_token(ids[place]) or matcher.is_terminated():
                break


def _end_of(asker: Asker, matcher: sm.Matcher, ids: list[int]) -> None:
    needed = matcher.needs_at_least()
    asker.record.say(needed)
    completion = matcher.shortest_completion()
    asker.record.say((completion.text, completion.tokens))
    for more in (0, 1, 4, 30):
        asker.fill(matcher, ids, budget=needed + more)


def automata(asker: Asker, item: Item) -> None:
    """Compile to a finite automaton; masks and forced text along the strings."""
    compiled = sm.fsm.compile(item.grammar(), asker.tokens.vocabulary, memory=64 << 20)
    asker.record.say(compiled.stats()["states"])
    for number in range(len(item.strings)):
        ids = asker.string_ids(number, item)
        matcher = compiled.matcher()

        def see(place: int, matcher: Any = matcher, ids: list[int] = ids) -> None:
            asker.fill(matcher, ids[:place])
            asker.record.say(matcher.find_jump_forward_bytes())

        asker.follow(matcher, ids, see)


def batches(asker: Asker, item: Item) -> None:
    """Take steps of several texts in one call, and compare with what the rows of a batch hold."""
    compiled = asker.compiled(item)
    asker.record.strings += 8
    matchers = [compiled.matcher() for _ in range(8)]
    rows = sm.StepMask(len(matchers), asker.tokens.vocabulary.size)
    tokens: list[int | None] = [None] * len(matchers)
    for number in range(30):
        result = sm.step(matchers, tokens, rows, forced=True)
        asker.record.say(
            (result.accepted, result.ended, result.only_tokens, result.forced_bytes, sorted(result.errors))
        )
        asker.record.rows(rows.array)
        tokens = []
        for i, row in enumerate(rows.array):
            allowed = _allowed(row[None].copy(), asker.tokens.vocabulary.size)
            tokens.append(int(allowed[(7 * number + 31 * i) % len(allowed)]) if len(allowed) else None)
    plain = sm.allocate_token_bitmask(len(matchers), asker.tokens.vocabulary.size)
    asker.record.say(sm.fill_next_token_bitmask(matchers, plain))
    asker.record.rows(plain)


ASKED: dict[str, Callable[[Asker, Item], None]] = {
    "masks": masks,
    "walks": walks,
    "reports": reports,
    "mistakes": mistakes,
    "forced": forced,
    "ends": ends,
    "automata": automata,
    "batches": batches,
}
