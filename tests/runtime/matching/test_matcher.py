"""The matcher's public calls: history, forks, drafts, batches, forced text, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stackmask as sm

BYTES: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS = [*BYTES, b'"name"', b'": ', b'{"', b"true", b"tr", b"ue", b"},{", b"  ", None, None, None]
EOS, OTHER_EOS, TOOL = 264, 265, 266
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[EOS, OTHER_EOS], special_names={"<|tool|>": TOOL}, size=300)
PERSON = r"""
root   ::= "{" ws "\"name\"" ws ":" ws string ws "," ws "\"member\"" ws ":" ws ("true" | "false") ws "}"
string ::= "\"" [^"\\\x00-\x1f]{0,8} "\""
ws     ::= " "?
"""


def compiled(text: str = PERSON) -> sm.CompiledGrammar:
    return sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(text))


def bits(row: np.ndarray) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def mask_of(matcher: sm.Matcher) -> set[int]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    assert matcher.fill_next_token_bitmask(mask)
    return bits(mask[0])


def test_mask_and_accept_agree_on_every_id() -> None:
    matcher = compiled().matcher()
    for text in ["", '{"', 'name"', ': "x', '"', ',"member":t', "rue", "}"]:
        assert matcher.accept_string(text)
        allowed = mask_of(matcher)
        for token in range(VOCABULARY.size):
            before = matcher.accept_calls
            accepted = matcher.accept_token(token)
            assert accepted == (token in allowed), (text, token)
            if accepted:
                matcher.rollback(1)
            assert matcher.accept_calls == before
        assert mask_of(matcher) == allowed


def test_every_stop_token_ends_an_accepting_text_and_no_other() -> None:
    matcher = compiled('root ::= "a"+').matcher()
    assert not matcher.accept_token(EOS)
    assert "expected 'a'" in (matcher.refusal or "")
    assert matcher.accept_token(ord("a"))
    assert mask_of(matcher) == {ord("a"), EOS, OTHER_EOS}
    assert matcher.accept_token(OTHER_EOS) and matcher.is_terminated()
    assert mask_of(matcher) == set()
    assert not matcher.accept_token(EOS) and not matcher.accept_string("a")
    matcher.rollback(1)
    assert not matcher.is_terminated() and mask_of(matcher) == {ord("a"), EOS, OTHER_EOS}


def test_special_tokens_are_never_text_and_text_never_a_special_token() -> None:
    text = compiled("root ::= .*").matcher()
    assert TOOL not in mask_of(text) and not text.accept_token(TOOL)
    assert text.accept_string("<|tool|>")
    tool = compiled('root ::= <|tool|> "x" | "y"').matcher()
    assert mask_of(tool) == {TOOL, ord("y")}
    assert not tool.accept_string("<")
    assert tool.accept_token(TOOL) and mask_of(tool) == {ord("x")}
    restricted = compiled('root ::= "a" !>> [a-z] (<|tool|> | "e" | <[299]>)').matcher()
    assert restricted.accept_token(ord("a")) and mask_of(restricted) == {TOOL, 299}


def test_a_stop_token_may_be_a_terminal_of_the_grammar() -> None:
    vocabulary = sm.Vocabulary([*BYTES, None], stop_ids=[256], special_names={"<|end|>": 256})
    matcher = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "a" <|end|> "b"')).matcher()
    assert matcher.accept_string("a") and matcher.accept_token(256) and not matcher.is_terminated()
    assert matcher.accept_string("b") and matcher.accept_token(256) and matcher.is_terminated()


def test_rollback_restores_everything() -> None:
    matcher = compiled().matcher()
    masks = [mask_of(matcher)]
    for token in (258, 256 - 256 + ord("n")):
        assert matcher.accept_token(token)
        masks.append(mask_of(matcher))
    for expected in reversed(masks[:-1]):
        matcher.rollback(1)
        assert mask_of(matcher) == expected
    with pytest.raises(sm.MatcherError, match="cannot roll back 1"):
        matcher.rollback(1)
    with pytest.raises(sm.MatcherError):
        matcher.rollback(-1)


def test_forks_go_their_own_ways() -> None:
    one = compiled('root ::= "a"* ("b" | "c") "d"').matcher()
    one.accept_string("aa")
    two = one.fork()
    assert two.accept_string("b") and one.accept_string("c")
    assert not two.accept_string("c") and two.accept_string("d") and not one.is_accepting()
    two.rollback(3)
    assert two.accept_string("aaab")
    one.reset()
    assert one.accept_calls == 0 and mask_of(one) == {ord("a"), ord("b"), ord("c")}


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_forks(duplicate: Callable[[sm.Matcher], sm.Matcher]) -> None:
    text = 'root ::= "a" ("b" | "c")'
    for one in (compiled(text).matcher(), sm.fsm.compile(sm.Grammar.of(text), VOCABULARY).matcher()):
        assert one.accept_string("a")
        two = duplicate(one)  # type: ignore[arg-type]
        assert two.accept_string("b") and one.accept_string("c") and not two.accept_string("c")
        with pytest.raises(
            sm.MatcherError, match=r"use fork\(\); for another process pickle `matcher.compiled`"
        ):
            pickle.dumps(one)


def test_a_copy_needs_a_matcher_of_the_same_grammar() -> None:
    one = compiled('root ::= "a"').matcher()
    with pytest.raises(sm.MatcherError, match="same compiled grammar"):
        sm.Matcher(compiled('root ::= "b"'), one)


def test_draft_trees_give_the_masks_of_walking_there() -> None:
    matcher = compiled('root ::= "a" ("b" "c" | "d")? | "x"').matcher()
    a, b, c, d, x = (ord(ch) for ch in "abcdx")
    tokens = [a, b, c, d, x, b, EOS, EOS, 9999]
    parents = [-1, 0, 1, 0, -1, 4, 0, 1, 0]
    tokens[-1] = 10**12
    mask = sm.allocate_token_bitmask(len(tokens) + 1, VOCABULARY.size)
    accepted = matcher.fill_draft_bitmask(tokens, parents, mask)
    assert accepted == [True, True, True, True, True, False, True, False, False]
    assert bits(mask[0]) == {a, x}
    for i in range(len(tokens)):
        fork = matcher.fork()
        path = []
        node = i
        while node >= 0:
            path.append(tokens[node])
            node = parents[node]
        ok = all(fork.accept_token(token) for token in reversed(path))
        assert ok == accepted[i]
        assert bits(mask[i + 1]) == (mask_of(fork) if ok and not fork.is_terminated() else set())
    assert matcher.accept_calls == 0
    with pytest.raises(sm.MatcherError, match="does not come before"):
        matcher.fill_draft_bitmask([a, b], [1, -1], mask)
    with pytest.raises(sm.MatcherError, match="need 3"):
        matcher.fill_draft_bitmask([a, b], [-1, 0], sm.allocate_token_bitmask(2, VOCABULARY.size))


def test_drafts_in_a_row_need_no_parents() -> None:
    text = 'root ::= "a" "b" "c"'
    for matcher in (compiled(text).matcher(), sm.fsm.compile(sm.Grammar.of(text), VOCABULARY).matcher()):
        tree, row = (sm.allocate_token_bitmask(4, VOCABULARY.size) for _ in range(2))
        wanted = matcher.fill_draft_bitmask(b"abx", [-1, 0, 1], tree)
        assert matcher.fill_draft_bitmask(b"abx", row) == wanted == [True, True, False]
        assert (row == tree).all()
        assert matcher.fill_draft_bitmask(b"abx", mask=row) == wanted
        with pytest.raises(sm.MatcherError):
            matcher.fill_draft_bitmask(b"abx", [-1, 0, 1])  # type: ignore[call-overload]
        with pytest.raises(sm.MatcherError):
            matcher.fill_draft_bitmask(b"abx")  # type: ignore[call-overload]


def test_a_batch_in_one_call() -> None:
    first, second = compiled().matcher(), compiled('root ::= "x"').matcher()
    mask = sm.allocate_token_bitmask(4, VOCABULARY.size)
    assert sm.fill_next_token_bitmask([first, None, second], mask, rows=[3, 0, 1])
    assert bits(mask[3]) == mask_of(first) and bits(mask[1]) == {ord("x")}
    assert (mask[0] == -1).all()
    assert not sm.fill_next_token_bitmask([None], mask)
    with pytest.raises(sm.MatcherError, match="2 rows"):
        sm.fill_next_token_bitmask([first], mask, rows=[0, 1])


def test_fill_tells_when_every_token_is_allowed() -> None:
    vocabulary = sm.Vocabulary(BYTES)
    every = sm.Grammar.from_ebnf("root ::= <[0-255]>*")
    matcher = sm.Compiler(vocabulary).compile(every).matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    assert matcher.fill_next_token_bitmask(mask) is False and (mask == -1).all()


def test_numpy_and_torch_masks_without_copies() -> None:
    torch = pytest.importorskip("torch")
    matcher = compiled().matcher()
    tensor = sm.allocate_token_bitmask(2, VOCABULARY.size, like="torch")
    matcher.fill_next_token_bitmask(tensor, 1)
    assert bits(tensor[1].numpy()) == mask_of(matcher)
    row = np.zeros(tensor.shape[1], dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    assert bits(row) == mask_of(matcher)
    wide = np.zeros((2, 2 * tensor.shape[1]), dtype=np.int32)
    for bad in (
        row.astype(np.int64),
        row.astype(np.float32),
        wide[:, ::2],
        row[:-1].copy(),
        wide,
        np.zeros((1, 1, tensor.shape[1]), dtype=np.int32),
        tensor.to(torch.int64),
        tensor.t(),
        "mask",
        None,
    ):
        with pytest.raises(sm.MatcherError):
            matcher.fill_next_token_bitmask(bad)
    read_only = row.copy()
    read_only.flags.writeable = False
    with pytest.raises(sm.MatcherError):
        matcher.fill_next_token_bitmask(read_only)
    with pytest.raises(sm.MatcherError, match="row 2 is out of range"):
        matcher.fill_next_token_bitmask(tensor, 2)
    freed = torch.zeros_like(tensor)
    freed.untyped_storage().resize_(0)
    with pytest.raises(sm.MatcherError, match="without memory"):
        matcher.fill_next_token_bitmask(freed)


def test_arrays_that_are_not_plain() -> None:
    """Plain arrays are looked into; all others are asked for a buffer, and say what is wrong with them."""

    class Named(np.ndarray):
        pass

    matcher = compiled().matcher()
    wanted = mask_of(matcher)
    width = sm.allocate_token_bitmask(1, VOCABULARY.size).shape[1]
    wide = np.zeros((4, width), dtype=np.int32)
    unaligned = np.zeros(4 * width + 1, np.int8)[1:].view(np.int32)
    for row in (
        wide[2],
        wide[1:3],
        wide[3:],
        wide[:1].view(Named),
        unaligned,
        memoryview(wide[3]),
        wide[::4],
    ):
        matcher.fill_next_token_bitmask(row)
        assert bits(np.asarray(row).reshape(-1, width)[0]) == wanted
    swapped = np.zeros((2, width), dtype=np.dtype(np.int32).newbyteorder())
    locked = wide.view()
    locked.flags.writeable = False
    turned = np.zeros((width, 2), dtype=np.int32).T
    for bad in (
        swapped,
        locked,
        locked[1],
        turned,
        wide[:, :-1],
        np.int32(1),
        np.array(1, np.int32),
        wide[None],
    ):
        with pytest.raises(sm.MatcherError):
            matcher.fill_next_token_bitmask(bad)
        with pytest.raises(sm.MatcherError):
            sm.fill_next_token_bitmask([matcher], bad)
    with pytest.raises(sm.MatcherError, match="out of range"):
        matcher.fill_next_token_bitmask(wide[:0])


def test_refusals_say_what_was_expected() -> None:
    matcher = compiled().matcher()
    assert matcher.refusal is None
    assert not matcher.accept_token(-1) and "out of range" in (matcher.refusal or "")
    assert not matcher.accept_token(299) and "no text" in (matcher.refusal or "")
    for number in (2**31 - 1, 2**31, -(2**40), 10**30):
        assert not matcher.accept_token(number) and "out of range" in (matcher.refusal or "")
    assert not matcher.accept_token(ord("x"))
    assert matcher.refusal == "token 120 ('x') refused; expected '{'"
    assert not matcher.accept_string('{"name" x')
    assert matcher.refusal == "text refused at byte 8: 'x'; expected ':'"
    assert matcher.accept_calls == 0 and matcher.accept_string("{") and matcher.refusal is None


def test_forced_text_up_to_the_next_branch() -> None:
    matcher = compiled(PERSON.replace('" "?', '""')).matcher()
    assert matcher.find_jump_forward_string() == '{"name":"'
    assert matcher.accept_string('{"name":"Zoë"')
    assert matcher.find_jump_forward_string() == ',"member":'
    assert matcher.accept_string(',"member":')
    assert matcher.find_jump_forward_string() == ""
    assert matcher.accept_string("f") and matcher.find_jump_forward_string() == "alse}"
    assert matcher.accept_string("alse}") and matcher.find_jump_forward_string() == ""
    # half a character is not text yet
    assert compiled('root ::= "é" | "è"').matcher().find_jump_forward_string() == ""
    # a special token is a branch, and forced as a token when it stands alone
    tool = compiled('root ::= <|tool|> "x"').matcher()
    assert tool.find_jump_forward_string() == "" and tool.find_jump_forward_tokens() == (0, [TOOL, ord("x")])


def test_masks_made_ahead_of_time_behind_another_grammar() -> None:
    # the second schema finds the rules of any value in the compiler, and must find all that these call
    compiler = sm.Compiler(VOCABULARY)
    schemas = [True, {"type": "object", "properties": {"a": {"type": "integer"}}}, {"exclusiveMinimum": 3}]
    for schema in schemas:
        eager = compiler.compile(sm.Grammar.from_json_schema(schema))
        alone = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_json_schema(schema))
        assert eager.precompute()["complete"]
        one, two = eager.matcher(), alone.matcher()
        for piece in ["", '{"a', '":', " 4", ', "b', '": [', '{"a": [1']:
            if schema is not True or piece:
                assert one.accept_string(piece) and two.accept_string(piece)
            assert mask_of(one) == mask_of(two)


def test_one_leading_space_is_not_part_of_the_text_where_the_vocabulary_says_so() -> None:
    tokens = [*BYTES, b" yes", b" ", b"  yes", b"yes", None]
    grammar = sm.Grammar.from_ebnf('root ::= "yes" | " yes"')
    strip = sm.Vocabulary(tokens, stop_ids=[260], strip_first_space=True)
    keep = sm.Vocabulary(tokens, stop_ids=[260])
    for vocabulary, expected in [
        (strip, {256, 257, 258, 259, 32, ord("y")}),
        (keep, {256, 257, 259, 32, ord("y")}),
    ]:
        mask = sm.allocate_token_bitmask(1, vocabulary.size)
        matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
        matcher.fill_next_token_bitmask(mask)
        assert bits(mask[0]) == expected
        assert matcher.accept_token(257)
        assert matcher.accept_token(259) and matcher.is_accepting()


def test_a_vocabulary_that_cannot_spell_the_grammar_is_refused() -> None:
    letters = sm.Vocabulary([b"a", b"b", b"abc", None], stop_ids=[3])
    with pytest.raises(sm.VocabularyError, match=r"no token is just 'c', byte 0xA9, byte 0xC3.*`root`"):
        sm.Compiler(letters).compile(sm.Grammar.from_ebnf('root ::= "abc" | "é"'))
    with pytest.raises(sm.VocabularyError, match=r"no special token <\|missing\|>; it has: <\|tool\|>"):
        compiled('root ::= "a" <|missing|>')
    with pytest.raises(sm.VocabularyError, match="token id 5000 is out of range"):
        compiled("root ::= <[5000]>")
    sm.Compiler(letters).compile(sm.Grammar.from_ebnf("root ::= [ab]+ - 'abab'"))


def test_equal_grammars_are_compiled_once() -> None:
    compiler = sm.Compiler(VOCABULARY)
    one, two = (sm.Grammar.from_ebnf('root ::= "a" | "b"') for _ in range(2))
    assert compiler.compile(one) is compiler.compile(two)
    assert compiler.compile(one) is not compiler.compile(sm.Grammar.from_ebnf('root ::= "a" | "c"'))


def test_wrong_types_are_refused_by_name() -> None:
    matcher = compiled('root ::= "\\x00"* "a"').matcher()
    with pytest.raises(TypeError):
        matcher.accept_token(97.9)  # type: ignore[arg-type]
    with pytest.raises(sm.MatcherError, match="must be str or bytes, not int"):
        matcher.accept_string(3)  # type: ignore[arg-type]
    assert not matcher.accept_string("\ud800") and matcher.accept_calls == 0
    mask = sm.allocate_token_bitmask(2, VOCABULARY.size)
    with pytest.raises(sm.MatcherError, match="out of range"):
        matcher.fill_next_token_bitmask(mask, 2**70)
    with pytest.raises(sm.MatcherError, match="cannot roll back"):
        matcher.rollback(2**70)
    with pytest.raises(sm.MatcherError, match="does not come before"):
        matcher.fill_draft_bitmask([97], [2**40], mask)
    assert matcher.accept_string(bytearray(b"\x00")) and matcher.accept_string(memoryview(b"a"))


def test_reset_starts_anew_after_a_budget_was_met() -> None:
    compiler = sm.Compiler(VOCABULARY, limits=sm.Limits(max_configurations=60))
    matcher = compiler.compile(sm.Grammar.from_ebnf('root ::= "(" root ")" | "x"')).matcher()
    with pytest.raises(sm.BudgetError):
        matcher.accept_string("(" * 1000)
    matcher.reset()
    assert matcher.accept_string("((x))") and matcher.is_accepting()


def test_a_tensor_whose_memory_was_made_smaller() -> None:
    torch = pytest.importorskip("torch")
    matcher = compiled().matcher()
    shape = sm.allocate_token_bitmask(2, VOCABULARY.size).shape
    for left in (4, 4 * shape[0] * shape[1] - 1):
        shrunk = torch.zeros(shape, dtype=torch.int32)
        shrunk.untyped_storage().resize_(left)
        with pytest.raises(sm.MatcherError, match="past its memory"):
            matcher.fill_next_token_bitmask(shrunk)
    # a view may lie anywhere in its memory
    whole = torch.zeros((4, shape[1]), dtype=torch.int32)
    matcher.fill_next_token_bitmask(whole[2:], 1)
    assert whole[3].any() and not whole[:3].any()


def test_a_reset_that_fails_changes_nothing() -> None:
    limits = sm.Limits(max_configurations=16)
    compiler = sm.Compiler(VOCABULARY, limits=limits)
    matcher = compiler.compile(sm.Grammar.from_ebnf('root ::= "abcdefghijkl"?')).matcher()
    assert matcher.is_accepting()
    for byte in b"abcdefghij":
        assert matcher.accept_token(VOCABULARY.tokens.index(bytes([byte])))
    # the family has met half of its budget, so a reset needs a new one
    store = matcher.compiled._automaton.store
    with pytest.raises(MemoryError), store.lock:
        raise MemoryError
    for _ in range(2):
        with pytest.raises(sm.StackmaskError):
            matcher.reset()
        assert matcher.accept_calls == 10
        assert not matcher.is_accepting()


def test_matchers_and_grammars_say_what_they_are() -> None:
    vocabulary = sm.Vocabulary([b"a", b"b", None, None], stop_ids=[2], special_names={"<t>": 3})
    compiler = sm.Compiler(vocabulary)
    compiled = compiler.compile(sm.Grammar.from_ebnf('root ::= <t> "a"{0,60} "b"'))
    assert repr(compiled) == "<CompiledGrammar: 1 rule, start root, for 4 tokens>"
    assert repr(compiler).startswith("<Compiler: for 4 tokens, keeps ")
    matcher = compiled.matcher()
    assert repr(matcher) == "<Matcher: 0 accept calls, text '', not complete>"
    assert matcher.accept_token(3)
    assert repr(matcher) == "<Matcher: 1 accept call, text '<token 3>', not complete>"
    assert matcher.accept_string("a" * 50) and matcher.accept_token(1)
    assert repr(matcher) == f"<Matcher: 3 accept calls, text …'{'a' * 39}b', complete>"
    assert matcher.accept_token(2)
    assert repr(matcher).endswith(", stopped>")
    machine = sm.fsm.compile(sm.Grammar.from_ebnf('root ::= "ab"'), vocabulary)
    assert repr(machine) == "<CompiledFsm: 3 states, for 4 tokens>"
    follower = machine.matcher()
    assert follower.accept_token(0)
    assert repr(follower) == "<FsmMatcher: 1 accept call, text 'a', not complete>"


def test_what_is_no_compiled_grammar_has_no_matcher() -> None:
    with pytest.raises(sm.MatcherError, match=r"of a CompiledGrammar, not Grammar: write Compiler"):
        sm.Matcher(sm.Grammar.from_ebnf('root ::= "a"'))  # type: ignore[arg-type]


@pytest.mark.parametrize("stop_ids", [5, ["</s>"], [None]])
def test_stop_ids_are_ids(stop_ids: Any) -> None:
    vocabulary = sm.Vocabulary([b"a", None], stop_ids=[1])
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "a"'))
    with pytest.raises(sm.StackmaskError, match="`stop_ids` is a list of token ids, not "):
        compiled.matcher(stop_ids=stop_ids)


def test_a_refusal_names_literals_before_classes_and_blanks() -> None:
    vocabulary = sm.Vocabulary([bytes([b]) for b in range(256)] + [None], stop_ids=[256])
    grammar = 'root ::= [ \\t\\n]* ([a-z] | [0-9]+ | "(" | "]" | "é")'
    matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
    assert not matcher.accept_string("+")
    wanted = "expected '(', ']', '0'–'9', 'a'–'z', byte 0xC3, '\\t', '\\n' or ' '"
    assert (matcher.refusal or "").endswith(wanted)
