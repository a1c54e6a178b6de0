"""Drafts: what is guessed and from where, that a grammar allows all of it, and what it costs."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from exactness.random_tokenizers import random_tokenizer

import stackmask as sm
from stackmask.runtime.jump_forward import drafts
from stackmask.runtime.jump_forward.drafts import EARLIER, FORCED, PROMPT, Draft, Sources

BYTES = [bytes([b]) for b in range(256)]
STOP, CALL = 256, 257
TOOLS = """
root ::= call ("\\n" call)*
call ::= "{\\"name\\": \\"" ("trip" | "weather") "\\", \\"arguments\\": {\\"city\\": \\"" [^"\\n]* "\\", \\"days\\": " [0-9]+ ", \\"unit\\": \\"" ("celsius" | "fahrenheit") "\\"}}"
"""


def compiled(grammar: str) -> sm.CompiledGrammar:
    """Compile for single bytes, which any text is written in."""
    vocabulary = sm.Vocabulary([*BYTES, None, None], stop_ids=[STOP], special_names={"<call>": CALL})
    return sm.Compiler(vocabulary.with_encoder(lambda text: list(text.encode()))).compile(
        sm.Grammar.from_ebnf(grammar)
    )


def drafted(matcher: Any, sources: Sources, count: int = 200) -> tuple[bytes, tuple[int, ...]]:
    draft = matcher.draft(sources, count)
    assert len(draft.tokens) == len(draft.sources) <= count
    return b"".join(BYTES[token] for token in draft.tokens if token < STOP), draft.sources


def after(grammar: str, text: str) -> Any:
    matcher = compiled(grammar).matcher()
    assert all(matcher.accept_token(byte) for byte in text.encode())
    return matcher


def test_a_call_is_written_from_its_question() -> None:
    sources = Sources(b"Will it rain in New York? I need the weather of 12 days, in fahrenheit.")
    text, kinds = drafted(after(TOOLS, ""), sources)
    call = {"name": "weather", "arguments": {"city": "New York", "days": 12, "unit": "fahrenheit"}}
    wanted = json.dumps(call).encode()
    assert text.startswith(wanted)
    kind_at = {text: kinds[wanted.index(text)] for text in (b"weather", b"New York", b"12", b"fahrenheit")}
    assert set(kind_at.values()) == {PROMPT}
    assert kinds[wanted.index(b"days")] == FORCED
    assert kinds[0] == FORCED and EARLIER not in kinds[: len(wanted)]


def test_blanks_are_guessed_where_json_dumps_writes_them() -> None:
    grammar = r'''root ::= "{\"a\": [" " "? "{" " "? "\"b\":" " "? "1," " "? "\"c\":" " "? "2}]}"'''
    text, _ = drafted(after(grammar, ""), Sources(b"?"))
    assert text == json.dumps({"a": [{"b": 1, "c": 2}]}).encode()


def test_an_earlier_call_of_the_same_tool_comes_first() -> None:
    earlier = '{"name": "trip", "arguments": {"city": "Rome", "days": 7, "unit": "celsius"}}'
    begun = '{"name": "trip", "arguments": {"city": "'
    for prompt, written in ((f"Paris\n{earlier}\nThen Oslo?", ""), ("Paris, Oslo", earlier + "\n")):
        text, kinds = drafted(after(TOOLS, written + begun), Sources(prompt.encode()))
        assert text.startswith(b'Rome", "days": 7, "unit": "celsius"}}')
        assert kinds[0] == EARLIER


def test_a_value_that_was_begun_is_continued() -> None:
    prompt = b"from 'San Antonio' to San Francisco in 1024 days"
    begun = '{"name": "trip", "arguments": {"city": "San '
    assert drafted(after(TOOLS, begun + "F"), Sources(prompt))[0].startswith(b'rancisco", "days": 1024, ')
    assert drafted(after(TOOLS, begun + "A"), Sources(prompt))[0].startswith(b'ntonio", "days": ')
    # the number stands there once: a longer one that begins so is no guess
    assert drafted(after(TOOLS, begun + 'A", "days": 1024'), Sources(prompt))[0].startswith(b', "unit": ')
    assert drafted(after(TOOLS, begun + 'A", "days": 10'), Sources(prompt))[0].startswith(b"24, ")


def test_a_guess_is_cut_where_the_grammar_forbids_it() -> None:
    grammar = 'root ::= "id: " [a-z]{1,4} ";" " end"'
    text, kinds = drafted(after(grammar, ""), Sources(b"id: abcdefgh"))
    assert text == b"id: abcd; end"
    assert kinds == (FORCED,) * 4 + (PROMPT,) * 4 + (FORCED,) * 5


def test_special_tokens_and_ends() -> None:
    matcher = compiled('root ::= "go" <call> ("left" | "right")').matcher()
    draft = matcher.draft(Sources(b"turn right"), 100)
    assert draft.tokens == (*b"go", CALL, *b"right") and draft.sources[:3] == (FORCED,) * 3
    assert all(matcher.accept_token(token) for token in draft.tokens)
    assert matcher.draft(Sources(b"turn right"), 100) == drafts.EMPTY  # nothing but the end may come
    assert matcher.accept_token(STOP) and matcher.draft(Sources(b"right"), 100) == drafts.EMPTY


def test_without_a_tokenizer_there_are_none() -> None:
    grammar = sm.Compiler(sm.Vocabulary([*BYTES, None], stop_ids=[STOP])).compile(
        sm.Grammar.from_ebnf('root ::= "ab"')
    )
    assert grammar.matcher().draft(Sources(b"ab"), 8) == drafts.EMPTY
    assert sm.fsm.compile(sm.Grammar.from_ebnf('root ::= "ab"'), grammar.vocabulary).matcher().draft(Sources(b"ab"), 8) == drafts.EMPTY  # fmt: skip


def test_while_the_tokens_come_as_drafted_nothing_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    pieces = drafts.Guesser.pieces
    monkeypatch.setattr(drafts.Guesser, "pieces", lambda *given: made.append(1) or pieces(*given))
    matcher = after(TOOLS, "")
    sources = Sources(b"the weather of Rome for 3 days, celsius")
    whole = matcher.draft(sources, 100).tokens
    for i in range(60):
        assert matcher.draft(sources, 40).tokens == whole[i : i + 40]
        assert matcher.accept_token(whole[i])
    assert len(made) == 1
    matcher.rollback(5)
    assert matcher.draft(sources, 5).tokens == whole[55:60]
    matcher.rollback(matcher.accept_calls)
    assert matcher.draft(sources, 40).tokens == whole[:40]


@pytest.mark.parametrize("seed", range(25))
def test_random_grammars_allow_all_that_is_drafted(seed: int) -> None:
    """Texts of small languages, against a list of them: each draft begins one, and stays where it can end in one."""
    rng = random.Random(seed)
    texts = {"".join(rng.choices('ab"é 1', k=rng.randint(1, 9))) for _ in range(rng.randint(1, 12))}
    grammar = "root ::= " + " | ".join(json.dumps(text, ensure_ascii=False) for text in sorted(texts))
    tokenizer = random_tokenizer(rng, texts)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    source = sm.Grammar.from_ebnf(grammar)
    spelled = vocabulary.token_bytes
    wanted = {text.encode() for text in texts}
    for one in (sm.Compiler(vocabulary).compile(source), sm.fsm.compile(source, vocabulary)):
        for text in sorted(texts):
            matcher = one.matcher()
            sources = Sources("".join(rng.choices(sorted(texts), k=3)).encode())
            written = b""
            for token in tokenizer.encode(text, add_special_tokens=False).ids:
                draft = matcher.draft(sources, rng.randrange(12))
                whole = written + b"".join(spelled[i] or b"" for i in draft.tokens)
                whole = whole.removeprefix(b" ") if vocabulary.strip_first_space else whole
                assert any(word.startswith(whole) for word in wanted), (whole, written, draft)
                if not matcher.accept_token(token):
                    break  # a tokenizer may write a text otherwise
                written += spelled[token] or b""


def test_drafts_cost_what_is_asked_for() -> None:
    long = "x" * 100_000
    matcher = compiled(f'root ::= "{long}" [a-z]* ";"').matcher()
    sources = Sources(b"y" * 1_000_000 + b"'" * 3000 + b"a1" * 5000)
    assert len(sources.prompt) == drafts.SEARCHED
    draft = matcher.draft(sources, 7)
    assert draft.tokens == tuple(b"x" * 7) and len(sources.draft.tokens) <= 7 * drafts.TOKEN_BYTES
    assert matcher.draft(sources, 0) == drafts.EMPTY
    assert matcher.accept_string(long)
    text, _ = drafted(matcher, sources, 30)
    assert len(text) <= 30
    small = compiled(TOOLS).matcher()
    for i in range(200):  # what is remembered of a request has a limit
        sources.earlier(b"word%d: " % i, b"word%d: " % i)
    assert len(sources._found) <= drafts.MAX_REMEMBERED
    assert drafted(small, sources)[0]


def test_an_empty_draft_where_it_costs_more_than_it_gives() -> None:
    sources = Sources(b"")
    parts = Draft(tuple(range(8)), (FORCED, PROMPT) * 4)
    assert sources.worth(parts, 1) == parts
    count = len(sources.worth(parts, 64).tokens)
    assert 2 < count < 8 and sources.worth(parts, 64) == Draft(parts.tokens[:count], parts.sources[:count])
    draft = Draft(tuple(range(8)), (FORCED,) * 4 + (PROMPT,) * 4)
    assert sources.worth(draft, 64) == draft
    for _ in range(40):
        sources.judge(draft, 4)  # what is forced comes, guesses do not
    assert len(sources.worth(draft, 64).tokens) == 4 == len(sources.worth(draft, 1).tokens)
    guesses = Draft((1, 2), (PROMPT, PROMPT))
    assert sources.worth(guesses, 1) == drafts.EMPTY
    for _ in range(200):  # and it is tried again after a while
        if sources.worth(guesses, 1).tokens:
            break
    else:
        raise AssertionError("nothing is proposed ever again")


def test_what_may_be_copied_is_what_the_question_has() -> None:
    tools = '[{"name": "f", "properties": {"city": {"default": "Wrong"}}}]\n'
    sources = Sources(f"{tools}Say what 'Right' is, at 1,234.5 or -6.".encode())
    assert [value for _, value in sources._numbers.found] == [b"1234.5", b"-6"]
    assert b"Right" in [value for _, value in sources._strings.found]
    assert b"Wrong" not in [value for _, value in sources._strings.found]
