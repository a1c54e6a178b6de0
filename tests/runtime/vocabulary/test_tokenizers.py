"""Readers of every kind of tokenizer, on small ones made here."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sentencepiece
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from transformers.models.clvp.tokenization_clvp import ClvpTokenizer
from transformers.models.gpt_sw3.tokenization_gpt_sw3 import GPTSw3Tokenizer

from stackmask.pda.errors import VocabularyError
from stackmask.runtime.vocabulary.tokenizers.byte_level import char_to_byte
from stackmask.runtime.vocabulary.tokenizers.huggingface import Decoding
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

TEXTS = [
    "SELECT name FROM customers WHERE city = 'Zürich'",
    '{"a": [1, 2.5e-3, null], "b": "x\\ty"}',
    "日本語のテキスト и русский",
    "  two leading blanks\n\ttabs\r\nand 🎉 emoji\x00\x7f",
]


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"], show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    return tokenizer


def spm_bpe(*, prefix: bool) -> Tokenizer:
    """A Llama-2-like tokenizer: spaces as ▁, bytes as <0xHH>, with or without the space before the first word."""
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2}
    vocabulary |= {f"<0x{b:02X}>": 3 + b for b in range(256)}
    for piece in ("▁", "a", "b", "▁a", "ab", "▁ab", "▁▁", "é", "日"):
        vocabulary[piece] = len(vocabulary)
    merges = [("▁", "a"), ("a", "b"), ("▁a", "b"), ("▁", "▁")]
    tokenizer = Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    steps = [normalizers.Prepend("▁")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    tail = [decoders.Strip(" ", 1, 0)] if prefix else []
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *tail]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def metaspace(scheme: str) -> Tokenizer:
    pieces = [("<unk>", 0.0), ("▁", -2.0), ("a", -2.5), ("b", -2.6), ("▁a", -2.1), ("ab", -2.2)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.add_special_tokens(["<unk>"])
    return tokenizer


def test_char_to_byte_covers_every_byte_once() -> None:
    table = char_to_byte()
    assert sorted(table.values()) == list(range(256))
    assert set(table) == set(pre_tokenizers.ByteLevel.alphabet())


def test_pieces_outside_the_byte_table_are_their_own_text() -> None:
    decoding = Decoding(byte_level=True)
    assert list(decoding.decode([])) == []
    pieces = ["", "Ġa", "｜x▁", None, "é", "a b"]
    assert list(decoding.decode([pieces])) == [b"", b" a", "｜x▁".encode(), None, b"\xe9", b"a b"]


TABLE = {chr(b): b for b in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))}
TABLE |= {chr(0x100 + n): b for n, b in enumerate(b for b in range(256) if chr(b) not in TABLE)}


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from([*TABLE, *" Ń\x00▁🎉"]), max_size=6).map("".join)))
def test_byte_level_against_a_plain_table(pieces: list[str]) -> None:
    expected = [bytes(TABLE[c] for c in p) if TABLE.keys() >= set(p) else p.encode() for p in pieces]
    assert list(Decoding(byte_level=True).decode([pieces[:3], pieces[3:]])) == expected


def test_a_surrogate_is_an_error_in_byte_level_tokens_and_passed_on_elsewhere() -> None:
    with pytest.raises(UnicodeEncodeError):
        Decoding(byte_level=True).decode([["\ud800"]])
    assert list(Decoding().decode([["a\ud800"]])) == [b"a\xed\xa0\x80"]


def plainly_decoded(piece: str, replacements: tuple[tuple[str, str], ...], byte_fallback: bool) -> bytes:
    for old, new in replacements:
        piece = piece.replace(old, new)
    if byte_fallback and re.fullmatch("<0x[0-9A-Fa-f]{2}>", piece):
        return bytes.fromhex(piece[3:5])
    return piece.encode("utf-8", "surrogatepass")


PARTS = st.sampled_from(["▁", "▂", "ab", "a", "b", "é", "<0x", "0", "F", "g", ">", "🎉", "\ud801", "１", "+"])
PIECE = st.lists(PARTS, max_size=8).map("".join)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(PIECE), st.lists(st.tuples(PIECE, PIECE), max_size=3).map(tuple), st.booleans())
@example(["<0x0A>", "<0xfF>", "<0x0G>", "<0x+1>", "<0x1１>", "<0x0A", "<0x0A>>", "<0X0A>"], (), True)
@example(["▁<0x4▁>", "aaaa", "aabab"], (("▁", " "), ("aa", "a"), ("ab", "b")), True)
@example(["ab", ""], (("", "x"), ("x", "")), False)
def test_replacements_and_bytes_against_plain_strings(
    pieces: list[str], replacements: tuple[tuple[str, str], ...], byte_fallback: bool
) -> None:
    decoding = Decoding(replacements=replacements, byte_fallback=byte_fallback)
    if any("\ud801" in text for pair in replacements for text in pair):
        return  # replacements come from JSON, which has no lone surrogates in these files
    expected = [plainly_decoded(piece, replacements, byte_fallback) for piece in pieces]
    assert list(decoding.decode([pieces])) == expected


@pytest.mark.parametrize("count", [1, 8191, 8192, 8193])
def test_ids_are_asked_for_in_parts(count: int) -> None:
    pieces = {f"t{i}": i for i in range(count)}
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="t0"))
    tokenizer.decoder = decoders.Fuse()
    assert Vocabulary.from_huggingface(tokenizer).tokens == (None, *(p.encode() for p in list(pieces)[1:]))


def test_ids_with_gaps() -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 7, "c": 3}, unk_token="a"))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_tokens(["d"])
    vocab = Vocabulary.from_huggingface(tokenizer)
    added = tokenizer.token_to_id("d")
    expected = {0: None, 3: b"c", 7: b"b", added: b"d"}
    assert vocab.tokens == tuple(expected.get(i) for i in range(8))


@pytest.mark.parametrize("text", TEXTS)
def test_byte_level_round_trips(text: str) -> None:
    tokenizer = byte_level()
    vocab = Vocabulary.from_huggingface(tokenizer)
    assert vocab.decode(tokenizer.encode(text).ids) == text.encode()
    assert vocab.special_names == {"<s>": 0, "</s>": 1}
    assert not vocab.strip_first_space


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece_with_byte_fallback_round_trips(text: str, prefix: bool) -> None:
    tokenizer = spm_bpe(prefix=prefix)
    vocab = Vocabulary.from_huggingface(tokenizer)
    ids = tokenizer.encode(text).ids
    assert vocab.strip_first_space is prefix
    assert vocab.decode(ids) == text.encode()
    assert vocab.tokens[3 + 0x0A] == b"\n" and vocab.tokens[3 + 0xC3] == b"\xc3"
    kept = Vocabulary.from_huggingface(tokenizer, prefix_space="keep")
    assert kept.decode(ids) == (b" " if prefix else b"") + text.encode()


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_metaspace(scheme: str) -> None:
    tokenizer = metaspace(scheme)
    vocab = Vocabulary.from_huggingface(tokenizer)
    assert vocab.strip_first_space is (scheme != "never")
    assert vocab.decode(tokenizer.encode("ab a  b").ids) == b"ab a  b"
    assert vocab.tokens[0] is None


def test_prefix_space_can_be_stated() -> None:
    tokenizer = spm_bpe(prefix=False)
    assert Vocabulary.from_huggingface(tokenizer, prefix_space="strip").strip_first_space
    with pytest.raises(VocabularyError, match="prefix_space is 'yes'"):
        Vocabulary.from_huggingface(tokenizer, prefix_space="yes")  # type: ignore[arg-type]


def test_added_tokens_are_text_unless_special() -> None:
    tokenizer = byte_level()
    base = tokenizer.get_vocab_size()
    tokenizer.add_tokens(["<tool_call>", "\n\n\n", "Ġ ü"])
    tokenizer.add_special_tokens([AddedToken("<|call|>", special=True)])
    vocab = Vocabulary.from_huggingface(tokenizer)
    assert vocab.tokens[base:] == (b"<tool_call>", b"\n\n\n", "Ġ ü".encode(), None)
    assert vocab.special_names == {"<s>": 0, "</s>": 1, "<|call|>": base + 3}
    asked = Vocabulary.from_huggingface(tokenizer, special_ids=[base])
    assert asked.tokens[base] is None and asked.special_names["<tool_call>"] == base
    assert asked.digest() == vocab.digest()


def test_added_tokens_of_sentencepiece_are_decoded_like_the_others() -> None:
    tokenizer = spm_bpe(prefix=False)
    tokenizer.add_tokens([AddedToken("▁▁▁", normalized=False), "<0x0A>x"])
    assert Vocabulary.from_huggingface(tokenizer).tokens[-2:] == (b"   ", b"<0x0A>x")


def test_stop_tokens_come_from_tokenizer_generation_config_and_argument() -> None:
    fast = PreTrainedTokenizerFast(tokenizer_object=byte_level(), eos_token="</s>", pad_token="</s>")
    assert Vocabulary.from_huggingface(fast).stop_ids == (1,)
    config = SimpleNamespace(eos_token_id=[0, 1])
    assert Vocabulary.from_huggingface(fast, generation_config=config).stop_ids == (1, 0)
    assert Vocabulary.from_huggingface(fast, generation_config=SimpleNamespace(eos_token_id=0)).stop_ids == (
        1,
        0,
    )
    assert Vocabulary.from_huggingface(
        fast, generation_config=SimpleNamespace(eos_token_id=None)
    ).stop_ids == (1,)
    assert Vocabulary.from_huggingface(fast, stop_ids=[5], generation_config=config).stop_ids == (5,)


def test_logits_may_be_wider_or_narrower_than_the_tokenizer() -> None:
    tokenizer = spm_bpe(prefix=True)
    tokenizer.add_special_tokens(["<pad>"])
    count = tokenizer.get_vocab_size()
    wide = Vocabulary.from_huggingface(tokenizer, size=count + 40)
    assert (wide.size, len(wide.tokens)) == (count + 40, count)
    narrow = Vocabulary.from_huggingface(tokenizer, size=count - 1)
    assert narrow.size == count - 1 and "<pad>" not in narrow.special_names
    with pytest.raises(VocabularyError, match=f"size is {count - 2}, but the tokenizer has {count} ids"):
        Vocabulary.from_huggingface(tokenizer, size=count - 2)


@pytest.mark.parametrize(
    ("decoder", "named"),
    [
        (decoders.WordPiece(), "WordPiece"),
        (decoders.BPEDecoder(), "BPEDecoder"),
        (decoders.CTC(), "CTC"),
        (decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 2, 0)]), "Strip with start 2"),
        (decoders.Sequence([decoders.Strip(" ", 1, 0)]), "Strip"),
        (decoders.Sequence([decoders.Fuse(), decoders.Replace("a", "b")]), "Replace"),
        (decoders.Sequence([decoders.ByteLevel(), decoders.ByteFallback()]), "ByteLevel together with"),
    ],
)
def test_decoders_that_bytes_cannot_express_are_named(decoder: Any, named: str) -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoder
    with pytest.raises(VocabularyError, match=named):
        Vocabulary.from_huggingface(tokenizer)


@pytest.mark.parametrize("make", [byte_level, lambda: spm_bpe(prefix=True), lambda: metaspace("first")])
def test_a_missing_decoder_is_inferred_from_the_encoder(make: Any) -> None:
    whole, bare = make(), make()
    bare.decoder = None
    expected, inferred = Vocabulary.from_huggingface(whole), Vocabulary.from_huggingface(bare)
    assert inferred.tokens == expected.tokens
    assert inferred.strip_first_space == expected.strip_first_space


def test_nothing_to_infer_from_is_an_error() -> None:
    with pytest.raises(VocabularyError, match="no decoder"):
        Vocabulary.from_huggingface(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))


def test_an_unknown_object_is_named() -> None:
    with pytest.raises(VocabularyError, match="SimpleNamespace: it has neither"):
        Vocabulary.from_huggingface(SimpleNamespace(eos_token_id=None))


def encoding() -> tiktoken.Encoding:
    ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b" ab": 257}
    specials = {"<|endoftext|>": 260, "<|im_end|>": 261}  # 258 and 259 are a gap
    return tiktoken.Encoding("small", pat_str=r" ?\w+|\W", mergeable_ranks=ranks, special_tokens=specials)


def test_tiktoken() -> None:
    vocab = Vocabulary.from_tiktoken(encoding(), size=300)
    assert vocab.tokens[255:] == (b"\xff", b"ab", b" ab", None, None, None, None)
    assert vocab.special_names == {"<|endoftext|>": 260, "<|im_end|>": 261}
    assert vocab.special_ids == {260, 261}
    assert (vocab.stop_ids, vocab.size) == ((260,), 300)
    assert Vocabulary.from_tiktoken(encoding(), stop_ids=[261]).stop_ids == (261,)


def test_slow_tokenizer_around_tiktoken() -> None:
    added = {260: AddedToken("<|endoftext|>", special=True), 262: AddedToken("<think>", special=False)}
    slow = SimpleNamespace(
        model=encoding(), eos_token_id=261, all_special_ids=[261], added_tokens_decoder=added
    )
    vocab = Vocabulary.from_huggingface(slow)
    assert vocab.tokens[256:] == (b"ab", b" ab", None, None, None, None, b"<think>")
    assert set(vocab.stop_ids) == {260, 261}


@pytest.fixture(scope="module")
def spm_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20),
        model_writer=model,
        vocab_size=340,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["<tool>", "▁▁▁"],
        num_threads=1,
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("spm") / "spiece.model"
    path.write_bytes(model.getvalue())
    return path


@pytest.mark.parametrize("text", TEXTS[:3])
def test_sentencepiece_processor_round_trips(spm_file: Path, text: str) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(spm_file))
    vocab = Vocabulary.from_sentencepiece(processor)
    assert vocab.strip_first_space
    assert vocab.decode(processor.encode(text)) == text.encode()
    assert vocab.stop_ids == (processor.eos_id(),)
    assert vocab.special_ids == {0, 1, 2}
    assert b"<tool>" in vocab.tokens and b"   " in vocab.tokens


def test_slow_sentencepiece_tokenizer_equals_its_model(spm_file: Path) -> None:
    slow = GPTSw3Tokenizer(
        str(spm_file), eos_token="</s>", unk_token="<unk>", bos_token="<s>", pad_token="<pad>"
    )
    vocab = Vocabulary.from_huggingface(slow)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(spm_file))
    text = "SELECT name FROM x 🎉"
    assert vocab.decode(slow.encode(text, add_special_tokens=False)) == text.encode()
    assert vocab.tokens[: processor.get_piece_size()] == Vocabulary.from_sentencepiece(processor).tokens
    assert vocab.stop_ids == (slow.eos_token_id,)
    assert slow.pad_token_id in vocab.special_ids


def test_slow_byte_level_tokenizer(tmp_path: Path) -> None:
    fast = byte_level()
    fast.model.save(str(tmp_path))
    slow = ClvpTokenizer(
        str(tmp_path / "vocab.json"),
        str(tmp_path / "merges.txt"),
        unk_token="<s>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
    )
    slow.add_tokens(["<tool>"])
    vocab = Vocabulary.from_huggingface(slow)
    expected = Vocabulary.from_huggingface(fast)
    assert vocab.tokens[: len(expected.tokens)] == expected.tokens
    assert vocab.tokens[-1] == b"<tool>"
    assert vocab.stop_ids == (1,)
