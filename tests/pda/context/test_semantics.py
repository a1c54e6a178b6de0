"""Captures, scopes and dynamic rules: the built-in stack, Python callables, and masks that depend on them."""

from __future__ import annotations

import random
import sys
import threading
import time

import numpy as np
import pytest
from exactness.walks import compare_along

import stackmask as sm
from stackmask.grammar import ir

TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [
    None,
    b"<a>",
    b"</a>",
    b"</",
    b"a></a>",
    b"></",
    b"</b>",
    b"ab>",
    b"><b>",
    b"b></b></a>",
    b"</ab></ab>",
]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[256])
TAGS = """
root ::= @scope("<" @push([ab]+) ">" root* "</" @top ">")
"""


def letter(text: str) -> ir.Expr:
    return ir.CharClass(tuple((ord(c), ord(c)) for c in sorted(text)))


def matcher_of(grammar: sm.Grammar) -> sm.Matcher:
    return sm.Compiler(VOCABULARY).compile(grammar).matcher()


def long_tokens(matcher: sm.Matcher) -> set[bytes]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size])
    return {text for i in bits if (text := TOKENS[i]) and len(text) > 1}


def test_end_tags_match_their_start_tags() -> None:
    matcher = matcher_of(sm.Grammar.from_ebnf(TAGS))
    assert matcher.accept_string("<a>")
    assert long_tokens(matcher) == {b"<a>", b"</a>", b"</"}
    assert matcher.accept_string("<b")
    # within one token: the rest of the name, the end tag, and the parent's end tag
    assert long_tokens(matcher) == {b"ab>", b"></", b"><b>"}
    assert not matcher.accept_string("></a>")
    assert matcher.accept_string("></b></a>") and matcher.is_accepting()


def test_a_token_may_hold_capture_and_use() -> None:
    matcher = matcher_of(sm.Grammar.from_ebnf(TAGS))
    assert matcher.accept_string("<")
    assert b"a></a>" in long_tokens(matcher)
    assert matcher.accept_string("a><")
    assert b"a></a>" in long_tokens(matcher) and b"b></b></a>" in long_tokens(matcher)
    assert matcher.accept_string("ab><ab>")
    assert b"</ab></ab>" in long_tokens(matcher) and b"</a>" not in long_tokens(matcher)


def test_masks_follow_the_state_after_rollback_and_fork() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(TAGS))
    one = compiled.matcher()
    assert one.accept_string("<a>") and one.accept_string("<ab>")
    fork = one.fork()
    assert fork.accept_string("</ab>")
    assert b"</a>" in long_tokens(fork) and b"</a>" not in long_tokens(one)
    one.rollback(1)
    assert b"</a>" in long_tokens(one)
    assert one.accept_string("<b>") and b"</b>" in long_tokens(one)


def test_deep_nesting_keeps_every_name() -> None:
    names = ["a" * (i % 7 + 1) + "b" for i in range(2000)]
    matcher = matcher_of(sm.Grammar.from_ebnf(TAGS))
    assert matcher.accept_string("".join(f"<{name}>" for name in names))
    assert matcher.accept_string("".join(f"</{name}>" for name in reversed(names)))
    assert matcher.is_accepting()


def test_blocks_by_indentation() -> None:
    matcher = matcher_of(
        sm.Grammar.from_ebnf(
            r"""
            %stack "\n"
            root  ::= line (@top line)*
            line  ::= [a-z] (":" block)?
            block ::= @scope(@push(@top " "+) line (@top line)*)
            """
        )
    )
    assert matcher.accept_string("a\nb:\n  c\n  d:\n    e\n  f\ng") and matcher.is_accepting()
    matcher.reset()
    assert not matcher.accept_string("a:\nb")
    assert not matcher.accept_string("a:\n  b\n c")
    assert not matcher.accept_string("a\n b")


def distinct_letters() -> sm.Grammar:
    """Letters, each at most once, by Python callables: a set that grows, a class that shrinks."""

    def remember(seen: object, text: bytes) -> object:
        assert isinstance(seen, frozenset)
        return None if text in seen else seen | {text}

    def fresh(seen: object) -> ir.Expr:
        assert isinstance(seen, frozenset)
        return letter("".join(c for c in "abc" if c.encode() not in seen)) if len(seen) < 3 else ir.NOTHING

    one = ir.Capture(ir.RuleRef("letter"), remember)
    rules = {
        "root": ir.Rule("root", ir.Sequence((one, ir.Repeat(ir.Sequence((ir.Literal(b","), one)), 0, 2)))),
        "letter": ir.Rule("letter", ir.Dynamic(fresh)),
    }
    return sm.Grammar(ir.RuleSet(rules, "root", frozenset()))


def test_callables_decide_exactly() -> None:
    matcher = matcher_of(distinct_letters())
    assert matcher.expected_bytes() == {97, 98, 99}
    assert matcher.accept_string("b,") and matcher.expected_bytes() == {97, 99}
    assert matcher.accept_string("c,") and matcher.expected_bytes() == {97}
    matcher.rollback(1)
    assert not matcher.accept_string("b")
    assert matcher.accept_string("a,c") and matcher.is_accepting()


def test_a_resolver_is_asked_once_for_what_it_depends_on() -> None:
    asked, told = [], []

    def count(value: object, _text: bytes) -> object:
        assert isinstance(value, int)
        return value + 1

    def is_odd(value: object) -> bool:
        asked.append(value)
        assert isinstance(value, int)
        return bool(value % 2)

    @ir.depends_on(is_odd)
    def next_letter(odd: bool) -> ir.Expr:
        told.append(odd)
        return letter("b" if odd else "a")

    one = ir.Capture(ir.RuleRef("letter"), count)
    rules = {
        "root": ir.Rule("root", ir.Repeat(ir.Sequence((one, ir.Literal(b","))), 1, None)),
        "letter": ir.Rule("letter", ir.Dynamic(next_letter)),
    }
    matcher = matcher_of(sm.Grammar(ir.RuleSet(rules, "root", 0)))
    for _ in range(2):
        matcher.reset()
        assert matcher.accept_string("a,b,a,b,a,") and matcher.expected_bytes() == {ord("b")}
    assert sorted(told) == [False, True]
    assert len(asked) == len(set(asked)) == 6
    assert next_letter(3) == letter("b")  # as any other resolver, it can be asked about a value


def test_what_a_stand_in_alone_would_read_is_tried_on_the_value() -> None:
    """Where no reading is left on the stand-in but one that it does not decide, the value decides."""

    class Value(int):
        stands_in = False

        def __stand_in__(self) -> Value:
            found = Value(self)
            found.stands_in = True
            return found

        def __hash__(self) -> int:
            return hash((int(self), self.stands_in))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Value) and hash(self) == hash(other)

    def begin(value: object, _text: bytes) -> object:
        assert isinstance(value, Value)
        if value.stands_in:
            raise ir.Undecided
        return value if value > 2 else None

    body = ir.Sequence((ir.RuleRef("as"), ir.Capture(letter("b"), begin), ir.Literal(b">")))
    rules = {
        "root": ir.Rule("root", body),
        "as": ir.Rule("as", ir.Literal(b"a")),
    }
    for value, is_taken in ((1, False), (3, True)):
        matcher = matcher_of(sm.Grammar(ir.RuleSet(rules, "root", Value(value))))
        assert (b"ab>" in long_tokens(matcher)) == is_taken
        assert matcher.accept_string("a")
        assert matcher.expected_bytes() == ({ord("b")} if is_taken else set())
        mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
        matcher.fill_next_token_bitmask(mask)
        assert bool(mask[0][ord("b") >> 5] >> (ord("b") & 31) & 1) == is_taken


def test_an_action_that_forbids_is_seen_in_the_mask() -> None:
    def short(value: object, text: bytes) -> object:
        return value if len(text) < 3 else None

    rules = {
        "root": ir.Rule("root", ir.Sequence((ir.Capture(ir.RuleRef("word"), short), ir.Literal(b">")))),
        "word": ir.Rule("word", ir.Repeat(letter("ab"), 1, 4)),
    }
    matcher = matcher_of(sm.Grammar(ir.RuleSet(rules, "root", 0)))
    assert matcher.accept_string("a") or matcher.refusal is None
    assert matcher.expected_bytes() == {97, 98, ord(">")}
    assert b"ab>" not in long_tokens(matcher)
    matcher.reset()
    assert b"ab>" in long_tokens(matcher)


def test_callables_may_switch_threads() -> None:
    """An action runs Python code, so other threads get their turn in the middle of a step."""

    def push(seen: object, text: bytes) -> object:
        time.sleep(0)
        assert isinstance(seen, tuple)
        return (*seen, text)

    def top(seen: object) -> ir.Expr:
        time.sleep(0)
        assert isinstance(seen, tuple)
        return ir.Literal(seen[-1]) if seen else ir.NOTHING

    item = ir.Sequence(
        (ir.Capture(ir.RuleRef("word"), push), ir.Literal(b">"), ir.Dynamic(top), ir.Literal(b"<"))
    )
    rules = {
        "root": ir.Rule("root", ir.Repeat(item, 1, None)),
        "word": ir.Rule("word", ir.Repeat(letter("ab"), 1, 3)),
    }
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar(ir.RuleSet(rules, "root", ())))
    failures: list[str] = []

    def run(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(30):
            matcher = compiled.matcher()
            word = "".join(rng.choices("ab", k=rng.randint(1, 3)))
            for char in f"{word}>{word}<":
                long_tokens(matcher)
                if not matcher.accept_string(char):
                    failures.append(f"{word}: {matcher.refusal}")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []


def test_a_callable_must_not_use_its_own_matcher() -> None:
    matchers: list[sm.Matcher] = []

    def meddle(seen: object, text: bytes) -> object:
        if matchers:
            matchers[0].accept_string("a")
        return seen

    rules = {
        "root": ir.Rule("root", ir.Sequence((ir.Capture(ir.RuleRef("word"), meddle), ir.Literal(b"<")))),
        "word": ir.Rule("word", ir.Repeat(letter("ab"), 1, 3)),
    }
    matcher = matcher_of(sm.Grammar(ir.RuleSet(rules, "root", 0)))
    matchers.append(matcher)
    with pytest.raises(sm.StackmaskError, match="must not use a matcher"):
        matcher.accept_string("ab<")
    assert matcher.accept_calls == 0
    matchers.clear()
    assert matcher.accept_string("ab<")


def test_a_resolver_that_would_lead_nowhere_is_an_error() -> None:
    for answer, message in [(ir.Repeat(letter("a"), 0, 1), "can be empty"), (ir.RuleRef("root"), "RuleRef")]:
        rules = {"root": ir.Rule("root", ir.Sequence((ir.Literal(b"x"), ir.Dynamic(lambda _, a=answer: a))))}
        matcher = matcher_of(sm.Grammar(ir.RuleSet(rules, "root", 0)))
        with pytest.raises(sm.StackmaskError, match=message):
            matcher.accept_string("x")


def test_long_captures_cost_their_length_and_have_a_budget() -> None:
    grammar = sm.Grammar.from_ebnf('root ::= "<" @push([ab]+) ">" @top')
    matcher = matcher_of(grammar)
    name = "ab" * 50_000
    assert matcher.accept_string(f"<{name}>{name}") and matcher.is_accepting()
    small = sm.Compiler(VOCABULARY, limits=sm.Limits(max_semantic_states=1000)).compile(grammar).matcher()
    with pytest.raises(sm.BudgetError, match="max_semantic_states"):
        small.accept_string(f"<{name}")
    assert small.accept_calls == 0


def masks_agree_with_attempts(grammar: sm.Grammar, text: bytes) -> None:
    compare_along(sm.Compiler(VOCABULARY).compile(grammar), text)


def test_an_action_that_reads_a_beginning_gets_no_more() -> None:
    read: set[bytes] = set()

    @ir.reads_at_most(2)
    def outer(value: object, text: bytes) -> object:
        read.add(text)
        return None if text == b"ab" else value

    def inner(value: object, text: bytes) -> object:
        return (value, text)

    word = ir.Repeat(letter("ab"), 1, None)
    within = ir.Sequence((ir.Literal(b"<"), ir.Capture(word, inner), ir.Literal(b">")))
    body = ir.Sequence((ir.Capture(ir.Choice((word, within)), outer), ir.Literal(b"/")))
    grammar = sm.Grammar(ir.RuleSet({"root": ir.Rule("root", body)}, "root", ()))
    matcher = matcher_of(grammar)
    assert matcher.fork().accept_string("bbabab/") and matcher.fork().accept_string("a/")
    assert not matcher.fork().accept_string("abbb/")
    assert matcher.fork().accept_string("<ab>/")  # the text of a capture inside is not part of it
    assert read == {b"b", b"bb", b"a", b"ab", b"<>"}
    masks_agree_with_attempts(grammar, b"<ab>")
    masks_agree_with_attempts(grammar, b"bba")


def test_masks_hold_what_does_not_depend_on_the_state_and_what_does() -> None:
    """After each letter a word may end, which an action decides, or go on, which none does."""

    def even(value: object, text: bytes) -> object:
        return None if len(text) % 2 else (value, len(text))

    @ir.follows_restrictions
    def closing(value: object) -> ir.Expr:
        return ir.Literal(b">") if value != () else ir.NOTHING

    word = ir.Capture(ir.Repeat(letter("ab"), 1, None), even)
    end = ir.NotFollowedBy(1 << ord("a"))
    body = ir.Sequence((ir.Literal(b"<"), word, end, ir.Choice((ir.Dynamic(closing), ir.Literal(b"/")))))
    grammar = sm.Grammar(ir.RuleSet({"root": ir.Rule("root", body)}, "root", ()))
    masks_agree_with_attempts(grammar, b"<abab>")
    masks_agree_with_attempts(grammar, b"<ab/")
    matcher = matcher_of(grammar)
    assert matcher.accept_string("<ab") and matcher.fork().accept_string(">")
    assert matcher.accept_string("a") and not matcher.fork().accept_string(">")


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_capture_keeps_what_actions_in_it_do_not_read(most: int) -> None:
    read = []

    @ir.reads_at_most(most)
    def inner(value: object, text: bytes) -> object:
        read.append(text)
        return value

    def outer(value: object, text: bytes) -> object | None:
        return None if text == b"ab" else value

    word = ir.Repeat(ir.CharClass(((ord("a"), ord("z")),)), 1, None)
    body = ir.Sequence((ir.Literal(b"a"), ir.Capture(word, inner)))
    rules = {"s": ir.Rule("s", ir.Sequence((ir.Capture(body, outer), ir.Literal(b"!"))))}
    tokens = [bytes([byte]) for byte in range(128)]
    compiled = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[128])).compile(
        sm.Grammar(ir.RuleSet(rules, "s", 0))
    )
    for text, ends in ((b"ab", False), (b"ac", True), (b"abc", True)):
        matcher = compiled.matcher()
        assert matcher.accept_string(text)
        assert matcher.accept_string(b"!") == ends
    assert read
    assert max(map(len, read)) <= most
