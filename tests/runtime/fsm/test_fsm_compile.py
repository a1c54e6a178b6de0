"""What the finite engine refuses, and by which name: recursion, captures, what does not fit."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from typing import Any

import pytest

import stackmask as sm
from stackmask.runtime.fsm import dfa as explore

VOCABULARY = sm.Vocabulary(
    [*(bytes([b]) for b in range(256)), b"((", b"))", b"()", b"aaaa", None, None, b"t"],
    stop_ids=[260],
    special_names={"<|t|>": 261},
)
NESTED = 'root ::= "(" root ")" | "x"'


def fsm(text: str, **how: Any) -> sm.fsm.CompiledFsm:
    return sm.fsm.compile(sm.Grammar.from_ebnf(text), VOCABULARY, **how)


def test_recursion_is_refused_by_name() -> None:
    with pytest.raises(sm.fsm.FsmError, match=r"rule `root` is recursive \(root → root\).*depth="):
        fsm(NESTED)
    with pytest.raises(sm.fsm.FsmError, match=r"rule `value` is recursive"):
        fsm('root ::= value\nvalue ::= "[" list "]" | "1"\nlist ::= value ("," value)*')
    with pytest.raises(sm.fsm.FsmError, match="recursive"):
        sm.fsm.compile(sm.Grammar.bundled("json"), VOCABULARY)


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_recursion_to_a_depth(depth: int) -> None:
    compiled = fsm(NESTED, depth=depth)
    for level in range(8):
        text = b"(" * level + b"x" + b")" * level
        assert compiled.dfa.matches(text) == (level <= depth)
    matcher = compiled.matcher()
    # no token leads where the text cannot end any more
    assert matcher.accept_string("(" * depth) and matcher.expected_bytes() == {ord("x")}


def test_recursion_of_several_rules_to_a_depth() -> None:
    compiled = fsm('root ::= value\nvalue ::= "[" list? "]" | "1"\nlist ::= value ("," value)*', depth=2)
    assert compiled.dfa.matches(b"[[[],1],1]") and not compiled.dfa.matches(b"[[[1]]]")
    language = {
        "".join(t).encode()
        for n in range(8)
        for t in itertools.product("[1,]", repeat=n)
        if compiled.dfa.matches("".join(t).encode())
    }

    def texts(level: int) -> set[str]:
        if level < 0:
            return set()
        inner = texts(level - 1)
        lists = {
            t for n in (1, 2, 3) for t in map(",".join, itertools.product(inner, repeat=n)) if len(t) < 6
        }
        return {"1", "[]"} | {f"[{t}]" for t in lists}

    assert language == {t.encode() for t in texts(2) if len(t) < 8}


def test_recursion_without_a_text_within_the_depth() -> None:
    text = 'root ::= "a" b\nb ::= "[" c "]"\nc ::= "(" b ")" | "<" d ">"\nd ::= "x" | "y" c "z"'
    assert fsm(text, depth=0).dfa.matches(b"a[<x>]")
    endless = 'root ::= "(" more ")"\nmore ::= "[" deep "]" | root root\ndeep ::= "{" more "}" | root'
    with pytest.raises(sm.GrammarError):
        fsm(endless, depth=3)  # no text at all, at any depth


def test_loops_that_are_written_as_recursion_need_no_depth() -> None:
    compiled = fsm('root ::= item | item "," root\nitem ::= "a" | "b" item?')
    assert compiled.dfa.matches(b"bba,a,bb") and not compiled.dfa.matches(b"a,")
    both = fsm('root ::= "(" root ")" | list\nlist ::= "a" list | "b"', depth=1)
    assert both.dfa.matches(b"(aaaaaab)") and not both.dfa.matches(b"((b))")


REFUSED = {
    "a capture": 'root ::= @push([a-z]+) "=" @top',
    "an open object": {"type": "object"},
    "which no finite automaton does": {"type": "object", "properties": {"a": {"const": 1}}},
}


@pytest.mark.parametrize("name", REFUSED)
def test_features_are_refused_by_name(name: str) -> None:
    source = REFUSED[name]
    grammar = sm.Grammar.from_ebnf(source) if isinstance(source, str) else sm.Grammar.from_json_schema(source)
    with pytest.raises(sm.fsm.FsmError, match=name):
        sm.fsm.compile(grammar, VOCABULARY, depth=2)


def test_undeclared_keys_may_repeat_on_request() -> None:
    schema = {
        "type": "object",
        "properties": {"ab": {"const": 1}, "c": {"const": 2}},
        "required": ["c"],
        "additionalProperties": {"type": "boolean"},
    }
    for order in ("schema", "any"):
        grammar = sm.Grammar.from_json_schema(schema, whitespace="compact", property_order=order)
        compiled = sm.fsm.compile(grammar, VOCABULARY, repeated_keys=True)
        pushdown = sm.Compiler(VOCABULARY).compile(grammar)
        for text in itertools.chain.from_iterable(
            itertools.permutations(['"ab":1', '"c":2', '"c":2', '"x":true', '"x":false', '"xy":true'], n)
            for n in range(5)
        ):
            data = "{" + ",".join(text) + "}"
            pairs = [item.split(":")[0] for item in text]
            matcher = pushdown.matcher()
            exact = matcher.accept_string(data) and matcher.is_accepting()
            found = compiled.dfa.matches(data.encode())
            # the two part only where `x` comes twice
            assert found == exact or (found and pairs.count('"x"') == 2), (order, data)
            if order == "any":
                assert found == (pairs.count('"c"') == 1), data
    with pytest.raises(sm.fsm.FsmError, match="counts the keys"):
        counted = sm.Grammar.from_json_schema({**schema, "maxProperties": 3})
        sm.fsm.compile(counted, VOCABULARY, repeated_keys=True)


def test_callables_are_refused_by_name() -> None:
    from stackmask.grammar import ir

    call = ir.Dynamic(lambda value: ir.Literal(b"x"))
    rules = ir.RuleSet({"root": ir.Rule("root", ir.Sequence((ir.Literal(b"a"), call)))}, "root", None)
    with pytest.raises(sm.fsm.FsmError, match="rule `root` has a dynamic rule"):
        sm.fsm.compile(sm.Grammar(rules), VOCABULARY)
    capture = ir.Capture(ir.Literal(b"a"), lambda value, text: value)
    rules = ir.RuleSet({"root": ir.Rule("root", capture)}, "root", None)
    with pytest.raises(sm.fsm.FsmError, match="an action of its own"):
        sm.fsm.compile(sm.Grammar(rules), VOCABULARY)


def test_a_token_that_means_two_things_is_refused() -> None:
    with pytest.raises(sm.fsm.FsmError, match="token 262 may come next both as text and as a special token"):
        fsm('root ::= "t" "a" | <[262]> "b"')
    # where both lead to the same place it does not matter
    compiled = fsm('root ::= ("t" | <[262]>) "b"')
    matcher = compiled.matcher()
    assert matcher.accept_token(262) and matcher.accept_string("b") and matcher.is_accepting()


def test_errors_of_grammars_and_vocabularies_are_those_of_the_compiler() -> None:
    with pytest.raises(sm.GrammarError):
        sm.fsm.compile(sm.Grammar.from_choices([]), VOCABULARY)
    with pytest.raises(sm.GrammarError):
        sm.fsm.compile(sm.Grammar.from_regex(r"[^\s\S]", flavor="python"), VOCABULARY)
    small = sm.Vocabulary([b"a", None], stop_ids=[1])
    with pytest.raises(sm.VocabularyError):
        sm.fsm.compile(sm.Grammar.from_regex("ab"), small)
    with pytest.raises(sm.VocabularyError, match="no special token"):
        fsm("root ::= <|other|>")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"memory": True}, "memory is True"),
        ({"limits": 3}, "limits is 3"),
        ({"memory": 0}, "memory is 0"),
        ({"memory": 1.5}, "memory is 1.5"),
        ({"depth": -1}, "depth is -1"),
    ],
)
def test_wrong_arguments(how: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.fsm.FsmError, match=message):
        fsm('root ::= "a"', **how)
    wrong: Any = None
    with pytest.raises(sm.fsm.FsmError, match="the grammar is None"):
        sm.fsm.compile(wrong, VOCABULARY)
    with pytest.raises(sm.fsm.FsmError, match="the vocabulary is None"):
        sm.fsm.compile(sm.Grammar.from_regex("a"), wrong)
    with pytest.raises(sm.fsm.FsmError, match="the vocabulary is None"):
        sm.fsm.load("nowhere.fsm", wrong)


@pytest.mark.parametrize("pattern", ["a{1000}{1000}", "(.{100}){100}", "(.*a.{22})", "(a|b)*a(a|b){30}"])
def test_what_does_not_fit_is_refused_with_the_estimate(pattern: str) -> None:
    with pytest.raises(
        sm.fsm.FsmBudgetError, match=r"at least [\d,]+ states and .*MB, but memory is 32 MB"
    ) as info:
        sm.fsm.compile(sm.Grammar.from_regex(pattern), VOCABULARY)
    assert isinstance(info.value, sm.BudgetError)
    assert info.value.estimate > info.value.value == 32 << 20 and info.value.states > 10_000


@pytest.mark.parametrize("pattern", ["^.{1,256}$", "^z9((.){10,10}){10,10}z9$"])
def test_large_counts_fit(pattern: str) -> None:
    compiled = sm.fsm.compile(sm.Grammar.from_regex(pattern), VOCABULARY)
    assert compiled.stats()["states"] > 1000 and compiled.nbytes < 1 << 20


def test_a_smaller_budget_refuses_more() -> None:
    grammar = sm.Grammar.from_regex("(.{20}){20}")
    compiled = sm.fsm.compile(grammar, VOCABULARY)
    for memory in (1 << 12, 1 << 16, 1 << 20):
        with pytest.raises(sm.fsm.FsmBudgetError):
            sm.fsm.compile(grammar, VOCABULARY, memory=memory)
    assert compiled.nbytes < 1 << 20


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()  # a second goes by between two looks
    monkeypatch.setattr(explore, "monotonic", lambda: float(next(clock)))
    with pytest.raises(sm.BudgetError, match="max_seconds"):
        sm.fsm.compile(
            sm.Grammar.from_regex("(.*a.{30})"),
            VOCABULARY,
            memory=1 << 40,
            limits=sm.Limits(max_seconds=20),
        )
    assert next(clock) < 30


def test_an_interrupt_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    searching = threading.Event()

    def now() -> float:  # the search looks at the clock again and again
        searching.set()
        return 0.0

    def interrupt() -> None:
        searching.wait()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(explore, "monotonic", now)
    grammar = sm.Grammar.from_regex("(.*a.{40})")
    grammar.normalized  # noqa: B018 - made before the interrupt
    thread = threading.Thread(target=interrupt)
    # a program that was started in the background may ignore interrupts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            sm.fsm.compile(grammar, VOCABULARY, memory=1 << 34)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_stats_say_what_was_built() -> None:
    compiled = sm.fsm.compile(sm.Grammar.from_regex("(hello|help) world[0-9]"), VOCABULARY)
    stats = compiled.stats()
    assert stats["states"] <= stats["states_found"]
    # start and `hel` are forced up to `l`, then a branch, ` world`, the digit and the end
    assert stats["compressed_states"] == 4
    assert stats["dfa_bytes"] + stats["index_bytes"] + stats["path_bytes"] == compiled.nbytes
    assert stats["transitions"] == sum(len(compiled.index.allowed_tokens(s)) for s in range(stats["states"]))
    assert compiled.precompute() == {"states": stats["states"], "walks": 0, "complete": True}


def test_singular_paths_are_merged() -> None:
    compiled = sm.fsm.compile(sm.Grammar.from_regex("(hello|help) world[0-9]"), VOCABULARY)
    text, state = compiled.paths.jump(compiled.dfa.start)
    assert text == b"hel" and compiled.paths.jump(state) == (b"", state)
    after = compiled.dfa.next_state(state, ord("p"))
    text, state = compiled.paths.jump(after)
    assert text == b" world" and not compiled.dfa.is_accepting(state)
    matcher = compiled.matcher()
    assert matcher.find_jump_forward_string() == "hel"
    assert matcher.accept_string("hello") and matcher.find_jump_forward_string() == " world"
    assert matcher.accept_string(" wor") and matcher.find_jump_forward_string() == "ld"
    with pytest.raises(IndexError):
        compiled.paths.jump(compiled.dfa.states)
