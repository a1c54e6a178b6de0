"""Objects of many undeclared keys: what a mask must try grows slowly with the keys written so far."""

from __future__ import annotations

import stackmask as sm

ESCAPED = [b"\\" + bytes([b]) for b in b'"\\/bfnrt']
VOCABULARY = sm.Vocabulary(
    [*(bytes([b]) for b in range(256)), None, *ESCAPED, b'{"', b'",', b'":', b'"\\\\', b'k1"', b'"k2"'],
    stop_ids=[256],
)


def test_each_doubtful_place_is_looked_at_once() -> None:
    compiler = sm.Compiler(VOCABULARY)
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    matcher = compiler.compile(sm.Grammar.from_json_schema(schema)).matcher()
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    store = matcher.compiled._automaton.store
    assert matcher.accept_string("{")
    before = []
    for number in range(120):
        for piece in ('"', f"k{number}", '":', "1", ","):
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_string(piece), matcher.refusal
        before.append(store.masks.counts()["doubtful_places"])
    # the places of a key are few, and most of them are the same for all keys
    early, late = before[39] - before[19], before[119] - before[99]
    assert late < 2 * early
    # each key is spelled out once, not once for each key after it
    assert store.masks.counts()["spelled_keys"] <= 120


def test_memory_of_a_long_text_grows_with_its_places() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.json())
    matcher = compiled.matcher()
    assert matcher.accept_string("[")
    assert compiled._family is not None
    sizes, length = [compiled._family.nbytes_held()], 0
    for number in range(1200):
        piece = f'{{"a{number}":[1,"x y z"],"b":{{"c":{number}}}}},'
        assert matcher.accept_string(piece)
        length += len(piece)
        sizes.append(compiled._family.nbytes_held())
    # 500 bytes a token would be 50 MB for 100,000 tokens; here each byte is one
    assert sizes[-1] - sizes[0] < 250 * length
