"""Stop tokens of a request, and what travels between processes: masks are those of a compiler made for it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import stackmask as sm
from stackmask.runtime.matching.mask_buffer import EmptyMaskError

BYTES = [bytes([i]) for i in range(256)]
END, CALL, STOP, COMMA = 260, 261, 262, 44
NAMES = {"<end>": END, "<call>": CALL, "<stop>": STOP}
GRAMMARS = {
    "text": sm.Grammar.from_ebnf('root ::= "a" ("," "b")*'),
    "json": sm.Grammar.from_json_schema({"type": "array", "items": {"type": "integer"}}),
    "tokens": sm.Grammar.from_ebnf('root ::= "a" (!<call> | ",")*'),
}
TEXTS = {"text": b"a,b,b", "json": b"[1,2]", "tokens": b"a,,"}


def vocabulary(stop_ids: tuple[int, ...] = (END,)) -> sm.Vocabulary:
    tokens = [*BYTES, b",b", b"1,", b"[1", None]
    tokens += [None] * (END - len(tokens))
    return sm.Vocabulary(
        tokens, stop_ids=stop_ids, special_ids=[END, CALL, STOP], special_names=NAMES, size=270
    )


def masks(matcher: sm.Matcher, text: bytes) -> list[bytes]:
    """Return the masks along a text, and after each of the stop tokens at its end."""
    mask = sm.allocate_token_bitmask(1, 270)
    found = []
    for byte in text:
        matcher.fill_next_token_bitmask(mask)
        found.append(np.asarray(mask).tobytes())
        if not matcher.accept_token(byte):
            found.append(b"refused")
            break
    try:
        matcher.fill_next_token_bitmask(mask)
        found.append(np.asarray(mask).tobytes())
    except EmptyMaskError:  # the text is complete, and nothing ends it
        found.append(b"no token")
    for stop in (END, STOP, COMMA, CALL):
        fork = matcher.fork()
        found.append(bytes([fork.accept_token(stop), fork.is_terminated()]))
    return found


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("stops", [(END,), (STOP,), (STOP, END), (), (COMMA, END), (265, END)])
def test_masks_are_those_of_a_vocabulary_with_these_stop_tokens(name: str, stops: tuple[int, ...]) -> None:
    compiled = sm.Compiler(vocabulary()).compile(GRAMMARS[name])
    try:
        wanted = sm.Compiler(vocabulary(stops)).compile(GRAMMARS[name]).matcher()
    except sm.VocabularyError:  # a comma that stops cannot be written
        with pytest.raises(sm.VocabularyError):
            compiled.matcher(stop_ids=stops)
        return
    assert masks(compiled.matcher(stop_ids=stops), TEXTS[name]) == masks(wanted, TEXTS[name])
    # those of the vocabulary are as before
    plain = sm.Compiler(vocabulary()).compile(GRAMMARS[name]).matcher()
    assert masks(compiled.matcher(), TEXTS[name]) == masks(plain, TEXTS[name])


def test_a_fork_has_the_stop_tokens_of_its_origin() -> None:
    matcher = sm.Compiler(vocabulary()).compile(GRAMMARS["text"]).matcher(stop_ids=[STOP])
    assert matcher.accept_token(ord("a"))
    assert not matcher.fork().accept_token(END)
    assert matcher.fork().accept_token(STOP)


def test_a_stop_token_out_of_range_is_refused() -> None:
    compiled = sm.Compiler(vocabulary()).compile(GRAMMARS["text"])
    with pytest.raises(sm.VocabularyError, match="stop_ids has id 270"):
        compiled.matcher(stop_ids=[270])


def test_few_compilers_of_other_stop_tokens_are_kept() -> None:
    compiler = sm.Compiler(vocabulary())
    first = compiler._with_stops((1,))
    assert compiler._with_stops((1,)) is first
    for token in range(2, 6):
        compiler._with_stops((token,))
    assert compiler._with_stops((1,)) is not first


@pytest.mark.parametrize("name", GRAMMARS)
def test_compiled_grammars_pickle(name: str) -> None:
    compiled = sm.Compiler(vocabulary()).compile(GRAMMARS[name])
    data = pickle.dumps(compiled)
    again, other = pickle.loads(data), pickle.loads(data)
    assert again is other  # one compiler a process, however many come apart
    assert masks(again.matcher(), TEXTS[name]) == masks(compiled.matcher(), TEXTS[name])


def test_a_vocabulary_with_other_stop_tokens_keeps_its_texts() -> None:
    made = vocabulary().with_stop_ids([STOP])
    assert made.stop_ids == (STOP,)
    assert made.special_ids == vocabulary().special_ids
    assert made.digest() == vocabulary().digest()
