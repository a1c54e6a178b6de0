"""Several threads on one compiler, for a build that notices races: ``./dev sanitize tsan``.

    PYTHONPATH=build/view python lab/fuzz/threads.py --seconds 120

The vocabulary is large, so that compiling and new masks take long enough to let go of the interpreter's lock. Some masks
are compared with those of a compiler that one thread uses. Exits with 1 if one differs; races are what the sanitizer reports.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import stackmask as sm

MOST_STEPS = 24
COMPARED = 0.05  # share of the walks whose masks are made again on a compiler of their own
LIVES = 40  # walks on a compiler, then all threads take a new one
LETTERS = '{}[]":, \nabcdefghijklmnopqrstuvwxyzABCDEFGH0123456789.-_+*/()<>éü€'


def make_vocabulary(count: int) -> sm.Vocabulary:
    """Return all bytes, and words of letters that grammars have."""
    source = random.Random(1)
    words = {"".join(source.choices(LETTERS, k=source.randint(2, 9))).encode() for _ in range(count)}
    tokens: list[bytes | None] = [*(bytes([byte]) for byte in range(256)), *sorted(words), None]
    return sm.Vocabulary(tokens, stop_ids=[len(tokens) - 1])


def grammar_of(source: random.Random) -> sm.Grammar:
    """Return a grammar, mostly one that no thread has seen."""
    word = "".join(source.choices("abcdefgh", k=source.choice((1, 3))))
    way = source.randrange(7)
    if way == 0:
        return sm.Grammar.json()
    if way == 1:
        properties = {
            word + str(number): {"type": source.choice(("string", "integer", "object"))}
            for number in range(9)
        }
        return sm.Grammar.from_json_schema(
            {"properties": properties, "required": [word + "1"]}, property_order="any"
        )
    if way == 2:
        items = {"type": source.choice(("integer", "string")), "enum": None}
        del items["enum"]
        return sm.Grammar.from_json_schema({"type": "array", "items": items, "uniqueItems": True})
    if way == 3:
        return sm.Grammar.from_regex(f"(?=.*{word})[a-z {word}]{{4,{source.randint(9, 40)}}}")
    if way == 4:
        return sm.Grammar.from_ebnf(f'root ::= root root | "(" root ")" | [a-z{word}]* | "{word}"{{2,7}}')
    if way == 5:
        return sm.Grammar.from_ebnf(f'root ::= "<" @push([a-z]+) ">" root* "</" @top ">" | "{word}"')
    return sm.Grammar.from_choices([word * count for count in range(1, 12)] + ["a", "name"])


class Run:
    """What all threads share."""

    def __init__(self, vocabulary: sm.Vocabulary, end: float, most_walks: float = float("inf")) -> None:
        self.vocabulary = vocabulary
        self.end = end
        self.most_walks = most_walks
        self.compiler = self.new_compiler()
        self.matchers: list[Any] = []  # of all threads, for those that cancel and look
        self.wrong: list[str] = []
        self.walks = self.masks = self.refused = self.met = 0
        self.lock = threading.Lock()

    def new_compiler(self) -> sm.Compiler:
        """Return a compiler that must drop masks and stores now and then."""
        return sm.Compiler(self.vocabulary, cache_bytes=48 << 20)

    def work(self, number: int) -> None:
        """Walk until the time is over, or there were walks enough."""
        source = random.Random(number)
        while time.monotonic() < self.end and self.walks < self.most_walks and not self.wrong:
            grammar = grammar_of(source)
            try:
                self.walk(grammar, source)
            except (sm.StackmaskError, MemoryError):  # cancelled, or the store was given up
                with self.lock:
                    self.refused += 1
            except BaseException as error:  # noqa: BLE001
                self.wrong.append(f"{type(error).__name__}: {error}")
            with self.lock:
                self.walks += 1
                if self.walks % LIVES == 0:
                    self.compiler = self.new_compiler()
                    self.matchers.clear()

    def walk(self, grammar: sm.Grammar, source: random.Random) -> None:
        """Follow random tokens, and sometimes compare."""
        matcher = self.compiler.compile(grammar).matcher()
        with self.lock:
            self.matchers = [*self.matchers[-20:], matcher]
        words = -(-self.vocabulary.size // 32)
        rows = np.zeros((2, words), np.int32)
        ids: list[int] = []
        for _ in range(source.randint(2, MOST_STEPS)):
            # another thread is in the middle of a call on the same store, and has let go of the interpreter's lock
            self.met += matcher.compiled._automaton.store.lock.is_taken()
            if source.random() < 0.2:
                sm.fill_next_token_bitmask([matcher, matcher.fork()], rows, threads=2)
            else:
                matcher.fill_next_token_bitmask(rows, 0)
            self.masks += 1
            allowed = np.flatnonzero(np.unpackbits(rows[0].view(np.uint8), bitorder="little"))
            if not len(allowed):
                break
            token = int(source.choice(allowed))
            if not matcher.accept_token(token):
                self.wrong.append(f"an allowed token is refused: {token} after {ids}")
                return
            ids.append(token)
            self.play(matcher, ids, source)
        if source.random() < COMPARED:
            self.compare(grammar, ids)

    def play(self, matcher: Any, ids: list[int], source: random.Random) -> None:
        """Do something else with a matcher."""
        way = source.random()
        if way < 0.1:
            matcher.rollback(1)
            ids.pop()
        elif way < 0.15:
            matcher.find_jump_forward_bytes()
        elif way < 0.2:
            matcher.shortest_completion()
        elif way < 0.22:
            self.compiler.stats()
        elif way < 0.23:
            source.choice(self.matchers or [matcher]).cancel()
        elif way < 0.25:
            matcher.describe()

    def compare(self, grammar: sm.Grammar, ids: list[int]) -> None:
        """Compare the masks along some tokens on the shared compiler and on a new one."""
        matchers = [c.compile(grammar).matcher() for c in (self.compiler, self.new_compiler())]
        rows = np.zeros((2, -(-self.vocabulary.size // 32)), np.int32)
        for token in [*ids, None]:
            for row, matcher in enumerate(matchers):
                matcher.fill_next_token_bitmask(rows, row)
            if rows[0].tobytes() != rows[1].tobytes():
                self.wrong.append(f"another mask after {ids}")
                return
            if token is None or sum(matcher.accept_token(token) for matcher in matchers) < len(matchers):
                return


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Run something in several threads, and wait for them."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--threads", type=int, default=8, help="more than a compiler has stores, so that some share one (8)"
    )
    parser.add_argument("--tokens", type=int, default=12_000)
    options = parser.parse_args()
    run = Run(make_vocabulary(options.tokens), time.monotonic() + options.seconds)
    in_threads(run.work, options.threads)
    print(
        f"{run.walks:,} walks, {run.masks:,} masks in {options.threads} threads, {run.met:,} times in the middle of another's call, "
        f"{run.refused} refused, {len(run.wrong)} wrong"
    )
    for line in run.wrong:
        print(line, file=sys.stderr)
    return bool(run.wrong)


if __name__ == "__main__":
    sys.exit(main())
