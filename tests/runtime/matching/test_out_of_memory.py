"""Memory runs out in the middle of a call: no crash and no wrong mask, and the compiler goes on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import numpy as np
import pytest
from support.campaign import SCALE, mostly_campaign

import stackmask
from stackmask.grammar import ir

VOCABULARY = stackmask.Vocabulary([bytes([b]) for b in range(256)], size=257, stop_ids=[256])


class Action:
    """Follows a word; raises what it is told to, once."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.inside: Callable[[], None] | None = None

    def __call__(self, seen: object, text: bytes) -> object:
        if self.inside is not None:
            self.inside()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return seen


def grammar_of(action: Action) -> stackmask.Grammar:
    word = ir.Repeat(ir.CharClass(((97, 98),)), 1, 3)
    root = ir.Sequence((ir.Capture(ir.RuleRef("word"), action), ir.Literal(b"<"), ir.RuleRef("word")))
    rules = {"root": ir.Rule("root", root), "word": ir.Rule("word", word)}
    return stackmask.Grammar(ir.RuleSet(rules, "root", 0))


def mask_of(matcher: stackmask.Matcher) -> bytes:
    mask = stackmask.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    return bytes(mask.tobytes())


def test_what_was_half_changed_is_not_used_again() -> None:
    action = Action()
    compiler = stackmask.Compiler(VOCABULARY)
    compiled = compiler.compile(grammar_of(action))
    other = compiler.compile(stackmask.Grammar.from_ebnf('root ::= "x" [a-c]*'))
    matcher, bystander = compiled.matcher(), other.matcher()
    assert bystander.accept_string("x")
    wanted = mask_of(bystander)
    action.error = MemoryError()
    with pytest.raises(MemoryError):
        matcher.accept_string("ab")
    mask = stackmask.allocate_token_bitmask(2, VOCABULARY.size)
    calls: list[Callable[[], object]] = [
        lambda: matcher.accept_string("a"),
        lambda: matcher.accept_token(97),
        lambda: matcher.fill_next_token_bitmask(mask),
        lambda: matcher.fork().fill_next_token_bitmask(mask),
        lambda: matcher.fill_draft_bitmask([97], [-1], mask),
        lambda: matcher.mask_rows(),
        lambda: matcher.expected_bytes(),
        lambda: matcher.find_jump_forward_string(),
        lambda: bystander.accept_token(97),
        lambda: stackmask.fill_next_token_bitmask([bystander, matcher], mask),
    ]
    for call in calls:
        with pytest.raises(stackmask.SpoiledError, match="create a new matcher"):
            call()
    # what touches no states is as ever
    bystander.rollback(1)
    assert (bystander.accept_calls, compiled.stats()["fills"] > 0) == (0, True)
    # new matchers, and grammars that are compiled anew, are of a new store
    matcher, bystander = compiled.matcher(), other.matcher()
    assert matcher.accept_string("ab<a") and bystander.accept_string("x")
    assert mask_of(bystander) == wanted
    assert compiler.compile(grammar_of(action)).precompute()["stopped"] == "text"
    assert compiler._generation == 2


def test_precompute_begins_anew() -> None:
    action = Action()
    compiler = stackmask.Compiler(VOCABULARY)
    compiled = compiler.compile(grammar_of(action))
    matcher = compiled.matcher()
    action.error = MemoryError()
    with pytest.raises(MemoryError):
        matcher.accept_string("a")
    assert compiled.precompute()["stopped"] == "text"
    assert compiled.matcher().accept_string("a<b")


@pytest.mark.parametrize("error", [ValueError("no"), stackmask.StackmaskError("no"), KeyboardInterrupt()])
def test_other_errors_spoil_nothing(error: BaseException) -> None:
    action = Action()
    compiler = stackmask.Compiler(VOCABULARY)
    matcher = compiler.compile(grammar_of(action)).matcher()
    action.error = error
    # in a handler of somebody's, where a MemoryError is what is handled
    try:
        raise MemoryError
    except MemoryError:
        with pytest.raises(type(error)):
            matcher.accept_string("a")
    assert matcher.accept_string("ab<a")
    assert compiler._generation == 1


def test_threads_that_wait_are_told() -> None:
    """None of those that sleep until the lock is given may sleep on."""
    action = Action()
    compiler = stackmask.Compiler(VOCABULARY)
    compiled = compiler.compile(grammar_of(action))
    first = compiled.matcher()
    others = [first.fork() for _ in range(5)]
    entered, leave = threading.Event(), threading.Event()
    told: list[type] = []

    def wait() -> None:
        entered.set()
        leave.wait(30)

    def ask(call: Callable[[], object]) -> None:
        try:
            call()
        except (MemoryError, stackmask.SpoiledError) as error:
            told.append(type(error))

    action.inside, action.error = wait, MemoryError()
    threads = [threading.Thread(target=ask, args=(lambda: first.accept_string("a"),))]
    threads[0].start()
    assert entered.wait(30)
    for other in others:
        threads.append(threading.Thread(target=ask, args=(other.expected,)))
        threads[-1].start()
    leave.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    action.inside = None
    # some may have been asleep, some may not have come yet
    assert sorted(error.__name__ for error in told) == ["MemoryError"] + ["SpoiledError"] * 5
    assert compiled.matcher().accept_string("a<b")


# Memory is limited to what the process has and a little more, a step further each time. What is left after a
# MemoryError must be refused or right; a compiler that is used on must have the masks of a fresh one.
STEPS = """
    import itertools, random, resource, sys
    import numpy as np
    import stackmask as sm

    # a stack that cannot grow under the limit is a segmentation fault, not a MemoryError: it grows before
    deep = []
    sys.setrecursionlimit(12_000)
    for _ in range(10_000):
        deep = [deep]
    repr(deep)

    def pages():
        return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

    def limit(more):
        most = resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_AS, (most if more is None else pages() + more, most))

    letters = 'ab01.!" {}:,'
    words = {"".join(t).encode() for n in range(1, 5) for t in itertools.product(letters, repeat=n)}
    V = sm.Vocabulary([*sorted(words | {bytes([b]) for b in range(256)}), None], stop_ids=[])
    index = {text: i for i, text in enumerate(V.token_bytes) if text}
    grammars = [
        lambda: sm.Grammar.from_json_schema(
            {"properties": {"a": {"maxLength": 9}, "b0": {"items": {"type": "integer"}}}}
        ),
        lambda: sm.Grammar.from_ebnf(
            'root ::= "b" @push([ab]{1,3}) "0" (root | [a-b.]*) "1" @top "." | item{2,4}'
            ' | ([ab]* & !("a" | "ab" [ab]*)) "." root? "!"\\n'
            'item ::= [ab]{1,3} !>>[a] | "{" item "}"'
        ),
        lambda: sm.Grammar.from_regex(r"(\\S+\\s+){0,30}[a-b0-1]{3,40}"),
    ]
    texts = ['{"a":"a00 b","ab":[1,{"b":0}],"b0":[10,1]}', "bab0ab.b.!1ab.", "a0 b1 . .! aab10ab"]
    MASK = sm.allocate_token_bitmask(8, V.size)

    def tokens(text, rng):
        data, found = text.encode(), []
        while data:
            size = next(n for n in range(rng.randint(1, 4), 0, -1) if data[:n] in index)
            found.append(index[data[:size]])
            data = data[size:]
        return found

    def walk(compiler, read, path, rows, extras):
        grammar = read()
        matcher = compiler.compile(grammar).matcher()
        yield matcher
        for token in path:
            matcher.fill_next_token_bitmask(MASK)
            rows.append(MASK[0].tobytes())
            if extras:
                matcher.find_jump_forward_bytes()
                sm.fill_next_token_bitmask([matcher, matcher.fork()], MASK, threads=2)
            if not matcher.accept_token(token):
                break
            if extras:
                matcher.rollback(1)
                matcher.accept_token(token)
        if extras:
            compiler.compile(grammar).precompute(20)
        matcher.fill_next_token_bitmask(MASK)
        rows.append(MASK[0].tobytes())

    rng = random.Random(int(sys.argv[1]))
    compiler, ran_out, spoiled = sm.Compiler(V), 0, 0
    kept = []  # memory that was given back would be there again, whatever the limit
    for turn in range(int(sys.argv[2])):
        k = rng.randrange(len(grammars))
        path = tokens(texts[k], rng)
        right = []
        kept.append(sm.Compiler(V))
        for _ in walk(kept[-1], grammars[k], path, right, False):
            pass
        if rng.random() < 0.4:
            kept.append(compiler)
            compiler = sm.Compiler(V)
        matcher, rows = None, []
        limit(rng.choice([0, 1 << 14, 1 << 17, 1 << 19, 1 << 20, 1 << 21]) + rng.randrange(1 << 16))
        try:
            for matcher in walk(compiler, grammars[k], path, rows, True):
                pass
        except MemoryError:
            limit(None)
            ran_out += 1
            if matcher is not None:
                try:
                    matcher.fill_next_token_bitmask(MASK)
                    assert MASK[0].tobytes() == right[matcher.accept_calls]
                except sm.SpoiledError:
                    spoiled += 1
        limit(None)
        assert rows == right[: len(rows)], (turn, k)
        kept.append(matcher)
        again = []
        for _ in walk(compiler, grammars[k], path, again, False):
            pass
        assert again == right, (turn, k)
    print(ran_out, spoiled)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits memory by RLIMIT_AS, and reads /proc"
)
@pytest.mark.parametrize("seed", mostly_campaign(range(3 * SCALE), 1))
def test_memory_that_runs_out(seed: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STEPS), str(seed), "60"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    ran_out, spoiled = map(int, run.stdout.split())
    assert ran_out >= 5 and spoiled >= 1


def test_a_finite_matcher_stays_where_it_is() -> None:
    """Its calls make no states; what they note takes memory, and is made room for before anything changes."""
    compiled = stackmask.fsm.compile(stackmask.Grammar.from_ebnf("root ::= [a-c]*"), VOCABULARY)
    matcher = compiled.matcher()
    for _ in range(100):
        assert matcher.accept_token(97) and matcher.accept_string("b")
    assert matcher.accept_calls == 200
    matcher.rollback(150)
    mask = stackmask.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    assert np.unpackbits(mask.view(np.uint8)).sum() == 4
