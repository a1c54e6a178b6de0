"""Proposals of jump-forward, case by case: tokenizers, special tokens, prompts, long contexts, what is refused."""

from __future__ import annotations

import copy
import json
import pickle
import random
import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
import tiktoken
from exactness.random_tokenizers import GPT2, random_tokenizer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import stackmask as sm
from stackmask.runtime.jump_forward.jump_forward import WINDOW
from stackmask.runtime.vocabulary.tokenizers.encoders import Encoder, encoder_of


def byte_level(
    merges: Sequence[str], *added: AddedToken, normalizer: Any = None, pattern: str | None = None
) -> Tokenizer:
    """Return a BPE tokenizer whose merges build the given words, each from its first letters on.

    ``pattern`` splits texts before that.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {piece: i for i, piece in enumerate(alphabet)}
    rules: list[tuple[str, str]] = []
    for word in [word.replace(" ", "Ġ") for word in merges]:
        for end in range(2, len(word) + 1):
            pair = (word[: end - 1], word[end - 1])
            if word[:end] not in vocab:
                vocab[word[:end]] = len(vocab)
                rules.append(pair)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=rules))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = level
    if pattern is not None:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.add_special_tokens(
        [AddedToken("<stop>", special=True), AddedToken("<call>", special=True), *added]
    )
    return tokenizer


def matcher_of(tokenizer: Tokenizer, grammar: str, **options: Any) -> tuple[sm.Matcher, Any]:
    """Return a matcher and a function from ids to what they spell, special tokens by name."""
    vocabulary = sm.Vocabulary.from_huggingface(
        tokenizer, stop_ids=[tokenizer.token_to_id("<stop>")], **options
    )
    names = {i: name for name, i in vocabulary.special_names.items()}
    texts = vocabulary.tokens

    def spell(plan: tuple[int, list[int]]) -> tuple[int, list[str]]:
        return plan[0], [(texts[i] or b"").decode(errors="replace") or names[i] for i in plan[1]]

    return sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf(grammar)).matcher(), spell


def test_a_token_that_may_grow_is_held_back() -> None:
    tokenizer = byte_level(["name", "names"])
    matcher, spell = matcher_of(tokenizer, 'root ::= "a name" ("s" | ";")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a", " "])
    assert matcher.plan_jump().reason == ""
    for token in b"a ":
        assert matcher.accept_string(bytes([token]))
    assert matcher.find_jump_forward_tokens() == (0, [])
    assert "change" in matcher.plan_jump().reason
    # where nothing that follows makes it another token, it is sure
    matcher, spell = matcher_of(tokenizer, 'root ::= "a name" ("x" | ";")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a", " ", "name"])


def test_the_end_of_the_text_is_sure() -> None:
    matcher, spell = matcher_of(byte_level(["names"]), 'root ::= "name"')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["name"])
    assert not matcher.must_stop()
    assert matcher.accept_string("name") and matcher.must_stop()
    assert matcher.find_jump_forward_tokens() == (0, [])


def test_tokens_are_taken_back_but_never_the_prompt() -> None:
    tokenizer = byte_level(["name"])
    n, a = tokenizer.token_to_id("n"), tokenizer.token_to_id("a")
    matcher, spell = matcher_of(tokenizer, 'root ::= "n" ("b" | "ame;") ')
    assert matcher.accept_token(n) and matcher.accept_token(a)
    prompt = tokenizer.encode("some na").ids
    assert spell(matcher.find_jump_forward_tokens([*prompt, n, a])) == (2, ["name", ";"])
    assert spell(matcher.find_jump_forward_tokens()) == (2, ["name", ";"])
    assert matcher.find_jump_forward_tokens(max_rollback=1) == (0, [])
    assert "taken back" in matcher.plan_jump(max_rollback=1).reason
    # the text begins after the prompt, whatever that ends with
    matcher, spell = matcher_of(tokenizer, 'root ::= "me;"')
    assert spell(matcher.find_jump_forward_tokens(prompt)) == (0, ["m", "e", ";"])
    with pytest.raises(sm.MatcherError, match="does not end with the tokens"):
        assert matcher.accept_token(tokenizer.token_to_id("m"))
        matcher.find_jump_forward_tokens(prompt)


def test_special_tokens() -> None:
    tokenizer = byte_level(["ab", "abc"])
    grammar = 'root ::= "ab" <call> "ab" <call> ("c" | "d")'
    matcher, spell = matcher_of(tokenizer, grammar)
    # text before a special token ends there
    assert matcher.find_jump_forward_string() == "ab"
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["ab", "<call>", "ab", "<call>"])
    ids = matcher.find_jump_forward_tokens()[1]
    assert all(matcher.accept_token(token) for token in ids)
    assert matcher.accept_token(tokenizer.token_to_id("c"))
    matcher.rollback(2)
    assert spell(matcher.find_jump_forward_tokens(ids[:3])) == (0, ["<call>"])
    # a choice of special tokens, or of one and text, is none of ours
    for other in ('root ::= <call> | "x"', 'root ::= (<call> | <stop>) "x"'):
        assert matcher_of(tokenizer, other)[0].find_jump_forward_tokens() == (0, [])


def test_text_that_spells_a_special_token_is_not_proposed() -> None:
    matcher, _ = matcher_of(byte_level(["ab"]), 'root ::= "ab<call>"')
    assert matcher.find_jump_forward_string() == "ab<call>"
    assert matcher.find_jump_forward_tokens() == (0, [])
    assert "encode" in matcher.plan_jump().reason


def test_characters_are_not_cut() -> None:
    tokenizer = byte_level([])
    matcher, spell = matcher_of(tokenizer, 'root ::= "aé" ("é" | "è")')
    assert matcher.find_jump_forward_bytes() == ("aé".encode(), b"\xc3")
    assert matcher.find_jump_forward_string() == "aé"
    assert spell(matcher.find_jump_forward_tokens())[1][0] == "a"
    assert matcher.accept_string("aé".encode() + b"\xc3")
    assert matcher.find_jump_forward_bytes() == (b"", b"") and matcher.find_jump_forward_string() == ""
    matcher, _ = matcher_of(tokenizer, 'root ::= ("é" | "ê") "a"')
    assert matcher.find_jump_forward_bytes() == (b"", b"\xc3")
    assert matcher.accept_string(b"\xc3\xa9") and matcher.find_jump_forward_bytes() == (b"a", b"")
    inside, _ = matcher_of(tokenizer, 'root ::= [aé] "b"')
    assert inside.accept_string(b"\xc3") and inside.find_jump_forward_bytes() == (b"\xa9b", b"")
    assert inside.find_jump_forward_string() == ""


def test_a_normaliser_may_move_the_last_character() -> None:
    tokenizer = byte_level(["ab"], normalizer=normalizers.NFC())
    follows = 'root ::= "abe" ("\u0301" | "x")'
    matcher, spell = matcher_of(tokenizer, follows)
    assert unicodedata.normalize("NFC", "e\u0301") == "é"
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["ab"])
    matcher, spell = matcher_of(tokenizer, 'root ::= "abe" ("y" | "x")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["ab", "e"])
    # text that it changes cannot be written
    matcher, spell = matcher_of(tokenizer, 'root ::= "ae\u0301"')
    assert matcher.find_jump_forward_tokens() == (0, [])


def test_sentencepiece_after_a_prompt() -> None:
    tokenizer = random_tokenizer("spm", 0)
    matcher, _ = matcher_of(tokenizer, 'root ::= "ab" [cd]')
    back, tokens = matcher.find_jump_forward_tokens()
    assert back == 0 and tokens == tokenizer.encode("ab", add_special_tokens=False).ids[: len(tokens)]
    assert matcher.find_jump_forward_string() == "ab"
    prompt = tokenizer.encode("something").ids
    assert matcher.find_jump_forward_tokens(prompt) == (0, [])
    assert "blank" in matcher.plan_jump(prompt).reason


def test_what_may_follow_moves_tokens_far_before_the_end() -> None:
    # the last blank of a run goes to the word behind it, so the run before that is split anew
    tokenizer = byte_level(["    "], pattern=GPT2)
    grammar = 'root ::= "a" " "{6} " "{0,2} "0"'
    for blanks, tokens in ((6, [2, 3, 1]), (7, [2, 2, 2, 1]), (8, [2, 2, 3, 1])):
        encoded = tokenizer.encode("a" + blanks * " " + "0").tokens
        assert encoded == ["a", *(n * "Ġ" for n in tokens), "0"]
    matcher, spell = matcher_of(tokenizer, grammar)
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a", "  "])


def test_digits_that_are_counted_from_the_right() -> None:
    tokenizer = byte_level(["12"], pattern=r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|\P{N}+")
    assert tokenizer.encode("a120").tokens == ["a", "12", "0"]
    assert tokenizer.encode("a1200").tokens == ["a", "1", "2", "0", "0"]
    matcher, spell = matcher_of(tokenizer, 'root ::= "a12" [0-9] "0"')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a"])
    matcher, spell = matcher_of(tokenizer, 'root ::= "a12" [0-9]')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a", "12"])


def test_few_followers_are_all_tried() -> None:
    # a currency sign takes the blank before it along, which no letter, digit or mark does
    tokenizer = byte_level(["    "], pattern=r" ?\p{Sc}+|\w+| +(?!\p{Sc})")
    assert tokenizer.encode("a    €").tokens[:3] != tokenizer.encode("a    x").tokens[:3]
    matcher, spell = matcher_of(tokenizer, 'root ::= "a    " ("€" | "x")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a"])
    matcher, spell = matcher_of(tokenizer, 'root ::= "a    " ("y" | "x")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["a", "  ", "  "])


def test_added_tokens_that_are_whole_words() -> None:
    state = json.loads(byte_level([]).to_str())
    state["model"]["vocab"] |= {"ca": 300, "cat": 301, "Ġcat": 302}
    state["model"]["merges"] = [["c", "a"], ["ca", "t"], ["Ġ", "cat"]]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.add_tokens([AddedToken("cat", single_word=True)])
    assert tokenizer.encode(" cat").tokens == ["Ġ", "cat"]
    assert tokenizer.encode(" cats").tokens == ["Ġcat", "s"]
    matcher, spell = matcher_of(tokenizer, 'root ::= " " ("cats" | "x")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, [])
    matcher, spell = matcher_of(tokenizer, 'root ::= " " ("cars" | "x")')
    assert spell(matcher.find_jump_forward_tokens()) == (0, [" "])


def test_a_tokenizer_that_raises() -> None:
    def encode(text: str) -> list[int]:
        if "b" in text:
            raise KeyError("b")
        return [*text.encode()]

    vocabulary = sm.Vocabulary([*(bytes([i]) for i in range(256)), None], stop_ids=[256])
    compiler = sm.Compiler(vocabulary.with_encoder(encode))
    matcher = compiler.compile(sm.Grammar.from_ebnf('root ::= "ab" [xy] "cd"')).matcher()
    plan = matcher.plan_jump()
    assert plan.tokens == () and plan.reason == "the tokenizer fails: KeyError: 'b'"
    assert matcher.accept_string("abx")
    assert matcher.find_jump_forward_tokens() == (0, [*b"cd"])


def test_two_blanks_where_the_tokenizer_adds_one() -> None:
    pieces = ["<unk>", *(f"<0x{i:02X}>" for i in range(256)), "▁", "a", "▁a"]
    tokenizer = Tokenizer(
        models.BPE({p: i for i, p in enumerate(pieces)}, [("▁", "a")], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken("<stop>", special=True)])
    for text in ("a", " a", "  a"):
        matcher, _ = matcher_of(tokenizer, f'root ::= "{text}"')
        back, tokens = matcher.find_jump_forward_tokens()
        assert back == 0 and tokenizer.decode(tokens) == text
        assert tokens == tokenizer.encode(" " + text).ids


@pytest.mark.parametrize("kind", ["spm", "spm-plain", "llama3"])
def test_long_runs_without_blanks_are_proposed(kind: str) -> None:
    # what may follow is judged over the last words; they begin where the tokenizer can be asked
    tokenizer = random_tokenizer(kind, 0)
    text = 'ab12{"ab":12,"cd":"ab12",'
    matcher, _ = matcher_of(tokenizer, f'root ::= \'{text}\' [a-z0-9"]* ";"')
    back, tokens = matcher.find_jump_forward_tokens()
    ids = tokenizer.encode(text + "x;", add_special_tokens=False).ids
    assert back == 0 and tokens == ids[: len(tokens)] and len(tokens) > 0.6 * len(ids)


def test_words_that_are_split_by_longest_match() -> None:
    words = ["un", "able", "a", "b", "c", "u", "n", "l", "e", "una"]
    tokens: list[bytes | None] = [word.encode() for word in words]

    def longest(text: str) -> list[int]:
        ids = []
        while text:
            i = max((i for i, word in enumerate(words) if text.startswith(word)), key=lambda i: len(words[i]))
            ids.append(i)
            text = text[len(words[i]) :]
        return ids

    vocabulary = sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)]).with_encoder(longest)
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "cun" ("able" | "c")'))
    assert compiled.matcher().find_jump_forward_tokens() == (0, [4])  # `una` would swallow `un`
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "cun" ("b" | "c")'))
    assert compiled.matcher().find_jump_forward_tokens() == (0, [4, 0])


def test_a_tokenizer_that_lacks_the_text() -> None:
    tokenizer = Tokenizer(models.WordLevel({"ab": 0, "<unk>": 1}, unk_token="<unk>"))
    vocabulary = sm.Vocabulary([b"ab", None, b"a", b"b", b"c", None], stop_ids=[5]).with_encoder(tokenizer)
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "abc"'))
    matcher = compiled.matcher()
    assert matcher.find_jump_forward_tokens() == (0, [])
    assert "encode" in matcher.plan_jump().reason
    # nothing is lost: the mask still allows what there is
    assert matcher.accept_token(0)


def test_the_length_of_the_context_does_not_matter() -> None:
    tokenizer = random_tokenizer("gpt2", 1)
    matcher, _ = matcher_of(tokenizer, r'root ::= "[" ("ab cd, " | "12 ")* "]" " the end" [.!]')
    rng = random.Random(0)
    text = "[" + "".join(rng.choices(["ab cd, ", "12 "], k=2000))
    ids = tokenizer.encode(text).ids
    lengths: list[int] = []
    encode = matcher.compiled.vocabulary.encoder
    assert encode is not None

    def counted(text: str) -> Sequence[int]:
        lengths.append(len(text))
        return encode.encode(text)

    vocabulary = matcher.compiled.vocabulary.with_encoder(Encoder(counted))
    counted_matcher = sm.Compiler(vocabulary).compile(matcher.compiled.grammar).matcher()
    assert all(counted_matcher.accept_token(token) for token in ids)
    assert counted_matcher.accept_token(tokenizer.token_to_id("]"))
    back, tokens = counted_matcher.find_jump_forward_tokens()
    whole = tokenizer.encode(text + "] the end.").ids
    assert (
        whole[: len(ids) + 1 - back + len(tokens)]
        == [*ids, tokenizer.token_to_id("]")][: len(ids) + 1 - back] + tokens
    )
    assert tokens and 0 < max(lengths) < 4 * WINDOW
    # asked again, nothing is encoded
    lengths.clear()
    assert counted_matcher.find_jump_forward_tokens() == (back, tokens) and not lengths


def test_text_in_between_is_a_boundary() -> None:
    tokenizer = byte_level(["name"])
    matcher, spell = matcher_of(tokenizer, 'root ::= "n" ("b" | "ame;")')
    assert matcher.accept_string("na")
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["m", "e", ";"])


def test_forks_share_and_differ() -> None:
    tokenizer = byte_level(["name"])
    matcher, spell = matcher_of(tokenizer, 'root ::= [ab] "name" | "x" "na"')
    other = matcher.fork()
    assert matcher.accept_string("a") and other.accept_string("x")
    assert spell(matcher.find_jump_forward_tokens()) == (0, ["name"])
    assert spell(other.find_jump_forward_tokens()) == (0, ["na"])
    matcher.reset()
    assert matcher.find_jump_forward_tokens() == (0, [])


def test_encoders() -> None:
    bpe = tiktoken.Encoding("x", pat_str=r"\w+|\W+", mergeable_ranks={bytes([i]): i for i in range(256)} | {b"ab": 256}, special_tokens={"<stop>": 257})  # fmt: skip
    assert list(encoder_of(bpe).encode("ab<stop>")) == [256, *b"<stop>"]
    vocabulary = sm.Vocabulary.from_tiktoken(bpe, stop_ids=[257])
    matcher = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "abc" [xy]')).matcher()
    assert matcher.find_jump_forward_tokens() == (0, [256, ord("c")])
    with pytest.raises(sm.VocabularyError, match="int cannot encode text"):
        vocabulary.with_encoder(3)
    given = encoder_of(lambda text: [1])
    assert encoder_of(given) is given
    assert vocabulary.encoder is not None
    assert pickle.loads(pickle.dumps(vocabulary)).encoder is None
    assert copy.copy(vocabulary).with_encoder(bpe).fits(vocabulary)


def test_free_places_are_those_that_no_token_can_stand_across() -> None:
    rng = random.Random(4)
    for _ in range(30):
        tokens = [bytes([byte]) for byte in b'ab" :']
        tokens += ["".join(rng.choices('ab" :', k=rng.randint(2, 5))).encode() for _ in range(12)]
        vocabulary = sm.Vocabulary([*dict.fromkeys(tokens)], stop_ids=())
        compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "ab"'))
        assert compiled.matcher().find_jump_forward_string() == "ab"
        assert compiled._planner is not None
        for _ in range(40):
            text = "".join(rng.choices('ab" :', k=rng.randint(2, 9))).encode()
            for place in range(1, len(text)):
                across = any(
                    text[start:].startswith(token[: len(text) - start]) and start + len(token) > place
                    for start in range(place)
                    for token in vocabulary.tokens
                    if token
                )
                assert compiled._planner.forced.is_free(text, place) == (not across), (text, place)
